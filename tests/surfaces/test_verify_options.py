"""The options of `remit verify` that choose and explain accusations, and the exit codes that follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.in_process import Remit, command_runner
from support.verify_commands import TOTAL, commit, git, make_project

CERTAIN, LIKELY, LOOK = "`src/app/price.py:9`", "`src/app/cart.py:2-34`", "`lib/ghost.ts`"


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
        (LOOK, (), 0),
        (LIKELY, (), 1),
        (CERTAIN, (), 1),
        (LOOK, ("--strict",), 1),
        ("`src/app/cart.py:4`", ("--strict",), 0),
        (CERTAIN, ("--only", "certain"), 1),
        (LIKELY, ("--only", "certain"), 0),
        (LOOK, ("--only", "certain"), 0),
        (LIKELY, ("--only", "likely"), 1),
        (LOOK, ("--only", "likely"), 0),
        (LOOK, ("--only", "look"), 0),
        (LOOK, ("--only", "look", "--strict"), 1),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "github", "sarif", "markdown"])
def test_certain_and_likely_accusations_fail(
    remit: Remit, text: str, words: tuple[str, ...], code: int, form: str
) -> None:
    assert remit("verify", "-", *words, "--format", form, given=f"{text}\n".encode()).code == code


def test_the_summary_counts_what_fails_and_what_is_worth_a_look(remit: Remit) -> None:
    text = f"{CERTAIN}, {LIKELY}, {LOOK}, `src/app/cart.py:4`, `src/app/cart.py:4` (add)\n".encode()
    assert "5 claims: 1 verified, 1 exists, 2 wrong, 1 worth a look" in remit("verify", "-", given=text).lines
    strict = remit("verify", "-", "--strict", given=text)
    assert "5 claims: 1 verified, 1 exists, 3 wrong" in strict.lines


@pytest.mark.parametrize(
    ("words", "listed"),
    [
        ((), ["src/app/price.py:9", "src/app/cart.py:2-34", "lib/ghost.ts"]),
        (("--only", "look"), ["src/app/price.py:9", "src/app/cart.py:2-34", "lib/ghost.ts"]),
        (("--only", "likely"), ["src/app/price.py:9", "src/app/cart.py:2-34"]),
        (("--only", "certain"), ["src/app/price.py:9"]),
        (("--strict",), ["src/app/price.py:9", "src/app/cart.py:2-34", "lib/ghost.ts"]),
    ],
)
def test_only_hides_what_is_less_reliable(remit: Remit, words: tuple[str, ...], listed: list[str]) -> None:
    ran = remit("verify", "-", *words, given=f"{LOOK}, {LIKELY} and {CERTAIN}\n".encode())
    assert [line.split("  ")[2] for line in ran.lines if line.startswith("-:1  ")] == listed


def test_json_has_every_claim_even_if_it_is_hidden(remit: Remit) -> None:
    text = f"{LOOK}, {LIKELY} and {CERTAIN}\n".encode()
    report = remit("verify", "-", "--only", "certain", "--format", "json", given=text).json
    assert [one["reliability"] for one in report["results"][0]["claims"]] == ["look", "likely", "certain"]
    assert report["summary"]["claims_by_reliability"] == {"certain": 1, "likely": 1, "look": 1}
    assert [one["rule"] for one in report["results"][0]["violations"]] == ["reference-missing-file"]


@pytest.mark.parametrize("only", ["certain", "likely"])
def test_what_is_hidden_cannot_fail(remit: Remit, only: str) -> None:
    ran = remit("verify", "-", "--strict", "--only", only, given=b"x")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert f"--only {only}" in ran.err


def test_an_unknown_reliability_is_one_line_and_2(remit: Remit) -> None:
    assert remit("verify", "-", "--only", "sure", given=b"x").code == 2


def test_a_check_with_the_profile_claims_asks_the_history_as_well(remit: Remit, project: Path) -> None:
    (project / "page.md").write_text("`src/app/cart.py:4`\n")
    commit(project)
    git(project, "mv", "src/app/cart.py", "src/app/basket.py")
    commit(project)
    for words in (("verify",), ("check", "--profile", "claims")):
        (result,) = remit(*words, "page.md", "--format", "json").json["results"]
        assert [one["outcome"] for one in result["claims"]] == ["outdated"], words


# --explain


def explained(remit: Remit, claim: str, text: str) -> dict[str, str]:
    """The fields of the only claim that is explained."""
    ran = remit("verify", "-", "--explain", claim, given=text.encode())
    head, *rows = ran.lines
    fields = {row[2:12].strip(): row[12:] for row in rows}
    assert len(fields) == len(rows), ran.out
    return {"head": head, **fields}


def test_an_explanation_has_the_claim_the_facts_and_the_judgement(remit: Remit) -> None:
    assert explained(remit, "1", f"See {CERTAIN}.\n") == {
        "head": "-:1  missing-file  src/app/price.py:9",
        "kind": "place",
        "words": "src/app/price.py:9",
        "cited": "src/app/price.py:9",
        "form": "marked",
        "file": "there is nothing at this path; its folder is here",
        "nearest": "src/app/prices.py",
        "signals": "none",
        "outcome": "missing-file, certain: it fails",
        "reason": "missing-in-folder: there is no such file in this folder",
        "instead": "src/app/prices.py",
    }


def test_an_explanation_names_the_signals_that_lowered_the_reliability(remit: Remit) -> None:
    fields = explained(remit, "ghost", "for example `src/app/ghost.py:9`\n")
    assert fields["signals"].startswith("example (each lowers the reliability")
    assert fields["outcome"] == "missing-file, likely: it fails"


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
    assert fields["reason"].startswith("quote-altered: ")


def test_an_explanation_states_when_a_claim_held(remit: Remit, project: Path) -> None:
    (project / "page.md").write_text("`src/app/cart.py:4`\n")
    written = commit(project)
    git(project, "mv", "src/app/cart.py", "src/app/basket.py")
    moved = commit(project)
    ran = remit("verify", "page.md", "--explain", "page.md:1")
    (line,) = [line for line in ran.lines if line.startswith("  history")]
    assert f"true in {written[:12]} (" in line
    assert f"; changed in {moved[:12]}; now at src/app/basket.py:4" in line


def test_what_is_outdated_in_a_record_of_a_day_is_worth_a_look(remit: Remit, project: Path) -> None:
    (project / "2026-01-02-review.md").write_text("`src/app/cart.py:4`\n")
    commit(project)
    git(project, "mv", "src/app/cart.py", "src/app/basket.py")
    commit(project)
    ran = remit("verify", "2026-01-02-review.md")
    assert (ran.code, ran.lines[0], ran.lines[2]) == (0, "worth a look (1)", "1 claim: 1 worth a look")
    ran = remit("verify", "2026-01-02-review.md", "--explain", "1")
    (line,) = [line for line in ran.lines if line.startswith("  history")]
    assert line.endswith("; the text is a record of its day")


def test_an_explanation_states_that_git_ignores_a_missing_path(remit: Remit, project: Path) -> None:
    (project / ".gitignore").write_text("logs/\n")
    assert explained(remit, "1", "`logs/app.txt`\n")["file"].endswith("; git ignores it")


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
        assert "--claims" in ran.err


def test_an_explanation_is_text(remit: Remit) -> None:
    assert remit("verify", "notes.md", "--explain", "4", "--format", "json").code == 2


def test_an_explanation_keeps_the_exit_code(remit: Remit) -> None:
    assert remit("verify", "-", "--explain", "1", given=CERTAIN.encode()).code == 1
    assert remit("verify", "-", "--explain", "1", given=LOOK.encode()).code == 0


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
    ran = remit("verify", "-", given=f"`{path}:3`, {CERTAIN}, {LIKELY} and {LOOK}\n".encode())
    lines = [line for line in ran.lines if line.startswith("-:1  ")]
    assert len(lines) == 4
    assert [line for line in lines if f"  missing-file  {path}:3  " in line]
    assert all(len(line.split("  ")) == 4 for line in lines)
