"""Closed folders in the workspace: the data of remit under any name, and git folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolboxes import SECRET, Bench, ask, names_in

pytestmark = pytest.mark.process


@pytest.fixture
def store(bench: Bench) -> Path:
    bench.write("store/spill/job-2/o.txt", SECRET)
    bench.write("src/a.txt", "mine")
    (bench.root / "link").symlink_to("store")
    (bench.root / "src" / "up").symlink_to("..")
    return bench.root / "store"


@pytest.mark.parametrize("under_git", [False, True])
def test_a_hidden_folder_is_neither_searched_nor_listed(bench: Bench, store: Path, under_git: bool) -> None:
    if under_git:
        bench.commit()
    box = bench.box(hidden=(str(store),))
    for given in (
        {},
        {"path": "store"},
        {"path": "link"},
        {"path": "store/spill"},
        {"path": "src/up"},
        {"glob": "*.txt"},
    ):
        got = ask(box, "Grep", pattern="secret|mine", output_mode="content", **given)
        assert SECRET not in got.text, given
        listed = ask(box, "Glob", pattern="**/*.txt", **{k: v for k, v in given.items() if k == "path"})
        assert "o.txt" not in listed.text, given
    assert "mine" in ask(box, "Grep", pattern="mine", output_mode="content").text
    assert ask(box, "Glob", pattern="**/*.txt").text == "src/a.txt"
    for path in ("store/spill/job-2/o.txt", "link/spill/job-2/o.txt", "src/up/store/spill/job-2/o.txt"):
        assert ask(box, "Read", file_path=path).failed
        assert ask(box, "Write", file_path=path, content="x").failed
        assert ask(box, "Grep", pattern="secret", path=path).failed
    assert (store / "spill/job-2/o.txt").read_text() == SECRET


def test_a_hidden_folder_around_the_workspace_hides_nothing_in_it(bench: Bench) -> None:
    bench.write("a.txt", "mine")
    box = bench.box(hidden=(str(bench.root.parent),))
    assert ask(box, "Read", file_path="a.txt").text.endswith("mine")
    assert ask(box, "Glob", pattern="*").text == "a.txt"


@pytest.mark.parametrize("how", ["link", "file"])
def test_git_folders_are_closed_at_any_depth(bench: Bench, how: str) -> None:
    bench.git("init", "--quiet", "--separate-git-dir", str(bench.root / "meta"))
    bench.write("a.txt", "mine")
    (bench.root / "way").symlink_to("meta")
    if how == "link":
        (bench.root / ".git").unlink()
        (bench.root / ".git").symlink_to("meta")
    before = (names_in(bench.root / "meta/hooks"), (bench.root / "meta/config").read_bytes())
    box = bench.box()
    for folder in ("meta", "way"):
        assert ask(box, "Write", file_path=f"{folder}/hooks/pre-commit", content="x").failed
        assert ask(box, "Write", file_path=f"{folder}/new/deep/x", content="x").failed
        assert ask(box, "Edit", file_path=f"{folder}/config", old_string="[core]", new_string="[x]").failed
    assert (names_in(bench.root / "meta/hooks"), (bench.root / "meta/config").read_bytes()) == before
    assert not (bench.root / "meta/new").exists()
    assert ask(box, "Write", file_path="metadata/x", content="x").failed is False
    assert ask(box, "Glob", pattern="**/config").text.startswith("No files match")
