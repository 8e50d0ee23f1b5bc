"""The comparison of two versions loses no claim."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench/accuracy"
sys.path.insert(0, str(BENCH))

import compare  # noqa: E402 (the path must be known first)


def answer(at: int = 3, path: str = "src/app.py", line: int | None = 9, **changed: Any) -> compare.Answer:
    row = {"kind": "place", "end_line": None, "outcome": "verified", "fails": False, "reason": "", **changed}
    return compare.Answer(document="a.md", at=at, path=path, line=line, **row)


def test_reports_of_both_versions_are_read() -> None:
    claim = {"text": "a.py:3", "path": "a.py", "line": 3, "end_line": None, "at": 7, "outcome": "mismatch"}
    old = {"references": [claim], "quotes": [{**claim, "at": 9}]}
    new = {"claims": [{**claim, "kind": "name", "fails": True, "reason": "name-elsewhere"}]}
    before = compare.read_answers(compare.rows_of_report("a.md", old))
    after = compare.read_answers(compare.rows_of_report("a.md", new))
    assert [(found.family, found.at, found.state) for found in before] == [
        ("reference", 7, "mismatch"),
        ("quote", 9, "mismatch"),
    ]
    assert [(found.family, found.at, found.state) for found in after] == [("reference", 7, "mismatch (fails)")]


def test_equal_answers_do_not_differ() -> None:
    assert compare.differences([answer(), answer()], [answer(), answer()]) == []


def test_a_changed_outcome_and_a_new_failure_are_differences() -> None:
    before = [answer(), answer(at=4, outcome="mismatch")]
    after = [answer(outcome="exists"), answer(at=4, outcome="mismatch", fails=True)]
    assert [difference.change for difference in compare.differences(before, after)] == [
        ("verified", "exists"),
        ("mismatch", "mismatch (fails)"),
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
    found = compare.differences([answer(), answer(at=4)], [answer(outcome="mismatch", fails=True), answer(at=4)])
    table = compare.differences_table(found)
    assert "| reference | verified | mismatch (fails) | 1 |" in table
    assert "| a.md | 3 | reference src/app.py:9 | verified | mismatch (fails) |" in table
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
