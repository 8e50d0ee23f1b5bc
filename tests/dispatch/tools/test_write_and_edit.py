from __future__ import annotations

import stat
from typing import Any

import pytest
from toolboxes import Bench, ask, names_in

from remit.dispatch.tools import openat
from remit.evidence.receipts import ReceiptIndex
from remit.workspace.files import WorkTree
from remit.workspace.snapshot import digest


def test_a_file_is_created_with_its_folders(bench: Bench) -> None:
    got = ask(bench.box(), "Write", file_path="src/new/a.py", content="one\ntwo\n")
    assert (bench.root / "src/new/a.py").read_text() == "one\ntwo\n"
    assert got.text == "Created src/new/a.py (2 lines)."
    assert got.receipt.digest == digest(WorkTree(bench.root), "src/new/a.py")
    assert ReceiptIndex([got.receipt], str(bench.root)).edited == {"src/new/a.py"}


def test_a_replaced_file_keeps_its_mode_and_leaves_nothing_behind(bench: Bench) -> None:
    path = bench.write("run.sh", "old")
    path.chmod(0o750)
    got = ask(bench.box(), "Write", file_path="run.sh", content="new")
    assert got.text.startswith("Replaced run.sh")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o750)
    assert names_in(bench.root) == ["run.sh"]


def test_a_new_file_has_the_usual_mode(bench: Bench) -> None:
    ask(bench.box(), "Write", file_path="a", content="")
    usual = bench.root / "b"
    usual.touch()
    assert (bench.root / "a").stat().st_mode == usual.stat().st_mode


def test_a_link_inside_is_written_through(bench: Bench) -> None:
    bench.write("src/a.py", "old")
    (bench.root / "link").symlink_to("src/a.py")
    ask(bench.box(), "Write", file_path="link", content="new")
    assert (bench.root / "link").is_symlink()
    assert (bench.root / "src/a.py").read_text() == "new"


def test_a_full_disk_leaves_the_old_file(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.write("a.py", "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(openat.os, "fsync", full)
    got = ask(bench.box(), "Write", file_path="a.py", content="new")
    assert "the disk is full" in got.text
    assert (got.failed, path.read_text(), names_in(bench.root)) == (True, "old", ["a.py"])


def test_one_place_is_changed(bench: Bench) -> None:
    path = bench.write("a.py", "one = 1\ntwo = 2\n")
    got = ask(bench.box(), "Edit", file_path="a.py", old_string="two = 2", new_string="two = 3")
    assert path.read_text() == "one = 1\ntwo = 3\n"
    assert got.text == "Changed 1 place in a.py."
    assert (got.receipt.tool, got.receipt.path) == ("Edit", "a.py")
    assert got.receipt.digest == digest(WorkTree(bench.root), "a.py")
    assert ReceiptIndex([got.receipt], str(bench.root)).edited == {"a.py"}


@pytest.mark.parametrize(
    ("old", "new", "more", "says"),
    [
        ("x", "y", {}, "old_string occurs 3 times in a.py. Add surrounding lines until it occurs once"),
        ("", "y", {}, "old_string is empty"),
        ("x", "x", {}, "the same, so nothing would change"),
        ("lenght = x + 1", "y", {}, "The most similar line is 3: 'length = x + 1'"),
        ("nothing like it", "y", {}, "copy the text exactly"),
        ("length", "\ud800", {}, "UTF-8 cannot encode"),
    ],
)
def test_an_edit_that_cannot_be_made_changes_nothing(
    bench: Bench, old: str, new: str, more: dict[str, Any], says: str
) -> None:
    path = bench.write("a.py", "x\nx\n  length = x + 1\n")
    got = ask(bench.box(), "Edit", file_path="a.py", old_string=old, new_string=new, **more)
    assert got.failed
    assert says in got.text
    assert path.read_text() == "x\nx\n  length = x + 1\n"
    assert not ReceiptIndex([got.receipt], str(bench.root)).edited


def test_every_place_is_changed_if_asked(bench: Bench) -> None:
    path = bench.write("a.py", "x x x")
    got = ask(bench.box(), "Edit", file_path="a.py", old_string="x", new_string="y", replace_all=True)
    assert (path.read_text(), got.text) == ("y y y", "Changed 3 places in a.py.")


@pytest.mark.parametrize(("old", "new"), [("a\nb", "1\n2\n3"), ("b", "1\n2"), ("a\r\nb", "1\r\n2")])
def test_line_endings_are_kept(bench: Bench, old: str, new: str) -> None:
    path = bench.write("a.txt", b"a\r\nb\r\nc\r\n")
    assert not ask(bench.box(), "Edit", file_path="a.txt", old_string=old, new_string=new).failed
    assert b"\n" not in path.read_bytes().replace(b"\r\n", b"")
    assert b"\r\r" not in path.read_bytes()


def test_text_in_another_encoding_is_not_changed(bench: Bench) -> None:
    path = bench.write("a.txt", b"caf\xe9 x\n")
    assert "not UTF-8" in ask(bench.box(), "Edit", file_path="a.txt", old_string="x", new_string="y").text
    assert path.read_bytes() == b"caf\xe9 x\n"


def test_editing_a_missing_file_creates_no_folders(bench: Bench) -> None:
    got = ask(bench.box(), "Edit", file_path="no/such/a.py", old_string="a", new_string="b")
    assert "does not exist" in got.text
    assert names_in(bench.root) == []
