"""Files that a text wants to create, delete or move, and what it calls removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant, shown

TABLE = "| Task | Files |\n|---|---|\n| {} | {} |"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("tree"))


def outcomes(body: str, tree: Path) -> list[str]:
    return [shown(one) for one in evidence_of(body, tree).references]


# --- New files


@pytest.mark.parametrize(
    "cell",
    [
        "New `src/clock.py`",
        "new migration `src/clock.py`, `src/app.py`",
        "Nuevo `src/clock.py`",
        "新規 `src/clock.py`",
        "`src/clock.py` (nuevo)",
    ],
)
def test_a_file_that_a_cell_calls_new_is_planned(cell: str, tree: Path) -> None:
    assert outcomes(TABLE.format("Clock", cell), tree)[0] == "src/clock.py planned"


@pytest.mark.parametrize("cell", ["a new check in `src/clock.py`", "`src/clock.py`", "the newest `src/clock.py`"])
def test_a_file_that_only_gets_something_new_must_exist(cell: str, tree: Path) -> None:
    assert outcomes(TABLE.format("Clock", cell), tree) == ["src/clock.py missing-file"]


# --- Deleted and moved files


@pytest.mark.parametrize("action", ["Delete", "**REMOVE**", "Löschen", "删除"])
def test_a_file_that_a_plan_deletes_may_be_gone(action: str, tree: Path) -> None:
    assert outcomes(TABLE.format(action, "`src/clock.py`"), tree) == ["src/clock.py planned"]
    assert outcomes(TABLE.format(f"{action} the rows of the table", "`src/clock.py`"), tree) == [
        "src/clock.py missing-file"
    ]


def test_a_file_that_was_moved_may_be_gone_if_the_new_one_is_there(tree: Path) -> None:
    assert outcomes(TABLE.format("MOVE it", "`core/state.py` → `src/app.py`"), tree)[0] == "core/state.py planned"
    assert outcomes(TABLE.format("MOVE it", "`core/state.py` → `src/state.py`"), tree) == ["core/state.py missing-file"]


@pytest.mark.parametrize("heading", ["## 1. Latches — ✅ REMOVED", "## Latches (DELETED)", "## 削除済み"])
def test_what_a_heading_calls_removed_is_not_looked_up(heading: str, tree: Path) -> None:
    text = f"{heading}\n\n### Tests\n\n- `src/latch.py:12`\n- `src/app.py:14`"
    assert outcomes(text, tree) == ["src/latch.py:12 unchecked", "src/app.py:14 verified"]
    assert outcomes(text.replace(heading, "## Latches to be removed"), tree)[0] == "src/latch.py:12 missing-file"


@pytest.mark.parametrize("cell", ["ignored", "gitignored", "ignoré"])
def test_a_file_that_git_ignores_may_be_missing(cell: str, tree: Path) -> None:
    assert outcomes(TABLE.format(cell, "`bench/coverage.txt`"), tree) == ["bench/coverage.txt planned"]
    assert outcomes(TABLE.format("tracked", "`bench/coverage.txt`"), tree) == ["bench/coverage.txt missing-file"]


# --- Addresses, approximate places and names that are not files


def test_an_address_in_a_column_of_files_is_not_a_file(tree: Path) -> None:
    assert outcomes(TABLE.format("Limit", "`src/app.py` (for `/p/`, `/state` and `/ws/chat`)"), tree) == [
        "src/app.py verified"
    ]
    assert outcomes(TABLE.format("Read", "`/etc/passwd`"), tree) == ["/etc/passwd outside"]


def test_a_tilde_before_a_name_means_about(tree: Path) -> None:
    assert outcomes("The route (~src/app.py:14) is open.", tree) == ["src/app.py:14 verified"]
    assert outcomes("The route (~/src/app.py:14) is open.", tree)[0] != "src/app.py:14 verified"


def test_levels_are_not_lines(tree: Path) -> None:
    assert outcomes("`src/app.py` satisfies no L0–L4 test.", tree) == []
    assert outcomes("`src/app.py` does it in L1–L4.", tree) == ["src/app.py:1-4 verified"]


def test_a_number_that_a_text_uses_as_a_tag_is_not_a_line(tree: Path) -> None:
    text = "## `src/app.py`\n\n- L13 `src/app.py:14` is wrong\n- in L28 the same"
    assert outcomes(text, tree) == ["src/app.py:14 verified"]
    assert outcomes(text.replace("L13 ", ""), tree) == ["src/app.py:14 verified", "src/app.py:28 verified"]


def test_a_symbol_with_the_ending_of_a_file_in_another_case_is_a_symbol(tree: Path) -> None:
    table = "| Place |\n|---|\n| {} |"
    assert outcomes(table.format("cmd/server/main.go:21 (s.Go)"), tree)[0].split()[1] == "mismatch"
    assert outcomes(table.format("cmd/server/main.go:21 (Server.Listen)"), tree) == ["cmd/server/main.go:21 verified"]


def test_a_name_of_a_file_outside_is_not_short_for_a_file_here(tree: Path) -> None:
    text = "[app.py:3](../../other/app.py) and `app.py:14`"
    assert [one.split()[1] for one in outcomes(text, tree)] == ["outside", "outside"]
    assert outcomes("`app.py:14`", tree) == ["app.py:14 abbreviated > src/app.py:14"]
