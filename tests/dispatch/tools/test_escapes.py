"""Every form of a path that leads outside, for every tool."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolboxes import SECRET, Bench, ask

from remit.dispatch.tools import openat
from remit.dispatch.tools.openat import is_closed_name

pytestmark = pytest.mark.process

_TOOLS: list[tuple[str, str, dict[str, Any]]] = [
    ("Read", "file_path", {}),
    ("Write", "file_path", {"content": "changed"}),
    ("Edit", "file_path", {"old_string": "secret", "new_string": "changed"}),
    ("Grep", "path", {"pattern": "secret", "output_mode": "content"}),
    ("Glob", "path", {"pattern": "*"}),
    ("LS", "path", {}),
    ("GitLog", "path", {}),
    ("GitDiff", "path", {}),
    ("GitShow", "path", {"rev": "HEAD"}),
    ("GitBlame", "path", {}),
]
_WAYS = [
    "../outside/secret.txt",
    "a/../../outside/secret.txt",
    "{outside}/secret.txt",
    "{root}/../outside/secret.txt",
    "..\\outside\\secret.txt",
    "~/secret.txt",
    "~root/secret.txt",
    "file-link",
    "folder-link/secret.txt",
    "inner/far-link/secret.txt",
    "chain",
    "loop",
    "/proc/self/environ",
    "//etc/passwd",
    ".git/config",
    ".GIT/config",
    "a/.git/config",
    "git-link/config",
    "secret.txt\0.py",
    "\udcff/../../outside/secret.txt",
    "",
    "{root}-sibling/x",
]


@pytest.fixture
def trapped(bench: Bench) -> Bench:
    bench.write("a/b.py", "x\n")
    bench.commit()
    (bench.root / "file-link").symlink_to(bench.outside / "secret.txt")
    (bench.root / "folder-link").symlink_to("../outside")
    (bench.root / "inner").mkdir()
    (bench.root / "inner" / "far-link").symlink_to("../../outside")
    (bench.root / "chain").symlink_to("file-link")
    (bench.root / "loop").symlink_to("loop")
    (bench.root / "git-link").symlink_to(".git")
    return bench


@pytest.mark.parametrize(("tool", "argument", "more"), _TOOLS, ids=[tool for tool, *_ in _TOOLS])
def test_no_path_leads_outside(trapped: Bench, tool: str, argument: str, more: dict[str, Any]) -> None:
    before = trapped.listing(), (trapped.root / ".git" / "config").read_bytes()
    for way in _WAYS:
        written = way.replace("{outside}", str(trapped.outside)).replace("{root}", str(trapped.root))
        got = ask(trapped.box(), tool, **{argument: written}, **more)
        assert not [text for text in (SECRET, "[core]", "root:x:") if text in got.text], way
        assert (trapped.listing(), (trapped.root / ".git" / "config").read_bytes()) == before, way
        if way and not (tool.startswith("Git") and ("link" in way or way in ("chain", "loop"))):
            assert got.failed, way  # git shows the link, not its target
            assert got.receipt.failed, way


def test_the_message_explains_valid_paths(trapped: Bench) -> None:
    got = ask(trapped.box(), "Read", file_path="/etc/passwd")
    assert "Write a path relative to the workspace, such as src/main.py" in got.text
    assert str(trapped.root) in got.text


def test_globs_and_searches_do_not_follow_links_outside(trapped: Bench) -> None:
    for pattern in ("**/*", "folder-link/*", "inner/**/secret*"):
        assert "secret" not in ask(trapped.box(), "Glob", pattern=pattern).text.replace(repr(pattern), "")
    for pattern in ("../outside/*", "/etc/*", f"{trapped.root}/../outside/*", "**/../../*"):
        assert ask(trapped.box(), "Glob", pattern=pattern).failed
    assert SECRET not in ask(trapped.box(), "Grep", pattern="secret", output_mode="content").text


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".GIT",
        ".Git",
        ".g\u200cit",
        "\ufeff.git",
        ".git.",
        ".git ",
        "git~1",
        "GIT~1",
        ".remit",
        ".Remit",
        "REMIT~1",
    ],
)
def test_other_spellings_of_git_are_recognised(name: str) -> None:
    assert is_closed_name(name)


@pytest.mark.parametrize(
    "name", [".gitignore", ".github", "git", ".gitattributes", "git~2", "remit", "remit.toml", ".remitrc"]
)
def test_names_that_only_start_like_git_are_not_matched(name: str) -> None:
    assert not is_closed_name(name)


@pytest.mark.parametrize("tool", ["Read", "Write"])
def test_a_folder_swapped_for_a_link_while_walking_does_not_lead_outside(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    bench.write("inner/secret.txt", "mine")
    before = bench.listing()
    checked = openat._link

    def swapped(name: str, folder: int) -> str | None:
        target = checked(name, folder)
        if name == "inner" and target is None:  # listed, not yet opened
            (bench.root / "inner").rename(bench.root / "moved")
            (bench.root / "inner").symlink_to(bench.outside)
        return target

    monkeypatch.setattr(openat, "_link", swapped)
    got = ask(bench.box(), tool, file_path="inner/secret.txt", **({"content": "x"} if tool == "Write" else {}))
    assert got.failed
    assert SECRET not in got.text
    assert bench.listing() == before


def test_a_file_swapped_for_a_link_before_the_write_is_replaced_and_not_followed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = bench.write("mine.txt", "mine")
    before = bench.listing()
    from remit.dispatch.tools import file_tools

    stored = file_tools.store_file

    def swapped(*given: Any) -> None:
        mine.unlink()
        mine.symlink_to(bench.outside / "secret.txt")
        stored(*given)

    monkeypatch.setattr(file_tools, "store_file", swapped)
    assert not ask(bench.box(), "Write", file_path="mine.txt", content="new").failed
    assert bench.listing() == before
    assert mine.read_text() == "new"


def test_a_hard_link_to_the_outside_is_replaced_and_not_written_through(bench: Bench) -> None:
    os.link(bench.outside / "secret.txt", bench.root / "hard")
    assert not ask(bench.box(), "Write", file_path="hard", content="new").failed
    assert (bench.outside / "secret.txt").read_text() == SECRET


_PIECES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "out",
        "file",
        "back",
        ".git",
        "~",
        "outside",
        "secret.txt",
        "\0",
        "work",
        "…",
        " ",
        "\\",
        "\ud800",
    ]
)
_PATHS = st.one_of(
    st.lists(_PIECES, max_size=7).map("/".join),
    st.lists(_PIECES, max_size=5).map(lambda parts: "{top}/" + "/".join(parts)),
    st.lists(_PIECES, max_size=5).map(lambda parts: "{top}/work/" + "/".join(parts)),
    st.text(max_size=40),
)


@given(_PATHS)
def test_no_text_ever_makes_a_tool_touch_the_outside(written: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder).resolve())
        (bench.root / "a").mkdir()
        (bench.root / "out").symlink_to("../outside")
        (bench.root / "file").symlink_to(bench.outside / "secret.txt")
        (bench.root / "a" / "back").symlink_to("../../outside/../work")
        path = written.replace("{top}", folder)
        before = bench.listing()
        for tool, more in (("Read", {}), ("Write", {"content": "x"}), ("LS", {})):
            got = ask(bench.box(), tool, **{"path" if tool == "LS" else "file_path": path}, **more)
            assert SECRET not in got.text
            assert "secret.txt" not in got.text or "secret.txt" in path
        assert bench.listing() == before
        assert sorted(entry.name for entry in Path(folder).iterdir()) == ["outside", "work"]
        with contextlib.suppress(FileNotFoundError):
            assert not (bench.root / ".git").exists()


def test_a_hidden_folder_cannot_be_read_or_written_even_through_a_link(bench: Bench) -> None:
    bench.write("data/postgres/postgresql.auto.conf", "secret\n")
    (bench.root / "way-in").symlink_to("data/postgres")
    box = bench.box(hidden=(str(bench.root / "data"),))
    for path in ("data/postgres/postgresql.auto.conf", "way-in/postgresql.auto.conf", "x/../data/postgres/new"):
        for got in (ask(box, "Read", file_path=path), ask(box, "Write", file_path=path, content="x")):
            assert got.failed, path
            assert "secret" not in got.text
    assert (bench.root / "data/postgres/postgresql.auto.conf").read_text() == "secret\n"
    assert not (bench.root / "data/postgres/new").exists()


def test_only_kept_results_of_other_agents_can_be_read(bench: Bench) -> None:
    results = bench.outside / "results"
    for name in ("plan-1/7.md", "plan-1/x.md", "secret.md", "plan-1/deep/8.md"):
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text("kept\n", encoding="utf-8")
    box = bench.box(results=str(results))
    assert "kept" in ask(box, "Read", file_path=f"{results}/plan-1/7.md").text
    for name in ("plan-1/x.md", "secret.md", "plan-1/deep/8.md", "plan-1/../secret.md", "plan-1/7.md/../x.md"):
        assert ask(box, "Read", file_path=f"{results}/{name}").failed, name
    assert ask(box, "Write", file_path=f"{results}/plan-1/7.md", content="x").failed
