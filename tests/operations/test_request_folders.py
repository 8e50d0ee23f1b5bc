"""The folders of a caller: no path leads out of them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import UsageError
from remit.operations.documents import Folders


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "shop/src").mkdir(parents=True)
    (tmp_path / "shop/notes.md").write_text("inside", encoding="utf-8")
    (tmp_path / "shop-secrets").mkdir()
    (tmp_path / "secret.md").write_text("outside", encoding="utf-8")
    (tmp_path / "shop/out").symlink_to(tmp_path)
    (tmp_path / "shop/link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "shop/loop").symlink_to(tmp_path / "shop/loop")
    (tmp_path / "shop/alias").symlink_to(tmp_path / "shop/src")
    os.mkfifo(tmp_path / "shop/pipe")
    return tmp_path


@pytest.mark.parametrize("name", [".", "", "src", "src/..", "alias", "./src/../src"])
def test_a_folder_inside_can_be_used(tree: Path, name: str) -> None:
    shop = tree / "shop"
    assert Folders([shop]).folder(name) == (shop / name).resolve()


@pytest.mark.parametrize(
    "name", ["..", "src/../..", "out", "out/shop-secrets", "/etc", "../shop-secrets", "loop", "a\0b", "x" * 5000]
)
def test_a_folder_outside_is_refused(tree: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"outside of|cannot be used|too long"):
        Folders([tree / "shop"]).folder(name)


def test_a_file_inside_is_read(tree: Path) -> None:
    assert Folders([tree / "shop"]).read("notes.md") == b"inside"
    assert Folders([tree / "shop"]).read(str(tree / "shop/notes.md")) == b"inside"


@pytest.mark.parametrize("name", ["link.md", "../secret.md", "out/secret.md", "pipe", "src", "missing.md"])
def test_a_file_outside_or_without_an_end_is_refused(tree: Path, name: str) -> None:
    with pytest.raises(UsageError):
        Folders([tree / "shop"]).read(name)


def test_relative_paths_start_in_the_current_folder_if_it_is_inside(tree: Path) -> None:
    assert Folders([tree / "shop"], tree / "shop/src").folder(".") == tree / "shop/src"
    assert Folders([tree / "shop"], tree).folder(".") == tree / "shop"
    both = Folders([tree / "shop", tree / "shop-secrets"])
    assert both.folder(str(tree / "shop-secrets")) == tree / "shop-secrets"


@given(st.text(max_size=40))
def test_no_text_leads_out(name: str) -> None:
    root = Path(__file__).parent
    with contextlib.suppress(UsageError):
        assert Folders([root]).folder(name).is_relative_to(root.resolve())
