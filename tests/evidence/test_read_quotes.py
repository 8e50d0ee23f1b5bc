"""Which parts of a text are quotes, and where their locations are."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_in, evidence_of, plant, quotes, shown, write

from remit.checking import Options, check_text
from remit.evidence.sources import open_sources

CODE = "    user = store.find_user(name)\n    if user is None or not check_password(user, password):"
LOOKUP = "    user = store.find_user(name)"
ALTERED = "    user = store.find_user(names)"
NEW = "return secrets.compare_digest(one, other)"
VERIFIED = ["src/app.py:14 verified"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = plant(tmp_path_factory.mktemp("tree"))
    shop = [
        *("import os", "class Shop:", "    def open(self, key):", "        self.key = key", "        self.log = []"),
        *("        return Result(", "            key,", "            self.log,", "            count=0,", "        )"),
        *("def close(shop):", "    shop.key = None"),
    ]
    return write(root, {"src/shop.py": "\n".join(shop) + "\n", "docs/rules.md": "# Rules\n\n- List 21 entries.\n"})


def fence(*lines: str, info: str = "python") -> str:
    return "\n".join([f"```{info}", *lines, "```"])


def outcomes(body: str, tree: Path) -> list[str]:
    """Return the outcomes of the quotes of a result."""
    return [quote.outcome for quote in evidence_of(body, tree).quotes]


def in_text(text: str, tree: Path, path: str = "a.md") -> list[tuple[str, bool]]:
    """Return the outcome of each quote of a document, and whether it fails."""
    return [(quote.outcome, quote.fails) for quote in evidence_in(text, tree, path).quotes]


# --- 1. The info string


@pytest.mark.parametrize(
    "info",
    [
        "python src/app.py:14",
        "src/app.py:14",
        "python:src/app.py:14",
        'python title="src/app.py:14"',
        "python file=src/app.py:14",
        "python {src/app.py:14}",
        "python (src/app.py:14)",
        "python src/app.py#L14",
        "python src/app.py line 14",
        "python # src/app.py:14",
    ],
)
def test_a_location_may_be_in_the_info_string(info: str, tree: Path) -> None:
    evidence = evidence_of(fence(CODE, info=info), tree)
    assert [shown(quote) for quote in evidence.quotes] == VERIFIED
    assert [shown(reference) for reference in evidence.references] == VERIFIED


@pytest.mark.parametrize("info", ['python title="app.py"', "py {title='app.py'}", 'python {filename="app.py" hl="2"}'])
def test_a_name_alone_above_a_block_is_the_one_of_the_reader(info: str, tree: Path) -> None:
    assert evidence_in(fence("print('mine')", info=info), tree).checked == []
    assert quotes(fence("print('mine')", info=info.replace("app.py", "src/app.py")), tree) == ["src/app.py mismatch"]


@pytest.mark.parametrize(
    "info", ["14:15:src/app.py", "python 14:15:src/app.py", "py:14-15:src/app.py", "python src/app.py lines 14-15"]
)
def test_a_range_may_be_in_the_info_string(info: str, tree: Path) -> None:
    assert quotes(fence(CODE, info=info), tree) == ["src/app.py:14-15 verified"]


# --- 2. A comment inside the fence


@pytest.mark.parametrize(
    "comment",
    [
        "# src/app.py:14",
        "// src/app.py:14",
        "/* src/app.py:14 */",
        "<!-- src/app.py:14 -->",
        "-- src/app.py:14",
        "; src/app.py:14",
        "% src/app.py:14",
        "{/* src/app.py:14 */}",
        "(* src/app.py:14 *)",
        "# File: src/app.py:14",
        "# from src/app.py:14",
        "# src/app.py:14 - no check of the password",
        "# `src/app.py:14` (excerpt)",
        "# src/app.py, line 14",
        "# line 14 of src/app.py",
        "# src/app.py (line 14)",
        "# The lookup (src/app.py:14)",
        "# In login() - src/app.py:14",
        "📄 src/app.py:14",
    ],
)
def test_a_location_may_be_in_a_first_comment_which_is_not_part_of_the_quote(comment: str, tree: Path) -> None:
    evidence = evidence_of(fence(comment, CODE), tree)
    assert [shown(quote) for quote in evidence.quotes] == VERIFIED
    assert evidence.quotes[0].code == CODE
    assert [reference.line for reference in evidence.references] == [14]
    assert outcomes(fence(comment, ALTERED), tree) == ["mismatch"]


@pytest.mark.parametrize("comment", ["# src/app.py", "# src/app.py (excerpt)", "# src/app.py - the login"])
def test_a_comment_may_name_a_file_without_a_line(comment: str, tree: Path) -> None:
    assert quotes(fence(comment, CODE), tree) == ["src/app.py verified"]


@pytest.mark.parametrize(
    "comment",
    [
        "#!/bin/sh",
        "#!/usr/bin/env python3",
        "# and/or something else",
        "# /api/users are listed here",
        "# src/store.py is loaded first",
        "# see src/store.py:14",
        '#include "shop/cart.hpp"',
        "# eslint-disable-next-line no-console",
        "--- a/src/app.py",
        "#### 1. Input (src/ghost.py:15)",
        "#1  login (src/app.py:14)",
    ],
)
def test_other_first_lines_do_not_name_a_location(comment: str, tree: Path) -> None:
    assert evidence_of(fence(comment, CODE), tree).quotes == []


def test_each_comment_that_is_a_location_starts_a_quote(tree: Path) -> None:
    body = fence("# src/app.py:14", LOOKUP, "", "# src/store.py:14", "def find_user(name):", "# src/app.py:15", NEW)
    evidence = evidence_of(body, tree)
    assert [quote.outcome for quote in evidence.quotes] == ["verified", "verified", "mismatch"]
    assert [quote.code for quote in evidence.quotes] == [LOOKUP + "\n", "def find_user(name):", NEW]
    assert [quote.at - evidence.quotes[0].at for quote in evidence.quotes] == [0, 3, 5]
    assert [claim.line for claim in evidence.references] == [14, 14, 15]


def test_the_code_above_the_first_comment_belongs_to_the_location_above_the_fence(tree: Path) -> None:
    body = "`src/app.py:14`\n" + fence(LOOKUP, "# src/store.py:14", "def find_user(name):")
    assert quotes(body, tree) == ["src/app.py:14 verified", "src/store.py:14 verified"]


def test_a_comment_of_the_quoted_file_does_not_start_a_quote(tmp_path: Path) -> None:
    lines = ["def first():", "    # a.py:1 explains this", "    return second()"]
    write(tmp_path, {"a.py": "\n".join(lines)})
    assert quotes(fence("# a.py:1", *lines), tmp_path) == ["a.py:1 verified"]


@pytest.mark.parametrize("comment", ["# Should be [3, 3]", "# TODO: src/app.py:14 is slow", "# L2 penalty on weights"])
def test_another_comment_does_not_end_a_quote(comment: str, tree: Path) -> None:
    text = fence("# src/shop.py:4", "self.key = key", comment, "self.log = {}")
    assert outcomes(text.format("[]"), tree) == ["verified"]
    assert outcomes(text.format("{}"), tree) == ["mismatch"]


@pytest.mark.parametrize("remark", ["", " - the lookup", " (excerpt)", ": the lookup"])
def test_a_later_comment_with_the_path_of_a_file_starts_a_quote(remark: str, tree: Path) -> None:
    lines = ("# src/shop.py:4", "self.key = key", "", f"# src/app.py{remark}", LOOKUP)
    assert outcomes(fence(*lines), tree) == ["verified", "verified"]
    other = ("# src/shop.py:4", "self.key = key", f"# src/ghost.py{remark or ' is slow'}", "self.log = []")
    assert outcomes(fence(*other), tree) == ["verified"]


@pytest.mark.parametrize("mark", [" and ", ", ", "; ", " & ", " / "])
def test_code_below_a_comment_with_two_locations_may_be_at_either(mark: str, tree: Path) -> None:
    comment = f"# src/shop.py:4{mark}src/app.py:14"
    assert outcomes(fence(comment, LOOKUP), tree) == ["verified"]
    assert outcomes(fence(comment, NEW), tree) == ["mismatch"]


@pytest.mark.parametrize("comment", ["# Line 12: clears it", "# L12", "# lines 11-12", "# 第12行"])
def test_a_comment_with_a_line_starts_a_quote_of_the_same_file(comment: str, tree: Path) -> None:
    text = fence("# src/shop.py:4", "self.key = key", comment, "shop.key = {}")
    assert outcomes(text.format("None"), tree) == ["verified", "verified"]
    assert outcomes(text.format("0"), tree) == ["verified", "mismatch"]


def test_each_line_may_end_with_its_location(tree: Path) -> None:
    body = fence("user = store.find_user(name)  # src/app.py:14", "", "def find_user(name):  # `src/store.py:14`")
    assert quotes(body, tree) == ["src/app.py:14 verified", "src/store.py:14 verified"]
    assert evidence_of(fence("user = 1  # src/app.py:14", "user = 2"), tree).quotes == []


def test_a_thousand_locations_in_one_fence_are_a_thousand_quotes(tree: Path) -> None:
    quotes = evidence_of(fence(*["# src/app.py:14", LOOKUP] * 1_000), tree).quotes
    assert len(quotes) == 1_000
    assert {quote.outcome for quote in quotes} == {"verified"}


# --- 3. The line above


@pytest.mark.parametrize(
    "above",
    [
        "`src/app.py:14`",
        "The lookup in src/app.py:14 is not cached:",
        "- src/app.py:14",
        "##### src/app.py:14",
        "src/app.py, line 14:",
        "[app.py:14](src/app.py#L14)",
        "> src/app.py:14",
        "`src/app.py`, line 14, has this:",
    ],
)
@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_a_location_may_be_in_the_line_above(above: str, between: str, tree: Path) -> None:
    assert quotes(above + between + fence(CODE), tree) == VERIFIED
    assert outcomes(above + between + fence(ALTERED), tree) == ["mismatch"]


def test_a_location_two_lines_above_does_not_count(tree: Path) -> None:
    assert evidence_of(f"src/app.py:14\nand this:\n{fence(CODE)}", tree).quotes == []
    assert evidence_of(f"src/app.py:14\n\n\n{fence(CODE)}", tree).quotes == []


def test_of_several_references_above_the_one_with_the_quote_counts(tree: Path) -> None:
    for above in ("In src/app.py:14 (called from src/store.py:1):", "src/store.py:1 calls src/app.py:14:"):
        evidence = evidence_of(f"{above}\n{fence(CODE)}", tree)
        assert [shown(quote) for quote in evidence.quotes] == VERIFIED
        assert sorted(map(shown, evidence.references)) == ["src/app.py:14 verified", "src/store.py:1 exists"]
    evidence = evidence_of(f"src/store.py:1 calls src/app.py:35:\n{fence(CODE)}", tree)
    assert [shown(quote) for quote in evidence.quotes] == ["src/app.py:35 relocated > src/app.py:14"]
    assert [shown(reference) for reference in evidence.references] == [
        "src/store.py:1 exists",
        "src/app.py:35 relocated > src/app.py:14",
    ]


def test_code_below_a_list_of_lines_may_have_pieces_of_each(tree: Path) -> None:
    pieces = ("class Shop:", "        self.log = []", "    shop.key = {}")
    text = f"`src/shop.py` lines 2, 5, 12:\n\n{fence(*pieces)}"
    assert outcomes(text.format("None"), tree) == ["exists"]
    assert outcomes(text.format("0"), tree) == ["mismatch"]


def test_a_path_in_the_fence_takes_its_line_from_the_reference_above(tree: Path) -> None:
    assert quotes(f"At src/app.py:35:\n{fence(CODE, info='python src/app.py')}", tree) == [
        "src/app.py:35 relocated > src/app.py:14"
    ]
    assert quotes(f"At src/app.py:14:\n{fence('# src/app.py', CODE)}", tree) == VERIFIED


@pytest.mark.parametrize("mark", ["- ", "1. ", "> "])
def test_a_fence_inside_a_list_entry_or_a_block_quote_is_a_quote(mark: str, tree: Path) -> None:
    indent = mark if mark == "> " else " " * len(mark)
    body = "\n".join(indent + line for line in fence(CODE).split("\n"))
    assert quotes(f"{mark}src/app.py:14\n{body}", tree) == VERIFIED
    assert quotes(f"{mark}src/app.py:14\n{indent.rstrip()}\n{body}", tree) == VERIFIED


def test_indented_code_below_a_location_is_a_quote(tree: Path) -> None:
    assert quotes(f"It is at `src/app.py:14`:\n\n    {LOOKUP}", tree) == VERIFIED
    assert outcomes("It is at `src/app.py:14`:\n\n    launch(missiles)", tree) == ["mismatch"]


def test_a_fence_directly_below_a_row_quotes_that_row_and_one_below_a_blank_line_does_not(tree: Path) -> None:
    table = "| Item | Location |\n|---|---|\n| a | src/app.py:14 |\n"
    assert quotes(table + fence(CODE), tree) == VERIFIED
    assert quotes(table + "\n" + fence(CODE), tree) == []


# --- 4. A labelled location further above


@pytest.mark.parametrize(
    "above",
    [
        "**Location:** `src/app.py:14`\n\n**Severity:** high\n\n**Problem:** it is slow\n\n**Current code:**\n",
        "- **File:** `src/app.py:14`\n- **Severity:** high\n\nThe lookup is slow:\n",
        "**位置**: `src/app.py:14`\n\n**问题描述**:\n",
        "### SEC-1: the lookup (src/app.py:14)\n\n**Problem:** it is slow\n\n",
        "**File:** `src/app.py`, line 14\n**Category:** speed\n\nIt asks the store for each user.\n\n",
        "- **Location:** `src/app.py:14`\n- **Logged:** no\n- **Evidence:**\n",
    ],
)
def test_labels_and_sentences_may_be_between_a_labelled_location_and_its_code(above: str, tree: Path) -> None:
    assert quotes(above + fence(LOOKUP), tree) == VERIFIED
    assert outcomes(above + fence(ALTERED), tree) == ["mismatch"]
    assert in_text(above + fence(ALTERED), tree) == [("mismatch", True)]
    assert in_text(above + fence("launch(missiles, now=True)"), tree) == [("mismatch", True)]


@pytest.mark.parametrize(
    "above",
    [
        "The lookup of src/app.py:14 is slow.\n\nIt has this:\n",
        "**Location**: `src/app.py:14`\n\n**Fix:**\n",
        "**Location**: `src/app.py:14`\n\n## Results\n\nThis is the code:\n",
        "**Location**: `src/app.py:14`, `src/store.py:1`\n\n**Problem**:\n",
        "**Location**: `src/app.py:14`\n\n```sh\n$ ls\n```\n\nThe code:\n",
    ],
)
def test_other_locations_further_above_do_not_count(above: str, tree: Path) -> None:
    assert outcomes(above + fence(ALTERED), tree) == []


# --- 5. The finding with the same ID

DETAILS = """#### Issues Detected
| ID | Issue | File:Line | Severity | Confidence |
|---|---|---|---|---|
| SEC-001 | one | `src/app.py:14` | Critical | 95 |
| SEC-002 | two | `src/store.py:14` | Minor | 85 |

#### Issue Details

"""


@pytest.mark.parametrize("head", ["**SEC-001: one**", "##### SEC-001: one", "**SEC-001** one"])
def test_a_fence_below_an_id_quotes_the_location_of_that_finding(head: str, tree: Path) -> None:
    store = fence("def find_user(name):")
    body = f"{DETAILS}{head}\nSome words about it.\n\n{fence(CODE)}\n**Risk**: none\n\n**SEC-002: two**\n\n{store}\n"
    assert quotes(body, tree, kind="review") == ["src/app.py:14 verified", "src/store.py:14 verified"]


def test_a_wrong_quote_changes_the_outcome_of_its_finding(tree: Path) -> None:
    body = f"{DETAILS}**SEC-001: one**\n\n{fence('launch(the_missiles, now=True)')}\n"
    evidence = evidence_of(body, tree, kind="review")
    assert [quote.outcome for quote in evidence.quotes] == ["mismatch"]
    assert [(claim.outcome, claim.is_quote_location) for claim in evidence.references] == [
        ("mismatch", True),
        ("exists", False),
    ]


# --- What is not a quote


@pytest.mark.parametrize(
    "body",
    [
        fence("2 passed in 0.01s", info=""),
        f"Running src/app.py:14:\n{fence('$ pytest', info='bash')}",
        f"See src/app.py:14:\n{fence('...')}",
        f"See src/app.py:14:\n{fence('')}",
        f"**Location:** `src/app.py:14`\n\n{fence('open -> close', info='mermaid')}",
        "`user = store.find_user(name)` in src/app.py:14",
        f"See `src/app.py` for how the user is found there:\n{fence(NEW)}",
    ],
)
def test_other_fences_and_inline_code_are_not_quotes(body: str, tree: Path) -> None:
    assert evidence_of(body, tree).quotes == []


def test_output_below_a_location_is_not_a_quote_in_a_text(tree: Path) -> None:
    for info in ("console", "text", "log"):
        assert in_text(f"Running src/app.py:14:\n{fence('2 passed', info=info)}", tree) == []


def test_test_results_are_not_quotes(tree: Path) -> None:
    body = f"#### Test Results\nsrc/app.py:14\n{fence('2 passed', info='')}"
    assert evidence_of(body, tree, kind="implementation").quotes == []


def test_a_shell_script_may_be_quoted_as_one(tree: Path) -> None:
    assert quotes(f"scripts/deploy.sh:3:\n{fence('set -eu', info='bash')}", tree) == ["scripts/deploy.sh:3 verified"]


@pytest.mark.parametrize(
    "label",
    [
        "**Fix** (src/app.py:14):",
        "**After** (`src/app.py:14`):",
        "**Proposed change** (src/app.py:14):",
        "**Suggested fix** (`src/app.py:14`):",
        "**Example** (src/app.py:14):",
        "#### Example: `src/app.py` (line 14)",
        "**修正案** `src/app.py:14`：",
        "**建议修改：** `src/app.py:14`",
    ],
)
def test_code_that_the_text_calls_proposed_is_not_a_quote(label: str, tree: Path) -> None:
    evidence = evidence_of(f"{label}\n{fence(NEW)}", tree)
    assert evidence.quotes == []
    assert [reference.outcome for reference in evidence.references] == ["exists"]


@pytest.mark.parametrize(
    "label", ["**Fix**:", "**Suggested fix:**", "- Fix:", "Recommended change:", "After:", "修正案：", "建议:"]
)
def test_proposed_code_below_a_quote_is_not_a_quote(label: str, tree: Path) -> None:
    body = f"{DETAILS}**SEC-001: one**\n{fence(CODE)}\n{label}\n{fence(NEW)}\n"
    assert quotes(body, tree, kind="review") == VERIFIED


@pytest.mark.parametrize(
    "above",
    [
        "**Current code** (src/app.py:14):",
        "**Before** (src/app.py:14):",
        "**Fix:** use hmac.\n\n**Location:** `src/app.py:14`",
        "#### Fixtures\n`src/app.py:14`",
        "修改前（`src/app.py:14`）：",
        "# A plan\n\n## Design\n\n`src/app.py:14`.\n",
    ],
)
def test_code_that_exists_is_a_quote(above: str, tree: Path) -> None:
    assert outcomes(f"{above}\n{fence('launch(the_missiles, now=True)')}", tree) == ["mismatch"]
    assert quotes(f"{above}\n{fence(LOOKUP)}", tree) == VERIFIED


def test_code_after_a_comment_that_introduces_proposed_code_is_not_compared(tree: Path) -> None:
    text = f"src/app.py:14\n{fence(LOOKUP, '# After:', NEW)}"
    assert quotes(text, tree) == VERIFIED
    assert outcomes(text.replace("(name)", "(names)"), tree) == ["mismatch"]
    both = f"src/app.py:14\n{fence('# Before:', ALTERED, '# After:', NEW)}"
    assert in_text(both, tree) == [("mismatch", True)]


def test_a_fence_that_shows_what_to_create_is_neither_quote_nor_reference(tree: Path) -> None:
    evidence = evidence_of(fence("# src/security.py", NEW), tree)
    assert (evidence.quotes, evidence.references) == ([], [])
    evidence = evidence_of(fence("# src/security.py:3", NEW), tree)
    assert [claim.outcome for claim in (*evidence.quotes, *evidence.references)] == ["missing-file", "missing-file"]
    assert evidence_of(f"Create `src/security.py`:\n\n{fence(NEW)}", tree).quotes == []


# --- Inline code


@pytest.mark.parametrize(
    "body",
    [
        "Found it in src/app.py:12\n- Verified: read\n- Code match: `def login(name, password):`",
        "- src/app.py:12\n- Code match: `def login(name, password):`",
        "- src/app.py:12\n  - Code match: `def login(name, password):`",
        "- src/app.py:12: Code match: `def login(name, password):`",
        "- **Code match**: `def login(name, password):` (src/app.py:12)",
        "- code match: ``def login(name, password):`` at src/app.py:12",
        "- src/store.py:14\n- src/app.py:12\n- **Code match:** `def login(name, password):`",
        "src/app.py:12\n\nCode match: `def login(name, password):`",
    ],
)
def test_inline_code_is_a_quote_after_code_match(body: str, tree: Path) -> None:
    assert quotes(body, tree) == ["src/app.py:12 verified"]
    assert outcomes(body.replace("(name,", "(user,"), tree) == ["mismatch"]


@pytest.mark.parametrize(
    "body",
    [
        "Code match: `def login(name, password):`",
        "src/app.py:12\n\nCode match: `def login(name, password):",
        "src/app.py:12\n\nOther words.\n\nMore words.\n\nCode match: `def login(name, password):`",
    ],
)
def test_code_match_without_a_reference_above_it_or_without_an_end_is_not_a_quote(body: str, tree: Path) -> None:
    assert evidence_of(body, tree).quotes == []


def test_at_is_the_first_line_of_code(tree: Path) -> None:
    head = "## A Result\n\n### Status\nSUCCESS\n\n### Findings\n"
    first = evidence_of("", tree, head=head + fence(CODE, info="py src/app.py:14"))
    assert (first.quotes[0].at, first.references[0].at) == (8, 7)
    second = evidence_of("", tree, head=head + fence("", "", "# src/app.py:14", CODE))
    assert (second.quotes[0].at, second.references[0].at) == (11, 10)


@pytest.mark.parametrize("note", ["  // ← a fixed number", "  ← a fixed number", "   # ❌ fixed"])
def test_a_note_at_the_end_of_a_quoted_line_is_ignored(note: str, tree: Path) -> None:
    text = "`docs/rules.md:3`:\n\n" + fence("- List {} entries." + note, info="markdown")
    assert outcomes(text.format(21), tree) == ["verified"]
    assert outcomes(text.format(22), tree) == ["mismatch"]


def test_a_comment_with_a_word_such_as_after_does_not_end_the_comparison(tmp_path: Path) -> None:
    code = "register(user)\n// log in after the registration\nlogin(user)\nclose()\n"
    (tmp_path / "app.ts").write_text(code, encoding="utf-8")
    text = "`app.ts:1`\n```ts\n" + code.replace("close()", "open()") + "```\n"
    (quote,) = check_text(text, options=Options(profile="claims"), sources=open_sources(tmp_path))[0].evidence.quotes
    assert quote.outcome == "mismatch"


# --- Inline code that a place contains, by the text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`a.py:2` contains `x = 1`.", ["verified"]),
        ("`a.py:2` contains the line `x = 1`.", ["verified"]),
        ("`a.py:2` still has: `x = 1`.", ["verified"]),
        ("(`a.py:3`) reads `return sum(x.price for x in cart)`.", ["verified"]),
        ("`a.py:2` contains `x = 2`.", ["mismatch"]),
        ("`a.py:3` reads `return max(x.price for x in cart)`.", ["mismatch"]),
        ("`a.py:2` no longer contains `x = 2`.", []),
        ("`a.py:2` should contain `x = 2`.", []),
        ("`a.py:2` has `two problems`.", []),
        ('`a.py:2` has `"line1\\nline2"`.', []),
        ("`a.py:1` contains `other()`.", []),
        ("`a.py` contains `x = 2`.", []),
        ("See `a.py:2`. The guide says `x = 2`.", []),
    ],
)
def test_code_that_a_place_contains_by_the_text_is_compared(text: str, expected: list[str], tmp_path: Path) -> None:
    code = "def total(cart):\n    x = 1  # first\n    return sum(x.price for x in cart)\n"
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    assert [quote.outcome for quote in evidence_of(text, tmp_path).quotes] == expected
