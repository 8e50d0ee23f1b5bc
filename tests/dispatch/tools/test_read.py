from __future__ import annotations

import os

import pytest
from toolboxes import Bench, ask

from remit.evidence.receipts import ReceiptIndex
from remit.workspace.files import WorkTree
from remit.workspace.snapshot import digest


def test_lines_come_numbered_like_cat_n(bench: Bench) -> None:
    bench.write("a.py", "one\ntwo\r\nthree")
    got = ask(bench.box(), "Read", file_path="a.py")
    assert got.text == "     1\tone\n     2\ttwo\n     3\tthree"
    assert not got.failed


def test_the_receipt_records_the_shown_lines(bench: Bench) -> None:
    bench.write("src/a.py", "".join(f"line {number}\n" for number in range(1, 101)))
    got = ask(bench.box(), "Read", file_path=f"{bench.root}/src/a.py", offset=10, limit=5)
    assert (got.receipt.tool, got.receipt.path, got.receipt.ranges) == ("Read", "src/a.py", ((10, 14),))
    assert got.receipt.digest == digest(WorkTree(bench.root), "src/a.py")
    ledger = ReceiptIndex([got.receipt], str(bench.root))
    assert [ledger.how_seen("src/a.py", line) for line in (9, 10, 14, 15)] == ["file", "line", "line", "file"]


def test_a_failed_read_records_no_lines(bench: Bench) -> None:
    got = ask(bench.box(), "Read", file_path="a.py")
    assert got.failed
    assert got.receipt.failed
    assert ReceiptIndex([got.receipt], str(bench.root)).how_seen("a.py", 1) == "no"


def test_a_long_file_is_shown_in_parts(bench: Bench) -> None:
    bench.write("a.py", "x\n" * 5_000)
    box = bench.box()
    first = ask(box, "Read", file_path="a.py")
    assert first.receipt.ranges == ((1, 2000),)
    assert first.text.endswith("[Lines 1-2000 of 5000. To continue, Read again with offset=2001.]")
    last = ask(box, "Read", file_path="a.py", offset=4_500)
    assert last.receipt.ranges == ((4500, 5000),)


def test_only_lines_that_fit_into_the_output_count_as_shown(bench: Bench) -> None:
    bench.write("a.py", ("x" * 99 + "\n") * 1_000)
    got = ask(bench.box(characters=5_000), "Read", file_path="a.py")
    assert len(got.text) <= 5_000
    ((first, last),) = got.receipt.ranges
    assert (first, last) == (1, got.text.count("x" * 99))
    assert f"offset={last + 1}" in got.text
    assert not bench.spill.exists()


def test_a_long_line_is_truncated_with_a_note(bench: Bench) -> None:
    bench.write("a.js", "x" * 9_000)
    assert ask(bench.box(), "Read", file_path="a.js").text.endswith("x [… 7,000 more characters in this line]")


@pytest.mark.parametrize(
    ("content", "arguments", "says"),
    [
        (b"\x7fELF\0\0", {}, "binary"),
        (b"a" * 2_000_000, {}, "larger than 1 MB"),
        (b"a\n", {"offset": 9}, "has 1 lines; offset=9 is past its end"),
        (b"a\n", {"offset": "many"}, "Read takes file_path, offset?, limit?"),
        (b"a\n", {"lines": 1}, "Wrong arguments"),
    ],
)
def test_an_unreadable_file_is_reported(bench: Bench, content: bytes, arguments: dict[str, object], says: str) -> None:
    bench.write("a", content)
    got = ask(bench.box(file_bytes=1024**2), "Read", file_path="a", **arguments)
    assert got.failed
    assert says in got.text


def test_an_empty_file_is_read_and_has_no_lines(bench: Bench) -> None:
    bench.write("a.py", "")
    got = ask(bench.box(), "Read", file_path="a.py")
    assert got.text == "[a.py is empty.]"
    assert not got.failed
    assert ReceiptIndex([got.receipt], str(bench.root)).how_seen("a.py", 1) == "file"


def test_numbers_as_text_are_accepted(bench: Bench) -> None:
    bench.write("a.py", "1\n2\n3\n")
    assert ask(bench.box(), "Read", file_path="a.py", offset="2", limit="1").text == "     2\t2"


def test_a_missing_file_comes_with_the_nearest_name(bench: Bench) -> None:
    bench.write("src/Main.py", "")
    got = ask(bench.box(), "Read", file_path="src/main.py")
    assert got.text == "'src/main.py' does not exist; did you mean 'src/Main.py'? Find the file with Glob or LS."


def test_a_link_that_stays_inside_is_read(bench: Bench) -> None:
    bench.write("src/a.py", "here\n")
    (bench.root / "link.py").symlink_to("src/a.py")
    (bench.root / "folder").symlink_to(bench.root / "src")
    (bench.root / "src" / "up").symlink_to("../src/../src")
    for path in ("link.py", "folder/a.py", "folder/up/a.py"):
        got = ask(bench.box(), "Read", file_path=path)
        assert (got.text, got.receipt.path) == ("     1\there", path)


@pytest.mark.process
def test_pipes_sockets_and_devices_are_refused_at_once(bench: Bench) -> None:
    import socket

    os.mkfifo(bench.root / "pipe")
    here = socket.socket(socket.AF_UNIX)
    here.bind(str(bench.root / "s"))
    if os.geteuid() == 0:
        os.mknod(bench.root / "device", 0o600 | 0o020000, os.makedev(1, 5))
    for name in ("pipe", "s", *(["device"] if os.geteuid() == 0 else [])):
        for tool, more in (("Read", {}), ("Write", {"content": ""}), ("Edit", {"old_string": "a", "new_string": "b"})):
            got = ask(bench.box(seconds=5), tool, file_path=name, **more)
            assert "pipe, socket or device" in got.text
            assert got.failed
    assert not ask(bench.box(seconds=5), "Grep", pattern="x").failed
    here.close()


def test_output_of_any_file_can_be_stored(bench: Bench) -> None:
    bench.write("a.txt", b"a" * 9_000 + b"\n\0\xff\n")
    got = ask(bench.box(), "Read", file_path="a.txt", offset=2)
    assert got.text == "     2\t\ufffd\ufffd"
