"""Sources are opened once, a missing one is reported, and a command runs only on request."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.in_process import run_here

from remit import check
from remit.checking import Options, check_text
from remit.errors import UsageError
from remit.evidence import sources
from remit.evidence.receipts import RERUN, Receipt, Transcript
from remit.evidence.sources import open_sources, open_workspace, rerun_command
from remit.rules.examples import TREE, sample_text
from remit.workspace.files import WorkTree
from remit.workspace.snapshot import take_snapshot

pytestmark = pytest.mark.process


def write(path: Path, value: object) -> Path:
    path.write_bytes(msgspec.json.encode(value))
    return path


# What is opened


def test_without_arguments_there_are_no_sources() -> None:
    nothing = open_sources(None)
    assert (nothing.workspace, nothing.receipts, nothing.snapshot, nothing.rerun) == (None, None, None, None)


def test_an_empty_list_of_receipts_is_a_source(tmp_path: Path) -> None:
    assert open_sources(tmp_path).receipts is None
    for opened in (
        open_sources(tmp_path, records=[]),
        open_sources(tmp_path, receipts=[write(tmp_path / "r.json", {"receipts": []})]),
    ):
        assert opened.receipts is not None
        assert opened.receipts.count == 0


@pytest.mark.parametrize("name", ["none", "file.txt"])
def test_a_repository_that_is_not_a_folder_is_a_usage_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(UsageError, match=r"not a folder; --repo takes the root of a checkout$"):
        open_workspace(tmp_path / name, None)


def test_receipts_and_transcripts_are_combined(tmp_path: Path) -> None:
    receipts = write(tmp_path / "r.json", {"receipts": [{"tool": "Read", "path": "a.py"}]})
    transcript = Transcript("t.jsonl", receipts=(Receipt(tool="Glob"),))
    index = open_sources(
        tmp_path, receipts=[receipts], transcripts=[transcript], records=[Receipt(tool="Read", path="b.py")]
    ).receipts
    assert index is not None
    assert (index.count, index.touched) == (3, {"a.py", "b.py"})


@pytest.mark.parametrize("is_known", [True, False])
def test_an_unknown_transcript_makes_all_receipts_useless(tmp_path: Path, is_known: bool) -> None:
    both = [Transcript("a.jsonl", is_known=is_known), Transcript("b.jsonl", receipts=(Receipt(tool="Glob"),))]
    opened = open_sources(tmp_path, transcripts=iter(both), records=[])
    assert (opened.receipts is not None) is is_known
    assert opened.receipts_problem == ("" if is_known else "a.jsonl: unknown transcript format")


def test_a_transcript_without_calls_is_a_source(tmp_path: Path) -> None:
    index = open_sources(tmp_path, transcripts=iter([Transcript("t.jsonl")])).receipts
    assert index is not None
    assert index.count == 0
    assert open_sources(tmp_path, transcripts=iter(())).receipts is None


def test_no_transcript_is_read_before_the_checkout_is_open(tmp_path: Path) -> None:
    def no_transcript() -> Iterator[Transcript]:
        pytest.fail("a transcript was read")
        yield Transcript("t.jsonl")

    with pytest.raises(UsageError, match=r"not a folder"):
        open_sources(tmp_path / "none", transcripts=no_transcript())


def test_the_last_snapshot_is_used(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a")
    snapshot = take_snapshot(tmp_path)
    files = [
        write(tmp_path / "1.json", {"receipts": [], "snapshot": {"files": {}}}),
        write(tmp_path / "2.json", {"receipts": [], "snapshot": snapshot}),
        write(tmp_path / "3.json", {"receipts": []}),
    ]
    assert open_sources(tmp_path, receipts=files).snapshot == snapshot


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        (None, "app/a.py", "app/a.py"),
        ("app", "a.py", "app/a.py"),
        ("{repo}/app", "a.py", "app/a.py"),
        ("{repo}", "app/a.py", "app/a.py"),
        ("/elsewhere/copy", "app/a.py", "app/a.py"),
        ("/elsewhere/copy", "/elsewhere/copy/app/a.py", "app/a.py"),
        ("/elsewhere/copy", "{repo}/app/a.py", "app/a.py"),
    ],
)
def test_paths_are_relative_to_the_root_of_their_receipts_file(
    tmp_path: Path, root: str | None, path: str, expected: str
) -> None:
    repo = str(tmp_path.resolve())
    record = {"tool": "Read", "path": path.format(repo=repo)}
    whole = {"receipts": [record]} | ({"root": root.format(repo=repo)} if root else {})
    index = open_sources(tmp_path, receipts=[write(tmp_path / "r.json", whole)]).receipts
    assert index is not None
    assert index.touched == {expected}


@pytest.mark.parametrize(("name", "words"), [("none.json", "No such file or directory"), (".", "Is a directory")])
def test_unreadable_receipts_are_a_usage_error(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        open_sources(None, receipts=[tmp_path / name])
    assert str(raised.value) == f"{tmp_path / name}: {words}"


def test_receipts_of_more_than_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "r.json", {"receipts": []})
    monkeypatch.setattr(sources, "_MAX_RECEIPTS", file.stat().st_size)
    assert open_sources(None, receipts=[file]).receipts is not None
    monkeypatch.setattr(sources, "_MAX_RECEIPTS", file.stat().st_size - 1)
    with pytest.raises(UsageError, match="is larger than 0 MB"):
        open_sources(None, receipts=[file])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--receipts", "none.json"), "remit: none.json: No such file or directory"),
        (("--transcript", "none.jsonl"), "remit: none.jsonl: No such file or directory"),
        (("--receipts", "answer.md"), "remit: answer.md: not a receipts file (remit.receipts/1)"),
        (("--repo", "none"), "remit: none: not a folder"),
        (("--repo", ".", "--rev", "none"), "is not in a git repository, which a revision needs; leave out --rev"),
    ],
)
def test_the_command_reports_a_missing_source_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "answer.md").write_text(sample_text("generic"))
    done = run_here(tmp_path, "check", "answer.md", *arguments)
    assert done.code == 2
    assert done.out == ""
    assert words in done.err
    assert done.err.count("\n") == 1


# Running again


@pytest.mark.parametrize("status", [0, 1, 3])
def test_a_command_is_repeated_in_the_checkout_and_its_status_kept(tmp_path: Path, status: int) -> None:
    command = f"\"{sys.executable}\" -c \"import os, sys; open('where', 'w').write(os.getcwd()); sys.exit({status})\""
    receipt = rerun_command(command, tmp_path)
    assert receipt == Receipt(tool=RERUN, arguments={"command": command}, exit=status, failed=status != 0)
    assert (tmp_path / "where").read_text() == str(tmp_path.resolve())


def test_a_repeated_command_gets_no_input_and_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert rerun_command("cat; echo out; echo err >&2", tmp_path).exit == 0
    assert capfd.readouterr() == ("", "")


def test_a_command_that_does_not_end_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "RERUN_SECONDS", 0.5)
    os.mkfifo(tmp_path / "alive")
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    # The child of the shell holds the pipe open as long as it lives.
    receipt = rerun_command("(exec 3> alive; sleep 600) & sleep 600", tmp_path)
    assert (receipt.exit, receipt.failed) == (-signal.SIGKILL, True)
    assert select.select([reader], [], [], 30)[0] == [reader]
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_an_interruption_kills_the_repeated_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if timeout == sources.RERUN_SECONDS:
            raise KeyboardInterrupt
        return real(self, timeout)

    real = subprocess.Popen.wait
    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rerun_command("sleep 600", tmp_path)


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    """An implementation in a separate folder whose test command would leave a marker."""
    path = tmp_path / "answer.md"
    path.write_text(sample_text("implementation").replace("$ python -m pytest tests", "$ touch MARKER && pytest tests"))
    return path


def test_nothing_is_run_without_a_request(answer: Path, tmp_path: Path) -> None:
    """The command in the report and those in the receipts would all leave a marker."""
    records = [Receipt(tool="Bash", arguments={"command": "touch MARKER; pytest"}, exit=0)]
    before = sorted(tmp_path.rglob("*"))
    check(answer, repo=tmp_path, receipts=records)
    receipts = write(tmp_path / "r.json", {"receipts": records})
    for extra in ((), ("--receipts", str(receipts)), ("--claims", "--format", "json")):
        run_here(tmp_path, "check", str(answer), "--repo", str(tmp_path), *extra)
    assert not list(tmp_path.rglob("MARKER*"))
    assert sorted(tmp_path.rglob("*")) == sorted([*before, receipts])
    run_here(tmp_path, "check", str(answer), "--repo", str(tmp_path), "--rerun", "touch MARKER")
    assert (tmp_path / "MARKER").exists()


@pytest.mark.parametrize(
    ("status", "edit", "expected"),
    [
        (0, (), []),
        (1, (), ['"All tests pass.": `{command}` ended with exit status 1']),
        (1, ("2 passed", "2 failed"), ['"All tests pass.": `{command}` ended with exit status 1']),
        (
            0,
            ("2 passed", "2 failed"),
            ['"2 failed in 0.01s": `{command}` ended with exit status 0'],
        ),
    ],
)
def test_a_repeated_command_is_compared_with_the_claim(
    tmp_path: Path, status: int, edit: tuple[str, ...], expected: list[str]
) -> None:
    command = f"{sys.executable} -c 'raise SystemExit({status})'"
    text = sample_text("implementation").replace(*edit) if edit else sample_text("implementation")
    (tmp_path / "answer.md").write_text(text)
    done = run_here(
        tmp_path,
        *("check", "answer.md", "--repo", str(TREE), "--rerun", command, "--select", "test-run-unseen"),
        *("--format", "json"),
    )
    (result,) = done.json["results"]
    assert [violation["message"] for violation in result["violations"]] == [
        line.format(command=command[:80]) for line in expected
    ]
    assert done.code == bool(expected)
    assert "test-run-unseen" not in [entry["rule"] for entry in result["not_run"]]


def test_a_repeated_command_is_not_a_receipt_of_the_agent(tmp_path: Path) -> None:
    opened = open_sources(TREE, rerun="true")
    (verdict,) = check_text(sample_text("implementation"), options=Options(), sources=opened)
    assert opened.receipts is None
    assert not verdict.evidence.executed
    assert "no-tool-calls" in [entry.rule for entry in verdict.not_run]
    assert isinstance(opened.workspace, WorkTree)
