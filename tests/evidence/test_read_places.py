"""Places and paths in a document: columns, labels, links, routes, examples, and where each claim is."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import HEAD, evidence_in, evidence_of, location, plant, references
from hypothesis import given
from hypothesis import strategies as st

from remit.evidence.grammar import references_in


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("tree"))


def places(text: str, tree: Path) -> list[str]:
    """Return the locations that a text cites."""
    return [location(claim) for claim in evidence_in(text, tree).references]


# --- Tables


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("| File | Line |\n|---|---|\n| src/app.py | 12 |", "src/app.py:12"),
        ("| File | Lines |\n|---|---|\n| src/app.py | 12-18 |", "src/app.py:12-18"),
        ("| File | Lines |\n|---|---|\n| src/app.py | 400 |", "src/app.py"),
        ("| File | Lines |\n|---|---|\n| src/app.py | 12, 22 |", "src/app.py:12 src/app.py:22"),
        ("| ファイル | 行 |\n|---|---|\n| src/app.py | 12 |", "src/app.py:12"),
        ("| 文件:行 | 描述 |\n|---|---|\n| src/app.py:12 | 入口 |", "src/app.py:12"),
        ("| Field | Value |\n|---|---|\n| File | src/app.py |\n| Lines | 12-18 |", "src/app.py:12-18"),
        ("| Path | Location |\n|---|---|\n| src/app.py | src/store.py:14 |", "src/app.py src/store.py:14"),
        ("| Item | Location |\n|---|---|\n| `a|b` | `src/app.py:12` |", "src/app.py:12"),
        # Routes are not files
        ("| Method | Location |\n|---|---|\n| POST | /api/users |", ""),
        ("| Location | Verb |\n|---|---|\n| `/api/users` | `DELETE` |", ""),
        ("| Location | Note |\n|---|---|\n| POST /api/users | no limit |", ""),
        ("| Endpoint | Note |\n|---|---|\n| `/api/users/` | no limit |", ""),
        ("| Route | Note |\n|---|---|\n| `api/users/` | no limit |", ""),
        (
            "| Method | Location |\n|---|---|\n| POST | src/app.py:12 |\n| GET | src/gone.py |",
            "src/app.py:12 src/gone.py",
        ),
        # Neither is a cell that states that there is nothing
        ("| File |\n|---|\n| N/A |\n| - |\n| various |\n| src/**/*.py |", ""),
    ],
)
def test_a_table_has_these_places(table: str, expected: str, tree: Path) -> None:
    assert places(table, tree) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- **File**: `src/app.py`\n- **Lines**: 12-17\n- **Function**: login", "src/app.py:12-17"),
        ("**File:** src/app.py\n**Line:** 12", "src/app.py:12"),
        ("- **File**: `src/app.py`\n- **Lines**: 400", "src/app.py"),
        ("**位置**：`src/app.py`\n**行号**：12", "src/app.py:12"),
    ],
)
def test_the_lines_below_a_label_of_a_file_belong_to_it(text: str, expected: str, tree: Path) -> None:
    assert places(text, tree) == expected.split()


# --- What stands for any file


@pytest.mark.parametrize(
    "text",
    [
        "`path/to/file.py:12`",
        "`/path/to/your/module.ts:10`",
        "`actions/xxx.ts:12`",
        "`your_file.py:3` and `some/file.py:4`",
        "for example `src/foo.py:12`",
        "Examples: `src/ghost.ts:42`",
        "the `file.py:12` format",
        "| File |\n|---|\n| `path/to/file.py` |",
        "| File |\n|---|\n| `migrations/<ts>_add_users.sql` |",
        "| File |\n|---|\n| `src/<name>/app.py` |",
        "```python\n# path/to/file.py:12\nreturn something_else(1)\n```",
        "Marks items as disabled/enabled (lines 61-63)",
        "`users/{id}.json` (lines 4-8) and `users/{id}.json:4`",
        "It reloads the page with `history.go(0)` at once.",
        "Open `?q=foo&view=file&path=bar.py#L10` in a browser.",
        "It uses a bare `gotenberg/gotenberg:8` image.",
        "`src/*.py` and `src/**/test_*.py` and `…/`",
        "It moved: `src/app.py:12` → `lib/app.py`".replace("`src/app.py:12`", "it"),
        "See https://example.com/src/ghost.py and [the guide](https://example.com/guide.html#L12).",
    ],
)
def test_a_text_that_stands_for_any_file_or_for_none_is_not_a_claim(text: str, tree: Path) -> None:
    evidence = evidence_of(text, tree)
    assert (evidence.references, evidence.quotes) == ([], [])


def test_a_line_below_a_variable_is_a_claim_in_a_result_only(tree: Path) -> None:
    text = "`$HOME/src/ghost.py:12`, `${XDG_CONFIG_HOME}/shop/ghost.py:3`, `$SHOP_DIR/src/` and `$lib/ghost.py`"
    assert places(text, tree) == ["$lib/ghost.py"]
    assert [found.path for found in evidence_of(text, tree).references if found.line] == ["$HOME/src/ghost.py"]


def test_a_file_that_is_not_text_exists_if_only_its_path_is_stated(tmp_path: Path) -> None:
    (tmp_path / "till.png").write_bytes(b"\x89PNG\0\1")
    assert references("![The till](till.png)", tmp_path) == ["till.png exists"]
    assert references("`till.png:3`", tmp_path) == ["till.png:3 unchecked"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`foo.py:12` is wrong", "foo.py:12 missing-file"),
        ("for example `src/ghost.py:12`", "src/ghost.py:12 missing-file"),
        ("`yourself.py:3`", "yourself.py:3 missing-file"),
        ("`src/xxx_parser.py:3`", "src/xxx_parser.py:3 missing-file"),
        ("Examples: `src/app.py:42`", "src/app.py:42 out-of-range"),
        ("It is in `docs/gotenberg:8`.", "docs/gotenberg:8 missing-file"),
        ("See src/nope.py:12<br>done", "src/nope.py:12 missing-file"),
        ("See <code>src/nope.py:12</code>", "src/nope.py:12 missing-file"),
        ("See src/nope.py?plain=1#L12", "src/nope.py:12 missing-file"),
        ("See <repo-root>/src/nope.py:12", "src/nope.py:12 missing-file"),
        ("line 1 of /etc/hosts", "/etc/hosts:1 missing-file"),
        ("`$lib/ghost.py:3`", "$lib/ghost.py:3 missing-file"),
    ],
)
def test_a_name_that_may_be_a_file_is_a_claim(text: str, expected: str, tree: Path) -> None:
    assert [place.partition(" > ")[0] for place in references(text, tree)] == [expected]


# --- Links


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[the login](src/app.py#L12)", "src/app.py:12 exists"),
        ("[the login](src/app.py)", "src/app.py exists"),
        ("`src/app.py` (L0, then the others)", "src/app.py exists"),
        ("[the login](src/ghost.py)", "src/ghost.py missing-file"),
        ("[the part](#part) and [mail](mailto:me@example.com)", ""),
        ("[mail](mailto:me@example.org), [chat](xmpp:shop.py)", ""),
        ("[the login](src%2Fapp.py#L12)", "src/app.py:12 exists"),
        ("[the login](src/gh%6Fst.py)", "src/ghost.py missing-file"),
        ("[the login](src%2Fapp%0A.py)", "src%2Fapp%0A.py missing-file"),
    ],
)
def test_a_link_is_one_claim_its_target(text: str, expected: str, tree: Path) -> None:
    assert references(text, tree) == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("text", "lie"),
    [
        ("[src/app.py:99](src/app.py#L12)", "src/app.py:99 out-of-range"),
        ("[src/ghost.py:12](src/app.py#L12)", "src/ghost.py:12 missing-file"),
        ("[app.py:99](src/app.py#L12)", "app.py:99 out-of-range"),
    ],
)
def test_the_visible_text_of_a_link_that_names_another_place_is_a_claim(text: str, lie: str, tree: Path) -> None:
    assert sorted(references(text, tree)) == sorted(["src/app.py:12 exists", lie])


# --- Each claim has its words, its line, its section and its block


def test_each_occurrence_is_an_entry_with_its_line(tree: Path) -> None:
    claims = evidence_of("src/app.py:12\n\nsrc/app.py:12 and `src/app.py:12,15`", tree).references
    first = HEAD.count("\n") + 1
    assert [(claim.text, claim.line, claim.at - first, claim.is_listed) for claim in claims] == [
        ("src/app.py:12", 12, 0, False),
        ("src/app.py:12", 12, 2, False),
        ("src/app.py:12,15", 12, 2, False),
        ("src/app.py:12,15", 15, 2, True),
    ]
    assert [claim.display_text for claim in claims[2:]] == ["src/app.py:12", "src/app.py:15"]


def test_claims_are_read_before_the_title_and_after_the_end_of_a_result(tree: Path) -> None:
    text = f"I looked at src/app.py:12.\n\n{HEAD}src/app.py:13\n\n---\n\n# Notes\n\nsrc/app.py:99\n"
    assert [claim.line for claim in evidence_in(text, tree).references] == [12, 13, 99]


def test_a_claim_has_its_section_and_block(tree: Path) -> None:
    table = "#### Entry Points\n| Entry | File:Line | Type |\n|---|---|---|\n| a | src/app.py:12 | x |\n"
    row, prose = evidence_of(f"{table}\nsrc/store.py:14\n", tree, kind="exploration").references
    assert (row.section, row.block, row.row == row.at, prose.row) == ("findings", "entry_points", True, 0)
    assert prose.section == "findings"


@given(st.text(max_size=400))
def test_any_document_can_be_read(tree: Path, body: str) -> None:
    assert all(claim.outcome != "unchecked" for claim in evidence_of(body, tree).references)


def test_few_longer_texts_are_looked_up_however_long_the_line_is() -> None:
    asked: list[str] = []

    def exists(path: str) -> bool:
        asked.append(path)
        return False

    references_in("a/b:" * 2_000 + "c.py:1", exists)
    assert len(asked) < 40_000
    assert max(map(len, asked)) < 1_100
