"""Locations whose file the structure of a text names: headings and labels, comments of a fence, tables, classes.

Each form has a counterpart that is close to it and is answered in another way.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree


def numbered(name: str, count: int) -> str:
    return "".join(f"{name}_{number} = compute({number})\n" for number in range(1, count + 1))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    files = {
        "src/app.py": numbered("app", 60),
        "src/core/store.py": numbered("store", 90),
        "src/api/store.py": "".join(f"def entry{number}(): return {{}}\n" for number in range(50)),
        "src/OrderStore.java": numbered("order", 40) + "void open() {}\n",
        "src/Cart.java": numbered("cart", 40) + "void total() {}\n",
        "src/UserCard.ts": numbered("card", 20),
        "web/UserCard.js": numbered("card", 20),
        "docs/ReadingList.md": "text\n" * 40,
        "src/S3.go": numbered("bucket", 20),
        "src/P0.go": numbered("level", 20),
    }
    for path, text in files.items():
        (root / path).parent.mkdir(exist_ok=True, parents=True)
        (root / path).write_text(text)
    return root


def found(text: str, tree: Path, path: str = "-") -> list[str]:
    """Return path, line and outcome of each reference, and the outcome of each quote."""
    (verdict,) = check_text(text, path, Options(), Sources(workspace=WorkTree(tree)))
    evidence = verdict.evidence
    shown = [f"{one.file}:{one.line} {one.outcome}" for one in evidence.references]
    return [*shown, *(f"quote {one.outcome}" for one in evidence.quotes)]


def fence(*lines: str, language: str = "python") -> str:
    return "\n".join((f"```{language}", *lines, "```"))


# A heading or a label with a file that does not exist.


@pytest.mark.parametrize(
    "title",
    [
        "### src/gone.py",
        "### 3.1 `src/gone.py`",
        "## Finding\n\n**File:** `src/gone.py`",
        "## Finding\n\n**Files:** src/gone.py",
        "### ~~src/gone.py~~",
        "### src/gone.py\n\n**Status:** Deleted",
        "### src/gone.py\n\n> Removed in #12",
        "### src/gone.py\n\nNot found in the repository.",
        "## New files\n\n### src/gone.py",
        "## Files to create\n\n### src/gone.py",
        "## Missing files\n\n### src/gone.py",
        "### src/gone.py (new)",
        "### Create src/gone.py",
        "### src/gone.py — what the importer needs",
        "# Implementation Plan\n\n### src/gone.py",
        "**Create:** `src/gone.py`\n\n### src/gone.py",
    ],
)
def test_lines_below_a_missing_file_are_unchecked_and_not_left_out(title: str, tree: Path) -> None:
    text = f"{title}\n\nThe check at line 12 is late.\n\n- see lines 20-30 too\n"
    assert found(text, tree) == ["src/gone.py:12 unchecked", "src/gone.py:20 unchecked"]


@pytest.mark.parametrize("title", ["### src/gone.py", "**File:** `src/gone.py`"])
@pytest.mark.parametrize(
    "text",
    [
        "This file was deleted; its check (line 12) is now in `src/app.py:6`.",
        "The check at line 12 was moved to `src/app.py:6`.",
        "The check (line 120) is now in `src/app.py:6`.",
    ],
)
def test_a_line_of_a_missing_file_is_not_one_of_the_file_that_replaced_it(title: str, text: str, tree: Path) -> None:
    line = 120 if "120" in text else 12
    assert found(f"# Report\n\n{title}\n\n{text}\n", tree) == [
        f"src/gone.py:{line} unchecked",
        "src/app.py:6 verified",
    ]


@pytest.mark.parametrize("label", ["**File:** src/gone.py\n\n- ", "- **File:** `src/gone.py`\n  - "])
def test_the_entries_below_the_label_of_a_missing_file_are_unchecked(label: str, tree: Path) -> None:
    assert found(f"# Report\n\n{label}Line 12: late\n", tree) == ["src/gone.py:12 unchecked"]
    exists = label.replace("gone", "app")
    assert found(f"# Report\n\n{exists}Line 99: late\n", tree) == ["src/app.py:99 out-of-range"]


def test_the_reason_is_that_the_file_above_does_not_exist(tree: Path) -> None:
    text = "### src/gone.py\n\nThe check at line 12 is late.\n"
    (verdict,) = check_text(text, "-", Options(), Sources(workspace=WorkTree(tree)))
    assert "does not exist" in verdict.evidence.references[0].why


def test_a_missing_file_that_is_cited_in_full_is_not_reported_again_for_its_lines(tree: Path) -> None:
    text = "### src/gone.py\n\nSee `src/gone.py:3`.\n\nThe check at line 12 is late.\n"
    assert found(text, tree) == ["src/gone.py:3 missing-file", "src/gone.py:12 unchecked"]


def test_a_line_below_a_missing_file_may_be_one_of_a_file_that_the_sentence_names(tree: Path) -> None:
    assert found("### src/gone.py\n\nThe check at line 12 of `src/app.py` is late.\n", tree) == [
        "src/app.py:12 verified"
    ]


def test_a_line_below_a_title_with_a_file_that_exists_is_looked_up_there(tree: Path) -> None:
    assert found("### src/app.py\n\nThe check at line 12 is late.\n", tree) == ["src/app.py:12 verified"]
    assert found("### src/app.py\n\nThe check at line 99 is late.\n", tree) == ["src/app.py:99 out-of-range"]


# A comment with a line at the start of a fence.


@pytest.mark.parametrize(
    "comment",
    [
        *("# Line 12", "# line 12:", "# L12", "# Lines 12-13", "# Lines 12–13 (setup)", "# 第12行", "# Zeile 12"),
        *(
            "# Line 12: the field of the class",
            "# Line 12 - compute()",
            "# Line 12 (`app_12`)",
            "# Line 12: in app.compute",
        ),
    ],
)
@pytest.mark.parametrize("above", ["## src/app.py", "The totals in `src/app.py` are wrong:"])
def test_a_line_at_the_start_of_a_fence_is_the_location_of_its_code(comment: str, above: str, tree: Path) -> None:
    right = found(f"{above}\n\n{fence(comment, 'app_12 = compute(12)')}\n", tree)
    assert right == ["src/app.py:12 verified", "quote verified"]
    wrong = found(f"{above}\n\n{fence(comment, 'app_12 = compute(13)')}\n", tree)
    assert wrong == ["src/app.py:12 unchecked"]


def test_each_part_of_a_fence_has_the_line_of_its_comment(tree: Path) -> None:
    code = fence("# Line 12", "app_12 = compute(12)", "", "# Line 20", "app_20 = compute(99)")
    assert found(f"## src/app.py\n\n{code}\n", tree) == [
        "src/app.py:12 verified",
        "src/app.py:20 unchecked",
        "quote verified",
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"## Output\n\n{fence('# Line 12', 'app_12 = compute(13)')}\n",
        f"## src/app.py\n\n**Fix:**\n\n{fence('# Line 12', 'app_12 = compute(13)')}\n",
        f"## src/app.py and src/core/store.py\n\n{fence('# Line 999', 'app_12 = compute(13)')}\n",
        f"## src/app.py\n\n{fence('# Line 12 is printed by the tool', 'app_12 = compute(13)')}\n",
    ],
)
def test_a_line_in_a_fence_is_not_an_accusation_without_a_file_or_in_a_proposal(text: str, tree: Path) -> None:
    assert not [one for one in found(text, tree) if "mismatch" in one or "out-of-range" in one]


@pytest.mark.parametrize(
    "remark",
    [
        *(
            ": should be",
            ": fix",
            ": ✅",
            ": recommended",
            ": better",
            " (old)",
            ": BEFORE",
            ": corrected version",
            " - new",
        ),
        *(": use compute()", ", after", ": 修复", ": TypeError: bad", ": actual vs expected"),
    ],
)
def test_code_below_a_line_with_another_remark_is_not_a_quote(remark: str, tree: Path) -> None:
    code = fence(f"# Line 12{remark}", "app_12 = compute(13)")
    for above in ("## src/app.py", "The totals in `src/app.py` are wrong:"):
        assert not [one for one in found(f"{above}\n\n{code}\n", tree) if "mismatch" in one or "quote" in one]


def test_each_part_with_another_remark_is_not_a_quote(tree: Path) -> None:
    code = fence("# Line 12", "app_12 = compute(12)", "", "# Line 12: should be", "app_12 = compute(13)")
    assert found(f"## src/app.py\n\n{code}\n", tree) == ["src/app.py:12 verified", "quote verified"]


@pytest.mark.parametrize("language", ["yaml", "bash", "json", "csv", "diff", "css", "sql", "log"])
def test_code_in_the_language_of_another_type_of_file_is_not_a_quote(language: str, tree: Path) -> None:
    code = ("# Line 12", "app_12 = compute(13)")
    above = "The totals in `src/app.py` are wrong:"
    assert found(f"{above}\n\n{fence(*code, language=language)}\n", tree) == []
    for own in ("py", "python", "Python", "", "text"):
        assert found(f"{above}\n\n{fence(*code, language=own)}\n", tree) == ["src/app.py:12 unchecked"]


@pytest.mark.parametrize(
    "above", ["`src/app.py` has no test for this case. One that fails:", "The totals in `src/app.py` are wrong:"]
)
def test_other_code_below_a_line_is_not_a_mismatch(above: str, tree: Path) -> None:
    code = fence(
        "# Line 12", "def test_totals():", "    with pytest.raises(ValueError):", "        total([], tax=None)"
    )
    assert found(f"{above}\n\n{code}\n", tree) == ["src/app.py:12 unchecked"]


def test_code_of_another_version_below_a_line_is_not_a_quote(tree: Path) -> None:
    code = fence("# Line 12", "app_12 = compute(13)")
    for version in ("old", "previous", "fixed"):
        assert found(f"## src/app.py\n\nIn the {version} version:\n\n{code}\n", tree) == []
    assert found(f"## src/app.py\n\nIn this version:\n\n{code}\n", tree) == ["src/app.py:12 unchecked"]


@pytest.mark.parametrize("code", ["app_50 = compute(50)", "store_40 = compute(40)\nstore_41 = compute(41)"])
def test_code_below_a_line_that_is_elsewhere_is_not_relocated(code: str, tree: Path) -> None:
    assert found(f"## src/app.py\n\n{fence('# Line 12', code)}\n", tree) == ["src/app.py:12 unchecked"]
    cited = found(f"In src/app.py:12:\n\n{fence(code)}\n", tree)
    assert cited == ["src/app.py:12 relocated", "quote relocated"]


def test_a_location_with_its_file_in_a_comment_is_compared_as_before(tree: Path) -> None:
    other = fence("# src/app.py:12", "raise TypeError('no such entry')", "print('never')")
    for above in ("## src/app.py", "The totals in `src/app.py` are wrong:"):
        assert found(f"{above}\n\n{other}\n", tree) == ["src/app.py:12 mismatch", "quote mismatch"]


def test_new_code_at_a_line_of_a_file_that_is_named_far_above_is_left_out(tree: Path) -> None:
    text = "## Finding\n\n**File:** `src/app.py`\n\n### Details\n\nNothing is checked.\n\n{}\n"
    other = fence("# Line 12", "raise TypeError('no such entry')", "print('never')")
    assert found(text.format(other), tree) == ["src/app.py:12 unchecked"]
    altered = fence("# Lines 12-14", "app_12 = compute(12)", "app_13 = compute(99)", "app_14 = compute(14)")
    assert found(text.format(altered), tree) == ["src/app.py:12 unchecked"]


# Tables.


@pytest.mark.parametrize("cell", ["compute() at line 12", "`compute()` (line 12)", "`compute() line 12`"])
def test_a_name_before_the_line_in_a_column_of_lines_is_read(cell: str, tree: Path) -> None:
    table = "| Function | File | Line |\n|---|---|---|\n| totals | `src/app.py` | {} |\n"
    assert found(table.format(cell), tree) == ["src/app.py:12 verified"]
    (past,) = found(table.format(cell.replace("12", "120")), tree)
    assert past in ("src/app.py:120 out-of-range", "src/app.py:120 relocated")


@pytest.mark.parametrize("word", ["was", "old", "about", "max", "compute,", "(was)", "`src.other`"])
def test_a_word_before_the_line_in_a_column_of_lines_is_not_a_name(word: str, tree: Path) -> None:
    table = f"| Function | File | Line |\n|---|---|---|\n| totals | `src/app.py` | {word} line 400 |\n"
    assert found(table, tree) == ["src/app.py:None verified"]


def test_words_before_a_number_in_a_column_of_lines_are_not_a_line(tree: Path) -> None:
    table = "| Function | File | Line |\n|---|---|---|\n| totals | `src/app.py` | all of the 120 lines |\n"
    assert found(table, tree) == ["src/app.py:None verified"]


@pytest.mark.parametrize(
    "head", ["Before (`src/app.py:400`)", "src/gone.py:12 (old)", "After: src/gone.py:12", "Before `src/gone.py:12`"]
)
def test_a_location_and_words_in_the_head_of_a_column_are_not_a_reference(head: str, tree: Path) -> None:
    assert found(f"| {head} | Now |\n|---|---|\n| reads | writes |\n", tree) == []


def test_a_file_without_a_line_in_the_head_of_a_column_is_not_a_reference(tree: Path) -> None:
    assert found("| `src/gone.py` | v1.2 |\n|---|---|\n| reads | 3 |\n", tree) == []


# A class in place of its file.


@pytest.mark.parametrize(
    "text",
    [
        "node:20",
        "`Note:12`",
        "`Error:404`",
        "Step:3",
        "`Cart:12`",
        "`UserCard:12`",
        "`ReadingList:12`",
        "`NoSuchClass:12`",
        "`orderStore:12`",
        "`Shop::OrderStore:12`",
        "OrderStore: 12 entries",
        "OrderStore",
        "OrderStore:12",
        "OrderStore.open:12",
        "score OrderStore:3",
        "`docker run OrderStore:12`",
        "`docker run (OrderStore:12)`",
        "start(OrderStore:12)",
        "(in OrderStore:12)",
        "`OrderStore:8080`",
        "`OrderStore:12/api`",
        "`OrderStore:12:30`",
        "`OrderStore.comp:12`",
        "`S3:12`",
        "`P0:3`",
    ],
)
def test_other_names_before_a_number_are_not_references(text: str, tree: Path) -> None:
    assert found(f"It is {text}.\n", tree) == []


@pytest.mark.parametrize(
    "text", ["`src/app.*` (line 6)", "Delete `src/app.*`:3", "`OrderStore.*`:12", "OrderStore.*:12"]
)
def test_a_name_with_any_ending_is_not_a_reference(text: str, tree: Path) -> None:
    assert found(f"See {text}.\n", tree) == []


# Several files of the same name.


def test_the_code_of_a_quote_settles_which_of_several_files_is_meant(tree: Path) -> None:
    text = f"In `store.py:12`:\n\n{fence('store_12 = compute(12)', 'store_13 = compute(13)')}\n"
    assert found(text, tree) == ["src/core/store.py:12 abbreviated", "quote verified"]
    altered = text.replace("compute(13)", "compute(31)").replace("\n```\n", "\nstore_14 = compute(14)\n```\n")
    assert found(altered, tree)[0] == "store.py:12 ambiguous"


def test_code_that_none_or_several_of_the_files_have_settles_nothing(tree: Path) -> None:
    for code in ("raise TypeError('no such entry')", "()"):
        shown = found(f"In `store.py:12`:\n\n{fence(code)}\n", tree)
        assert shown == ["store.py:12 ambiguous", "quote unchecked"]


# A path of another machine with a space in a folder.


def test_a_windows_path_with_spaces_in_code_marks_is_one_path(tree: Path) -> None:
    folder = r"C:\Users\me\My Drive - Work\shop"
    text = f"### 1. The totals\n\n**Location:** `{folder}\\src\\app.py`\n\n- Line 12: wrong\n- Lines 20, 99: wrong\n"
    assert found(text, tree) == ["src/app.py:12 verified", "src/app.py:20 verified", "src/app.py:99 out-of-range"]
    assert found(f"See `{folder}\\src\\app.py:12` and `{folder}\\src\\apps.py:12`.\n", tree) == [
        "src/app.py:12 verified",
        "src/apps.py:12 missing-file",
    ]


# What was read before, and must stay so.


def test_a_location_between_words_directly_above_a_fence_is_compared(tree: Path) -> None:
    for above in ("From src/app.py:12-13:", "See src/app.py:12-13 for the loop that does it:"):
        assert found(f"{above}\n\n{fence('app_12 = compute(12)')}\n", tree) == [
            "src/app.py:12 verified",
            "quote verified",
        ]
        assert found(f"{above}\n\n{fence('app_12 = compute(21)')}\n", tree) == [
            "src/app.py:12 mismatch",
            "quote mismatch",
        ]
