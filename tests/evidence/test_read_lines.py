"""Lines that are cited without a file: they belong to the last file of the sentence, entry, row or heading."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from corpus.tree import evidence_in, location, numbered, shown, write


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    counts = {"src/app.py": 400, "src/store.py": 200, "docs/page.md": 50, "haproxy.cfg": 30, ".gitignore": 8}
    return write(tmp_path_factory.mktemp("tree"), {path: numbered(count) for path, count in counts.items()})


def lines(text: str, tree: Path) -> list[str]:
    """Return the places with a line that a text cites."""
    return [location(claim) for claim in evidence_in(text, tree).references if claim.line is not None]


def of_app(expected: str) -> list[str]:
    return [f"src/app.py:{line}" for line in expected.split()]


# --- Where the file of a line may be named


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The same sentence
        ("`src/app.py:90-110` sets it (line 93)", "90-110 93"),
        ("`src/app.py` (main() function, lines 257-367)", "257-367"),
        ("`src/app.py` is called at `:36`, `:41` and `:48-50`", "36 41 48-50"),
        ("`src/app.py` (menus: lines 51–52, 232–233; L300-L310)", "51-52 232-233 300-310"),
        ("Line 12, in the loop of `src/app.py`", "12"),
        ("`src/app.py` opens it.\nIt is closed at line 12.", "12"),
        ("`src/app.py:5`, again `:105/:177` and `:9/12`", "5 105 177 9 12"),
        ("- src/app.py:58 (head) + :185", "58 185"),
        ("`src/app.py:27` (L41/L42, L50-L52)", "27 41 42 50-52"),
        # A second range in code marks
        ("`src/app.py:29-32`; `12-27`", "29-32 12-27"),
        ("`src/app.py:9`, `12-27` and `30-31`", "9 12-27 30-31"),
        ("`src/app.py` (lines 3-4), `12-27`", "3-4 12-27"),
        # A bullet and its parent
        ("- `src/app.py`\n  - Lines 16-17: the call\n  - line 42", "16-17 42"),
        ("- `src/app.py`\n  - the call\n    - line 42", "42"),
        ("- `src/app.py`\n  - L12 compares", "12"),
        ("1. Bug\n   - File: `src/app.py`\n   - Problem: it is set (line 12)", "12"),
        # A row, and the head of its column
        ("| File | Note |\n|---|---|\n| `src/app.py` | see line 12 |", "12"),
        ("| File | Note |\n|---|---|\n| `src/app.py` | Line 20 imports; lines 12, 18, 30 call it |", "20 12 18 30"),
        ("| Part | In `src/app.py` |\n|---|---|\n| Size | 20 (`:12`) |", "12"),
        ("### src/app.py\n\n| Method | Line |\n|---|---|\n| get | 54 |", "54"),
        ("In `src/app.py`:\n\n| Reason | Line |\n|---|---|\n| empty | ~54 |", "54"),
        # A heading, a label below it, or the sentence that introduces a list
        ("### Sync (`src/app.py`)\n\n- stages all (line 35-47)", "35-47"),
        ("**File:** `src/app.py`\n\nIt is set (line 12).\n\nThen it is lost (line 14).", "12 14"),
        ("**Location**: `src/app.py`\n\n- Line 12: it is set", "12"),
        ("## Part\n\n**File:** `src/app.py`\n\n### Calls\n\n1. first (line 12)", "12"),
        ("Two calls in `src/app.py`:\n\n- the first (line 12)", "12"),
        ("**Settings** (`src/app.py:90-110`):\n- one (line 93)\n- two (line 97)", "90-110 93 97"),
        # Other languages
        ("`src/app.py` を見る（12行目）", "12"),
        ("`src/app.py:75-114` 顺序敏感（:107 注释）", "75-114 107"),
        ("`src/app.py` 缺少检查（第 12, 18、20-25 行）。", "12 18 20-25"),
        # The end of an emphasis is not one of a version
        ("**It is set in `src/app.py`, line 12.**", "12"),
        ("*It is set in src/app.py:12.* **So is src/app.py:14.**", "12 14"),
        # Lists and counts
        ("### `src/app.py`\n\n- `load` (line 12, ~90 lines)", "12"),
        ("### `src/app.py`\n\n- `load` (lines 12–30, 90 lines)", "12-30"),
        ("### `src/app.py`\n\n- lines 12, 90, 93 delegate it", "12 90 93"),
        ("### `src/app.py`\n\n- Done. Lines 1-90, 4 channels", "1-90"),
        ("The block in `src/app.py` ends. See (lines 72~76) of it.", "72-76"),
    ],
)
def test_a_line_belongs_to_the_last_file_that_is_named(text: str, expected: str, tree: Path) -> None:
    assert lines(text, tree) == of_app(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`src/store.py:3`, then `src/app.py:4`; again at `:9`", "src/store.py:3 src/app.py:4 src/app.py:9"),
        ("`src/app.py:1`, `src/store.py:2`; `12-27`", "src/app.py:1 src/store.py:2 src/store.py:12-27"),
        ("- `src/app.py`\n- `src/store.py`\n  - line 12", "src/store.py:12"),
        (
            "| Part | `src/app.py` | `src/store.py` |\n|---|---|---|\n| Size | 20 (`:12`) | 30 (`:14`) |",
            "src/app.py:12 src/store.py:14",
        ),
        ("| File | Note |\n|---|---|\n| `.gitignore` | Line 6 hides the reports |", ".gitignore:6"),
        ("`src/app.py:48` returns before `point.h`\nis written at `:57-58`", "src/app.py:48 src/app.py:57-58"),
        ("`src/app.py:27` `import x from '../lib/y.js'`, three calls (L41)", "src/app.py:27 src/app.py:41"),
        ("It is in `src/app.py:24`.\n\n- It does this (line 44 in src/store.py).", "src/app.py:24 src/store.py:44"),
    ],
)
def test_of_several_files_the_nearest_one_is_meant(text: str, expected: str, tree: Path) -> None:
    assert lines(text, tree) == expected.split()


@pytest.mark.parametrize(
    "text",
    [
        # No file
        "line 12 is empty",
        "- `src/app.py`\n- line 12 is a sibling",
        "It is in `src/app.py`.\n\nThe check (line 12) fails.",
        "- `src/app.py` is one thing\n\nFar away, in another list:\n\n- line 12",
        "Both `src/app.py` and `src/store.py` do it:\n\n- the first (line 12)",
        "**Files:** `src/app.py`, `src/store.py`\n\nIt is set (line 12).",
        "### One\n\n**File:** `src/app.py`\n\n### Two\n\nIt is set (line 12).",
        "1. One\n   - File: `src/app.py`\n2. Two: the check (line 12) fails",
        "```\nsee src/app.py\n```\n\nThe check (line 12) fails.",
        "It defines fields (lines 26-45) and stores them in `docs/page.md`",
        # A number of something else
        "It listens on :8080 and `:9090`.",
        "`src/app.py` listens on port `:8080`.",
        "`src/app.py` prints it; see line 12 of the log",
        "`src/app.py` prints it; see line 12 in the output",
        "`src/app.py` has 120 lines",
        "`src/app.py`: Lines: 390",
        "`src/app.py` is an L4 proxy with an L2 cache",
        "| # | File |\n|---|---|\n| L12 | `src/app.py` |",
        "`src/app.py` takes 3 command line 2 arguments",
        "`src/app.py`; `12-27`",
        "In `src/app.py`, add the line 0008",
        "### src/app.py\n\n| Method | Lines |\n|---|---|\n| get | 54 |",
        "`src/app.py` 需要重构（预计改动 100-900 行）。",
        "`src/app.py` は LINE 2024年版の API を使う",
    ],
)
def test_a_line_without_a_file_and_other_numbers_are_not_claims(text: str, tree: Path) -> None:
    assert lines(text, tree) == []


@pytest.mark.parametrize(
    "text",
    [
        "`src/app.py:9`; `12`",
        "`src/app.py:9` returns `12-27`",
        "`src/app.py:9`; 12-27 cases",
        "`src/app.py:9`. `12-27`",
        "src/app.py:9 maps :80 to it",
        "`src/app.py` line 9, 200-900 ms per call",
    ],
)
def test_a_number_after_a_reference_is_not_always_a_second_line(text: str, tree: Path) -> None:
    assert lines(text, tree) == ["src/app.py:9"]


# --- Where such a line fails


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("`src/store.py` (line 999)", True),
        ("The call is in `src/store.py` at line 999", True),
        ("`src/store.py` closes the file much later (line 999)", False),
        ("- `src/store.py`\n  - it is closed much later (line 999)", False),
        ("### `src/store.py`\n\nIt is closed much later (line 999).", False),
        ("**File:** `src/store.py`\n\nIt is wrong. The logic at line 999 returns early.", False),
    ],
)
def test_a_line_past_the_end_fails_in_a_document_directly_after_its_path(text: str, fails: bool, tree: Path) -> None:
    claims = [claim for claim in evidence_in(text, tree).references if claim.line == 999]
    assert [(claim.path, claim.outcome, claim.fails) for claim in claims] == [("src/store.py", "out-of-range", fails)]


@pytest.mark.parametrize("number", ["999", "8765"])
def test_a_number_alone_that_may_be_a_port_does_not_fail_in_a_document(number: str, tree: Path) -> None:
    (claim,) = (
        reference
        for reference in evidence_in(f"`src/store.py` uses `:{number}` in it", tree).references
        if reference.line
    )
    assert (claim.outcome, claim.fails) == ("out-of-range", False)


@pytest.mark.parametrize(
    "text",
    [
        "- `src/app.py`\n  - `src/store.py:3` is checked (line 300)",
        "### Sync (`src/app.py`)\n\n- `src/store.py:3` is checked (line 300)",
        "`src/app.py:3` reads `src/store.py:4` and closes it (line 300)",
    ],
)
def test_a_line_that_its_file_lacks_may_belong_to_another_file_around_it(text: str, tree: Path) -> None:
    last = evidence_in(text, tree).references[-1]
    assert (last.file, last.outcome) == ("src/app.py", "exists")
    (wrong,) = [claim for claim in evidence_in(text.replace("300", "999"), tree).references if claim.line == 999]
    assert (wrong.outcome, wrong.fails) == ("out-of-range", False)


def test_the_lines_of_a_missing_file_are_missing(tree: Path) -> None:
    claims = evidence_in("- `docs/gone.md:3` is stale, see `:9`.", tree).references
    assert [shown(claim) for claim in claims] == ["docs/gone.md:3 missing-file", "docs/gone.md:9 missing-file"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "| File | Note |\n|---|---|\n| `src/app.py` | " + "and line 12 " * 8_000 + " |",
        "It is in `src/app.py`. " + "The check (line 12) fails. " * 8_000,
        "### `src/app.py`\n\n" + "- `open_store()` (line 12)\n" * 8_000,
        "- `src/app.py`\n" + "".join(f"{'  ' * (depth % 40 + 1)}- line 12\n" for depth in range(8_000)),
    ],
    ids=("row", "sentences", "entries", "nested"),
)
def test_many_lines_without_a_file_take_linear_time(text: str, tree: Path) -> None:
    start = time.process_time()
    assert len(lines(text, tree)) > 7_000
    assert time.process_time() - start < 40
