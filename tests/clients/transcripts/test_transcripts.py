"""Transcripts: files written by the real client, and content that must be ignored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.checking import Options, check_text
from remit.clients.transcripts import reading
from remit.clients.transcripts.reading import MAX_LINE, read_transcript, read_transcripts
from remit.errors import UsageError
from remit.evidence.judge_work import WorkJudge
from remit.evidence.model import WHOLE
from remit.evidence.receipts import Receipt, ReceiptIndex, Transcript
from remit.evidence.sources import open_sources
from remit.evidence.stated_runs import read_runs

FIXTURES = Path(__file__).parents[2] / "fixtures" / "transcripts"
SHOP = Path(__file__).parents[3] / "examples" / "shop"
CWD = "/home/dev/shop"


def call(name: str, tool: str, cwd: str | None = CWD, **arguments: object) -> dict[str, Any]:
    """Return a line with a tool call in the form of the client."""
    block = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
    return _line("assistant", block, cwd)


def result(name: str, content: object, cwd: str | None = CWD, **more: object) -> dict[str, Any]:
    """A line with the result of a call."""
    return _line("user", {"tool_use_id": name, "type": "tool_result", "content": content, **more}, cwd)


def _line(role: str, block: dict[str, Any], cwd: str | None) -> dict[str, Any]:
    about = {"type": role, "message": {"role": role, "content": [block]}, "timestamp": "2026-01-31T10:00:00.000Z"}
    return about | ({"cwd": cwd, "isSidechain": True, "version": "2.1.325"} if cwd else {})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of the transcript."""
    return tmp_path / "agent.jsonl"


def read(file: Path, lines: Iterable[dict[str, Any] | bytes]) -> Transcript:
    file.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return read_transcript(file)


def one(file: Path, tool: str, output: object, *, is_error: bool | None = None, **arguments: object) -> Receipt:
    """The receipt of a single call."""
    more = {} if is_error is None else {"is_error": is_error}
    (receipt,) = read(file, [call("1", tool, **arguments), result("1", output, **more)]).receipts
    return receipt


# What the real client wrote


def test_all_calls_of_the_captured_subagent_are_read_in_order() -> None:
    transcript = read_transcript(FIXTURES / "subagent.jsonl")
    shown = [
        (receipt.tool, receipt.path or receipt.command, receipt.ranges, receipt.exit, receipt.failed)
        for receipt in transcript.receipts
    ]
    assert shown == [
        ("Read", "/home/dev/shop/shop/cart.py", ((1, 96),), None, False),
        ("Read", "/home/dev/shop/shop/orders.py", ((26, 35),), None, False),
        ("Grep", "", (), None, False),
        ("Grep", "", (), None, False),
        ("Glob", "", (), None, False),
        ("Bash", "cat shop/cart.py", (), 0, False),
        ("Bash", "sed -n '10,40p' shop/orders.py", (), 0, False),
        ("Bash", "python -m pytest -q tests", (), 0, False),
        ("Bash", "echo looking; echo 'no such order' >&2; exit 3", (), 3, True),
        ("Read", "/home/dev/shop/README.md", ((1, 16),), None, False),
        ("Read", "/home/dev/shop/pyproject.toml", ((1, 9),), None, False),
        ("Edit", "/home/dev/shop/README.md", (), None, False),
        ("Write", "/home/dev/shop/NOTES.md", (), None, False),
        ("Read", "/home/dev/shop/shop/missing.py", (), None, True),
    ]
    assert [receipt.hits for receipt in transcript.receipts[2:4]] == [
        {"shop/orders.py": (32,), "shop/prices.py": (12,), "shop/cart.py": (39,)},
        {"tests/test_cart.py": (), "shop/orders.py": (), "shop/cart.py": (), "shop/prices.py": ()},
    ]
    assert len(transcript.receipts[4].hits) == 18
    assert transcript.roots == (CWD,)
    assert transcript.skipped == 0
    assert {receipt.cwd for receipt in transcript.receipts} == {CWD}
    assert all(receipt.time and receipt.time.startswith("20") for receipt in transcript.receipts)


def test_the_captured_subagent_read_searched_and_edited_exactly_these_files() -> None:
    """The agent worked in /home/dev/shop; the repository is another copy of it."""
    index = open_sources(SHOP, transcripts=read_transcripts([FIXTURES / "subagent.jsonl"])).receipts
    assert index is not None
    assert index.read == {
        "shop/cart.py": [(1, 96), (39, 39), (1, WHOLE)],
        "shop/orders.py": [(26, 35), (32, 32), (10, 40)],
        "shop/prices.py": [(12, 12)],
        "README.md": [(1, 16)],
        "pyproject.toml": [(1, 9)],
    }
    assert index.edited == {"README.md", "NOTES.md"}
    assert index.touched >= {*index.read, *index.edited, "tests/test_cart.py", "shop/auth.py"}
    assert index.how_seen("shop/missing.py", 1) == "no"
    assert index.how_seen("tests/test_orders.py", 1) == "no"
    assert [index.how_seen("shop/orders.py", line) for line in (9, 10, 40, 41)] == ["file", "line", "line", "file"]
    assert [(run.command.split()[0], run.exit) for run in index.runs] == [
        ("cat", 0),
        ("sed", 0),
        ("python", 0),
        ("echo", 3),
    ]
    assert index.count == 14
    assert index.executed


def test_the_captured_main_thread_made_one_call_and_read_nothing() -> None:
    transcript = read_transcript(FIXTURES / "session.jsonl")
    (receipt,) = transcript.receipts
    assert (receipt.tool, receipt.arguments["subagent_type"], receipt.failed) == ("Agent", "code-explorer", False)
    index = open_sources(SHOP, transcripts=read_transcripts([FIXTURES / "session.jsonl"])).receipts
    assert index is not None
    assert (index.count, index.touched, index.runs, index.executed) == (1, set(), [], False)
    assert (transcript.roots, transcript.skipped) == ((CWD,), 0)


def test_several_transcripts_are_combined() -> None:
    both = read_transcripts([FIXTURES / "session.jsonl", FIXTURES / "subagent.jsonl"])
    index = open_sources(SHOP, transcripts=both).receipts
    assert index is not None
    assert index.count == 15


# What tools answer


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("1\timport os\n2\t", (1, 2)),
        ("26\tdef a():\n27\t    pass", (26, 27)),
        ("     1→one\n     2→two", (1, 2)),
        ("7\t", (7, 7)),
        ("1\ta\n2\tb\n\n<system-reminder>\n3 things\n</system-reminder>", (1, 2)),
        ("1\ta\n2\tb\n99\tno line of the file", (1, 2)),
        ("1\ta\x0cb\u2028c\n2\td", (1, 2)),
        ("<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>", (0, 0)),
        ("<system-reminder>shorter than the provided offset (90). The file has 3 lines.</system-reminder>", (0, 0)),
        ("", (0, 0)),
        ([{"type": "image", "source": {}}], (0, 0)),
        ([{"type": "text", "text": "1\ta\n2\tb"}], (1, 2)),
        (None, (0, 0)),
    ],
)
def test_a_read_shows_the_numbered_lines(file: Path, output: object, expected: tuple[int, int]) -> None:
    receipt = one(file, "Read", output, file_path="a.py")
    assert (receipt.ranges, receipt.failed) == ((expected,), False)


def test_an_empty_file_that_was_read_counts_as_a_file_without_lines(file: Path) -> None:
    receipt = one(file, "Read", "<system-reminder>Warning: the file exists but ...", file_path=f"{CWD}/a.py")
    index = ReceiptIndex([receipt], CWD)
    assert [index.how_seen("a.py", 1), "a.py" in index.read] == ["file", True]


@pytest.mark.parametrize(
    ("arguments", "output", "expected"),
    [
        ({}, "Found 2 files\na.py\napp/b c.py", {"a.py": (), "app/b c.py": ()}),
        ({"output_mode": "files_with_matches"}, "Found 1 file\na.py", {"a.py": ()}),
        ({}, "Found 2 files limit: 2\na.py\n\n[Showing results with pagination = limit: 2]", {"a.py": ()}),
        ({}, "No files found", {}),
        ({"path": "a.py"}, "No files found", {"a.py": ()}),
        ({"output_mode": "content"}, "a.py:32:    x = 1\na.py:40:y\nb.py:7:z", {"a.py": (32, 40), "b.py": (7,)}),
        ({"output_mode": "content"}, "./a.py:3:x", {"a.py": (3,)}),
        ({"output_mode": "content"}, "a.py:3:b.py:9:x", {"a.py": (3,)}),
        ({"output_mode": "content"}, "two words.py:3:x", {"two words.py": (3,)}),
        ({"output_mode": "content"}, "a.py-1-b\na.py:2:c\na.py-3-d\n--\na.py-8-e\na.py:9:f", {"a.py": (1, 2, 3, 8, 9)}),
        ({"output_mode": "content"}, "my-1-x.py-4-a\nmy-1-x.py:5:b", {"my-1-x.py": (4, 5)}),
        ({"output_mode": "content"}, "a.py:2:c\n\n[Showing results with pagination = limit: 1]", {"a.py": (2,)}),
        ({"output_mode": "content"}, "No matches found", {}),
        ({"output_mode": "content", "path": "a.py"}, "32:    x = 1\n33-\n--\n40:y", {"a.py": (32, 33, 40)}),
        ({"output_mode": "content", "path": "a.csv"}, "32:10:20\n33:11-12", {"a.csv": (32, 33)}),
        ({"output_mode": "content", "path": "a.py"}, "No matches found", {"a.py": ()}),
        ({"output_mode": "content", "path": "app"}, "app/a.py:2:x", {"app/a.py": (2,)}),
        ({"output_mode": "content", "-n": False}, "a.py:    x = 1\nb.py:12:x", {"a.py": (), "b.py": ()}),
        (
            {"output_mode": "count"},
            "a.py:3\nb:c.py:1\n\nFound 4 total occurrences across 2 files.",
            {"a.py": (), "b:c.py": ()},
        ),
        ({"output_mode": "count", "path": "a.py"}, "3", {"a.py": ()}),
        ({"output_mode": ["content"], "path": 7}, "a.py", {"a.py": ()}),
    ],
)
def test_a_search_lists_its_files_and_lines(
    file: Path, arguments: dict[str, object], output: str, expected: dict[str, tuple[int, ...]]
) -> None:
    assert one(file, "Grep", output, pattern="x", **arguments).hits == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("a.py\napp/b.py", {"a.py": (), "app/b.py": ()}),
        ("No files found", {}),
        ("a.py\n(Results are truncated. Consider using a more specific path or pattern.)", {"a.py": ()}),
        ("(auth)/page.tsx\nNo Name.md", {"(auth)/page.tsx": (), "No Name.md": ()}),
    ],
)
def test_a_glob_lists_its_files(file: Path, output: str, expected: dict[str, tuple[int, ...]]) -> None:
    assert one(file, "Glob", output, pattern="*").hits == expected


@pytest.mark.parametrize(
    ("output", "is_error", "status", "failed"),
    [
        ("45 passed", False, 0, False),
        ("45 passed", None, 0, False),
        ("", False, 0, False),
        ("Exit code 3\nlooking", True, 3, True),
        ("Error: Exit code 1\nx", True, 1, True),
        ("Exit code 143\nCommand timed out after 2m 0s", True, 143, True),
        ("Exit code -1", True, -1, True),
        ("Permission to use Bash has been denied.", True, None, True),
        ("<tool_use_error>InputValidationError: ...</tool_use_error>", True, None, True),
        ("Command running in background with ID: bash_1. Output is being written to: ...", False, None, False),
        ("<persisted-output>\nOutput too large (300KB).", False, 0, False),
        ("Exit code 3 is what it printed", False, 0, False),
    ],
)
def test_the_status_of_a_command_comes_from_its_result(
    file: Path, output: str, is_error: bool | None, status: int | None, failed: bool
) -> None:
    receipt = one(file, "Bash", output, is_error=is_error, command="make")
    assert (receipt.exit, receipt.failed) == (status, failed)


def test_a_denied_command_did_not_run(file: Path) -> None:
    lines = [call("1", "Bash", command="pytest"), result("1", "denied", is_error=True) | {"toolDenialKind": "rule"}]
    index = ReceiptIndex(read(file, lines).receipts, CWD)
    assert (index.count, index.executed) == (1, False)


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("grep -rn x .", "./a.py:3:x\n./app/b.py:7:x", {"a.py": (3,), "app/b.py": (7,)}),
        ("cd app && grep -rn x . | head -5", "./b.py:7:x", {"app/b.py": (7,)}),
        ("git grep -n x", "a.py:3:x", {"a.py": (3,)}),
        ("rg -n x src | head", "src/a.py:3:x", {"src/a.py": (3,)}),
        ("grep -n x a.py", "3:x\n9:x", {"a.py": (3, 9)}),
        ("cd app && grep -n x b.py", "3:x", {"app/b.py": (3,)}),
        ("grep -rl x .", "./a.py", {}),
        ("python -m pytest", "tests/a.py:3: AssertionError", {}),
        ("make", "a.c:3:4: error", {}),
    ],
)
def test_a_search_in_the_shell_lists_its_files(
    file: Path, command: str, output: str, expected: dict[str, tuple[int, ...]]
) -> None:
    assert one(file, "Bash", output, command=command).hits == expected


# Pairing


def test_results_are_paired_by_id_and_not_by_order(file: Path) -> None:
    lines = [
        call("1", "Read", file_path="a.py"),
        call("2", "Read", file_path="b.py"),
        result("2", "5\tb"),
        result("1", "1\ta"),
    ]
    assert [(r.path, r.ranges) for r in read(file, lines).receipts] == [("a.py", ((1, 1),)), ("b.py", ((5, 5),))]


def test_a_result_may_come_before_its_call(file: Path) -> None:
    lines = [
        result("1", "Exit code 2\n", is_error=True),
        result("9", "nobody asked"),
        call("1", "Bash", command="make"),
    ]
    (receipt,) = read(file, lines).receipts
    assert (receipt.exit, receipt.failed) == (2, True)


def test_a_call_without_a_result_counts_as_failed(file: Path) -> None:
    lines = [call("1", "Read", file_path=f"{CWD}/a.py"), call("2", "Bash", command="pytest"), result("3", "1\tx")]
    transcript = read(file, lines)
    assert [(r.tool, r.failed, r.exit) for r in transcript.receipts] == [
        ("Read", True, None),
        ("Bash", True, None),
    ]
    index = ReceiptIndex(transcript.receipts, CWD)
    assert (index.count, index.touched, index.executed) == (2, set(), False)


def test_duplicates_count_once(file: Path) -> None:
    lines = [
        call("1", "Bash", command="pytest"),
        result("1", "ok", is_error=False),
        call("1", "Bash", command="pytest"),
        result("1", "Exit code 1", is_error=True),
        call("1", "Read", file_path="forged.py"),
    ]
    (receipt,) = read(file, lines).receipts
    assert (receipt.command, receipt.exit, receipt.failed) == ("pytest", 0, False)


def test_several_blocks_may_be_on_one_line(file: Path) -> None:
    both = call("1", "Read", file_path="a.py")
    both["message"]["content"] += [{"type": "text", "text": "and"}, *call("2", "Glob")["message"]["content"]]
    answers = result("1", "1\ta")
    answers["message"]["content"] += result("2", "b.py")["message"]["content"]
    assert [receipt.tool for receipt in read(file, [both, answers]).receipts] == ["Read", "Glob"]


# Folders


def mapped(file: Path, repo: Path, *lines: dict[str, Any]) -> dict[str, list[tuple[int, int]]]:
    """Return the files of the repository that were read according to a transcript."""
    read(file, lines)
    index = open_sources(repo, transcripts=read_transcripts([file])).receipts
    assert index is not None
    return index.read


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A checkout with a subfolder."""
    root = (tmp_path / "copy").resolve()
    (root / ".git").mkdir(parents=True)
    (root / "part" / "app").mkdir(parents=True)
    return root


def test_paths_of_another_machine_map_to_the_repository(file: Path, repo: Path) -> None:
    lines = (call("1", "Read", file_path=f"{CWD}/app/a.py"), result("1", "1\ta"))
    assert mapped(file, repo, *lines) == {"app/a.py": [(1, 1)]}


def test_relative_paths_are_relative_to_the_agents_folder(file: Path, repo: Path) -> None:
    lines = (
        call("1", "Read", file_path="app/a.py"),
        result("1", "1\ta"),
        call("2", "Bash", cwd=f"{CWD}/app", command="cat b.py"),
        result("2", "b", cwd=f"{CWD}/app"),
        call("3", "Grep", cwd=f"{CWD}/app", output_mode="content"),
        result("3", "c.py:3:c\n../d.py:4:d", cwd=f"{CWD}/app"),
    )
    found = mapped(file, repo, *lines)
    assert found == {"app/a.py": [(1, 1)], "app/b.py": [(1, WHOLE)], "app/c.py": [(3, 3)], "d.py": [(4, 4)]}


def test_the_repository_may_be_a_part_of_the_agents_folder(file: Path, repo: Path) -> None:
    lines = (
        call("1", "Read", file_path=f"{CWD}/part/app/a.py"),
        result("1", "1\ta"),
        call("2", "Read", file_path="part/app/b.py"),
        result("2", "1\tb"),
    )
    assert mapped(file, repo / "part", *lines) == {"app/a.py": [(1, 1)], "app/b.py": [(1, 1)]}


def test_the_agent_may_have_worked_above_or_below_the_repository_root(file: Path, repo: Path) -> None:
    for cwd, written in {
        repo: "app/a.py",
        repo.parent: "copy/app/a.py",
        repo / "app": "a.py",
        repo.parent.parent: f"{repo}/app/a.py",
        Path("/"): f"{repo}/app/a.py",
    }.items():
        lines = (call("1", "Read", cwd=str(cwd), file_path=written), result("1", "1\ta", cwd=str(cwd)))
        assert mapped(file, repo, *lines) == {"app/a.py": [(1, 1)]}, cwd


def test_files_next_to_the_repository_are_ignored(file: Path, repo: Path) -> None:
    lines = (
        call("1", "Read", cwd=str(repo.parent), file_path=f"{repo.parent}/app/a.py"),
        result("1", "1\ta", cwd=str(repo.parent)),
        call("2", "Read", cwd=str(repo.parent), file_path="app/b.py"),
        result("2", "1\tb", cwd=str(repo.parent)),
    )
    assert mapped(file, repo, *lines) == {}


def test_a_later_folder_is_not_an_alias_of_the_repository(file: Path, repo: Path) -> None:
    lines = (
        call("1", "Read", file_path="app/a.py"),
        result("1", "1\ta"),
        call("2", "Read", cwd="/somewhere", file_path="app/b.py"),
        result("2", "1\tb", cwd="/somewhere"),
    )
    assert mapped(file, repo, *lines) == {"app/a.py": [(1, 1)]}


def test_a_windows_folder_may_be_an_alias_of_the_repository(file: Path, repo: Path) -> None:
    cwd = "C:\\work\\shop"
    lines = (call("1", "Read", cwd=cwd, file_path="c:\\work\\shop\\app\\a.py"), result("1", "1\ta", cwd=cwd))
    assert mapped(file, repo, *lines) == {"app/a.py": [(1, 1)]}


def test_without_a_folder_paths_are_relative_to_the_repository(file: Path, repo: Path) -> None:
    lines = (call("1", "Read", cwd=None, file_path="app/a.py"), result("1", "1\ta", cwd=None))
    assert mapped(file, repo, *lines) == {"app/a.py": [(1, 1)]}


# Other content of a transcript

GOOD = (call("1", "Read", file_path="a.py"), result("1", "1\ta"))


@pytest.mark.parametrize(
    "junk",
    [
        b"{",
        b"not json",
        b"\xff\xfe\x00\x01",
        b'{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "\xff"}]}}',
        b'{"type": 7}',
        b'{"type": "assistant", "message": "text"}',
        b'{"type": "assistant", "message": {"content": []}, "cwd": 7}',
        b"[1, 2]",
        b"null",
        b'"text"',
        b"1e999",
        b'{"type": "user", "message": ' + b'{"a":' * 50_000,
        b'{"type": "user", "message": {"content": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}",
        b"\0" * 1000,
        bytes(range(128, 256)),
    ],
)
def test_an_invalid_line_is_skipped_and_the_others_count(file: Path, junk: bytes) -> None:
    transcript = read(file, [GOOD[0], junk, GOOD[1], junk])
    assert [receipt.ranges for receipt in transcript.receipts] == [((1, 1),)]
    assert transcript.skipped == 2


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"type": "summary", "summary": "x"},
        {"type": "assistant"},
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {}},
        {"type": "user", "message": {"role": "user", "content": "tool_use"}},
        {"type": "user", "message": {"role": "user", "content": None}},
        {"type": "user", "message": {"role": "user", "content": {"type": "tool_use", "id": "2", "name": "Read"}}},
        {"type": "user", "message": {"role": "user", "content": ["tool_use", 7, None, []]}},
        {"type": "assistant", "message": {"content": [{"type": "text", "id": "2", "name": "Read"}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Read"}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": 2, "name": "Read"}]}},
        {"type": "api-request-blob", "message": {"role": "user", "content": call("2", "Read")["message"]["content"]}},
        {"type": "attachment", "message": call("2", "Read")["message"]},
        {"type": "queue-operation", "content": call("2", "Read")},
        {"role": "assistant", "content": call("2", "Read")["message"]["content"]},
    ],
)
def test_lines_of_other_types_and_shapes_are_ignored(file: Path, line: dict[str, Any]) -> None:
    transcript = read(file, [GOOD[0], line, GOOD[1]])
    assert [receipt.tool for receipt in transcript.receipts] == ["Read"]
    assert transcript.skipped == 0


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n  \n", b"\r\n"])
def test_an_empty_file_has_no_calls_and_an_unknown_format(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert read_transcript(file) == Transcript(str(file), is_known=False)


def test_windows_line_ends_and_a_last_line_without_end_are_read(file: Path) -> None:
    file.write_bytes(b"\r\n".join(json.dumps(line).encode() for line in GOOD))
    assert len(read_transcript(file).receipts) == 1


@pytest.mark.parametrize(("name", "words"), [("none.jsonl", "No such file or directory"), (".", "Is a directory")])
def test_an_unreadable_file_is_a_usage_error(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_transcript(tmp_path / name)
    assert str(raised.value) == f"{tmp_path / name}: {words}"


def test_a_pipe_is_read_as_a_transcript(tmp_path: Path) -> None:
    text = "\n".join(json.dumps(line) for line in GOOD)
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as pipe:
        pipe.write(text)
    assert len(read_transcript(Path(f"/dev/fd/{reader}")).receipts) == 1
    os.close(reader)


_MEASURE = """
import resource, sys
from pathlib import Path
from remit.clients.transcripts.reading import read_transcript
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = read_transcript(Path(sys.argv[1]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(found.receipts), found.skipped, (after - before) // 1024)
"""


@pytest.mark.process
def test_a_huge_line_is_skipped_within_bounded_memory(file: Path) -> None:
    """A line of 256 MB between a call and its result needs at most a few times the longest line."""
    with file.open("wb") as out:
        out.write(json.dumps(GOOD[0]).encode() + b"\n")
        out.write(b'{"type": "user", "message": {"content": "')
        for _ in range(256):
            out.write(b"a" * (1 << 20))
        out.write(b'"}}\n' + json.dumps(GOOD[1]).encode() + b"\n")
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(file)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    file.unlink()
    receipts, skipped, megabytes = map(int, done.stdout.split())
    assert (receipts, skipped) == (1, 1)
    assert megabytes < 4 * MAX_LINE >> 20


@pytest.mark.parametrize(("more", "skipped"), [(0, 0), (1, 1)])
def test_a_line_of_exactly_the_limit_is_read_and_one_byte_more_is_not(
    file: Path, monkeypatch: pytest.MonkeyPatch, more: int, skipped: int
) -> None:
    line = json.dumps(GOOD[0]).encode()
    monkeypatch.setattr("remit.clients.transcripts.reading.MAX_LINE", len(line) + 1 - more)
    file.write_bytes(line + b"\n" + b"{}\n")
    found = read_transcript(file)
    assert (len(found.receipts), found.skipped) == (1 - more, skipped)


def test_a_long_output_is_cut_before_it_is_parsed(file: Path) -> None:
    receipt = one(file, "Grep", "a.py:1:x\n" * 400_000 + "late.py:1:x", output_mode="content")
    assert receipt.hits == {"a.py": (1,)}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
TOOLS = st.sampled_from(["Read", "Grep", "Glob", "Bash", "Edit", "NotebookEdit", "PowerShell"])
OUTPUTS = st.text(st.sampled_from("0123456789:-\t\n→./ab[]()<> 'E"), max_size=60)


@given(
    st.lists(
        st.one_of(
            JSON,
            st.fixed_dictionaries(
                {},
                optional={
                    "type": st.sampled_from(["assistant", "user"]) | JSON,
                    "cwd": JSON,
                    "timestamp": JSON,
                    "message": JSON
                    | st.fixed_dictionaries(
                        {},
                        optional={
                            "content": JSON
                            | st.lists(
                                JSON
                                | st.fixed_dictionaries(
                                    {},
                                    optional={
                                        "type": st.sampled_from(["tool_use", "tool_result"]) | JSON,
                                        "id": st.sampled_from(["1", "2"]) | JSON,
                                        "tool_use_id": st.sampled_from(["1", "2"]) | JSON,
                                        "name": TOOLS | JSON,
                                        "input": JSON,
                                        "content": JSON | OUTPUTS,
                                        "is_error": JSON,
                                    },
                                ),
                                max_size=3,
                            )
                        },
                    ),
                },
            ),
        ),
        max_size=6,
    )
)
def test_any_value_in_any_field_is_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Any]
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    transcript = read_transcript(file)
    open_sources(SHOP, transcripts=read_transcripts([file]))
    assert len(transcript.receipts) + transcript.skipped <= 6 * 3


@given(
    TOOLS,
    st.dictionaries(
        st.sampled_from(["file_path", "notebook_path", "path", "output_mode", "-n", "command", "pattern"]),
        JSON | st.sampled_from(["content", "count", "a.py", "grep -n x a.py", "cd app && rg x"]),
    ),
    OUTPUTS,
    st.booleans() | JSON,
)
def test_any_answer_to_any_call_is_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, tool: str, arguments: dict[str, Any], output: str, is_error: object
) -> None:
    file = tmp_path_factory.getbasetemp() / "call.jsonl"
    lines = [_line("assistant", {"type": "tool_use", "id": "1", "name": tool, "input": arguments}, CWD)]
    (receipt,) = read(file, [*lines, result("1", output, is_error=is_error)]).receipts
    ReceiptIndex([receipt], CWD)
    assert receipt.failed is bool(is_error)


# Unknown formats


OTHER_CLIENTS = {
    "a README": b"# Remit\n\nCoding assistants delegate work.\n",
    "a rollout of Codex": b'{"timestamp": "x", "type": "response_item", "payload": {"type": "function_call"}}\n',
    "events of Copilot": b'{"type": "user.message", "data": {"content": "hello"}, "id": "1"}\n',
    "a flat chat": b'{"role": "user", "content": "hello"}\n{"role": "assistant", "content": "done"}\n',
    "one JSON document": b'{"messages": []}',
    "messages that are text": b'{"type": "user", "message": "hello"}\n',
    "bytes": b"\x00\xff\xfe",
}


@pytest.mark.parametrize("content", OTHER_CLIENTS.values(), ids=OTHER_CLIENTS)
def test_another_file_than_a_transcript_of_the_client_has_an_unknown_format(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert not read_transcript(file).is_known
    sources = open_sources(SHOP, transcripts=read_transcripts([file]))
    assert sources.receipts is None
    assert sources.receipts_problem == f"{file}: unknown transcript format"


def test_a_transcript_without_calls_is_known(file: Path) -> None:
    lines: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": "hello"}, "cwd": CWD}]
    assert read(file, lines).is_known
    sources = open_sources(SHOP, transcripts=read_transcripts([file]))
    assert sources.receipts is not None
    assert sources.receipts.count == 0


def test_an_unknown_transcript_next_to_a_known_one_makes_the_receipts_incomplete(file: Path, tmp_path: Path) -> None:
    read(file, [call("1", "Read", file_path="a.py"), result("1", "1\ta")])
    (tmp_path / "other.jsonl").write_text("{}", encoding="utf-8")
    assert open_sources(SHOP, transcripts=read_transcripts([file, tmp_path / "other.jsonl"])).receipts is None


# Outputs that the client saved in a file


def persisted(path: str, preview: str) -> str:
    return (
        f"<persisted-output>\nOutput too large (85.3KB). Full output saved to: {path}\n\n"
        f"Preview (first 2KB):\n{preview}\n</persisted-output>"
    )


@pytest.mark.parametrize("folder", ["agent/tool-results", "tool-results", "../tool-results"])
def test_a_saved_output_is_read_from_the_folder_of_the_session(file: Path, folder: str) -> None:
    kept = file.parent / "session" / folder
    transcript = file.parent / "session" / "agent.jsonl"
    kept.mkdir(parents=True)
    (kept / "b1.txt").write_text("\n".join(f"{number}\tline" for number in range(1, 901)), encoding="utf-8")
    receipt = one(transcript, "Read", persisted("/home/dev/.claude/x/b1.txt", "1\tline\n2\tline"), file_path="a.py")
    assert receipt.ranges == ((1, 900),)


@pytest.mark.parametrize("path", ["/gone/b1.txt", "C:\\Users\\me\\b1.txt", "../../../../etc/passwd", "..", "/"])
def test_a_saved_output_that_is_gone_counts_by_its_preview(file: Path, path: str) -> None:
    receipt = one(file, "Read", persisted(path, "1\tline\n2\tline"), file_path="a.py")
    assert receipt.ranges == ((1, 2),)


def test_a_saved_output_is_never_read_through_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "tool-results").mkdir()
    (tmp_path / "secret").write_text("1\tx\n2\tx\n3\tx", encoding="utf-8")
    (tmp_path / "tool-results" / "b1.txt").symlink_to(tmp_path / "secret")
    assert one(file, "Read", persisted("/x/b1.txt", "1\tline"), file_path="a.py").ranges == ((1, 1),)


def test_the_hits_of_a_saved_search_are_read(file: Path, tmp_path: Path) -> None:
    (tmp_path / "tool-results").mkdir()
    (tmp_path / "tool-results" / "b1.txt").write_text("a.py:3:x\nb.py:9:x", encoding="utf-8")
    receipt = one(file, "Bash", persisted("/x/b1.txt", "a.py:3:x"), command="grep -rn x .")
    assert (receipt.hits, receipt.exit) == ({"a.py": (3,), "b.py": (9,)}, 0)


# Commands in the background

STARTED = "Command running in background with ID: b7. Output is being written to: /tmp/x/tasks/b7.output."
COMPLETED = "<status>completed</status>\n<exit_code>0</exit_code>\n<output>2 passed</output>"
FAILED = "<status>failed</status>\n<exit_code>1</exit_code>\n<output>2 failed</output>"
MOVED = "Command did not complete within its 120s timeout and was moved to the background (ID: b7). Output is ..."


def notification(summary: str, status: str = "completed") -> dict[str, Any]:
    text = f"<task-notification>\n<task-id>b7</task-id>\n<status>{status}</status>\n<summary>{summary}</summary>"
    return {"type": "user", "message": {"role": "user", "content": text + "\n</task-notification>"}, "cwd": CWD}


@pytest.mark.parametrize("started", [STARTED, MOVED])
@pytest.mark.parametrize(
    ("later", "status", "is_pending"),
    [
        ([], None, True),
        ([call("2", "Read", file_path="/tmp/x/tasks/b8.output"), result("2", "1\tok")], None, True),
        ([call("2", "Read", file_path="/tmp/x/tasks/b7.output"), result("2", "1\tok")], None, False),
        ([call("2", "Bash", command="tail -5 /tmp/x/tasks/b7.output"), result("2", "2 passed")], None, False),
        ([call("2", "BashOutput", bash_id="b7"), result("2", "<status>running</status>")], None, True),
        ([call("2", "BashOutput", bash_id="b7"), result("2", COMPLETED)], 0, False),
        ([call("2", "TaskOutput", task_id="b7"), result("2", FAILED)], 1, False),
        ([call("2", "TaskOutput", task_id="b7"), result("2", "no such task", is_error=True)], None, True),
        ([notification('Background command "Run tests" completed (exit code 0)')], 0, False),
        ([notification('Background command "Run tests" failed with exit code 2', "failed")], 2, False),
        ([notification('Background command "Run tests" was stopped', "killed")], None, True),
    ],
)
def test_a_command_in_the_background_counts_when_its_output_is_read(
    file: Path, started: str, later: list[dict[str, Any]], status: int | None, is_pending: bool
) -> None:
    lines = [call("1", "Bash", command="pytest", run_in_background=True), result("1", started), *later]
    first = read(file, lines).receipts[0]
    assert (first.exit, first.pending, first.failed) == (status, is_pending, False)


def test_a_test_run_in_the_background_supports_a_claim_only_after_its_output_was_read(file: Path) -> None:
    run = [call("1", "Bash", command="pytest -q"), result("1", STARTED)]
    read_later = [call("2", "Read", file_path="/tmp/x/tasks/b7.output"), result("2", "1\t2 passed")]
    failed = notification("failed with exit code 1", "failed")
    for lines, denied in (
        (run, "`pytest -q` ran in the background, and its output was never read"),
        ([*run, *read_later], ""),
        ([*run, failed], "`pytest -q` ended with exit status 1"),
    ):
        judge = WorkJudge(ReceiptIndex(read(file, lines).receipts, CWD))
        (statement,) = read_runs("```\n$ pytest -q\n2 passed in 0.1s\n```")
        judged = judge.judge(statement)
        assert (judged.why if judged.fails else "") == denied


# Paths of the agent's machine


def test_paths_in_a_report_are_mapped_by_the_folder_of_the_transcript(file: Path) -> None:
    read(file, [call("1", "Read", file_path=f"{CWD}/shop/cart.py"), result("1", "1\tx\n2\ty")])
    report = f"The cart is in `{CWD}/shop/cart.py:2`, and `/home/other/shop/none.py:2` is elsewhere."
    sources = open_sources(SHOP, transcripts=read_transcripts([file]))
    (verdict,) = check_text(report, options=Options(profile="claims"), sources=sources)
    own = verdict.evidence.references[0]
    assert (own.path, own.outcome, own.opened) == ("shop/cart.py", "exists", "line")


def test_each_line_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    real = reading.decode_line

    def counted(raw: bytes | None) -> Any:
        decoded.append(len(raw or b""))
        return real(raw)

    monkeypatch.setattr(reading, "decode_line", counted)
    for calls in (20, 200):
        decoded.clear()
        lines = [one for n in range(calls) for one in (call(f"c{n}", "Read", file_path="a.py"), result(f"c{n}", "x"))]
        file = tmp_path / f"{calls}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        assert len(read_transcript(file).receipts) == calls
        assert (len(decoded), sum(decoded)) == (2 * calls, file.stat().st_size)
