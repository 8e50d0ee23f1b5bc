"""Files whose path has a character that ends most paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant, shown

from remit.checking import Options, check_text
from remit.evidence.grammar import references_in
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

FILES = (
    "api/handlers/account:member/list.ts",
    "web/app/(group)/[id]/page.tsx",
    "packages/@scope/core/index.ts",
    "docs/My page.md",
    "docs/Bob's notes, part 2.md",
    "specs/api/comms.tsp",
    "src/app.py",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for path in FILES:
        (root / path).parent.mkdir(exist_ok=True, parents=True)
        (root / path).write_text("value = 1\n" * 40)
    return root


def found(text: str, tree: Path) -> list[str]:
    (verdict,) = check_text(text, "-", Options(), Sources(workspace=WorkTree(tree)))
    return [shown(reference) for reference in verdict.evidence.references]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "See `account:member/list.ts:4`.",
            ["account:member/list.ts:4 abbreviated > api/handlers/account:member/list.ts:4"],
        ),
        ("See api/handlers/account:member/list.ts:4-9", ["api/handlers/account:member/list.ts:4-9 verified"]),
        (
            "See `app/(group)/[id]/page.tsx:4`",
            ["app/(group)/[id]/page.tsx:4 abbreviated > web/app/(group)/[id]/page.tsx:4"],
        ),
        ("See `@scope/core/index.ts:4`", ["@scope/core/index.ts:4 abbreviated > packages/@scope/core/index.ts:4"]),
        (
            "See My page.md:4 and src/app.py:5",
            ["My page.md:4 abbreviated > docs/My page.md:4", "src/app.py:5 verified"],
        ),
        ("See docs/My page.md, line 4", ["docs/My page.md:4 verified"]),
        ("See `Bob's notes, part 2.md:4`", ["Bob's notes, part 2.md:4 abbreviated > docs/Bob's notes, part 2.md:4"]),
        ("See `comms.tsp` L4", ["comms.tsp:4 abbreviated > specs/api/comms.tsp:4"]),
        (
            "| File | Note |\n|---|---|\n| account:member/list.ts | x |",
            ["account:member/list.ts abbreviated > api/handlers/account:member/list.ts"],
        ),
        ("| File | Note |\n|---|---|\n| docs/My page.md | x |", ["docs/My page.md verified"]),
    ],
)
def test_a_path_goes_on_over_an_odd_character_if_there_is_such_a_file(
    text: str, expected: list[str], tree: Path
) -> None:
    assert found(text, tree) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Note:src/app.py:4", ["src/app.py:4 verified"]),
        ("in src/app.py:4, src/app.py:5", ["src/app.py:4 verified", "src/app.py:5 verified"]),
        ("account:other/list.ts:4", ["other/list.ts:4 missing-file > api/handlers/account:member/list.ts:4"]),
        ("The page.md:4", ["page.md:4 missing-file"]),
        ("`comms.other` L4", []),
        ("state.value:4", []),
    ],
)
def test_a_longer_text_that_names_no_file_is_not_a_path(text: str, expected: list[str], tree: Path) -> None:
    assert found(text, tree) == expected


def test_few_longer_texts_are_looked_up_however_long_the_line_is() -> None:
    asked: list[str] = []

    def exists(path: str) -> bool:
        asked.append(path)
        return False

    references_in("a/b:" * 2_000 + "c.py:1", exists)
    assert len(asked) < 40_000
    assert max(map(len, asked)) < 1_100


# --- Texts that are like a path and name no file


@pytest.mark.parametrize(
    "text",
    [
        "| File |\n|---|\n| `migrations/<ts>_add_users.sql` |",
        "| File |\n|---|\n| `src/<name>/app.py` |",
        "It reloads the page with `history.go(0)` at once.",
        "Open `?q=foo&view=file&path=bar.py#L10` in a browser.",
    ],
    ids=["a placeholder in a name", "a placeholder for a folder", "a call", "a query"],
)
def test_a_text_that_is_only_like_a_path_is_not_read(text: str, tmp_path: Path) -> None:
    assert evidence_of(text, plant(tmp_path)).references == []


@pytest.mark.parametrize(
    "text",
    [
        "See src/nope.py:12<br>src/app.py:14",
        "See <code>src/nope.py:12</code> and src/app.py:14",
        "See src/nope.py?plain=1#L12 and src/app.py:14",
        "See src/nope.py(12) and src/app.py(14)",
        "See <repo-root>/src/nope.py:12 and src/app.py:14",
    ],
)
def test_a_path_next_to_such_signs_is_read(text: str, tmp_path: Path) -> None:
    found = evidence_of(text, plant(tmp_path)).references
    assert [(one.line, one.outcome) for one in found] == [(12, "missing-file"), (14, "verified")]


@pytest.mark.parametrize("word", ["JSDoc", "APIs", "`store.py`", "store.py"])
def test_a_remark_in_brackets_is_not_a_symbol(word: str, tmp_path: Path) -> None:
    (found,) = evidence_of(f"The text of src/app.py:14 ({word}) is short.", plant(tmp_path)).references
    assert found.outcome == "verified"
