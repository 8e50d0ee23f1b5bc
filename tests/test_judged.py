"""The judged answers: their rows have no text of a document, and the comparison of two versions loses no claim."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench/accuracy"
sys.path.insert(0, str(BENCH))

import compare  # noqa: E402 (the path must be known first)
import judged  # noqa: E402

VALID: dict[str, Any] = {
    "set": "dev",
    "repo": "0123456789ab",
    "claim": "ba9876543210",
    "kind": "place",
    "outcome": "out-of-range",
    "reliability": "certain",
    "reason": "past-end",
    "signals": ["plan"],
    "letter": True,
    "reader": "true",
}


def answer(at: int = 3, path: str = "src/app.py", line: int | None = 9, **changed: Any) -> compare.Answer:
    row = {"kind": "place", "end_line": None, "outcome": "verified", "reliability": None, "reason": "", **changed}
    return compare.Answer(document="a.md", at=at, path=path, line=line, **row)


def row_of(judged_answer: compare.Answer, **changed: Any) -> judged.Row:
    claim = compare.claim_hash(judged_answer)
    return judged.Row(**{**VALID, "signals": (), "claim": claim, "outcome": judged_answer.outcome, **changed})


def test_every_judged_row_is_valid() -> None:
    assert len(judged.read_rows()) >= 178


def test_no_claim_is_judged_twice() -> None:
    rows = judged.read_rows()
    assert judged.merged([], rows) == rows


def test_the_kinds_and_outcomes_are_those_of_remit() -> None:
    model = pytest.importorskip("remit.evidence.model", exc_type=ImportError)
    judge = pytest.importorskip("remit.evidence.judge", exc_type=ImportError)
    assert set(judged.KINDS) == set(model.ClaimKind.__args__)
    assert set(judged.OUTCOMES) == {*model.OUTCOMES, "not-read"}
    assert model.RELIABILITIES == judged.RELIABILITIES
    assert set(judged.ACCUSING) == judge.ACCUSING


def test_a_reason_of_a_row_is_one_of_remit() -> None:
    judge = pytest.importorskip("remit.evidence.judge", exc_type=ImportError)
    assert {row.reason for row in judged.read_rows()} <= set(judge.Reason.__args__)


def test_every_signal_has_a_judged_row() -> None:
    signals = pytest.importorskip("remit.evidence.signals", exc_type=ImportError)
    judged_signals = {signal for row in judged.read_rows() for signal in row.signals}
    assert {signal.name for signal in signals.SIGNALS} - judged_signals == set()


def test_a_signal_of_a_row_is_one_of_remit() -> None:
    signals = pytest.importorskip("remit.evidence.signals", exc_type=ImportError)
    judged_signals = {signal for row in judged.read_rows() for signal in row.signals}
    assert judged_signals - {signal.name for signal in signals.SIGNALS} == set()


def test_a_row_of_words_and_hashes_is_valid() -> None:
    assert judged.problem_of(VALID) == ""


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("set", "secret"),
        ("repo", "octo/example"),
        ("claim", "src/app.py:9"),
        ("kind", "the word of a document"),
        ("outcome", "it is wrong"),
        ("reliability", "maybe"),
        ("reason", "The file has only 80 lines."),
        ("reason", "src/app.py"),
        ("signals", ["under the heading Plan"]),
        ("signals", "plan"),
        ("letter", "true"),
        ("reader", "a sketch of the loop"),
    ],
)
def test_a_row_with_text_is_not_valid(member: str, value: object) -> None:
    assert judged.problem_of({**VALID, member: value}) == member


def test_a_row_with_another_member_is_not_valid() -> None:
    assert "text" in judged.problem_of({**VALID, "text": "a quote"})
    assert judged.problem_of({name: value for name, value in VALID.items() if name != "reader"})


def test_reading_names_the_line_of_a_row_that_is_not_valid(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(VALID) + "\n" + json.dumps({**VALID, "kind": "text"}) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"rows\.jsonl:2: kind"):
        judged.read_rows(rows)


def test_written_rows_are_read_again(tmp_path: Path) -> None:
    rows = [row_of(answer()), row_of(answer(at=4))]
    judged.write_rows(rows, tmp_path / "rows.jsonl")
    assert judged.read_rows(tmp_path / "rows.jsonl") == rows


def test_a_new_judgement_replaces_one_on_the_same_claim() -> None:
    first, other, second = row_of(answer()), row_of(answer(at=4)), row_of(answer(), letter=False)
    assert judged.merged([first, other], [second]) == [second, other]


def test_a_judgement_keeps_its_claim_when_another_version_answers() -> None:
    accused = answer(outcome="out-of-range", reliability="certain", reason="past-end")
    later = {
        **accused._asdict(),
        "set": "dev",
        "outcome": "outdated",
        "reliability": "likely",
        "reason": "outdated",
        "signals": ["plan"],
    }
    (row,) = judged.updated([row_of(accused)], [later, {"document": "b.md", "error": "no answer"}])
    assert (row.outcome, row.reliability, row.reason, row.signals) == ("outdated", "likely", "outdated", ("plan",))
    assert (row.letter, row.reader) == (True, "true")


def test_a_judged_claim_that_a_version_does_not_read_is_kept() -> None:
    other = {**answer(at=20)._asdict(), "set": "dev"}
    (row,) = judged.updated([row_of(answer(outcome="mismatch"))], [other])
    assert (row.outcome, row.reliability) == ("not-read", None)


def test_a_row_of_a_set_that_was_not_measured_stays_as_it_is() -> None:
    row = row_of(answer(outcome="mismatch"), set="planted")
    assert judged.updated([row], [{**answer(at=20)._asdict(), "set": "dev"}]) == [row]


def test_an_accusation_is_right_if_the_checkout_contradicts_the_claim_and_a_verification_if_not() -> None:
    rows = [
        row_of(answer(at=number, outcome=outcome), reliability=reliability, letter=letter, reader=reader)
        for number, (outcome, reliability, letter, reader) in enumerate(
            [
                ("mismatch", "certain", True, "true"),
                ("mismatch", "certain", True, "sketch"),
                ("verified", None, False, "false"),
                ("verified", None, False, "false"),
                ("verified", None, True, "true"),
            ]
        )
    ]
    table = judged.shares_table(rows)
    assert "| certain | all | 2 | 1 | 2 of 2: 100.0%" in table
    assert "| 1 of 2: 50.0%" in table.split("| certain | all |")[1].split("\n")[0]
    assert "| verified | all | 3 | 1 | 2 of 3: 66.7%" in table


def test_a_claim_has_the_same_hash_in_a_version_that_reads_more_of_its_path() -> None:
    assert compare.claim_hash(answer(path="app.py")) == compare.claim_hash(answer(path="src/app.py", kind="name"))
    assert compare.claim_hash(answer()) != compare.claim_hash(answer(line=10))
    assert compare.claim_hash(answer()) != compare.claim_hash(answer(path="src/other.py"))


def test_reports_of_both_versions_are_read() -> None:
    claim = {"text": "a.py:3", "path": "a.py", "line": 3, "end_line": None, "at": 7, "outcome": "mismatch"}
    old = {"references": [claim], "quotes": [{**claim, "at": 9}]}
    new = {"claims": [{**claim, "kind": "name", "reliability": "likely", "reason": "name-elsewhere"}]}
    before = compare.read_answers(compare.rows_of_report("a.md", old))
    after = compare.read_answers(compare.rows_of_report("a.md", new))
    assert [(found.family, found.at, found.state) for found in before] == [
        ("reference", 7, "mismatch"),
        ("quote", 9, "mismatch"),
    ]
    assert [(found.family, found.at, found.state) for found in after] == [("reference", 7, "mismatch (likely)")]


def test_equal_answers_do_not_differ() -> None:
    assert compare.differences([answer(), answer()], [answer(), answer()]) == []


def test_a_changed_outcome_and_a_changed_reliability_are_differences() -> None:
    before = [answer(), answer(at=4, outcome="mismatch", reliability="certain")]
    after = [answer(outcome="exists"), answer(at=4, outcome="mismatch", reliability="look")]
    assert [difference.change for difference in compare.differences(before, after)] == [
        ("verified", "exists"),
        ("mismatch (certain)", "mismatch (look)"),
    ]


def test_a_claim_that_only_one_version_reads_is_a_difference() -> None:
    found = compare.differences([answer(), answer(at=5)], [answer(), answer(at=6)])
    assert [difference.change for difference in found] == [("verified", "not read"), ("not read", "verified")]


def test_a_repeated_claim_is_compared_once_for_each_occurrence() -> None:
    (difference,) = compare.differences([answer(), answer()], [answer()])
    assert difference.change == ("verified", "not read")


def test_a_path_of_which_a_version_reads_more_is_the_same_claim() -> None:
    (difference,) = compare.differences([answer(path="app.py")], [answer(outcome="exists")])
    assert difference.change == ("verified", "exists")
    assert len(compare.differences([answer(path="app.py")], [answer(path="src/my_app.py")])) == 2


def test_the_table_of_differences_counts_and_lists_the_claims() -> None:
    found = compare.differences(
        [answer(), answer(at=4)], [answer(outcome="mismatch", reliability="look"), answer(at=4)]
    )
    table = compare.differences_table(found)
    assert "| reference | verified | mismatch (look) | 1 |" in table
    assert "| a.md | 3 | reference src/app.py:9 | verified | mismatch (look) |" in table
    assert "a.md" not in compare.differences_table(found, listed=False)


def test_documents_of_dependencies_are_left_out(tmp_path: Path) -> None:
    for name in ("README.md", "docs/plan.MD", "node_modules/x/README.md", "app.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text", encoding="utf-8")
    assert [document.id for document in compare.documents_of(tmp_path)] == ["README.md", "docs/plan.MD"]


@pytest.mark.process
def test_a_document_that_fails_is_listed_and_the_others_are_kept(tmp_path: Path) -> None:
    package = tmp_path / "src/remit"
    package.mkdir(parents=True)
    program = (
        "import json, sys\n"
        "if sys.argv[2].endswith('bad.md'):\n"
        "    raise RuntimeError('the reader stopped')\n"
        "claim = {'kind': 'place', 'at': 1, 'path': 'a.py', 'line': 2, 'outcome': 'exists'}\n"
        "print(json.dumps({'results': [{'claims': [claim]}]}))\n"
    )
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(program, encoding="utf-8")
    documents = [compare.Document(name, tmp_path, tmp_path / name) for name in ("bad.md", "good.md")]

    rows = compare.verify_all(documents, tmp_path / "src", processes=2)

    assert rows[0]["document"] == "bad.md"
    assert rows[0]["error"].endswith("RuntimeError: the reader stopped")
    assert [found.document for found in compare.read_answers(rows)] == ["good.md"]


@pytest.mark.process
def test_a_module_in_the_checkout_is_not_run(tmp_path: Path) -> None:
    package, tree = tmp_path / "src/remit", tmp_path / "tree"
    for folder in (package, tree):
        folder.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import json\nprint(json.dumps({'results': []}))\n", encoding="utf-8")
    (tree / "json.py").write_text("raise RuntimeError('run by the measurement')\n", encoding="utf-8")
    assert compare.verify(compare.Document("a.md", tree, tree / "a.md"), tmp_path / "src") == []


def test_the_table_of_reliability_states_the_judged_accusations_behind_each_reason() -> None:
    judge = pytest.importorskip("remit.evidence.judge", exc_type=ImportError)
    accused = [row for row in judged.read_rows() if row.reliability is not None and row.reason]
    for reason in {row.reason for row in accused}:
        rows = [row for row in accused if row.reason == reason]
        assert judge.share_right(reason) == (sum(row.letter is True for row in rows), len(rows)), reason


def test_the_page_on_accuracy_has_the_counts_of_the_blind_sets() -> None:
    page = (BENCH.parents[1] / "docs/accuracy.md").read_text(encoding="utf-8")
    blind = [row for row in judged.read_rows() if row.set.startswith("blind")]
    last = [row for row in blind if row.set == max(one.set for one in blind)]
    for rows in (last, blind):
        for name in (*judged.RELIABILITIES, "verified"):
            group = [row for row in rows if (row.reliability if row.is_accusation else row.outcome) == name]
            if not group:
                continue
            right = sum(row.letter == row.is_accusation for row in group)
            wanted = sum((row.reader == "true") == row.is_accusation for row in group)
            label = "`verified` claims that hold" if name == "verified" else name
            cells = " | ".join(f"{number} ({number / len(group):.0%})".replace("%", " %") for number in (right, wanted))
            assert f"| {label} | {len(group)} | {cells} |" in page
    rows_of_kinds = [line for line in page.partition("## How often it is wrong")[0].splitlines() if line[:2] == "| "]
    for kind in judged.KINDS:
        failing = [row for row in blind if row.kind == kind and row.reliability in ("certain", "likely")]
        true = sum(row.reader == "true" for row in failing)
        cell = f"{true} of {len(failing)}" if failing else "–"
        (line,) = (line for line in rows_of_kinds if kind in line.split("|")[1].replace(",", "").split())
        assert line.endswith(f"| {cell} |")
