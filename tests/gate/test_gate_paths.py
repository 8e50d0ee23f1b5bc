from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.gate.project_paths import classify, count_lines, is_guarded, locate, read_text
from remit.gate.settings import GateSettings
from remit.globs import expand_braces, find_matches, matches_glob

SETTINGS = GateSettings()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".remit/a/b.json", "state"),
        (".remit", "code"),
        (".claude/workspaces/x/spec.md", "state"),
        (".claude/agents/a.md", "code"),
        ("a/b/claude-progress.json", "state"),
        ("feature-list.json", "state"),
        ("docs/specs/test_plan.md", "spec"),
        ("docs/design/a/b.svg", "spec"),
        ("specs/a.yaml", "spec"),
        ("requirements.md", "spec"),
        ("app/spec.md", "spec"),
        ("docs/login-spec.md", "spec"),
        ("docs/shop-prd-2.md", "spec"),
        ("requirements.txt", "code"),
        ("tests/design.md", "spec"),
        ("tests/README.md", "tests"),
        ("test/a.c", "tests"),
        ("contest/a.c", "code"),
        ("src/test_a.py", "tests"),
        ("src/latest_a.py", "code"),
        ("src/a_test.go", "tests"),
        ("src/a.test.js", "tests"),
        ("src/a.spec.ts", "tests"),
        ("src/a.spec.py", "code"),
        ("src/__tests__/deep/a.js", "tests"),
        ("docs/a.html", "prose"),
        ("docs/specs", "prose"),
        ("CHANGELOG.md", "prose"),
        ("CHANGELOG.rst", "code"),
        ("Makefile", "code"),
        (".github/workflows/ci.yml", "code"),
        ("../elsewhere/a.py", "code"),
        ("../elsewhere/docs/a.html", "code"),
        ("../elsewhere/a.md", "prose"),
        ("/dev/null", "scratch"),
        ("/proc/self/status", "scratch"),
    ],
)
def test_each_path_has_one_class(path: str, kind: str) -> None:
    assert classify(locate(path, "", "/nowhere/project"), SETTINGS) == kind


def test_temporary_files_are_scratch_unless_the_project_itself_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/mine/tmp")
    for path in ("/tmp/a.py", "/var/tmp/x/a.py", "/mine/tmp/a.py"):
        assert classify(locate(path, "", "/nowhere/project"), SETTINGS) == "scratch"
    assert classify(locate("/tmpfile.py", "", "/nowhere/project"), SETTINGS) == "code"
    assert classify(locate("/tmp/project/a.py", "", "/tmp/project"), SETTINGS) == "code"
    assert classify(locate("/tmp/project2/a.py", "", "/tmp/project"), SETTINGS) == "scratch"


def test_a_path_is_resolved_to_its_real_name(tmp_path: Path) -> None:
    (tmp_path / "real/src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    real, link = str(tmp_path / "real"), str(tmp_path / "link")
    for path, cwd in (
        ("src/a.py", ""),
        ("a.py", f"{real}/src"),
        (f"{link}/src/a.py", "/"),
        ("../real/src/./a.py", real),
    ):
        for project in (real, link):
            place = locate(path, cwd, project)
            assert (place.name, place.inside) == ("src/a.py", True)
    assert locate(".", real, real).name == "."
    assert locate("..", real, real).inside is False
    assert locate(f"{real}-other/a", "", real).inside is False


@pytest.mark.parametrize("above", ["/SHOP", "/System/Volumes/Data/shop"])
def test_a_project_with_several_names_is_known_by_each(
    above: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system that ignores case, or through a mount, the same folder has another name."""
    (tmp_path / "shop/.claude").mkdir(parents=True)
    project, stat = str(tmp_path / "shop"), os.stat
    monkeypatch.setattr(os, "stat", lambda path: stat(str(path).replace(str(tmp_path) + above, project)))
    located = locate(f"{tmp_path}{above}/.claude/settings.json", project, project)
    assert (located.name, located.inside) == (".claude/settings.json", True)
    outside = locate(f"{tmp_path}/other/.claude/settings.json", project, project)
    assert not outside.inside


@pytest.mark.parametrize(
    ("name", "glob", "fit"),
    [
        ("a.py", "*.py", True),
        ("a/b.py", "*.py", False),
        ("a/b.py", "**/*.py", True),
        ("b.py", "**/*.py", True),
        ("a/b/c.py", "a/**/c.py", True),
        ("a/c.py", "a/**/c.py", True),
        ("a/b", "a/**", True),
        ("a", "a/**", False),
        ("a/b", "**/a/**", True),
        ("c/a/b", "**/a/**", True),
        ("a", "**/a/**", False),
        ("c/a", "**/a/**", False),
        ("a/b", "**/**", True),
        ("a", "**", True),
        ("ab.py", "a?.py", True),
        ("a.py", "a?.py", False),
        ("a.ts", "a.{js,ts}", True),
        ("a.tsx", "a.{js,ts}", False),
        ("a1.py", "a[0-9].py", True),
        ("ab.py", "a[0-9].py", False),
        ("aXbXc", "a*b*c", True),
        ("a" * 60, "*a" * 30 + "b", False),
    ],
)
def test_a_glob_matches_whole_names(name: str, glob: str, fit: bool) -> None:
    assert matches_glob(name, glob) is fit


def test_braces_are_expanded_within_a_limit() -> None:
    assert expand_braces("a{b,c}d{e,f}") == ["abde", "abdf", "acde", "acdf"]
    assert expand_braces("{a}") == ["{a}"]
    assert len(expand_braces("{a,b}" * 40)) <= 64


@given(st.text(alphabet="ab/*?{},[]!", max_size=15), st.text(alphabet="ab/*?{},[]!", max_size=15))
def test_matching_never_raises(name: str, glob: str) -> None:
    assert matches_glob(name, glob) in (True, False)


def test_lines_are_counted_with_or_without_a_final_line_break(tmp_path: Path) -> None:
    file = tmp_path / "a"
    for content, lines in (
        (b"", 0),
        (b"a", 1),
        (b"a\n", 1),
        (b"a\n\nb", 3),
        (b"\x89PNG\0\n\n", 0),
        (b"a\n" * 3000, 2000),
    ):
        file.write_bytes(content)
        assert count_lines(str(file), 2000) == lines
    os.mkfifo(tmp_path / "pipe")
    for path in ("pipe", "missing", "."):
        assert count_lines(str(tmp_path / path), 2000) == 0
        assert path == "pipe" or read_text(str(tmp_path / path), 10) is None
    file.write_bytes(b"12345678901")
    assert read_text(str(file), 10) is None
    file.write_bytes(b"\xff")
    assert read_text(str(file), 10) is None


def test_files_are_matched_up_to_a_limit(tmp_path: Path) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "node_modules/d.py", ".git/e.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = find_matches(str(tmp_path), "**/*.py", 10)
    assert found is not None
    assert sorted(path.removeprefix(f"{tmp_path}/") for path in found) == ["a.py", "src/b.py", "src/deep/c.py"]
    assert len(find_matches(str(tmp_path), "", 2) or []) == 2
    assert find_matches(str(tmp_path / "a.py"), "anything", 2) == [str(tmp_path / "a.py")]
    assert find_matches(str(tmp_path / "missing"), "", 2) == []


@pytest.fixture(scope="module")
def linked_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linked")
    real = folder / "real"
    (real / "src").mkdir(parents=True)
    (real / "src" / "a.py").write_text("")
    (real / "up").symlink_to("..")
    (real / "src" / "round").symlink_to("../src")
    (real / "src" / "file").symlink_to("a.py")
    (real / "src" / "loop").symlink_to("loop")
    (real / "src" / "gone").symlink_to("nothing/here")
    (folder / "project").symlink_to("real")
    return folder / "project"


_PARTS = st.sampled_from(["src", "a.py", "up", "round", "file", "loop", "gone", "missing", "..", ".", "", "project"])


@given(parts=st.lists(_PARTS, max_size=6))
def test_a_path_leads_to_the_same_file_as_for_the_system(linked_project: Path, parts: list[str]) -> None:
    path = "/".join(parts)
    for project in (linked_project, linked_project.resolve()):
        expected = os.path.realpath(os.path.join(project, path))  # noqa: PTH118 (as the client writes it)
        assert locate(path, str(project), str(project)).real == expected
        assert locate(f"{project}/{path}", "", str(project)).real == os.path.realpath(f"{project}/{path}")


@pytest.mark.parametrize(
    ("path", "guarded"),
    [
        ("remit.toml", True),
        ("sub/remit.toml", True),
        (".remit-dismissals.toml", True),
        (".mcp.json", True),
        (".claude/settings.json", True),
        (".claude/settings.local.json", True),
        (".claude/agents/a.md", True),
        (".claude/agents", True),
        (".claude/skills/remit/SKILL.md", True),
        (".claude/commands/remit/status.md", True),
        (".remit/gate/installed.json", True),
        ("~/.claude/settings.json", True),
        ("~/.config/remit/config.toml", True),
        ("~/.local/state/remit/gate/x/gate.sqlite", True),
        (".remit/progress.json", False),
        (".claude/workspaces/a/plan.md", False),
        (".github/workflows/ci.yml", False),
        (".git/config", False),
        ("src/app.py", False),
        ("~/notes.md", False),
    ],
)
def test_the_guarded_files_are_a_short_list(
    path: str, guarded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "REMIT_STATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    assert is_guarded(locate(path, "", str(tmp_path / "shop"))) is guarded
