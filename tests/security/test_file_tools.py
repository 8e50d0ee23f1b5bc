"""Attacks on the file tools of jobs, written without looking at their code. Nothing outside is read or changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit.dispatch.tools import confined, openat
from remit.dispatch.tools.tool_types import ToolLimits
from remit.dispatch.tools.toolbox import Toolbox
from remit.registry.tools import OFFERED

SECRET = "text-of-the-outside"
#: Ways out of the workspace, into files of git and of Remit, and to what is not a file.
WAYS = {
    "parent": "../outside/secret.txt",
    "parent in the middle": "src/../../outside/secret.txt",
    "parent with dots": "./././../outside/secret.txt",
    "system file": "/etc/passwd",
    "two slashes": "//etc/passwd",
    "link": "link.txt",
    "linked folder": "linked/secret.txt",
    "chain of links": "chain/secret.txt",
    "link to the root": "root/etc/passwd",
    "link to a process": "process/environ",
    "root of a process": "process/root/etc/passwd",
    "own descriptor": "/proc/self/fd/0",
    "loop": "loop",
    "below a loop": "loop/x",
    "hidden folder": "../data/db.txt",
    "link to the hidden folder": "hidden/db.txt",
    "home": "~/x",
    "address": "file:///etc/passwd",
    "NUL": "a\0b",
    "NUL after a link": "link.txt\0.md",
    "long name": "a" * 5_000,
    "deep": "a/" * 3_000 + "x",
    "nothing": "",
    "the workspace": ".",
    "above it": "..",
    "everything": "/",
    "surrogate": "\udcff.txt",
    "pipe": "pipe",
    "pipe with a usual name": "src/pipe.py",
    "socket": "socket",
    "device": "/dev/zero",
    "folder": "src",
    "git": ".git/config",
    "git in capitals": ".GIT/config",
    "git through a parent": "src/../.git/config",
    "git through a link": "repository/config",
    "git with an invisible character": ".g\u200cit/config",
    "short name of git": "GIT~1/config",
    "git with a dot": ".git./config",
    "git with a space": ".git /config",
    "backslashes": "..\\outside\\other.txt",
    "escaped dots": "%2e%2e/outside/other.txt",
    "variable": "$HOME/x",
    "wildcard": "*",
    "option": "-rf",
}
#: Names under which a job would decide what runs next.
DECIDING = [
    *("remit.toml", "./remit.toml", "src/../remit.toml", "REMIT.TOML", "remit.toml ", "remit.toml.", "settings.md"),
    *("src/remit.toml", "new/remit.toml", "remit\u200b.toml", "re\u00admit.toml", "\uff52emit.toml"),
    *(".claude/settings.json", ".claude/settings.local.json", ".CLAUDE/settings.json", "client/settings.json"),
    *("client/agents/x.md", ".claude/commands/x.md", ".claude/skills/x/SKILL.md", "a/b/.claude/settings.json"),
    *(".claude\u200d/settings.json", ".mcp.json", "sub/.mcp.json", ".codex/config.toml", ".gemini/settings.json"),
    *(".cursor/mcp.json", "opencode.json", ".opencode/agents/x.md", ".remit-dismissals.toml", ".remit/gate/x"),
    *(".git/hooks/pre-commit", ".git", ".REMIT/x", "sub/.opencode/plugins/x.js"),
]


def make(root: Path) -> Path:
    """Return a workspace with links that lead out, next to the folders that they lead to."""
    work = root / "work"
    for name in ("outside", "data", "work/src", "work/.claude", "work/.git"):
        (root / name).mkdir(parents=True)
    for name in ("outside/secret.txt", "data/db.txt", "work/.git/config"):
        (root / name).write_text(SECRET)
    for name, text in (("src/app.py", "a = 1\n"), ("remit.toml", "[gate]\n"), (".claude/settings.json", "{}\n")):
        (work / name).write_text(text)
    for name, target in {
        "link.txt": "../outside/secret.txt",
        "linked": str(root / "outside"),
        "chain": "linked",
        "root": "/",
        "process": "/proc/self",
        "loop": "loop",
        "hidden": "../data",
        "repository": ".git",
        "settings.md": "remit.toml",
        "client": ".claude",
    }.items():
        (work / name).symlink_to(target)
    os.mkfifo(work / "pipe")
    os.mkfifo(work / "src/pipe.py")
    return work


def content(root: Path) -> dict[str, bytes]:
    """Return what must stay as it is."""
    paths = [*(root / "outside").rglob("*"), *(root / "data").rglob("*"), *(root / "work/.git").rglob("*")]
    paths += [root / "work/remit.toml", *(root / "work/.claude").rglob("*"), *root.glob("*.txt")]
    return {str(path): path.read_bytes() for path in paths if path.is_file()}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("tools")
    work = make(root)
    place, here = socket.socket(socket.AF_UNIX), Path.cwd()
    os.chdir(work)  # the name of a socket is short
    place.bind("socket")
    os.chdir(here)
    before = content(root)
    yield work
    place.close()
    assert content(root) == before


def ask(work: Path, tool: str, **arguments: Any) -> str:
    limits = ToolLimits(hidden=(str(work.parent / "data"),))
    box = Toolbox(work, OFFERED, spill=work.parent / "spill", limits=limits)
    return asyncio.run(asyncio.wait_for(box.call(tool, arguments), 20)).text


@pytest.mark.parametrize("way", WAYS)
def test_no_tool_leaves_the_workspace(work: Path, way: str) -> None:
    before, names = content(work.parent), {path.name for path in work.parent.iterdir()}
    for tool, arguments in (
        ("Read", {"file_path": WAYS[way]}),
        ("Edit", {"file_path": WAYS[way], "old_string": "t", "new_string": "evil", "replace_all": True}),
        ("LS", {"path": WAYS[way]}),
        ("Glob", {"path": WAYS[way], "pattern": "**/*"}),
        ("Write", {"file_path": WAYS[way], "content": "evil"}),
    ):
        answer = ask(work, tool, **arguments)
        assert SECRET not in answer
        assert "root:x:0" not in answer
    assert content(work.parent) == before
    assert {path.name for path in work.parent.iterdir()} - {"spill"} == names - {"spill"}
    assert (work / "src/app.py").read_text() == "a = 1\n"


@pytest.mark.parametrize("name", DECIDING)
def test_no_job_writes_what_decides_what_runs_next(work: Path, name: str) -> None:
    before = content(work.parent)
    answer = ask(work, "Write", file_path=name, content='[gate]\nothers = "off"\n')
    assert "Created" not in answer
    assert "Replaced" not in answer
    assert content(work.parent) == before


@pytest.mark.parametrize(
    "pattern",
    [
        *("../**", "/etc/*", "{..,.}/**", "linked/**", "**/../../outside/*", "root/etc/*", "process/**", "hidden/**"),
        *(".git/**", "**/.git/*", "[", "{a,b", "{" * 200, "*" * 3_000, "a\0b"),
    ],
)
def test_no_glob_leaves_the_workspace(tmp_path: Path, pattern: str) -> None:
    # Other tests write files of such names into their workspace.
    answer = ask(make(tmp_path), "Glob", pattern=pattern)
    assert not any(name in answer for name in ("secret.txt", "db.txt", "passwd", ".git/config"))


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", "\u202egpj.exe", "a\x9b2Jb", "a\u2066b"])
def test_no_file_gets_a_name_that_a_terminal_obeys(work: Path, name: str) -> None:
    before = sorted(work.iterdir())
    assert "characters that cannot be seen" in ask(work, "Write", file_path=name, content="x")
    assert sorted(work.iterdir()) == before


@pytest.mark.parametrize("name", ["naïve.md", "日本語.py", "with space.txt", "שלום.md"])
def test_names_in_any_language_are_ordinary(tmp_path: Path, name: str) -> None:
    assert ask(make(tmp_path), "Write", file_path=name, content="x").startswith("Created")


def test_a_link_to_settings_that_is_made_while_a_path_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = make(tmp_path)
    (work / "notes").mkdir()
    find_link = openat._link

    def swap(name: str, folder: int) -> str | None:
        if name == "notes" and (work / "notes").is_dir() and not (work / "notes").is_symlink():
            (work / "notes").rmdir()
            (work / "notes").symlink_to(".claude")
        return find_link(name, folder)

    monkeypatch.setattr(openat, "_link", swap)
    assert confined.decides_what_runs("notes/settings.json") is False
    assert "decides what runs next" in ask(work, "Write", file_path="notes/settings.json", content="evil")
    assert (work / ".claude/settings.json").read_text() == "{}\n"


def test_a_folder_that_becomes_a_link_again_and_again_leads_nowhere(tmp_path: Path) -> None:
    work = make(tmp_path)
    is_over = threading.Event()

    def flip() -> None:
        place = work / "turn"
        while not is_over.is_set():
            with contextlib.suppress(OSError):  # the tools write there at the same time
                place.mkdir(exist_ok=True)
                (place / "secret.txt").write_text("inside\n")
            with contextlib.suppress(OSError):
                place.rename(work / f"old{time.monotonic_ns()}")
                place.symlink_to(tmp_path / "outside")
            with contextlib.suppress(OSError):
                place.unlink()

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        for _ in range(40):
            assert SECRET not in ask(work, "Read", file_path="turn/secret.txt")
            ask(work, "Write", file_path="turn/secret.txt", content="evil")
    finally:
        is_over.set()
        thread.join()
    assert (tmp_path / "outside/secret.txt").read_text() == SECRET
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["secret.txt"]
