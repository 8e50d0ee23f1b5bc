from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolboxes import Bench, ask

from remit.evidence.receipts import ReceiptIndex
from remit.globs import Pattern, expand_braces


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("**/*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("*.py", ["a.py"]),
        ("src/**", ["src/b.py", "src/deep/c.py", "src/deep/d.ts"]),
        ("src/**/*.{py,ts}", ["src/b.py", "src/deep/c.py", "src/deep/d.ts"]),
        ("**/deep/?.ts", ["src/deep/d.ts"]),
        ("**/[cd].*", ["src/deep/c.py", "src/deep/d.ts"]),
        ("node_modules/**/*.js", ["node_modules/x/e.js"]),
        ("**/.hidden", [".hidden"]),
    ],
)
def test_patterns_find_files_in_order(bench: Bench, pattern: str, paths: list[str]) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/deep/d.ts", "node_modules/x/e.js", ".hidden"):
        bench.write(name, "")
    for written in (pattern, f"{bench.root}/{pattern}"):
        got = ask(bench.box(), "Glob", pattern=written)
        assert got.text.split("\n") == paths
        assert got.receipt.hits == dict.fromkeys(paths, ())
    assert ReceiptIndex([got.receipt], str(bench.root)).how_seen(paths[0], 1) == "file"


def test_a_pattern_is_relative_to_its_path(bench: Bench) -> None:
    bench.write("src/deep/c.py", "")
    assert ask(bench.box(), "Glob", pattern="*/*.py", path="src").text == "src/deep/c.py"


def test_names_are_capped(bench: Bench) -> None:
    for number in range(30):
        bench.write(f"f{number:02}.txt", "")
    got = ask(bench.box(names=10), "Glob", pattern="**")
    assert got.text.split("\n")[-2:] == ["f09.txt", "[Only the first 10 are shown. Use a narrower pattern.]"]
    assert len(got.receipt.hits) == 10
    assert ask(bench.box(names=10), "LS").text.endswith(
        "[Only the first 10 of 30 names are shown. Use Glob with a pattern.]"
    )


def test_too_many_choices_are_refused(bench: Bench) -> None:
    got = ask(bench.box(), "Glob", pattern="{a,b}" * 20)
    assert got.failed
    assert "more than 128 alternatives" in got.text


def test_a_hostile_pattern_ends_quickly(bench: Bench) -> None:
    bench.write("a" * 200, "")
    began = time.process_time()
    ask(bench.box(), "Glob", pattern="**/" * 300 + "*a" * 300 + "b")
    assert time.process_time() - began < 5


@given(
    st.lists(st.sampled_from(["a", "b", "*", "**", "?", "a*"]), min_size=1, max_size=5),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=5),
)
def test_a_pattern_matches_like_its_plain_definition(names: list[str], parts: list[str]) -> None:
    import fnmatch

    def plain(names: list[str], parts: list[str], *, is_below: bool = True) -> bool:
        if not names:
            return not parts
        if names == ["**"] and is_below:
            return bool(parts)  # `folder/**` matches the content of the folder
        if names[0] == "**":
            return plain(names[1:], parts) or bool(parts and plain(names, parts[1:], is_below=is_below))
        return bool(parts) and fnmatch.fnmatchcase(parts[0], names[0]) and plain(names[1:], parts[1:])

    assert Pattern("/".join(names)).matches("/".join(parts)) == plain(names, parts, is_below=False)


def test_braces_are_choices() -> None:
    assert sorted(expand_braces("{a,b{c,d}}.x")) == ["a.x", "bc.x", "bd.x"]
    assert expand_braces("{a}") == ["{a}"]


def test_folders_end_with_a_slash_and_git_is_not_shown(bench: Bench) -> None:
    bench.write("a.py", "")
    bench.write("src/b.pyc", "")
    bench.commit()
    (bench.root / "link").symlink_to("a.py")
    assert ask(bench.box(), "LS").text == "a.py\nlink (link)\nsrc/"
    assert ask(bench.box(), "LS", path="src", ignore=["*.pyc"]).text == "[src is empty.]"
    assert "is a file, not a folder" in ask(bench.box(), "LS", path="a.py").text
