"""`remit check` as a person or a script meets it: real processes, exit codes, one line for a mistake."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from support.in_process import Ran, run_each, run_here

from remit.rules.examples import TREE, sample_text

pytestmark = pytest.mark.process

SOURCE = Path(__file__).resolve().parents[2] / "src"
REMIT = [sys.executable, "-c", "import sys; sys.argv[0]='remit'; from remit.surfaces.cli import main; main()"]
GOOD = sample_text("review")
#: Breaks one default rule (L2), confidence-reason, at line 48.
WITHOUT_REASON = GOOD.replace("90 - every cited line was opened and read", "90")
#: Breaks hard rules (L1): there is no Status.
WITHOUT_STATUS = GOOD.replace("### Status\nSUCCESS\n\n", "")
#: What a terminal, a browser or a log obeys: escapes, a bell, C1 controls, marks that turn the direction of text.
OBEYED = "\x1b[31m\x1b]0;owned\x07\x9b2J\x08\x7f\u202e\u2066\u200f\u061c\u2028\ufeff"


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}
    return kept | {"PYTHONPATH": str(SOURCE), "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"} | dict(changes or {})


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results of every kind and the project that they cite."""
    folder = tmp_path_factory.mktemp("desk")
    shutil.copytree(TREE, folder / "tree")
    (folder / "good.md").write_text(GOOD)
    (folder / "reason.md").write_text(WITHOUT_REASON)
    (folder / "status.md").write_text(WITHOUT_STATUS)
    (folder / "two.md").write_text(GOOD + "\n" + sample_text("exploration"))
    (folder / "empty.md").write_bytes(b"")
    (folder / "blank.md").write_bytes(b" \n\t\n")
    (folder / "latin.md").write_bytes(GOOD.replace("Critical", "Schw\xe4re").encode("latin-1"))
    (folder / "nothing").mkdir()
    (folder / "nothing" / "notes.txt").write_text("no result")
    box = folder / "box"
    (box / "inner").mkdir(parents=True)
    (box / ".hidden").mkdir()
    (box / "b.md").write_text(GOOD)
    (box / "a.markdown").write_text(GOOD)
    (box / "inner" / "c.md").write_text(GOOD)
    (box / ".hidden" / "d.md").write_text(GOOD)
    (box / "package.json").write_text('{"name": "no result"}')
    return folder


def test_an_accepted_result_exits_0_and_the_report_names_the_repository(desk: Path) -> None:
    ran = run_here(desk, "check", "good.md", "--repo", "tree")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("ACCEPT  good.md  security-auditor · review · v2 · confidence 90\n")
    assert ran.out.endswith("claims checked against tree (--repo)\n")


def test_a_result_that_is_not_accepted_exits_1_even_with_an_accepted_one(desk: Path) -> None:
    ran = run_here(desk, "check", "good.md", "reason.md", "--repo", "tree")
    assert (ran.code, ran.err) == (1, "")
    assert "2 results: 1 accept, 1 revise, 0 reject · violations: 1 L2" in ran.out


def test_files_folders_standard_input_and_several_results_in_a_file_are_all_checked_in_order(desk: Path) -> None:
    names = ("good.md", "two.md", "box", "-")
    ran = run_here(desk, "check", *names, "--repo", "tree", "--format", "json", given=WITHOUT_REASON.encode())
    assert (ran.code, ran.err) == (1, "")
    paths = [(result["path"], result["kind"], result["verdict"]) for result in ran.json["results"]]
    assert paths == [
        ("good.md", "review", "accept"),
        ("two.md", "review", "accept"),
        ("two.md", "exploration", "accept"),
        ("box/a.markdown", "review", "accept"),
        ("box/b.md", "review", "accept"),
        ("box/inner/c.md", "review", "accept"),
        ("-", "review", "revise"),
    ]
    summary = json.loads(ran.out)["summary"]
    outcomes = summary.pop("claims_by_outcome")
    assert (set(outcomes), sum(outcomes.values())) == ({"verified", "exists"}, 44)
    assert summary == {
        "results": 7,
        "accept": 6,
        "revise": 1,
        "reject": 0,
        "violations": {"L1": 0, "L2": 1, "L3": 0},
        "claims": 44,
        "repository": "tree",
    }


def test_the_keys_of_the_json_report_are_exactly_those_that_others_build_on(desk: Path) -> None:
    ran = run_here(desk, "check", "reason.md", "--repo", "tree", "--format", "json")
    report = json.loads(ran.out)
    assert set(report) == {"schema", "results", "summary"}
    assert report["schema"] == "remit.check/1"
    result = report["results"][0]
    words = (
        "path agent kind profile status verdict note confidence violations overrides not_run references quotes changes"
    )
    assert list(result) == [*words.split(), "claims", "revision", "lines_outside", "history_problem"]
    claims = "kind text at path line end_line name outcome reason why fails found then"
    assert [list(claim) for claim in result["claims"]] == [claims.split()] * len(result["claims"])
    assert result["claims"]
    assert list(result["violations"][0]) == ["rule", "code", "level", "line", "message", "help"]
    references = ["text", "path", "line", "end_line", "outcome", "found", "seen", "at", "candidates"]
    assert list(result["references"][0]) == [*references, "reason", "then"]
    quotes = ["path", "line", "outcome", "found", "similarity", "at", "match", "difference", "how"]
    assert list(result["quotes"][0]) == [*quotes, "reason", "then"]
    assert list(result["confidence"]) == ["claimed", "verified", "inferred", "supported"]
    assert list(result["not_run"][0]) == ["rule", "why"]
    assert result["references"][0]["seen"] is None


def test_what_is_not_text_or_empty_is_rejected_not_a_crash(desk: Path) -> None:
    ran = run_here(desk, "check", "latin.md", "empty.md", "blank.md", "--format", "json")
    assert (ran.code, ran.err) == (1, "")
    assert [result["verdict"] for result in ran.json["results"]] == ["reject"] * 3
    assert [result["violations"][0]["rule"] for result in ran.json["results"]] == ["unreadable"] + ["title-missing"] * 2
    assert "not UTF-8" in ran.json["results"][0]["violations"][0]["message"]


def test_nothing_on_standard_input_is_rejected_with_a_report(desk: Path) -> None:
    ran = run_here(desk, "check", "-")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("REJECT  -  no agent")


#: What is wrong -> the command line, and words that the one line must hold.
MISTAKES: dict[str, tuple[list[str], list[str]]] = {
    "file": (["check", "nosuch.md"], ["nosuch.md", "no such file"]),
    "folder": (["check", "nothing"], ["nothing", "no results in this folder"]),
    "profile": (["check", "good.md", "--profile", "v3"], ["'v3'", "v2, v1"]),
    "kind": (["check", "good.md", "--kind", "reviw"], ["'reviw'", "did you mean 'review'?"]),
    "select": (["check", "good.md", "--select", "status-mising"], ["did you mean 'status-missing'?"]),
    "ignore-l1": (["check", "good.md", "--ignore", "status-missing"], ["status-missing has the level L1"]),
    "ignore": (["check", "good.md", "--ignore", "XYZ999"], ["'XYZ999'", "remit rules"]),
    "command": (["chekc", "good.md"], ["'chekc'", "Did you mean 'check'?"]),
    "far command": (["frobnicate"], ["'frobnicate'"]),
    "override": (["check", "good.md", "--override", "confidence-reason"], ["RULE=REASON"]),
    "reason": (["check", "good.md", "--override", "confidence-reason= "], ["needs a reason"]),
    "override rule": (["check", "good.md", "--override", "confidence-reasn=x"], ["did you mean 'confidence-reason'?"]),
    "attempt": (["check", "good.md", "--attempt", "0"], ["the attempt must be at least 1"]),
    "repository": (["check", "good.md", "--repo", "nosuch"], ["nosuch", "not a folder"]),
    "commit": (
        ["check", "good.md", "--repo", "tree", "--rev", "nosuch"],
        ["not in a git repository", "leave out --rev"],
    ),
    "transcript": (["check", "good.md", "--transcript", "no.jsonl"], ["no.jsonl", "No such file"]),
    "receipts": (["check", "good.md", "--receipts", "no.json"], ["no.json", "No such file"]),
    "no receipts": (["check", "good.md", "--receipts", "box/package.json"], ["package.json", "not a receipts file"]),
    "option": (["check", "good.md", "--bogus"], ["--bogus"]),
    "format": (["check", "good.md", "--format", "yaml"], ["'yaml'", "'github'"]),
    "number": (["check", "good.md", "--attempt", "x"], ["'x'", "integer"]),
    "no file": (["check"], ["FILE"]),
    "long name": (["check", "n" * 300], ["nnnn"]),
}


@pytest.fixture(scope="session")
def mistakes(desk: Path) -> dict[str, Ran]:
    return dict(zip(MISTAKES, run_each(desk, *(words for words, _ in MISTAKES.values())), strict=True))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_on_the_command_line_is_one_clear_line_and_2(mistake: str, mistakes: dict[str, Ran]) -> None:
    ran = mistakes[mistake]
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert len(ran.err.splitlines()) == 1, ran.err
    assert ran.err.startswith("remit: ")
    for words in MISTAKES[mistake][1]:
        assert words in ran.err


def test_an_unknown_key_is_an_error_of_a_named_file_and_a_note_on_a_checkouts(desk: Path, tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text('profil = "v1"\n')
    words = "remit.toml:1{} there is no setting 'profil', did you mean 'profile'?\n"
    ran = run_here(tmp_path, "check", desk / "good.md")
    assert ran.err.startswith("remit: " + words.format(""))
    ran = run_here(tmp_path, "check", desk / "good.md", "--config", "remit.toml")
    assert (ran.code, ran.out, ran.err) == (2, "", "remit: " + words.format(":"))


def test_flags_come_before_variables_and_variables_before_the_file(desk: Path, tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text('profile = "claims"\n')
    command = ("check", desk / "good.md", "--repo", desk / "tree", "--format", "json")
    in_file = run_here(tmp_path, *command)
    in_variable = run_here(tmp_path, *command, variables={"REMIT_PROFILE": "v1"})
    in_flag = run_here(tmp_path, *command, "--profile", "v2", variables={"REMIT_PROFILE": "v1"})
    assert [ran.json["results"][0]["profile"] for ran in (in_file, in_variable, in_flag)] == ["claims", "v1", "v2"]


@pytest.fixture(scope="session")
def selections(desk: Path) -> dict[str, list[str]]:
    """The rules that are reported for a document with two faults, by flags."""
    both = WITHOUT_REASON.replace("### Status\nSUCCESS\n\n", "")
    (desk / "both.md").write_text(both)
    flags = (
        "",
        "--select confidence-reason",
        "--select CNF003",
        "--select cnf",
        "--select confidence",
        "--select confidence --ignore CNF003",
        "--ignore confidence-reason",
        "--ignore result --ignore CNF",
    )
    command = ["check", "both.md", "--repo", "tree", "--format", "json"]
    answers = run_each(desk, *([*command, *flag.split()] for flag in flags))
    rules = ([v["rule"] for v in ran.json["results"][0]["violations"]] for ran in answers)
    return dict(zip(flags, rules, strict=True))


@pytest.mark.parametrize(
    ("flags", "rules"),
    [
        ("", ["status-missing", "confidence-reason"]),
        ("--select confidence-reason", ["status-missing", "confidence-reason"]),
        ("--select CNF003", ["status-missing", "confidence-reason"]),
        ("--select cnf", ["status-missing", "confidence-reason"]),
        ("--select confidence", ["status-missing", "confidence-reason"]),
        ("--select confidence --ignore CNF003", ["status-missing"]),
        ("--ignore confidence-reason", ["status-missing"]),
        ("--ignore result --ignore CNF", ["status-missing"]),
    ],
)
def test_rules_are_chosen_by_name_code_and_family(
    flags: str, rules: list[str], selections: dict[str, list[str]]
) -> None:
    assert selections[flags] == rules


def test_an_override_with_a_reason_is_recorded_and_lets_a_default_rule_pass(desk: Path) -> None:
    words = ("check", "reason.md", "--repo", "tree", "--override", "confidence-reason=scored = by a tool")
    text, data = run_each(desk, list(words), [*words, "--format", "json"])
    assert (text.code, data.code) == (0, 0)
    assert "overridden: scored = by a tool" in text.out
    assert data.json["results"][0]["overrides"] == [{"rule": "confidence-reason", "reason": "scored = by a tool"}]
    assert [violation["rule"] for violation in data.json["results"][0]["violations"]] == ["confidence-reason"]


def test_an_override_may_name_the_rule_by_its_code(desk: Path) -> None:
    command = ["check", "reason.md", "--repo", "tree", "--format", "json", "--override", "CNF003=a tool"]
    (ran,) = run_each(desk, command)
    assert ran.json["results"][0]["overrides"] == [{"rule": "confidence-reason", "reason": "a tool"}]
    assert ran.code == 0


def assert_ends_with(output: str, line: str) -> None:
    """Assert that a report ends with a line, which may be wrapped."""
    assert "".join(output.split()).endswith("".join(line.split()))


def test_without_a_repository_the_checkout_above_the_document_is_taken(desk: Path, tmp_path: Path) -> None:
    shutil.copytree(TREE, tmp_path / "tree")
    (tmp_path / "tree" / ".git").mkdir()
    place = tmp_path / "tree" / "docs" / "results"
    place.mkdir()
    (place / "good.md").write_text(GOOD)
    ran = run_here(desk, "check", place / "good.md")
    assert ran.code == 0, ran.out
    assert_ends_with(ran.out, f"claims checked against {tmp_path / 'tree'} (the checkout above the document)")


def test_without_a_checkout_the_current_folder_is_taken(desk: Path) -> None:
    ran = run_here(desk / "tree", "check", "../good.md")
    assert ran.code == 0, ran.out
    assert_ends_with(ran.out, "claims checked against . (the current folder)")


def test_claims_can_be_checked_against_a_commit_instead_of_the_files_on_disk(tmp_path: Path) -> None:
    shutil.copytree(TREE, tmp_path / "tree")
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-C", str(tmp_path / "tree")]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    shutil.rmtree(tmp_path / "tree" / "app")
    (tmp_path / "tree" / "good.md").write_text(GOOD)
    command = ["check", "tree/good.md"]
    disk, commit, unknown = run_each(tmp_path, command, [*command, "--rev", "HEAD"], [*command, "--rev", "nosuch"])
    assert (disk.code, commit.code, unknown.code) == (1, 0, 2)
    assert len(unknown.err.splitlines()) == 1


def raw_controls(text: str) -> set[str]:
    """Characters of a report that a terminal or a browser would obey."""
    turns = {"BN", "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "B"}
    marks = "\u200e\u200f\u061c\u2028\u2029\ufeff"
    return {
        mark
        for mark in text
        if mark != "\n"
        and (unicodedata.category(mark) == "Cc" or mark in marks or unicodedata.bidirectional(mark) in turns)
    }


#: A name with everything that a workflow command or a terminal takes for its own.
NAME = "a%b,c:d\n::error::e\x1b[2J\u202e.md"


@pytest.fixture(scope="session")
def hostile(desk: Path) -> dict[str, Ran]:
    text = WITHOUT_STATUS.replace("Security Auditor", f"Security {OBEYED} Auditor")
    text = text.replace("Critical |", f"Sev{OBEYED},%0A::ere |").replace("| login |", f"| {OBEYED} |")
    text = text.replace("app/login.py:7`", f"app/{OBEYED}login.py:7`").replace("90 - every", f"{OBEYED}190 - every")
    (desk / NAME).write_text(text)
    forms = ("text", "github", "json")
    kind = ["--kind", "review"]
    lines = (["check", NAME, "--repo", "tree", *kind, "--format", form] for form in forms)
    return dict(zip(forms, run_each(desk, *lines), strict=True))


@pytest.mark.parametrize("form", ["text", "github"])
def test_nothing_in_a_document_or_its_name_reaches_the_terminal_raw(form: str, hostile: dict[str, Ran]) -> None:
    assert (hostile[form].code, hostile[form].err) == (1, "")
    assert len(hostile["json"].json["results"][0]["violations"]) > 2
    assert raw_controls(hostile[form].out) == set()


def test_a_mistake_does_not_reach_the_terminal_raw(desk: Path) -> None:
    missing, command, rule, kind, option = run_each(
        desk,
        ["check", f"no{OBEYED}file.md"],
        [f"ch{OBEYED}eck"],
        ["rules", f"status{OBEYED}"],
        ["check", "good.md", "--kind", OBEYED],
        ["check", "good.md", f"--no{OBEYED}"],
    )
    for ran in (missing, command, rule, kind, option):
        assert ran.code == 2
        assert raw_controls(ran.err) == set()


def test_the_json_report_keeps_the_text_of_the_document(hostile: dict[str, Ran]) -> None:
    assert hostile["json"].json["results"][0]["path"] == NAME
    assert "\x1b" not in hostile["json"].out


def test_a_terminal_that_does_not_know_unicode_gets_the_report_all_the_same(desk: Path) -> None:
    ran = run_here(desk, "check", "reason.md", "--repo", "tree", variables={"PYTHONIOENCODING": "ascii"})
    assert (ran.code, ran.err) == (1, "")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names there are Unicode")
@pytest.mark.parametrize(
    "form",
    [
        "text",
        "github",
        "json",
    ],
)
def test_a_name_that_is_not_utf8_does_not_crash(form: str, desk: Path, tmp_path: Path) -> None:
    place = os.fsencode(tmp_path) + b"/\xff.md"
    with open(place, "wb") as file:  # noqa: PTH123 (a path of bytes)
        file.write(GOOD.encode())
    (ran,) = run_each(desk, ["check", os.fsdecode(place), "--repo", "tree", "--format", form])
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_an_interrupt_while_loading_is_quiet_and_130(desk: Path) -> None:
    starting = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    # The loading of the command line waits for the signal in a module that is loaded early.
    starting += "import sys, time; sys.argv[0]='remit'; sys.meta_path.insert(0, type('Finder', (), {'find_spec': "
    starting += (
        "lambda name, *_: (print('loading', flush=True), time.sleep(60)) and None if name == 'click' else None})); "
    )
    starting += "from remit.__main__ import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", starting, "--version"],
        cwd=desk,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"loading\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_the_installed_command_starts_where_interrupts_are_quiet() -> None:
    (script,) = (entry for entry in entry_points(group="console_scripts") if entry.name == "remit")
    assert script.value == "remit.__main__:main"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_an_interrupt_while_waiting_for_input_is_one_line_and_130(desk: Path) -> None:
    # A shell starts what runs in the background with interrupts ignored; a person's terminal does not.
    waiting = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    waiting += "import sys; sys.argv[0]='remit'; import remit.operations.documents as documents; "
    # The process reports that it waits for input just before it does: no clock decides.
    waiting += "found = documents.open_sources; "
    waiting += "documents.open_sources = lambda *a, **k: (found(*a, **k), print('ready', flush=True))[0]; "
    waiting += "from remit.surfaces.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", waiting, "check", "-"],
        cwd=desk,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().split("\n") == ["", "remit: interrupted", ""]  # off the line of the ^C first
