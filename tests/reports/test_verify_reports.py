"""The reports of `remit verify`: their order, one line for each claim, and the reason of every accusation."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.verify_commands import FILES, TOTAL

from remit.checking import Verdict, check_text
from remit.evidence.claims import ClaimEntry, claims_of, claims_text
from remit.evidence.model import OUTCOMES, TextKind
from remit.evidence.sources import Sources, open_sources
from remit.reports.accusations import cited_text, rule_of
from remit.reports.formats import check_github, check_json
from remit.reports.layout import display_width, escape_control, plain_lines
from remit.reports.shapes import check_shape
from remit.reports.verdict_text import OUTCOME_STYLES
from remit.reports.verify_text import verify_lines, verify_markdown, verify_sarif
from remit.rules.catalog import NAMES
from remit.verifying import OPTIONS
from remit.workspace.files import WorkTree

#: In this order: weak, strong, it holds, weak, strong, strong.
MIXED = """\
See `lib/ghost.ts` first, and `src/app/cart.py:2-34` after it.

The price is in `src/app/prices.py:4`, the tax in `web/tax.ts`.
It is rounded in `src/app/price.py:9` and `src/app/prices.py:80`.
"""
#: A path that most terminals cannot show in one line.
LONG = f"src/app/{'deep/' * 40}file.py"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    root = tmp_path_factory.mktemp("shop")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Sources(workspace=WorkTree(root))


def checked(
    sources: Sources, text: str, path: str = "a.md", *, kind: TextKind = "document", history: bool = False
) -> list[Verdict]:
    return check_text(text, path, replace(OPTIONS, text=kind, with_history=history), sources)


def shown(verdicts: Sequence[Verdict], columns: int | None = None, **more: object) -> list[str]:
    return plain_lines(verify_lines(verdicts, columns, **more)).split("\n")  # type: ignore[arg-type]


def claims_in(verdicts: Sequence[Verdict]) -> list[ClaimEntry]:
    return [entry for verdict in verdicts for entry in claims_of(verdict.evidence)]


# The order


def test_what_fails_is_listed_and_what_does_not_is_counted(sources: Sources) -> None:
    assert shown(checked(sources, MIXED)) == [
        "a.md:1  out-of-range  src/app/cart.py:2-34  the file has 32 lines → src/app/cart.py:2-32",
        "a.md:4  missing-file  src/app/price.py:9  there is no such file in this folder → src/app/prices.py",
        "a.md:4  out-of-range  src/app/prices.py:80  the file has 5 lines",
        "6 claims: 1 exists, 3 wrong, 2 not failing",
        "`--all` lists what does not hold and does not fail: 2 claims",
    ]


def test_in_a_report_everything_that_does_not_hold_is_listed(sources: Sources) -> None:
    lines = shown(checked(sources, MIXED, kind="report"))
    assert [line.split("  ")[2] for line in lines if line.startswith("a.md:")] == [
        *("lib/ghost.ts", "src/app/cart.py:2-34", "web/tax.ts", "src/app/price.py:9", "src/app/prices.py:80"),
    ]
    assert lines[5:] == ["6 claims: 1 exists, 5 wrong"]


@pytest.mark.parametrize("columns", [80, 140])
def test_on_a_terminal_what_fails_has_a_heading(sources: Sources, columns: int) -> None:
    lines = shown(checked(sources, MIXED), columns)
    assert lines[0] == "wrong (3)"
    assert max(map(len, lines)) <= columns
    assert sum(line.startswith("a.md:") for line in lines) == 3


def test_other_claims_come_last_and_only_on_request(sources: Sources) -> None:
    lines = shown(checked(sources, MIXED), every=True)
    assert lines[3:] == [
        "other claims (3)",
        f"a.md:1  missing-file  lib/ghost.ts  {REASON}",
        "a.md:3  exists  src/app/prices.py:4  the line exists",
        f"a.md:3  missing-file  web/tax.ts  {REASON}",
        "6 claims: 1 exists, 3 wrong, 2 not failing",
    ]


def test_claims_that_were_not_checked_are_listed_on_request_and_are_notes(sources: Sources) -> None:
    assert sources.workspace is not None
    (sources.workspace.root / "data.json").write_bytes(b"\0" * 99)
    verdicts = checked(Sources(workspace=WorkTree(sources.workspace.root)), "As in `data.json:4`.\n")
    assert shown(verdicts) == ["1 claim: 1 unchecked"]
    line = "line 1: data.json:4: the file is not text"
    assert shown(verdicts, every=True)[1] == "a.md:1  unchecked  data.json:4  the file is not text"
    # The other formats have the reason as a note.
    assert f"- not checked: `a.md, {line}`" in verify_markdown(verdicts, ".")
    assert check_github(verdicts) == f"::notice file=a.md,line=1,title=not checked::{line}"
    (run,) = json.loads(verify_sarif(verdicts, "1"))["runs"]
    assert (run["results"], run["properties"]["unchecked"]) == ([], [f"a.md, {line}"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("`src/app/cart.py:4`", "the line exists"),
        ("`src/app/cart.py:4-6`", "the lines exist"),
        ("`src/app/cart.py`", "the path exists"),
        ("`src/app/cart.py:4` (add)", "the name is there"),
        (f"`src/app/cart.py:31`:\n{TOTAL}", "the quote is there"),
    ],
)
def test_the_report_states_what_was_compared(sources: Sources, text: str, why: str) -> None:
    (_, line, _) = shown(checked(sources, f"{text}\n"), every=True)
    assert line.endswith(f"  {why}")


def test_the_words_of_a_line_without_a_file_are_shown_with_the_file(sources: Sources) -> None:
    verdicts = checked(sources, "In `src/app/prices.py`, line 90 rounds.\n")
    accused = [entry for entry in claims_in(verdicts) if entry.line == 90]
    assert [cited_text(entry) for entry in accused if "src/app/prices.py" not in cited_text(entry)] == []
    assert accused


# One line for each claim


def one_line_each(verdicts: Sequence[Verdict], lines: Sequence[str]) -> list[ClaimEntry]:
    """The accused claims that have no line with the document, its line, the outcome and the cited words."""
    missing = []
    for verdict in verdicts:
        for entry in claims_of(verdict.evidence):
            start = f"{escape_control(verdict.path)}:{entry.at}  {entry.outcome}  {escape_control(cited_text(entry))}"
            if entry.fails and not any(line.startswith(start) for line in lines):
                missing.append(entry)
    return missing


@pytest.mark.parametrize("columns", [None, 40, 80, 140, 200])
def test_a_long_path_is_on_one_line_with_its_line_and_outcome(sources: Sources, columns: int | None) -> None:
    name = f"docs/{'long-' * 40}name.md"
    verdicts = checked(sources, f"{MIXED}`{LONG}:3` and `src/app/{'漢' * 60}.py:3`\n", name, kind="report")
    assert sum(entry.fails for entry in claims_in(verdicts)) == 7
    assert one_line_each(verdicts, shown(verdicts, columns)) == []


_PART = st.text(st.sampled_from("abcxyzäßéñ漢字コード_-0123456789"), min_size=1, max_size=60).filter(
    lambda part: part[0].isalpha()
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    parts=st.lists(_PART, min_size=1, max_size=8),
    line=st.integers(0, 10**6),
    columns=st.one_of(st.none(), st.integers(40, 200)),
    name=st.text(st.sampled_from("ab/\x1b\u202e \t漢"), min_size=1, max_size=80),
)
def test_path_line_and_outcome_of_an_accused_claim_are_never_apart(
    sources: Sources, parts: list[str], line: int, columns: int | None, name: str
) -> None:
    text = f"`src/app/{'/'.join(parts)}.py:{line}`, `lib/{parts[0]}.ts`, `src/app/cart.py:{line + 40}`\n"
    verdicts = checked(sources, text, name, kind="report")
    assert any(entry.fails for entry in claims_in(verdicts))
    assert one_line_each(verdicts, shown(verdicts, columns)) == []


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_reasons_and_code_are_wrapped_to_the_terminal(sources: Sources, columns: int) -> None:
    code = f"value = [{'1, ' * 60}3]"
    text = f"{MIXED}\n`src/app/cart.py:31`:\n{TOTAL.replace('sum', 'max')}\n"
    text += f"`src/app/prices.py:5`:\n```python\n{code}\n```\n"
    lines = shown(checked(sources, text), columns)
    continued = [line for line in lines if not line.startswith("a.md:")]
    assert max(map(display_width, continued)) <= columns
    assert [line for line in continued if line.startswith("    ")]


def test_a_terminal_shows_the_line_of_the_quote_above_the_line_of_the_code(sources: Sources) -> None:
    lines = shown(checked(sources, f"`src/app/cart.py:31`:\n{TOTAL.replace('sum', 'max')}"), 80)
    assert lines[0] == "wrong (1)"
    assert lines[3:6] == [
        "    its first line is at line 31",
        "    - return max(line.price for line in cart.lines)",
        "    + return sum(line.price for line in cart.lines)",
    ]


def test_a_difference_at_the_end_of_a_long_line_is_visible(sources: Sources) -> None:
    assert sources.workspace is not None
    line = "def f(): return " + "a + " * 30 + "one"
    (sources.workspace.root / "long.py").write_text(f"{line}\n")
    quote = f"`long.py:1`\n```python\n{line.replace('one', 'two')}\n```\n"
    lines = shown(checked(Sources(workspace=WorkTree(sources.workspace.root)), quote), 80)
    assert [row[-3:] for row in lines if row.startswith(("    - …", "    + …"))] == ["two", "one"]


def test_a_terminal_shows_at_most_fifty_of_a_group_and_a_pipe_all(sources: Sources) -> None:
    text = "\n".join(f"- `src/app/none{number}.py:1`" for number in range(70))
    verdicts = checked(sources, text)
    lines = shown(verdicts, 80)
    assert sum("  missing-file  " in line for line in lines) == 50
    assert "20 more; `--all` shows them" in lines
    assert sum("  missing-file  " in line for line in shown(verdicts, 80, every=True)) == 70
    assert sum("  missing-file  " in line for line in shown(verdicts)) == 70


def test_a_very_long_reason_is_cut(tmp_path: Path) -> None:
    for letter in "abcde":
        folder = tmp_path / (letter * 200)
        folder.mkdir()
        (folder / "long.py").write_text("x = 1\n")
    verdicts = checked(Sources(workspace=WorkTree(tmp_path)), "`long.py:1`\n")
    (line,) = [line for line in shown(verdicts, every=True) if "  unchecked  " in line]
    assert 400 < len(line) < 500
    assert line.endswith("…")


# The reason in every format

REASON = "there is no such file, and none of its folders is here"


def test_every_accusation_has_its_reason_in_every_format(sources: Sources) -> None:
    text = f"{MIXED}`src/app/cart.py:31`:\n{TOTAL.replace('sum', 'max')}"
    verdicts = checked(sources, text, kind="report")
    accused = [entry for entry in claims_in(verdicts) if entry.fails]
    assert len(accused) == 6
    sarif = json.loads(verify_sarif(verdicts, "1"))["runs"][0]["results"]
    messages = [result["message"]["text"] for result in sarif]
    markdown = verify_markdown(verdicts, ".")
    for entry in accused:
        assert entry.why
        assert entry.why.replace("%", "%25") in check_github(verdicts)
        assert any(entry.why in message for message in messages)
        assert entry.why.partition("; the quote has")[0] in markdown
    listed = json.loads(check_json(verdicts))["results"][0]["claims"]
    assert [entry["why"] for entry in listed if entry["fails"]] == [entry.why for entry in accused]
    assert [entry["reason"] for entry in listed if entry["fails"]] == [entry.reason for entry in accused]
    assert all(entry["reason"] for entry in listed)


def test_markdown_has_a_second_table_on_request(sources: Sources) -> None:
    report = verify_markdown(checked(sources, MIXED), ".")
    assert "lib/ghost.ts" not in report
    assert report.startswith("**❌ 6 claims: 1 exists, 3 wrong, 2 not failing**")
    _, _, others = verify_markdown(checked(sources, MIXED), ".", every=True).partition("**Other claims (3)**")
    assert f"| `a.md:1` | missing-file | `lib/ghost.ts` | {REASON} |" in others


@pytest.mark.parametrize(
    ("text", "icon"),
    [
        ("`src/app/cart.py:4`", "✅"),
        ("`src/app/cart.py:4` (add)", "✅"),
        ("`cart.py:4`", "✅"),
        ("`src/app/cart.py:4` and `lib/ghost.ts`", "⚠️"),
        ("Nothing.", "⚪"),
        ("`src/app/cart.py:99`", "❌"),
    ],
)
def test_markdown_has_a_check_mark_only_if_every_claim_holds(sources: Sources, text: str, icon: str) -> None:
    assert verify_markdown(checked(sources, f"{text}\n"), ".").startswith(f"**{icon} ")


# The shapes


def test_every_claim_has_the_documented_fields(sources: Sources) -> None:
    report = json.loads(check_json(checked(sources, f"{MIXED}`src/app/cart.py:31`:\n{TOTAL}")))
    (result,) = report["results"]
    fields = "kind text at path line end_line name outcome reason why fails found then"
    assert [set(claim) for claim in result["claims"]] == [set(fields.split())] * 7
    assert [claim["at"] for claim in result["claims"]] == sorted(claim["at"] for claim in result["claims"])
    assert {"reason", "then"} <= set(result["references"][0])
    (quote,) = result["quotes"]
    assert (quote["how"], quote["match"], quote["reason"]) == ("exact", "exact", "quote-is-there")


def test_the_summary_counts_claims_by_outcome(sources: Sources) -> None:
    verdicts = checked(sources, MIXED)
    summary = check_shape(verdicts).summary
    assert summary.claims == 6
    assert summary.claims_by_outcome == {"exists": 1, "missing-file": 3, "out-of-range": 2}
    assert claims_text(claims_in(verdicts)) == "6 claims: 1 exists, 3 wrong, 2 not failing"


@pytest.mark.parametrize(
    ("kind", "outcome", "rule"),
    [
        ("place", "missing-file", "reference-missing-file"),
        ("place", "out-of-range", "reference-out-of-range"),
        ("name", "mismatch", "symbol-missing"),
        ("name", "relocated", "reference-relocated"),
        ("quote", "mismatch", "quote-mismatch"),
        ("quote", "relocated", "quote-relocated"),
        ("quote", "missing-file", "reference-missing-file"),
        ("quote", "outdated", "reference-outdated"),
        ("command", "mismatch", "command-missing"),
        ("test", "missing-file", "test-missing"),
        ("change", "contradicted", "change-unseen"),
        ("run", "contradicted", "test-run-unseen"),
    ],
)
def test_every_accusation_belongs_to_a_rule(kind: str, outcome: str, rule: str) -> None:
    assert rule_of(ClaimEntry(kind, "x", 1, outcome)) == rule  # type: ignore[arg-type]
    assert rule in NAMES


def test_the_rule_of_a_failing_claim_is_the_rule_that_it_violates(sources: Sources) -> None:
    text = f"{MIXED}`src/app/cart.py:4` (total)\n`src/app/cart.py:31`:\n{TOTAL.replace('sum', 'max')}"
    verdicts = checked(sources, text, kind="report")
    violated = sorted(violation.rule for verdict in verdicts for violation in verdict.violations)
    assert sorted(rule_of(entry) for entry in claims_in(verdicts) if entry.fails) == violated


def test_every_outcome_has_a_style() -> None:
    assert set(OUTCOME_STYLES) == set(OUTCOMES)


def test_nothing_of_a_text_reaches_a_report_raw(sources: Sources) -> None:
    text = "`src/app/\x1b[31mred.py:3`, `lib/\u202ex.ts` and src/\x9bx.py:1\n"
    verdicts = checked(sources, text, "a\x1b[2J.md", kind="report")
    reports = [check_github(verdicts), verify_markdown(verdicts, "."), *shown(verdicts)]
    reports += shown(verdicts, 80)
    assert claims_in(verdicts)
    assert [report for report in reports if re.search("[\x1b\x9b\u202e]", report)] == []


def test_the_report_of_a_text_without_claims_shows_what_would_be_one(sources: Sources) -> None:
    for columns in (None, 80):
        lines = shown(checked(sources, "Fine.\n"), columns)
        assert lines[0] == "no claims found"
        assert lines[1].startswith("a claim is, for example, `src/app.py:12`, ")
        assert columns is None or max(map(len, lines)) <= columns


# Many accusations with one cause


def test_claims_that_one_commit_made_outdated_are_summed_up_in_one_line(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    names = [f"app/part{number}.py" for number in range(6)]
    text = "".join(f"- `{name}:1`\n" for name in names)
    git("init", "-q")
    (tmp_path / "app").mkdir()
    for number, name in enumerate(names):
        (tmp_path / name).write_text(f"x = {number}\n")
    (tmp_path / "README.md").write_text(text)
    git("add", ".")
    git("commit", "-qm", "Start")
    git("mv", "app", "lib")
    git("commit", "-qm", "Move")
    commit = git("rev-parse", "HEAD")
    with open_sources(tmp_path) as sources:
        verdicts = checked(sources, text, str(tmp_path / "README.md"), history=True)
        few = checked(sources, "".join(text.splitlines(keepends=True)[:4]), str(tmp_path / "README.md"), history=True)
    (line,) = (line for line in shown(verdicts) if "one cause" in line)
    assert line == f"6 of these claims have one cause: commit {commit[:9]}"
    assert not any("one cause" in line for line in shown(few))
