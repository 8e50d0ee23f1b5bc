from __future__ import annotations

import os
from pathlib import Path

import pytest
from toolboxes import SECRET, Bench, ask

from remit.dispatch.tools.git_tools import marks_of
from remit.evidence.receipts import ReceiptIndex

pytestmark = pytest.mark.process


@pytest.fixture
def story(bench: Bench) -> Bench:
    bench.write("src/a.py", "".join(f"line {number}\n" for number in range(1, 21)))
    bench.write("b.txt", "b\n")
    bench.commit("the first")
    bench.write("src/a.py", "".join(f"line {number}\n" for number in range(1, 21)).replace("line 10", "changed 10"))
    bench.commit("the second")
    return bench


def test_commits_are_listed(story: Bench) -> None:
    box = story.box()
    assert [line.strip() for line in ask(box, "GitLog").text.split("\n")][1::2] == ["the second", "the first"]
    assert "the second" not in ask(box, "GitLog", path="b.txt").text
    assert "the first" not in ask(box, "GitLog", limit=1).text
    assert "the first" not in ask(box, "GitLog", rev="HEAD~1..HEAD").text


def test_a_diff_shows_what_changed_and_its_lines_count_as_seen(story: Bench) -> None:
    story.write("src/a.py", (story.root / "src/a.py").read_text().replace("line 3\n", "new 3\nmore\n"))
    got = ask(story.box(), "GitDiff")
    assert "-line 3\n+new 3\n+more\n" in got.text
    assert got.receipt.hits == {"src/a.py": (1, 2, 3, 4, 5, 6, 7)}
    assert ReceiptIndex([got.receipt], str(story.root)).how_seen("src/a.py", 4) == "line"
    assert ask(story.box(), "GitDiff", path="b.txt").text.startswith("No differences.")


def test_lines_of_another_commit_do_not_count_as_seen(story: Bench) -> None:
    for got in (ask(story.box(), "GitDiff", rev="HEAD~1..HEAD"), ask(story.box(), "GitShow", rev="HEAD")):
        assert "+changed 10" in got.text
        assert got.receipt.hits == {"src/a.py": ()}
    assert "the second" in got.text


def test_a_file_is_shown_as_it_was(story: Bench) -> None:
    got = ask(story.box(), "GitShow", rev="HEAD~1", path="src/a.py")
    assert "line 10\n" in got.text
    assert got.receipt.path == "src/a.py"
    assert ask(story.box(), "GitShow", rev="HEAD", path="src").failed


def test_blame_names_the_lines_it_shows(story: Bench) -> None:
    got = ask(story.box(), "GitBlame", path="src/a.py", start=9, end=11)
    assert [line.rpartition(") ")[2] for line in got.text.split("\n")] == ["line 9", "changed 10", "line 11"]
    assert got.receipt.hits == {"src/a.py": (9, 10, 11)}
    assert ask(story.box(), "GitBlame", path="src/a.py", start=18).receipt.hits == {"src/a.py": (18, 19, 20)}
    assert "is before start" in ask(story.box(), "GitBlame", path="src/a.py", start=9, end=2).text
    assert ask(story.box(), "GitBlame", path="src/a.py", start=90).failed


@pytest.mark.parametrize(
    "rev",
    ["--output=x", "-p", "--", "HEAD:../outside", ":/first", "HEAD --all", "HEAD\n", "", "nothing", "a..b..c", "\0"],
)
def test_an_invalid_revision_is_refused(story: Bench, rev: str) -> None:
    for tool in ("GitLog", "GitDiff", "GitShow"):
        got = ask(story.box(), tool, rev=rev)
        if rev.strip() == "HEAD":
            continue
        if rev == "" and tool != "GitShow":
            assert not got.failed  # the same as without it
        else:
            assert got.failed
            assert not (story.root / "x").exists()


@pytest.mark.parametrize("path", [":(top)b.txt", ":/", ":!src", "*.txt"])
def test_a_path_is_not_a_pattern(story: Bench, path: str) -> None:
    assert "the first" not in ask(story.box(), "GitLog", path=path).text


def test_only_the_part_in_the_workspace_is_shown(story: Bench) -> None:
    inner = Bench.__new__(Bench)
    inner.root, inner.outside, inner.spill = story.root / "src", story.outside, story.spill
    story.write("b.txt", "changed b\n")
    story.write("src/a.py", "changed\n")
    assert "b.txt" not in ask(inner.box(), "GitDiff").text
    assert ask(inner.box(), "GitDiff").receipt.hits == {"a.py": (1,)}
    assert "b.txt" not in ask(inner.box(), "GitShow", rev="HEAD~1").text
    assert ask(inner.box(), "GitShow", rev="HEAD", path="../b.txt").failed
    assert "changed 10" in ask(inner.box(), "GitShow", rev="HEAD", path="a.py").text
    assert not ask(inner.box(), "GitBlame", path="a.py").failed


def test_a_missing_history_is_reported(bench: Bench) -> None:
    assert "not a git checkout" in ask(bench.box(), "GitLog").text
    bench.git("init", "--quiet")
    got = ask(bench.box(), "GitDiff")
    assert got.failed
    assert got.text.startswith("git: ")


def test_a_repository_cannot_make_git_run_anything(story: Bench, tmp_path: Path) -> None:
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    for key, value in {
        "core.fsmonitor": program,
        "core.pager": program,
        "pager.log": program,
        "diff.external": program,
        "diff.evil.command": program,
        "diff.evil.textconv": program,
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "filter.evil.process": program,
        "log.showSignature": "true",
        "gpg.program": program,
        "gpg.ssh.program": program,
        "gpg.format": "ssh",
        "core.sshCommand": program,
        "core.hooksPath": tmp_path,
        "core.alternateRefsCommand": program,
    }.items():
        story.git("config", key, str(value))
    story.write(".gitattributes", "* diff=evil filter=evil\n")
    raw = story.git("cat-file", "commit", "HEAD")
    signed = raw.replace("\n\n", "\ngpgsig -----BEGIN SSH SIGNATURE-----\n x\n -----END SSH SIGNATURE-----\n\n", 1)
    (tmp_path / "commit").write_text(signed)
    story.git("update-ref", "HEAD", story.git("hash-object", "-w", "-t", "commit", str(tmp_path / "commit")).strip())
    story.write("src/a.py", "touched\n")
    box = story.box()
    calls = {
        "GitLog": {},
        "GitDiff": {},
        "GitShow": {"rev": "HEAD"},
        "GitBlame": {"path": "src/a.py"},
        "Grep": {"pattern": "touched"},
    }
    for tool, given in calls.items():
        assert not ask(box, tool, **given).failed, tool
        assert not (tmp_path / "ran").exists(), tool


def test_a_repository_cannot_name_another_work_tree(story: Bench) -> None:
    (story.outside / "b.txt").write_text(SECRET)
    story.git("config", "core.worktree", str(story.outside))
    assert SECRET not in ask(story.box(), "GitDiff").text
    assert SECRET not in ask(story.box(), "GitBlame", path="b.txt").text


@pytest.mark.parametrize("how", ["file", "link", "commondir"])
def test_a_repository_of_another_user_is_not_used(bench: Bench, how: str) -> None:
    (bench.outside / "x").mkdir()
    bench.git("init", "--quiet", folder=bench.outside)
    bench.git("add", ".", folder=bench.outside)
    bench.git("commit", "--quiet", "-m", SECRET, folder=bench.outside)
    own = bench.root / ".git"
    if how == "file":
        own.write_text(f"gitdir: {bench.outside}/.git\n")
    elif how == "link":
        own.symlink_to(bench.outside / ".git")
    else:
        bench.git("init", "--quiet")
        (own / "commondir").write_text(f"{bench.outside}/.git\n")
    got = ask(bench.box(), "GitLog")
    assert SECRET not in got.text
    assert "leads to another repository" in got.text


def test_a_linked_work_tree_works(story: Bench, tmp_path: Path) -> None:
    story.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    linked = Bench.__new__(Bench)
    linked.root, linked.outside, linked.spill = tmp_path / "linked", story.outside, story.spill
    linked.write("b.txt", "changed b\n")
    assert "the second" in ask(linked.box(), "GitLog").text
    assert ask(linked.box(), "GitDiff").receipt.hits == {"b.txt": (1,)}
    assert ask(linked.box(), "Grep", pattern="changed b").text == "b.txt"
    assert "+changed b" in ask(linked.box(), "Bash", command="git diff").text


def test_the_environment_of_the_worker_does_not_point_git_elsewhere(
    story: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", os.devnull)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    assert "the first" in ask(story.box(), "GitLog").text


def test_a_line_of_a_file_is_not_taken_for_a_diff_header() -> None:
    head = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n"
    diff = f"{head}-a\n+++ b/other\n+@@ -1 +1,9 @@\n\\ No newline at end of file"
    marks = marks_of(diff.split("\n"), numbered=True)
    assert marks == (None, None, ("x", 0), None, None, ("x", 1), ("x", 2), None)
