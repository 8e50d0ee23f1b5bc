"""Other forms of a path, and paths of other code bases: each with the closest claim, which is still reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import shown

from remit.checking import Options, check_text
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

FILES = {
    "Shop.Backend.Services/UserService.cs": 40,
    "docs/14-login.md": 40,
    "docs/15-cart.md": 40,
    "docs/15-offers.md": 40,
    "src/render/view.h": 40,
    "src/render/view.cpp": 40,
    "src/render/pick.h": 40,
    "one/split.h": 40,
    "two/split.cpp": 40,
    "src/app.ts": 40,
    "src/shop_test.go": 40,
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for path, lines in FILES.items():
        (root / path).parent.mkdir(exist_ok=True, parents=True)
        (root / path).write_text("value = 1\n" * lines)
    return root


def outcomes(text: str, tree: Path) -> list[str]:
    (verdict,) = check_text(text, "-", Options(), Sources(workspace=WorkTree(tree)))
    return [shown(reference) for reference in verdict.evidence.references]


def result(text: str) -> str:
    return f"## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n{text}\n"


@pytest.mark.parametrize(
    "path",
    ["Mailbox.scala:261", "actor/ActorRef.java:12", "lib/QueryBuilder.hs:117", "shaders/line.glsl:9", "main.py:3"],
)
def test_code_in_a_language_that_the_checkout_does_not_have_may_be_of_another_code_base(path: str, tree: Path) -> None:
    text = f"`src/app.ts:3` and `docs/14-login.md:2` do what `{path}` does."
    assert outcomes(text, tree)[2] == f"{path} unchecked"
    assert outcomes(result(text), tree)[2].split()[1] == "missing-file"
    for most in (f"See `{path}`.", f"`src/app.ts:3` does what `{path}` and `lib/gone.ts:1` do."):
        assert "missing-file" in {one.split()[1] for one in outcomes(most, tree)}


@pytest.mark.parametrize("path", ["src/lost.py:3", "docs/lost.java:3", "app.py:3"])
def test_a_file_in_a_folder_of_the_checkout_or_with_the_name_of_one_is_missing(path: str, tree: Path) -> None:
    text = f"`src/app.ts:3` and `docs/14-login.md:2` do what `{path}` does."
    assert outcomes(text, tree)[2].split()[1] == "missing-file"


@pytest.mark.parametrize(
    "path", ["lost.ts:3", "lib/lost.jsx:3", "lost.c:3", "compose.yml:3", "docs/lost.md:3", "lost.toml:3"]
)
def test_a_file_in_a_language_of_the_checkout_or_a_setting_is_missing(path: str, tree: Path) -> None:
    text = f"`src/app.ts:3` and `docs/14-login.md:2` do what `{path}` does."
    assert outcomes(text, tree)[2].split()[1] == "missing-file"


def test_a_path_may_have_only_the_number_of_a_document(tree: Path) -> None:
    assert outcomes("| P0 | docs/14:20 |", tree) == ["docs/14:20 unchecked > docs/14-login.md:20"]
    for other in ("docs/14:41", "docs/15:20", "docs/16:20", "docs/1:20"):
        assert [one.split()[1] for one in outcomes(f"| P0 | {other} |", tree)] == ["missing-file"]


def test_a_folder_may_be_the_end_of_a_name_with_dots(tree: Path) -> None:
    full = "Shop.Backend.Services/UserService.cs"
    assert outcomes("See `Services/UserService.cs:3`.", tree) == [f"Services/UserService.cs:3 unchecked > {full}:3"]
    for other in ("vices/UserService.cs:3", "services/UserService.cs:3"):
        assert [one.split()[1] for one in outcomes(f"See `{other}`.", tree)] == ["missing-file"]


TABLE = "| File | Note |\n|---|---|\n| `{}` | x |\n"


def test_a_path_may_name_two_files_at_once(tree: Path) -> None:
    assert outcomes(TABLE.format("src/render/view.h/.cpp"), tree) == [
        "src/render/view.h/.cpp abbreviated > src/render/view.h"
    ]
    for other in ("src/render/pick.h/.cpp", "src/render/view.h/.mm", "src/render/view.h/.cpp:12", "split.h/.cpp"):
        assert [one.split()[1] for one in outcomes(TABLE.format(other), tree)] == ["missing-file"]


@pytest.mark.parametrize("pattern", ["*_lost.go", "src/*-lost.ts", "src/**/*.lost.{ts,tsx}"])
def test_the_end_of_a_pattern_of_files_is_not_a_file(pattern: str, tree: Path) -> None:
    assert outcomes(TABLE.format(pattern), tree) == []
    assert [one.split()[1] for one in outcomes(TABLE.format("src/lost.ts"), tree)] == ["missing-file"]
    for other in ("**src/lost.ts:3** is slow", "`*src/lost.ts:3*` is slow"):
        assert [one.split()[1] for one in outcomes(other, tree)] == ["missing-file"]


def test_a_name_with_a_date_to_be_filled_in_stands_for_any_file(tree: Path) -> None:
    assert outcomes(TABLE.format("docs/YYYY-MM-DD-topic.md"), tree) == []
    assert [one.split()[1] for one in outcomes(TABLE.format("docs/2026-01-02-topic.md"), tree)] == ["missing-file"]


LOST = "`lost.ts:12`, `gone.ts:50`, `away.ts:8`, `none.ts:9` and `nil.ts:7` are slow.\n"


def test_names_without_a_single_file_here_are_reported_once(tree: Path) -> None:
    assert [one.split()[1] for one in outcomes(LOST, tree)] == ["missing-file"] + ["unchecked"] * 4
    assert [one.split()[1] for one in outcomes(f"{LOST}See `src/app.ts:1`.\n", tree)][:5] == ["missing-file"] * 5
    assert [one.split()[1] for one in outcomes(result(LOST), tree)] == ["missing-file"] * 5
    near = LOST.replace("nil", "app")
    same = "`lost.ts:1`, `lost.ts:2`, `lost.ts:3`, `lost.ts:4` and `lost.ts:5` are slow.\n"
    assert [one.split()[1] for one in outcomes(near, tree)].count("missing-file") == 4
    assert [one.split()[1] for one in outcomes(same, tree)] == ["missing-file"] * 5
