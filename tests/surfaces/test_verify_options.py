"""The options of `remit verify` that choose and explain accusations, and the exit codes that follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.in_process import Remit, command_runner
from support.verify_commands import TOTAL, commit, git, make_project

STRONG, WEAK = "`src/app/price.py:9`", "`lib/ghost.ts`"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(tmp_path, monkeypatch)


@pytest.fixture
def remit(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    return command_runner(monkeypatch, capsys)


# Exit codes


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        ("`src/app/cart.py:4`", (), 0),
        ("Nothing.", (), 0),
        (WEAK, (), 0),
        (STRONG, (), 1),
        (WEAK, ("--strict",), 1),
        ("`src/app/cart.py:4`", ("--strict",), 0),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "github", "sarif", "markdown"])
def test_what_is_strong_fails_in_a_file_and_everything_in_a_report(
    remit: Remit, project: Path, text: str, words: tuple[str, ...], code: int, form: str
) -> None:
    (project / "page.md").write_text(f"{text}\n")
    assert remit("verify", "page.md", *words, "--format", form).code == code
    assert remit("verify", "-", "--format", form, given=f"{text}\n".encode()).code == (text in (WEAK, STRONG))


def test_in_the_documents_of_the_project_only_what_is_outdated_fails(remit: Remit, project: Path) -> None:
    (project / "AGENTS.md").write_text(f"{STRONG}, {WEAK} and `src/app/cart.py:4`\n")
    commit(project)
    assert remit("verify").code == 0
    assert remit("verify", "AGENTS.md").code == 1
    git(project, "mv", "src/app/cart.py", "src/app/basket.py")
    commit(project)
    ran = remit("verify")
    assert (ran.code, sum(line.startswith("AGENTS.md:1  outdated  ") for line in ran.lines)) == (1, 1)


def test_what_does_not_fail_is_counted_and_listed_on_request(remit: Remit, project: Path) -> None:
    (project / "page.md").write_text(f"{STRONG}, {WEAK}, `src/app/cart.py:4`, `src/app/cart.py:4` (add)\n")
    ran = remit("verify", "page.md")
    assert "4 claims: 1 verified, 1 exists, 1 wrong, 1 not failing" in ran.lines
    assert "`--all` lists what does not hold and does not fail: 1 claim" in ran.lines
    assert sum(line.startswith("page.md:1  ") for line in ran.lines) == 1
    assert sum(line.startswith("page.md:1  ") for line in remit("verify", "page.md", "--all").lines) == 4
    assert "4 claims: 1 verified, 1 exists, 2 wrong" in remit("verify", "page.md", "--strict").lines


def test_json_has_every_claim_and_whether_it_fails(remit: Remit, project: Path) -> None:
    (project / "page.md").write_text(f"{WEAK} and {STRONG}\n")
    report = remit("verify", "page.md", "--format", "json").json
    assert [one["fails"] for one in report["results"][0]["claims"]] == [False, True]
    assert [one["rule"] for one in report["results"][0]["violations"]] == ["reference-missing-file"]


# --explain


def explained(remit: Remit, claim: str, text: str) -> dict[str, str]:
    """The fields of the only claim that is explained."""
    ran = remit("verify", "-", "--explain", claim, given=text.encode())
    head, *rows = ran.lines
    fields = {row[2:12].strip(): row[12:] for row in rows}
    assert len(fields) == len(rows), ran.out
    return {"head": head, **fields}


def test_an_explanation_has_the_claim_the_facts_and_the_judgement(remit: Remit) -> None:
    assert explained(remit, "1", f"See {STRONG}.\n") == {
        "head": "-:1  missing-file  src/app/price.py:9",
        "kind": "place",
        "words": "src/app/price.py:9",
        "cited": "src/app/price.py:9",
        "form": "marked",
        "file": "there is nothing at this path; its folder is here",
        "nearest": "src/app/prices.py",
        "outcome": "missing-file: it fails",
        "reason": "no-such-file: there is no such file in this folder",
        "instead": "src/app/prices.py",
    }


def test_an_explanation_of_a_name_states_where_it_is(remit: Remit) -> None:
    fields = explained(remit, "total", "`src/app/cart.py:4` (total)\n")
    assert (fields["kind"], fields["name"], fields["lines"]) == ("name", "total", "32")
    assert fields["names"].startswith("defined at line 31")
    assert fields["resolved"] == "as written: src/app/cart.py"
    assert fields["instead"] == "src/app/cart.py:31"


def test_an_explanation_of_a_quote_states_how_it_differs(remit: Remit) -> None:
    fields = explained(remit, "src/app/cart.py:31", f"`src/app/cart.py:31`:\n{TOTAL.replace('sum', 'max')}")
    assert fields["head"] == "-:3  mismatch  quote from src/app/cart.py:31"
    assert fields["code"] == "def total(cart): … (2 lines)"
    assert fields["quote"] == "not found (altered); src/app/cart.py:31, 97% similar; 1 token changed"
    assert fields["reason"].startswith("quote-differs: ")


def test_an_explanation_states_when_a_claim_held(remit: Remit, project: Path) -> None:
    (project / "page.md").write_text("`src/app/cart.py:4`\n")
    written = commit(project)
    git(project, "mv", "src/app/cart.py", "src/app/basket.py")
    moved = commit(project)
    ran = remit("verify", "page.md", "--explain", "page.md:1")
    (line,) = [line for line in ran.lines if line.startswith("  history")]
    assert f"true in {written[:12]} (" in line
    assert f"; changed in {moved[:12]}; now at src/app/basket.py:4" in line


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ("3", [3]),
        ("src/app/cart.py:4", [1, 3]),
        ("src/app/cart.py:4-6", [3]),
        ("-:2", [2]),
        ("CART.PY", [1, 3]),
        ("ghost", [2]),
    ],
)
def test_a_claim_is_named_by_its_line_its_location_or_its_words(remit: Remit, wanted: str, lines: list[int]) -> None:
    text = b"`src/app/cart.py:4`\n\nThe `lib/ghost.ts`.\n\nLines `src/app/cart.py:4-6`\n".replace(b"\n\n", b"\n")
    ran = remit("verify", "-", "--explain", wanted, given=text)
    assert [int(line[2]) for line in ran.lines if line.startswith("-:")] == lines


def test_an_explanation_of_no_claim_is_one_line_and_2(remit: Remit) -> None:
    for wanted in ("99", "nothing", "9" * 5_000):
        ran = remit("verify", "notes.md", "--explain", wanted)
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
        assert "--all" in ran.err


def test_an_explanation_is_text(remit: Remit) -> None:
    assert remit("verify", "notes.md", "--explain", "4", "--format", "json").code == 2


def test_an_explanation_keeps_the_exit_code(remit: Remit) -> None:
    assert remit("verify", "-", "--explain", "1", given=STRONG.encode()).code == 1
    assert remit("verify", "-", "--explain", "1", given=b"`src/app/cart.py:4`").code == 0


def test_nothing_of_a_text_reaches_an_explanation_raw(remit: Remit) -> None:
    out = remit("verify", "-", "--explain", "1", given="`src/app/\x1b[31mred.py:3` `lib/\u202ex.ts`\n".encode()).out
    assert "red.py" in out
    assert not {"\x1b", "\u202e"} & set(out)


# Pipes


@pytest.mark.parametrize("columns", ["40", "80", "140", "200"])
def test_a_pipe_gets_one_line_for_each_claim_at_any_width(
    remit: Remit, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    path = f"src/app/{'deep/' * 40}file.py"
    ran = remit("verify", "-", given=f"`{path}:3`, {STRONG}, {WEAK} and {WEAK}:3\n".encode())
    lines = [line for line in ran.lines if line.startswith("-:1  ")]
    assert len(lines) == 4
    assert [line for line in lines if f"  missing-file  {path}:3  " in line]
    assert all(len(line.split("  ")) == 4 for line in lines)
