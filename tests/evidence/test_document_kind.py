"""Texts about work and reports of a fix: their code is a quote only if they call it existing, or if it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.removals import states_fixed
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    (root / "src").mkdir()
    (root / "src/cart.py").write_text("def total(cart):\n    return compute(cart)\n" + "value = 1\n" * 20)
    return root


def outcome(text: str, tree: Path, path: str = "-") -> str:
    """Return the outcome of the quote, or of the location if its code is not a quote."""
    (verdict,) = check_text(text, path, Options(), Sources(workspace=WorkTree(tree)))
    (*_, last) = (*verdict.evidence.references, *verdict.evidence.quotes)
    return last.outcome


def code(*lines: str) -> str:
    return "\n".join(("```python", *lines, "```\n"))


def located(above: str = "", *lines: str) -> str:
    return f"{above}\n\nIn `src/cart.py:1-2`:\n\n{code(*(lines or ('def total(cart, tax):', '    return tax')))}"


def result(text: str) -> str:
    return f"## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n{text}\n"


WORK = (
    "# Cart Design",
    "# Guide: taxes",
    "# Tax Specification",
    "# How-to: taxes",
    "# 车设计",
    "# 장바구니 설계",
    "# Entwurf",
)


@pytest.mark.parametrize("title", WORK)
def test_code_of_a_text_about_work_that_is_not_there_is_not_a_quote(title: str, tree: Path) -> None:
    assert outcome(located(title), tree) == "verified"


@pytest.mark.parametrize(
    "text",
    [
        *("# Cart Design\n\n## Current state", "# Cart Design\n\n## Problem", "# Cart", "# The designer of carts"),
        *("# Cart Design Review", "# Cart design: summary", "# Design flaws of the cart", "# Style guide violations"),
        *("# Spec compliance check", "# Failing specs in CI", "# Architecture and design", "# Developer guide"),
        *(
            "# Design debt",
            "# Spec vs implementation",
            "# Does the code match the design?",
            "# 設計審計報告",
            "# 设计缺陷",
            "# 설계 보고서",
            "# Query patterns of the cart",
            "# ✅ Cart design",
        ),
    ],
)
def test_code_of_a_text_that_describes_the_code_is_compared(text: str, tree: Path) -> None:
    assert outcome(located(text), tree) == "mismatch"


def test_a_text_about_work_may_call_its_code_existing(tree: Path) -> None:
    existing = (
        *("Currently, `src/cart.py:1-2` has:", "**Current code** (`src/cart.py:1-2`):", "Now `src/cart.py:1-2` reads:"),
        *("The vulnerable code at `src/cart.py:1-2` is:", "Verified in `src/cart.py:1-2`:"),
        "**File:** `src/cart.py:1-2` (current code)",
    )
    for above in existing:
        assert outcome(f"# Cart Design\n\n{above}\n\n{code('def total(cart, tax):')}", tree) == "mismatch"
    label = "**Mechanism**: it calls the existing route\n\nIn `src/cart.py:1-2`:"
    assert outcome(f"# Plan\n\n{label}\n\n{code('def total(cart, tax):')}", tree) == "verified"


def test_the_file_of_a_text_may_call_it_a_text_about_work(tree: Path) -> None:
    assert outcome(located("# Cart"), tree, "docs/designs/cart.md") == "verified"
    assert outcome(located("# Cart"), tree, "docs/cart-guide.md") == "verified"
    for other in ("docs/designers/cart.md", "design-system/repo/cart.md", "guides/repo/cart.md", "docs/spec-review.md"):
        assert outcome(located("# Cart"), tree, other) == "mismatch"
    assert outcome(located("# Cart Review"), tree, "docs/designs/cart.md") == "mismatch"


def test_code_of_a_text_about_work_that_is_there_is_verified(tree: Path) -> None:
    (verdict,) = check_text(
        located("# Cart Design", "def total(cart):"), "-", Options(), Sources(workspace=WorkTree(tree))
    )
    assert [one.outcome for one in verdict.evidence.quotes] == ["verified"]


def test_code_of_a_text_about_work_that_is_elsewhere_in_its_file_is_relocated(tree: Path) -> None:
    text = f"# Cart Design\n\nIn `src/cart.py:18`:\n\n{code('def total(cart):', '    return compute(cart)')}"
    assert outcome(text, tree) == "relocated"


@pytest.mark.parametrize("title", ["# Cart Design", "# Cart Fix", "# Research on carts"])
def test_code_in_a_result_is_compared(title: str, tree: Path) -> None:
    assert outcome(f"{title}\n\n{result(located())}", tree) == "mismatch"


@pytest.mark.parametrize(
    "text",
    [
        located("**Status:** ✅ FIXED"),
        located("#### The tax", "# Add this line", "def total(cart, tax):"),
    ],
)
def test_a_result_is_not_excused(text: str, tree: Path) -> None:
    assert outcome(result(text), tree) == "mismatch"
    assert outcome(f"# Notes\n\n{text}", tree) != "mismatch"


def test_code_of_research_is_compared_if_its_line_is_given(tree: Path) -> None:
    new = code("# src/cart.py", *["value = 1", "value = 2", "value = 1"] * 4)
    assert outcome(located("# Research on carts"), tree) == "mismatch"
    assert outcome(f"# Report on carts\n\n{new}", tree) == "mismatch"
    (verdict,) = check_text(f"# Research on carts\n\n{new}", "-", Options(), Sources(workspace=WorkTree(tree)))
    assert verdict.evidence.references == []


@pytest.mark.parametrize("heading", ["Task 3: Move the bug to the existing tools", "Step 1: 기존 테스트 수정"])
def test_a_step_of_a_plan_is_not_about_the_code_as_it_is(heading: str, tree: Path) -> None:
    assert outcome(located(f"# Plan for carts\n\n## {heading}"), tree) == "verified"


@pytest.mark.parametrize(
    "heading",
    [
        *("Task 1: Analysis", "Step 1: Current state", "The existing tools", "Priority 1: Critical issues"),
        *("Phase 1: Root cause", "Current flow\n\n### Step 1: The request arrives"),
    ],
)
def test_a_step_of_a_plan_may_be_about_the_code_as_it_is(heading: str, tree: Path) -> None:
    assert outcome(located(f"# Plan for carts\n\n## {heading}"), tree) == "mismatch"


@pytest.mark.parametrize(
    "title", ["# Cart Fix", "# Token Refresh Fix", "# 🐛 Bug Fix of carts", "# ИСПРАВЛЕНИЕ: корзина"]
)
def test_code_of_a_report_of_one_fix_may_be_the_code_before_it(title: str, tree: Path) -> None:
    assert outcome(located(f"{title}\n\n## Where it was"), tree) == "unchecked"
    assert outcome(located(f"{title}\n\n## Evidence"), tree) == "mismatch"
    assert outcome(located(f"{title}\n\n## Current code"), tree) == "mismatch"
    for above in (
        "`src/cart.py:1-2` now has:",
        "I changed `src/cart.py:1-2` to:",
        "It is still in `src/cart.py:1-2`:",
        "We added this in `src/cart.py:1-2`:",
    ):
        assert outcome(f"{title}\n\n## Where it is\n\n{above}\n\n{code('def total(cart, tax):')}", tree) == "mismatch"


@pytest.mark.parametrize(
    "title",
    [
        "# Bugs we must fix",
        "# Bugs with no fix",
        "# Prefix",
        "# Fix carts and offers",
        "# Review of a fix",
        "# Incomplete fix",
    ],
)
def test_another_title_does_not_report_a_fix(title: str, tree: Path) -> None:
    assert outcome(located(f"{title}\n\n## Where it is"), tree) == "mismatch"


def test_the_file_of_a_text_may_call_it_a_report_of_a_fix(tree: Path) -> None:
    assert outcome(located("# The cart"), tree, "docs/CART_FIX.md") == "unchecked"
    for other in ("docs/CART_PREFIX.md", "docs/TO_FIX.md", "bugs-to-fix.md", "audit-fix.md", "docs/CART_FIX/cart.md"):
        assert outcome(located("# The cart"), tree, other) == "mismatch"
    assert outcome(located("# Review of the cart"), tree, "docs/CART_FIX.md") == "mismatch"


@pytest.mark.parametrize(
    "status",
    [
        "**Status:** ✅ FIXED",
        "Status: Resolved in `a1b2c3d`",
        "Status: fixed (v1.2)",
        "- **Статус**: Исправлено",
        "状态：已修复",
    ],
)
def test_code_of_a_section_whose_status_is_fixed_may_be_the_code_before_it(status: str, tree: Path) -> None:
    assert outcome(located(f"# Notes\n\n### The tax\n\n{status}"), tree) == "unchecked"
    assert outcome(located("# Notes\n\n### The tax") + f"\n{status}\n", tree) == "unchecked"
    assert outcome(located(f"# Notes\n\n### The tax\n\n{status}\n\n### The offers"), tree) == "mismatch"
    for label in ("**Current code**", "**Evidence**"):
        text = f"# Notes\n\n### The tax\n\n{status}\n\n{label} (`src/cart.py:1-2`):\n\n{code('def total(cart, tax):')}"
        assert outcome(text, tree) == "mismatch"


@pytest.mark.parametrize(
    "status",
    [
        *(
            "**Status:** open",
            "Status: not fixed",
            "Status: FIXED_POINT",
            "Status: fixed (partially)",
            "> Status: fixed",
        ),
        *(
            "Status: resolved? No.",
            "Status: fixed in next release",
            "Status: resolved (wontfix)",
            "Status: fixed\nStatus: open",
            "```yaml\nStatus: fixed\n```",
            "The status is fixed.",
        ),
    ],
)
def test_another_status_states_nothing(status: str, tree: Path) -> None:
    assert outcome(located(f"# Notes\n\n### The tax\n\n{status}"), tree) == "mismatch"


def test_a_label_may_call_code_that_before_a_fix(tree: Path) -> None:
    for label, expected in (("(pré-fix):", "unchecked"), ("(pre-fix):", "unchecked"), ("(prefix):", "mismatch")):
        text = f"# Review\n\n**Evidence** `src/cart.py:1` {label}\n\n{code('def total(cart, tax):')}"
        assert outcome(text, tree) == expected


@pytest.mark.parametrize("remark", ["# Add this line", "# Change:", "# Add import", "# Extend existing totals"])
def test_a_comment_that_asks_for_a_change_marks_new_code(remark: str, tree: Path) -> None:
    assert outcome(located("# Review", remark, "def total(cart, tax):"), tree) == "verified"
    for other in ("# Adds this line to the cart", "# add these numbers"):
        assert outcome(located("# Review", other, "def total(cart, tax):"), tree) == "mismatch"
    assert outcome(located("# Review", f"def total(cart, tax):  {remark}"), tree) == "mismatch"


MISSING = (
    "Missing components",
    "A. Effort matrix",
    "What we're building",
    "Features not yet implemented",
    "缺失资产",
    "未実装",
)


@pytest.mark.parametrize("heading", MISSING)
def test_a_heading_may_be_above_files_that_are_to_be_written(heading: str, tree: Path) -> None:
    table = "| Part | File |\n|---|---|\n| The tax | `src/tax.py` |\n"
    assert outcome(f"# Notes\n\n## {heading}\n\n{table}", tree) == "planned"
    assert outcome(f"# Audit\n\n## {heading}\n\n{table}", tree) == "missing-file"
    assert outcome(f"# Notes\n\n## {heading}\n\n{table.replace('tax.py', 'tax.py:12')}", tree) == "missing-file"
    assert outcome(result(f"#### {heading}\n\n{table}"), tree) == "missing-file"


@pytest.mark.parametrize(
    "heading",
    ["Missing component tests", "CSRF protection not implemented", "Findings and effort estimates", "缺失测试"],
)
def test_a_heading_on_what_files_lack_does_not_plan_them(heading: str, tree: Path) -> None:
    table = "| Part | File |\n|---|---|\n| The tax | `src/tax.py` |\n"
    assert outcome(f"# Notes\n\n## {heading}\n\n{table}", tree) == "missing-file"


@pytest.mark.parametrize("line", ["Status: fixed in 1" + "." * 200_000 + "x", "**Status:" + "*" * 200_000 + "x"])
def test_a_long_status_takes_little_time(line: str) -> None:
    assert not states_fixed([line])


# --- A text about a former state

HISTORICAL = (
    "**Status:** Historical design record with one open thread",
    "Status: superseded by the new plan",
    "**Status:** ✅ **Fully resolved on 2026-05-12.** All items have been addressed",
    "> **历史版本说明**：本报告审计的是 v0.1.0。",
    "> This document is outdated; see the new audit.",
    "> Archived report, kept for reference.",
    "**Status:** All issues resolved in a later commit",
)


@pytest.mark.parametrize("line", HISTORICAL)
def test_a_text_whose_head_calls_it_historical_is_not_accused(line: str, tree: Path) -> None:
    text = f"# Audit of the cart\n\n**Date:** today\n{line}\n\n## Findings\n\n"
    assert outcome(f"{text}The limit is in `src/cart.py:900`.", tree) == "unchecked"
    assert outcome(text + located(), tree) == "unchecked"
    assert outcome(f"{text}The limit is in `src/cart.py:3`.", tree) == "verified"
    below = f"# Audit of the cart\n\n## Findings\n\n{line}\n\nThe limit is in `src/cart.py:900`."
    assert outcome(below, tree) == "out-of-range"
    assert outcome(result(f"{line}\n\nThe limit is in `src/cart.py:900`."), tree) == "out-of-range"


@pytest.mark.parametrize("title", ["Audit (archived)", "Audit of the cart（已归档）", "[HISTORICAL] Audit"])
def test_a_title_may_call_a_text_historical(title: str, tree: Path) -> None:
    assert outcome(f"# {title}\n\nThe limit is in `src/cart.py:900`.", tree) == "unchecked"


@pytest.mark.parametrize(
    "line",
    [
        "**Status:** complete",
        "**Status:** Resolved issues are listed below",
        "**Status:** 9 open, 1 fixed (archived workflow)",
        "Historical data is kept in the cart.",
        "> Historical session summaries have been archived to docs/archive.md.",
        "> The archived carts are loaded, too.",
        "> This review replaces the outdated audit of May.",
        "**Status:** All tests fixed",
        "**Status:** All issues resolved except SEC-2",
        "**Status:** All findings fixed, 3 open",
    ],
)
def test_other_heads_do_not_make_a_text_historical(line: str, tree: Path) -> None:
    assert outcome(f"# Audit\n\n{line}\n\nThe limit is in `src/cart.py:900`.", tree) == "out-of-range"


def test_code_before_a_fix_may_have_a_label(tree: Path) -> None:
    report = "# Bug fixes: final report\n\n## Missing check\n\n**Location:** src/cart.py:1\n\n{}\n\n" + code(
        "def total(cart, tax):"
    )
    assert outcome(report.format("**Code Before:**"), tree) != "mismatch"
    assert outcome(report.format("**Code:**"), tree) == "mismatch"


def test_code_without_a_line_below_an_instruction_is_not_a_quote(tree: Path) -> None:
    text = "# Stack\n\n## {}\n\n{}" + code("# src/cart.py", "def total(cart):", "    return compute(cart, 2)")
    for heading, above in (
        ("Installation Reference", ""),
        ("2. Installation", ""),
        ("Taxes", "You must enable taxes:\n\n"),
    ):
        (verdict,) = check_text(text.format(heading, above), "-", Options(), Sources(workspace=WorkTree(tree)))
        assert not verdict.evidence.quotes
    for above in (
        "You must not enable taxes:\n\n",
        "You need to set taxes:\n\n",
        "If you must enable taxes, it has:\n\n",
    ):
        assert outcome(text.format("Taxes", above), tree) == "mismatch"
    assert outcome(text.format("Installation of carts is slow", ""), tree) == "mismatch"
    assert outcome(located("# Stack\n\n## Installation"), tree) == "mismatch"
    assert outcome(text.format("Installation", "").replace(", 2", ""), tree) == "verified"
    assert outcome(text.format("Installation", "").replace("# Stack", "# Audit"), tree) == "mismatch"
    for above in ("Note: you must enable taxes; here:\n\n", "It is what the class should provide:\n\n"):
        assert outcome(text.format("Taxes", above), tree) == "mismatch"


def test_code_below_a_heading_of_insertion_points_is_to_be_inserted(tree: Path) -> None:
    assert outcome(located("# Log strategy\n\n## Code Insertion Points\n\n### 2. The total"), tree) == "verified"
    for heading in ("## Missing insertion points", "## SQL insertion points", "## Insertion points\n\n### Evidence"):
        assert outcome(located(f"# Log strategy\n\n{heading}"), tree) == "mismatch"
    assert outcome(located("# Logs\n\n## Insertion Points"), tree) == "mismatch"
    assert outcome(result(located("#### Insertion points")), tree) == "mismatch"


def test_a_design_of_an_inspector_is_a_design(tree: Path) -> None:
    assert outcome(located("# Design of the inspector"), tree) == "verified"
    assert outcome(located("# Inspection of the design"), tree) == "mismatch"


def test_a_label_above_the_first_heading_of_a_section_proposes_the_code_below_all_of_them(tree: Path) -> None:
    fenced = code("# src/cart.py", "def total(cart):", "    return compute(cart, 2)")
    text = "# Notes\n\n## Issue 3\n\n**{}**\n\n### 1. The store\n\nIt is open.\n\n### 2. The total\n\n" + fenced
    (verdict,) = check_text(text.format("Proposed Fix:"), "-", Options(), Sources(workspace=WorkTree(tree)))
    assert not verdict.evidence.quotes
    for label in ("Problem:", "Usage:", "Implementation:", "Proposed fix: see below** and **more"):
        assert outcome(text.format(label), tree) == "mismatch"
    proposed = text.format("Proposed Fix:")
    for old, new in (("# src/cart.py", "# src/cart.py:1"), ("### 2. The total", "## 4. The total"), ("## Issue 3", "")):
        assert outcome(proposed.replace(old, new), tree) == "mismatch"
    for heading in ("Evidence", "Root cause", "Vulnerable code"):
        assert outcome(proposed.replace("2. The total", heading), tree) == "mismatch"
