"""Hostile repositories cannot redirect or block git."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest
from support.waiting import PATIENCE
from toolboxes import SECRET, Bench, ask

pytestmark = pytest.mark.process

_HISTORY = ({"tool": "GitLog"}, {"tool": "GitShow", "rev": "HEAD"}, {"tool": "GitBlame", "path": "a.txt"})


@pytest.fixture
def story(bench: Bench) -> Bench:
    bench.write("a.txt", "one\n")
    bench.commit("the first")
    return bench


@pytest.fixture
def other(bench: Bench) -> Path:
    """Return a repository of another user with a secret in its history."""
    bench.git("init", "--quiet", "--initial-branch=main", folder=bench.outside)
    bench.git("add", ".", folder=bench.outside)
    bench.git("commit", "--quiet", "-m", SECRET, folder=bench.outside)
    return bench.outside / ".git"


def _history(bench: Bench) -> list[str]:
    box = bench.box(seconds=20)
    return [ask(box, call["tool"], **{k: v for k, v in call.items() if k != "tool"}).text for call in _HISTORY]


def test_an_object_folder_elsewhere_is_not_read(bench: Bench, other: Path) -> None:
    own = bench.root / ".git"
    own.mkdir()
    for name in ("objects", "refs"):
        (own / name).symlink_to(other / name)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    bench.write("a.txt", "a")
    for text in _history(bench):
        assert SECRET not in text
        assert "contains a link that leads out of it" in text


def test_objects_are_not_borrowed(story: Bench, other: Path) -> None:
    (story.root / ".git/objects/info/alternates").write_text(f"{other}/objects\n")
    commit = story.git("rev-parse", "HEAD", folder=story.outside).strip()
    got = ask(story.box(), "GitShow", rev=commit, path="secret.txt")
    assert got.failed
    assert SECRET not in got.text
    assert "alternates" in got.text


def test_a_bare_repository_in_the_workspace_is_not_used_as_its_repository(story: Bench, other: Path) -> None:
    part = story.root / "part"
    (part / "objects" / "info").mkdir(parents=True)
    (part / "refs").mkdir()
    (part / "HEAD").write_text((other / "refs/heads/main").read_text())
    (part / "objects/info/alternates").write_text(f"{other}/objects\n")
    inner = Bench.__new__(Bench)
    inner.root, inner.outside, inner.spill = part, story.outside, story.spill
    got = ask(inner.box(), "GitLog")
    assert got.failed
    assert SECRET not in got.text


def test_messages_of_git_about_a_file_are_not_shown(story: Bench) -> None:
    story.git("config", "blame.ignoreRevsFile", str(story.outside / "secret.txt"))
    got = ask(story.box(), "GitBlame", path="a.txt")
    assert "outside" not in got.text
    assert got.text.startswith("git: the repository's blame.ignoreRevsFile cannot be used.")


def test_a_damaged_configuration_is_not_quoted(story: Bench) -> None:
    (story.root / ".git/config").write_text(f"[include]\n\tpath = {story.outside}/secret.txt\n")
    for text in _history(story):
        assert "outside" not in text
        assert "secret" not in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tool": "GitShow", "rev": "nothing"}, "git: there is no such commit."),
        ({"tool": "GitShow", "rev": "HEAD", "path": "none.txt"}, "git: there is no such file in that commit."),
        ({"tool": "GitBlame", "path": "a.txt", "start": 90}, "git: the file has only 1 lines."),
    ],
)
def test_usual_mistakes_are_still_explained(story: Bench, given: dict[str, str], said: str) -> None:
    got = ask(story.box(), given.pop("tool"), **given)
    assert got.text.startswith(said), got.text


def test_a_repository_that_blocks_git_does_not_block_other_calls(story: Bench, tmp_path: Path) -> None:
    os.mkfifo(story.root / "pipe")
    (story.root / ".git/config").write_text(f"[include]\n\tpath = {story.root}/pipe\n")
    neighbour = Bench.__new__(Bench)
    neighbour.root, neighbour.outside, neighbour.spill = tmp_path / "next", story.outside, story.spill
    neighbour.root.mkdir()
    neighbour.write("a.txt", "read me\n")

    async def many() -> None:
        stuck = story.box(seconds=PATIENCE)
        waiting = [asyncio.ensure_future(stuck.call("GitLog", {})) for _ in range(12)]
        await asyncio.wait(waiting, timeout=0.3)
        got = await neighbour.box().call("Read", {"file_path": "a.txt"})
        assert "read me" in got.text
        assert not any(one.done() for one in waiting)
        for one in waiting:
            one.cancel()
        await asyncio.wait(waiting)

    asyncio.run(many())
    assert "too long" in ask(story.box(seconds=1), "GitLog").text
    assert ask(story.box(seconds=4), "Grep", pattern="one").text == "a.txt"


def test_more_filters_than_can_be_switched_off_do_not_stop_a_search(story: Bench) -> None:
    many = "".join(f'[filter "{"k" * 3_000}{number}"]\n\tclean = cat\n' for number in range(1_500))
    with (story.root / ".git/config").open("a") as file:
        file.write(many)
    assert "more filters than can be switched off" in ask(story.box(), "GitDiff").text
    assert ask(story.box(), "Grep", pattern="one").text == "a.txt"


@pytest.mark.usefixtures("each_confinement")
def test_a_pipe_behind_the_pointer_to_a_repository_does_not_stop_the_loop(bench: Bench) -> None:
    (bench.root / "x").mkdir()
    os.mkfifo(bench.root / "x" / "gitdir")
    bench.write(".git", "gitdir: x")
    release = threading.Timer(20, lambda: os.close(os.open(bench.root / "x/gitdir", os.O_RDWR)))
    release.start()  # so that a failure does not block the tests
    began = time.monotonic()
    got = ask(bench.box(), "Bash", command="echo through")
    release.cancel()
    assert got.text == "through"
    assert time.monotonic() - began < 15
