"""Code that a text reports as changed or removed, forms to be filled in, and work that is still to be done.

Each excuse has a counterpart: the same claim without the words that excuse it is still reported.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

NEW = "    return totals.compute(cart, with_tax=True)"
OLD = "    return totals.compute(cart)"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    (root / "src").mkdir()
    (root / "src/cart.py").write_text(f"import totals\n\n\ndef total(cart):\n{NEW}\n" + "value = 1\n" * 20)
    (root / "src/store.py").write_text("def open_store():\n    pass\n\n\ndef close():\n    pass\n" + "value = 1\n" * 40)
    return root


def answers(text: str, tree: Path, path: str = "-") -> list[str]:
    (verdict,) = check_text(text, path, Options(), Sources(workspace=WorkTree(tree)))
    return [one.outcome for one in (*verdict.evidence.references, *verdict.evidence.quotes)]


def fence(*lines: str) -> str:
    return "\n".join(("```python", *lines, "```"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("**Before:**", "**After:**"),
        ("**Antes:**", "**Depois:**"),
        ("**Root Cause:**", "**Solution:**"),
        ("**Problem:**", "It has no tax.\n\n**Fix:**"),
        ("**Problem:**", "### Solution"),
    ],
)
def test_code_whose_replacement_is_in_the_file_was_changed(before: str, after: str, tree: Path) -> None:
    text, located = "{}\n{}\n\n{}\n\n{}\n", fence("# src/cart.py:5", OLD)
    assert "mismatch" not in answers(text.format(before, located, after, fence(NEW)), tree)
    # The code that is proposed is not there, so the quote is one of the current code.
    other = fence("    return totals.compute(cart, rounded=True)")
    assert "mismatch" in answers(text.format(before, located, after, other), tree)
    # What is below another heading, or not proposed, does not replace it.
    assert "mismatch" in answers(text.format(before, located, "## Another finding", fence(NEW)), tree)
    # Unrelated code below a label of a fix replaces nothing, nor does code at another place.
    assert "mismatch" in answers(text.format(before, located, after, fence("import totals")), tree)
    # A finding about the code as it is, and a result, are compared.
    assert "mismatch" in answers(text.format("**Vulnerable code:**", located, after, fence(NEW)), tree)
    assert "mismatch" in answers(f"# Code Review\n\n{text.format(before, located, after, fence(NEW))}", tree)
    result = "## Release Helper Result\n\n### Status\nSUCCESS\n\n### Findings\n\n"
    assert "mismatch" in answers(result + text.format(before, located, after, fence(NEW)), tree)
    # The text calls the quoted code the current one.
    assert "mismatch" in answers(text.format("**Current code:**", located, after, fence(NEW)), tree)


@pytest.mark.parametrize("heading", ["## What was removed", "## Parameter Removed (Line 5)", "### 2. Call deleted:"])
def test_code_below_a_heading_of_what_was_removed_is_past(heading: str, tree: Path) -> None:
    text = f"{{}}\n\n{fence('# src/cart.py:5', OLD)}\n"
    assert "mismatch" not in answers(text.format(heading), tree)
    for other in (
        "## Removed users",
        "## The call",
        "## To be kept",
        "## A session is not deleted (line 5)",
        "### It isn’t removed",
        "### Bug: it is not always removed",
        "## It can be removed",
        "### A race when a session gets deleted (high)",
        "# Review: users deleted",
        "## It **not** removed",
    ):
        assert "mismatch" in answers(text.format(other), tree)


@pytest.mark.parametrize("mark", ["# Removed:", "# deleted", "# Old code:"])
def test_a_comment_may_call_the_code_below_it_removed(mark: str, tree: Path) -> None:
    text = "`src/cart.py:5`:\n\n{}\n"
    assert "mismatch" not in answers(text.format(fence(mark, OLD)), tree)
    for other in ("# Removed users are counted:", "# The total:", "# Before:"):
        assert "mismatch" in answers(text.format(fence(other, OLD)), tree)


def test_a_backslash_at_the_end_of_a_line_continues_it(tree: Path) -> None:
    broken = fence("    return \\\n        totals.compute(cart, with_tax=True)")
    assert "mismatch" not in answers(f"`src/cart.py:5`:\n\n{broken}\n", tree)
    assert "mismatch" in answers(f"`src/cart.py:5`:\n\n{broken.replace('True', 'False')}\n", tree)


@pytest.mark.parametrize(
    "above",
    [
        "- **File:** `src/cart.py:5`\n- **Acción recomendada:**",
        "**Also**: Добавить the tax in `src/cart.py:5`:",
    ],
)
def test_a_change_that_is_asked_for_in_other_languages_is_not_a_quote(above: str, tree: Path) -> None:
    assert "mismatch" not in answers(f"{above}\n{fence(OLD)}\n", tree)
    plain = above.replace("Acción recomendada", "Código").replace("Добавить", "See")
    assert "mismatch" in answers(f"{plain}\n{fence(OLD)}\n", tree)


def test_code_of_a_file_that_is_not_expected_in_a_checkout_is_unchecked(tree: Path) -> None:
    assert answers("**File:** `conf/.env` line 3\n\n```\nKEY=1\n```\n", tree) == ["unchecked", "unchecked"]
    assert "missing-file" in answers(f"**File:** `gone.py:3`\n\n{fence(OLD)}\n", tree)


@pytest.mark.parametrize(
    "remark", ["(moved to `src/store.py` in May)", "(now `store.py`)", "(renamed to src/store.py)"]
)
def test_a_file_that_the_text_calls_moved_to_an_existing_one_is_not_missing(remark: str, tree: Path) -> None:
    assert answers(f"It is in `src/old.py:12` {remark}.", tree)[0] == "unchecked"
    assert answers(f"It is in `src/old.py:12` {remark.replace('store', 'gone')}.", tree)[0] == "missing-file"
    assert answers("It is in `src/old.py:12` (a store).", tree)[0] == "missing-file"
    assert answers("It is in `src/old.py:12` (now `src/store.py` imports it).", tree)[0] == "missing-file"
    assert answers("It is in `src/cart.py:900` (now `src/store.py`).", tree)[0] == "out-of-range"
    assert answers("`src/old.py:12` → `src/store.py`.", tree)[0] == "missing-file"


def test_the_locations_of_a_form_are_examples(tree: Path) -> None:
    text = "# Trace\n\n- `tests/login.py:12`\n- `src/cart.py:2`\n- `src/cart.py:900`\n"
    assert answers(text, tree, "docs/trace-template.md") == ["verified", "out-of-range"]
    for path in ("docs/trace.md", "docs/templates/trace.md"):
        assert answers(text, tree, path) == ["missing-file", "verified", "out-of-range"]
    assert "missing-file" in answers(text.replace("Trace", "Review of {{ user.bio }}"), tree)
    result = f"## Release Helper Result\n\n### Status\nSUCCESS\n\n{text}"
    assert "missing-file" in answers(result, tree, "docs/trace-template.md")


@pytest.mark.parametrize("state", ["TODO", "Backlog", "Not started", "✅ DONE"])
def test_the_state_of_a_finding_does_not_excuse_its_file(state: str, tree: Path) -> None:
    table = f"| File | Finding | Status |\n|---|---|---|\n| src/worker.py | A race | {state} |\n"
    assert answers(table, tree) == ["missing-file"]


def test_the_default_of_a_port_is_not_a_line(tree: Path) -> None:
    text = "### The server (src/cart.py)\n\n- The flag has the {} `:9809`\n"
    assert answers(text.format("default"), tree) == []
    assert answers(text.format("check in"), tree) != []
    assert "out-of-range" in answers("`src/cart.py` sets the default (:900)", tree)


def test_a_call_in_a_later_cell_is_not_at_the_location(tree: Path) -> None:
    table = "| What | Where | Note |\n|---|---|---|\n| {} | src/store.py:30 | {} |\n"
    for note in ("Only used by `open_store()`", "same as `close()`"):
        assert answers(table.format("`read_value`", note), tree) == ["verified"]
    assert answers(table.format("the value", "`src/cart.py:5` → out of `close()`"), tree) == ["verified", "verified"]
    assert answers(table.format("`open_store()`", "slow"), tree) == ["relocated"]
    assert answers(table.format("value", "`open_store()`"), tree) == ["relocated"]
    assert answers(table.format("`sell()`", "slow"), tree) == ["mismatch"]
    assert answers(table.format("`high`", "leaks in `sell()`"), tree) == ["mismatch"]


def test_code_below_an_implementation_with_its_location_is_compared(tree: Path) -> None:
    text = f"**Implementation**: `src/cart.py` lines 4-5\n{fence('def total(cart):', '{}')}\n"
    assert answers(text.format(NEW), tree) == ["verified", "verified"]
    assert answers(text.format(NEW.replace("True", "False")), tree) == ["mismatch", "mismatch"]
    assert answers(f"# Plan\n\n{text.format(OLD)}", tree) == ["verified"]
