"""How paths from documents are interpreted, by their text only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.workspace.paths import folded_name, is_absolute, normalize_path

ROOT = "/home/dev/shop"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a.py", "a.py"),
        ("./a.py", "a.py"),
        ("./././app//a.py", "app/a.py"),
        ("app/", "app"),
        (" app/a.py ", "app/a.py"),
        ("app/../app/a.py", "app/a.py"),
        ("a/b/../../c.py", "c.py"),
        (".", ""),
        ("", ""),
        ("app\\models\\user.py", "app/models/user.py"),
        (".\\app\\..\\a.py", "a.py"),
        ("/home/dev/shop/app/a.py", "app/a.py"),
        ("/home/dev/shop//app/./a.py", "app/a.py"),
        ("/home/dev/shop/../shop/a.py", "a.py"),
        ("/home/../home/dev/shop/a.py", "a.py"),
        ("/../home/dev/shop/a.py", "a.py"),
        ("/home/dev/shop", ""),
        ("/home/dev/shop/", ""),
        ("...py", "...py"),
        ("..a/b", "..a/b"),
        ("a/.gitignore", "a/.gitignore"),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        ("two words/a b.py", "two words/a b.py"),
        ("a\nb.py", "a\nb.py"),
        ("Ünïcödé/ファイル.py", "Ünïcödé/ファイル.py"),
    ],
)
def test_a_path_that_stays_inside_is_relative_and_plain(written: str, expected: str) -> None:
    assert normalize_path(written, ROOT) == expected


@pytest.mark.parametrize(
    "written",
    [
        "..",
        "../a.py",
        "a/../../shop/a.py",
        "a\\..\\..\\b.py",
        "/etc/passwd",
        "/home/dev/shop2/a.py",
        "/home/dev/shopping.py",
        "/home/dev/shop/../other/a.py",
        "/home/dev",
        "/",
        "~/a.py",
        "~dev/shop/a.py",
        "C:\\Users\\dev\\a.py",
        " C:\\Users\\dev\\a.py",
        "c:/Users/dev/a.py",
        "\\\\server\\share\\a.py",
        ".git",
        ".git/config",
        ".GIT/config",
        "vendor/lib/.git/config",
        "/home/dev/shop/.git/HEAD",
        "app/../.git/HEAD",
        "app\\.git\\HEAD",
    ],
)
def test_a_path_that_leads_out_or_into_git_is_refused(written: str) -> None:
    assert normalize_path(written, ROOT) is None


@pytest.mark.parametrize("root", ["C:\\projects\\shop", "C:/projects/shop", "c:\\projects\\shop\\"])
@pytest.mark.parametrize("written", ["C:\\projects\\shop\\app\\a.py", "c:/projects/shop/app/a.py", "app\\a.py"])
def test_a_windows_path_below_a_windows_root_is_inside(root: str, written: str) -> None:
    assert normalize_path(written, root) == "app/a.py"


def test_below_the_root_of_the_file_system_every_path_is_inside() -> None:
    assert normalize_path("/home/dev/a.py", "/") == "home/dev/a.py"


@given(st.text(st.sampled_from("ab./\\~:C \n"), max_size=20))
def test_normalizing_twice_changes_nothing_and_never_leads_out(written: str) -> None:
    found = normalize_path(written, ROOT)
    if found is not None:
        assert {"..", "."}.isdisjoint(found.split("/"))
        assert not found.startswith("/")
        assert normalize_path(f"{ROOT}/{found}/.", ROOT) == found


@pytest.mark.parametrize("written", ["/a", "\\a", "~", "~/a", "C:\\a", "z:/a"])
def test_absolute_paths_are_recognized(written: str) -> None:
    assert is_absolute(written)


@pytest.mark.parametrize("written", ["a", "./a", "../a", "a:b", "C:a", ""])
def test_other_paths_are_relative(written: str) -> None:
    assert not is_absolute(written)


def test_the_folded_name_is_the_last_part_in_lower_case() -> None:
    assert folded_name("App/Models/User.PY") == "user.py"
