"""Sources are opened once, a missing one is reported, and no command is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.in_process import run_here

from remit import check
from remit.errors import UsageError
from remit.evidence import sources
from remit.evidence.receipts import Receipt, Transcript
from remit.evidence.sources import open_sources, open_workspace
from remit.rules.examples import sample_text
from remit.workspace.snapshot import take_snapshot

pytestmark = pytest.mark.process


def write(path: Path, value: object) -> Path:
    path.write_bytes(msgspec.json.encode(value))
    return path


# What is opened


def test_without_arguments_there_are_no_sources() -> None:
    nothing = open_sources(None)
    assert (nothing.workspace, nothing.receipts, nothing.snapshot) == (None, None, None)


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


# Nothing is run


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    """An implementation in a separate folder whose test command would leave a marker."""
    path = tmp_path / "answer.md"
    path.write_text(sample_text("implementation").replace("$ python -m pytest tests", "$ touch MARKER && pytest tests"))
    return path


def test_nothing_is_run(answer: Path, tmp_path: Path) -> None:
    """The command in the report and those in the receipts would all leave a marker."""
    records = [Receipt(tool="Bash", arguments={"command": "touch MARKER; pytest"}, exit=0)]
    before = sorted(tmp_path.rglob("*"))
    check(answer, repo=tmp_path, receipts=records)
    receipts = write(tmp_path / "r.json", {"receipts": records})
    for extra in ((), ("--receipts", str(receipts)), ("--claims", "--format", "json")):
        run_here(tmp_path, "check", str(answer), "--repo", str(tmp_path), *extra)
    assert not list(tmp_path.rglob("MARKER*"))
    assert sorted(tmp_path.rglob("*")) == sorted([*before, receipts])
