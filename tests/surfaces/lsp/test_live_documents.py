"""Checks of edited documents: the part around an edit gives the same claims as the whole text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from remit.surfaces.lsp.claim_views import code_span, plain_text
from remit.surfaces.lsp.live_documents import CheckedText, Checkout, Dates, DocumentText
from remit.workspace.files import Absent, LiveTree, SourceFile

ROOT = Path(__file__).resolve().parents[3]
#: Typed into a document; most of them are claims.
TYPED = (
    "See `src/remit/checking.py:12` and `src/remit/nothing.py:3`.",
    "`check_text` is in `src/remit/checking.py:99999`.",
    "[the forms](reference-forms.md#nothing)",
    "Some words.",
    "",
    "## A heading",
    "| `src/remit/lazy.py` | 12 |",
    "---",
)


def claims(answer: CheckedText) -> list[tuple[object, ...]]:
    return sorted((one.at, one.kind, one.text, one.fails) for one in answer.checked)


@pytest.mark.parametrize("page", ["verify.md", "architecture.md", "gate.md"])
def test_a_part_has_the_claims_that_the_whole_text_has(page: str) -> None:
    path = ROOT / "docs" / page
    lines = path.read_text(encoding="utf-8").split("\n")
    checkout, chance = Checkout(ROOT), random.Random(page)
    answer = checkout.check(DocumentText(str(path), "\n".join(lines)))
    for _ in range(12):
        at, typed = chance.randrange(len(lines)), chance.choice(TYPED)
        removed = chance.choice((0, 0, 0, 1, 3))
        if any("```" in line for line in lines[at : at + removed]):
            removed = 0
        snapshot = DocumentText(str(path), "\n".join([*lines[:at], typed, *lines[at + removed :]]))
        quick, whole = checkout.check_edited(snapshot, answer), checkout.check(snapshot)
        assert claims(quick) == claims(whole), f"line {at + 1}: {typed}"
    checkout.close()


@pytest.mark.parametrize("old", ["## Set up", "Set up\n---", '<a id="set-up"></a>'])
@pytest.mark.parametrize("new", ["## Install", "Words."])
def test_a_heading_that_an_edit_removes_is_missed_by_a_link_far_above(old: str, new: str, tmp_path: Path) -> None:
    checkout, path = Checkout(tmp_path), str(tmp_path / "a.md")
    before = ["# A", "", "[how](#set-up)", *(f"\nLine {number}." for number in range(200)), "", old, ""]
    text = "\n".join(before)
    answer = checkout.check(DocumentText(path, text))
    assert [one.outcome for one in answer.checked] == ["verified"]
    edited = checkout.check_edited(DocumentText(path, text.replace(old, new)), answer)
    assert [one.outcome for one in edited.checked] == ["mismatch"]


@pytest.mark.parametrize("typed", ["```python", "~~~", "<!-- hidden", "-->"])
def test_what_changes_how_later_lines_are_read_is_noticed(typed: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    checkout, path = Checkout(tmp_path), str(tmp_path / "a.md")
    before = ["# A", "", *(f"Line {number}.\n" for number in range(200)), "`a.py:1` and `a.py:9`"]
    answer = checkout.check(DocumentText(path, "\n".join(before)))
    after = DocumentText(path, "\n".join([*before[:2], typed, *before[2:]]))
    assert claims(checkout.check_edited(after, answer)) == claims(checkout.check(after))


@pytest.mark.parametrize(("end", "count"), [("\n", 1), ("\r\n", 1), ("\r", 0)])
def test_a_correction_replaces_the_line_that_the_editor_counts(end: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/cart.py").write_text("x = 1\n" * 30 + "def total():\n    return 1\n")
    lines = ["# A", "", "Some\rwords." if end == "\r" else "Some words.", "", "`total` is in cart.py:31.", ""]
    text = ("\n" if end == "\r" else end).join(lines)
    snapshot = DocumentText(str(tmp_path / "a.md"), text)
    found = Checkout(tmp_path).corrections(snapshot, 1, 9, Dates())
    assert [(edit.new, edit.targets) for edit in found] == [
        ("`total` is in src/cart.py:31.", ("src/cart.py:31",))
    ] * count


def test_what_changes_on_disk_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("a = 1\n")
    tree = LiveTree(tmp_path)
    first = tree.read("src/a.py")
    assert isinstance(first, SourceFile)
    assert isinstance(tree.read("src/b.py"), Absent)
    assert tree.refresh(lists_files=True)
    assert tree.read("src/a.py") is first, "it has not changed"
    (tmp_path / "src/a.py").write_text("a = 22\n")
    (tmp_path / "src/b.py").write_text("b = 1\n")
    assert tree.refresh(lists_files=True)
    changed = tree.read("src/a.py")
    assert isinstance(changed, SourceFile)
    assert changed.text == "a = 22\n"
    assert isinstance(tree.read("src/b.py"), SourceFile)
    assert tree.paths == ["src/a.py", "src/b.py"]
    (tmp_path / "src/b.py").unlink()
    tree.refresh(lists_files=True)
    assert isinstance(tree.read("src/b.py"), Absent)


@pytest.mark.parametrize("text", ["`", "``a`", "a\nb", "![x](https://example.org)", "", "\x1b[31m"])
def test_code_of_a_hover_ends_where_it_should(text: str) -> None:
    span = code_span(text)
    marks = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(marks)
    assert marks not in span[len(marks) : -len(marks)]
    assert "\n" not in span
    assert "\x1b" not in span


def test_a_reason_has_no_link_and_no_image() -> None:
    text = plain_text("![a](http://example.org/x.png) <img src=x> `code` www.example.org")
    assert "](" not in text.replace("\\]\\(", "")
    assert "http://" not in text
    assert "www." not in text
    assert "<img" not in text.replace("\\<img", "")
