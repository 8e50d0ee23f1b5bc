"""Fences and rows that do not claim what they seem to claim, each with the closest claim, which is still reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

CODE = """\
import totals


def total(cart):
    price = totals.compute(cart, with_tax=True)
    return price


def choose_next(cart, offers):
    # the cheapest one
    found = min(offers)
    log(found)
    return found
# Add the tax:
cost = totals.compute(cart, with_tax=True)
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    (root / "src").mkdir()
    (root / "src/cart.py").write_text(CODE + "value = 1\n" * 20)
    (root / "src/cart.js").write_text(
        "function total(cart) {\n  return totals.compute(cart, true);\n}\n" + "go();\n" * 20
    )
    (root / "pubspec.yaml").write_text("dependencies:\n  tray_manager: ^0.2.4\n  assets:\n")
    (root / "pubspec.lock").write_text('packages:\n  tray_manager:\n    source: hosted\n    version: "0.2.4"\n')
    return root


def answers(text: str, tree: Path, path: str = "-") -> list[str]:
    (verdict,) = check_text(text, path, Options(), Sources(workspace=WorkTree(tree)))
    return [one.outcome for one in (*verdict.evidence.references, *verdict.evidence.quotes)]


def fence(*lines: str, language: str = "python") -> str:
    return "\n".join((f"```{language}", *lines, "```"))


def result(text: str) -> str:
    return f"## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n{text}\n"


def test_a_list_of_names_with_remarks_is_not_a_quote(tree: Path) -> None:
    lines = ("# src/cart.py:5", "- total() - not yet written", "- `choose_next()` — for the next release")
    for language in ("", "python"):
        assert answers(f"## Open\n\n{fence(*lines, language=language)}\n", tree) == ["verified"]
    assert answers(result(fence(*lines)), tree) == ["mismatch", "mismatch"]
    removed = "In `src/cart.py:5`:\n\n" + fence("- total(cart) - found", language="diff")
    assert answers(f"{removed}\n", tree) == ["mismatch", "mismatch"]


def test_code_with_the_marks_of_a_diff_is_still_compared(tree: Path) -> None:
    removed = fence("# src/cart.py:5", "-    price = totals.compute(cart, with_tax=False)")
    assert answers(f"## Open\n\n{removed}\n", tree) == ["mismatch", "mismatch"]
    call = fence("# src/cart.py:5", "- total() - not yet written", "price = totals.compute(cart, with_tax=False)")
    assert answers(f"## Open\n\n{call}\n", tree) == ["mismatch", "mismatch"]


def test_a_comment_of_the_file_does_not_ask_to_add_code(tree: Path) -> None:
    text = "The tax is missing, src/cart.py:14:\n\n{}\n"
    for tax, outcome in (("True", "verified"), ("False", "mismatch")):
        code = fence("# Add the tax:", f"cost = totals.compute(cart, with_tax={tax})")
        assert answers(text.format(code), tree) == [outcome, outcome]


@pytest.mark.parametrize(
    "comment",
    ["# Before the fix:", "# ДО ИСПРАВЛЕНИЯ", "# BEFORE (BROKEN):", "# 修复前", "# 🔴 問題のあるコード（修正前）"],
)
def test_code_before_a_fix_that_was_made_may_be_gone(comment: str, tree: Path) -> None:
    text = f"The cause, in src/cart.py:5:\n\n{fence(comment, 'price = totals.sum(cart)')}\n"
    for title in ("# Bug Fix: prices", "# Отчёт об исправлении"):
        assert answers(f"{title}\n\n{text}", tree)[1] == "unchecked"
        assert answers(f"{title}\n\n{result(text)}", tree) == ["mismatch", "mismatch"]
    for title in ("# Code Review", "# Findings", "# Issue 12", "# Security Report: fixes pending"):
        assert answers(f"{title}\n\n{text}", tree) == ["mismatch", "mismatch"]


def test_the_problem_of_a_report_on_a_removal_may_be_gone(tree: Path) -> None:
    text = "# {}\n\n## Проблема\n\n" + fence("# src/cart.py:5", "price = OldTotals.sum(cart)") + "\n"
    assert "mismatch" not in answers(text.format("Отчёт: Удаление OldTotals"), tree)
    assert answers(text.format("Отчёт о проверке"), tree) == ["mismatch", "mismatch"]


def test_a_file_of_a_locked_package_with_its_version_is_not_in_the_checkout(tree: Path) -> None:
    assert answers("See `tray_manager-0.2.4/windows/plugin.cpp:32`.\n", tree) == ["unchecked"]
    for folder in ("tray_manager-9.9", "tray-0.2.4", "manager-0.2.4", "source-0.2.4", "tray_manager"):
        assert answers(f"See `{folder}/windows/plugin.cpp:32`.\n", tree) == ["missing-file"]


TABLE = "# {title}\n\n| Task | File |\n|---|---|\n| {task} | `src/gone.py` |\n"


@pytest.mark.parametrize("task", ["Create the container", "Создать контейнер", "创建 container"])
def test_a_row_of_a_plan_that_creates_something_may_name_a_new_file(task: str, tree: Path) -> None:
    assert answers(TABLE.format(title="Migration Plan", task=task), tree) == ["planned"]
    for title in ("Report", "Review of the Migration Plan", "Feedback on the Migration Plan"):
        assert answers(TABLE.format(title=title, task=task), tree) == ["missing-file"]
    assert answers(TABLE.format(title="Migration Plan", task="Add a check to the container"), tree) == ["missing-file"]


@pytest.mark.parametrize("task", ["**ОТСУТСТВУЕТ**", "УДАЛИТЬ", "Не найден", "重命名", "Удалить"])
def test_a_row_states_in_other_languages_that_its_file_is_or_will_be_gone(task: str, tree: Path) -> None:
    assert answers(TABLE.format(title="Report", task=task), tree) == ["planned"]
    for other in ("Delete + rewrite", "Проверить", "Отсутствует проверка", "Не найден обработчик"):
        assert answers(TABLE.format(title="Report", task=other), tree) == ["missing-file"]


def test_a_row_that_denies_a_call_does_not_claim_it(tree: Path) -> None:
    row = "| Claim | Evidence |\n|---|---|\n| {} | `src/cart.py:5` |\n"
    assert answers(row.format("no direct `fetch()` / `send()` in this path"), tree) == ["verified"]
    for claim in ("`fetch()` is called without a limit", "no `fetch()` error is handled", "`fetch()` has no test"):
        assert answers(row.format(claim), tree) == ["mismatch"]
    for claim in ("`fetch()` runs with no `validate()`", "There is no `guard()`; `fetch()` deletes the row"):
        assert answers(row.format(claim), tree) == ["mismatch"]


def test_a_path_that_is_written_like_a_module_is_an_abbreviation(tree: Path) -> None:
    table = "| Name | File |\n|---|---|\n| total | `src.{}.py` |\n"
    assert answers(table.format("cart"), tree) == ["abbreviated"]
    assert answers(table.format("carts"), tree) == ["missing-file"]


def test_the_main_file_of_a_locked_dart_package_is_not_in_the_checkout(tree: Path) -> None:
    assert answers("See `tray_manager.dart:975`.\n", tree) == ["unchecked"]
    for name in ("sound_manager", "assets"):
        assert answers(f"See `{name}.dart:975`.\n", tree) == ["missing-file"]


@pytest.mark.parametrize(
    "lines",
    [
        ("def total(cart, retries=5):", "    # adds the prices", "    # and the tax"),
        ("log(cart)  # no check", "drop(cart)  # no check", "leak(cart)  # no check"),
        ("price = totals.compute(cart, with_tax=False)  # 添加 tax",),
    ],
    ids=["head of a function", "calls with comments", "remark after code"],
)
def test_altered_code_with_comments_is_still_compared(lines: tuple[str, ...], tree: Path) -> None:
    assert answers(f"In `src/cart.py:4-5`:\n\n{fence(*lines)}\n", tree) == ["mismatch", "mismatch"]


def test_code_that_is_marked_as_a_bug_is_compared(tree: Path) -> None:
    fix = ("# ✅ FIX - with tax", "price = totals.compute(cart, with_tax=True, rate=2)")
    for tax, outcome in (("True", "verified"), ("False", "mismatch")):
        bug = ("# ❌ BUG - no tax", f"    price = totals.compute(cart, with_tax={tax})")
        assert answers(f"## Open\n\n{fence('# src/cart.py:5', *bug, *fix)}\n", tree) == [outcome, outcome]


def test_one_altered_token_in_an_excerpt_that_leaves_out_lines_is_found(tree: Path) -> None:
    lines = CODE.replace("with_tax=True", "with_tax=False").split("\n")
    excerpt = fence("# src/cart.py", "# adds the tax", *lines[3:6], *lines[8:10], lines[11], lines[12])
    assert answers(f"The code:\n\n{excerpt}\n", tree) == ["mismatch", "mismatch"]


def test_a_link_does_not_turn_a_location_into_a_proposal(tree: Path) -> None:
    label = "**Location:** [src/cart.py:5](https://example.com/shop/blob/main/src/cart.py#L5)"
    code = fence("price = totals.compute(cart, with_tax=False)")
    assert "mismatch" in answers(f"**Recommendation:** Pass the flag.\n\n{label}\n\n{code}\n", tree)


@pytest.mark.parametrize(
    "lines",
    [
        ("- TestTotals (8 tests)", "- TestOffers (3 tests)"),
        ("• the price", "• the tax"),
        ("Rule: js/incomplete-escaping", "Issue: Incomplete escaping", "Risk: HIGH"),
        ("src/cart.py:5", "Rule: js/incomplete-escaping", "Risk: HIGH"),
    ],
)
def test_a_list_or_labels_in_a_fence_are_not_code(lines: tuple[str, ...], tree: Path) -> None:
    shown = fence("# src/cart.py:5", *lines)
    assert answers(f"## Open\n\n{shown}\n", tree) == ["verified"]
    assert answers(result(shown), tree) == ["mismatch", "mismatch"]
    assert answers(f"## Open\n\n{fence('# src/cart.py:5', *lines, 'price = tax(cart)')}\n", tree) == ["mismatch"] * 2
    (tree / "rules.yaml").write_text("a: 1\n" * 20)
    assert answers(f"## Open\n\n{fence('# rules.yaml:5', *lines, language='yaml')}\n", tree) == ["mismatch"] * 2


def test_code_after_a_line_is_to_be_inserted(tree: Path) -> None:
    code = fence("def train(cart):", "    return model(cart)")
    assert answers(f"## Open\n\n**Location:** `src/cart.py` after line 5\n\n{code}\n", tree) == ["verified"]
    assert answers(f"## Open\n\n**Location:** `src/cart.py` line 5\n\n{code}\n", tree) == ["mismatch", "mismatch"]
    assert answers(result(f"**Location:** `src/cart.py` after line 5\n\n{code}"), tree) == ["mismatch", "mismatch"]
    assert answers(f"## Open\n\nThe code in `src/cart.py` before line 5:\n\n{code}\n", tree) == ["mismatch"] * 2


def test_code_that_should_also_be_there_is_proposed(tree: Path) -> None:
    lines = ("# Current - no tax", "price = totals.compute(cart, with_tax=True)", "# Should also check", "check(cart)")
    assert answers(f"## Open\n\n**Location**: `src/cart.py:5`\n\n{fence(*lines)}\n", tree) == ["verified"]
    guess = ("# Likely something like:", "check(cart, totals)")
    assert "mismatch" not in answers(f"## Open\n\n**Location**: `src/cart.py:5`\n\n{fence(*guess)}\n", tree)
    comment = ("def total(cart):", "    # Should also check", "    price = totals.compute(cart, with_tax=False)")
    assert answers(f"## Open\n\n**Location**: `src/cart.py:4`\n\n{fence(*comment)}\n", tree) == ["mismatch"] * 2
    other = (lines[0], lines[1].replace("True", "False"), "# also checks", "check(cart)")
    assert answers(f"## Open\n\n**Location**: `src/cart.py:5`\n\n{fence(*other)}\n", tree) == ["mismatch", "mismatch"]


def test_code_below_a_list_may_be_that_of_any_entry(tree: Path) -> None:
    code = fence("found = min(offers)")
    text = "- `src/cart.py:11`\n- `src/cart.js:2`\n"
    assert answers(f"## Open\n\n{text}{code}\n", tree) == ["verified", "verified", "verified"]
    shows = text.replace("js:2`", "js:2` shows:")
    assert "verified" not in answers(f"## Open\n\n{shows}{code}\n", tree)[1:]
    wrong = fence("found = max(offers)")
    assert answers(f"## Open\n\n{text}{wrong}\n", tree).count("mismatch") == 2


@pytest.mark.parametrize(
    ("label", "is_proposed"),
    [
        ("**Opción B: otra** (`src/cart.py:5`)", True),
        ("**옵션 2: 수정** (`src/cart.py:5`)", True),
        ("**Исправить расчёт** (`src/cart.py:5`)", True),
        ("**选项卡** (`src/cart.py:5`)", False),
        ("**옵션 값** (`src/cart.py:5`)", False),
        ("**Opção de login** (`src/cart.py:5`)", False),
    ],
)
def test_alternatives_in_other_languages_are_proposed(label: str, is_proposed: bool, tree: Path) -> None:
    code = fence("price = totals.compute(cart, with_tax=False)")
    assert ("mismatch" in answers(f"## Open\n\n{label}\n\n{code}\n", tree)) is not is_proposed


def test_a_remark_may_ask_to_add_a_line(tree: Path) -> None:
    for remark, is_proposed in (("# 添加这一行", True), ("# 替换变量", False)):
        code = fence("# src/cart.py:5", f"price = totals.compute(cart, with_tax=False)  {remark}")
        assert ("mismatch" in answers(f"## Open\n\n{code}\n", tree)) is not is_proposed


@pytest.mark.parametrize(
    "lines",
    [
        ("- total(cart, tax=2)", "- return None"),
        ('Addr: ":8080",', "InsecureSkipVerify: true,"),
        ("- price = 3", "- tax = 2"),
    ],
)
def test_code_that_is_like_a_list_is_compared(lines: tuple[str, ...], tree: Path) -> None:
    shown = fence("# src/cart.py:5", *lines)
    assert answers(f"## Open\n\n{shown}\n", tree) == ["mismatch", "mismatch"]


STEP = "# Plan: the cart\n\n- [ ] **Step 4: the day**\n\nOpen `src/cart.py` (line 4), give `today = today`:\n\n{code}\n"
NEW_CALL = fence("def total(cart):", "    price = totals.compute(cart, with_tax=True, today=today)", "    return price")


def test_a_word_in_the_code_of_a_step_does_not_call_the_code_current(tree: Path) -> None:
    step = STEP.format(code=NEW_CALL)
    assert "mismatch" not in answers(step, tree)
    for words in ("as it is today", "the `current` code", "the `current code (old)`", "`current == x` is"):
        assert "mismatch" in answers(step.replace("`today = today`", words), tree)
    assert "mismatch" in answers(step.replace("# Plan: the cart", "# Audit").replace("- [ ] ", ""), tree)


def test_code_that_was_and_code_that_is_now_in_one_fence_are_not_a_quote(tree: Path) -> None:
    was, now = ("# WAS: without tax", "price = compute(cart)"), ("# NOW: with tax", "price = compute(cart, tax=True)")
    above = "The tax was added (`src/cart.py:4`)\n\n"
    assert "mismatch" not in answers(above + fence(*was, "", *now), tree)
    assert "mismatch" in answers(above + fence(*was), tree)
    assert "mismatch" in answers(above + fence("# now: it runs", *was[1:], "# was: it ran"), tree)


def test_a_drawing_of_calls_is_not_a_quote(tree: Path) -> None:
    lines = ("total(cart)", "  ├─ compute(cart)", "  └─ round(price)")
    assert "mismatch" not in answers(fence("# src/cart.py:5", *lines), tree)
    one = ("def total(cart):", "    price = compute(cart, tax)", "│ └─ wrong", "    return price")
    assert "mismatch" in answers(fence("# src/cart.py:5", *one), tree)
    plain = [line.replace("├─ ", "").replace("└─ ", "") for line in lines]
    assert "mismatch" in answers(fence("# src/cart.py:5", *plain), tree)


def test_a_finding_that_is_written_as_a_record_is_not_a_quote(tree: Path) -> None:
    record = ("ID:       A-11", "Area:     static", "Severity: P0", "Evidence:", "  - total(cart, tax=2)")
    assert "mismatch" not in answers(f"### `src/cart.py:5`\n\n{fence(*record)}", tree)
    literal = ('ID:     "a1",', 'Title:  "Cart",', 'Status: "closed",', "Limit:  99,")
    for lines in (literal, (*record[:1], "price = compute(tax)")):
        assert "mismatch" in answers(f"### A\n\n{fence('# src/cart.py:5', *lines)}", tree)


def test_a_number_after_a_spaced_dash_may_be_a_count(tree: Path) -> None:
    assert answers("See `src/cart.py`, at line 12 — 9 times in all.\n", tree) != ["out-of-range"]
    for text in ("lines 12-9", "lines 12 – 9", "line 900 — 9 times"):
        assert answers(f"See `src/cart.py`, {text}.\n", tree) == ["out-of-range"]
    assert answers("See `src/cart.py:12 – 9`.\n", tree) == ["out-of-range"]


def test_a_path_that_is_cut_by_a_star_is_a_pattern(tree: Path) -> None:
    table = "| File | Issue |\n|---|---|\n| `{}` | open |\n"
    assert answers(table.format("src/carts-*"), tree) == []
    assert answers(table.format("src/carts-old.py"), tree) == ["missing-file"]


def test_the_parts_of_a_file_that_is_to_be_split_are_planned(tree: Path) -> None:
    split = (
        "- **`src/cart.py` is long.** {}\n  - `src/cart_total.py` (lines 1-6)\n  - `src/cart_next.py` (lines 9-13)\n"
    )
    for label in ("Suggested split:", "Proposed decomposition (3 files):"):
        assert answers(split.format(label), tree).count("planned") == 2
    for label in ("Its parts:", "It is split into two files:", "Possible error breakdown:"):
        assert answers(split.format(label), tree).count("missing-file") == 2
    below = split.format("Suggested split:") + "- `src/other.py:4` is short.\n"
    assert answers(below, tree)[-1] == "missing-file"


NO_TAX = ("# src/cart.py", "def total(cart):", "    price = totals.compute(cart, with_tax=False)", "    return price")


def test_code_without_a_line_below_an_order_is_to_be_written(tree: Path) -> None:
    head = "# Security audit\n\n## Recommended hardening\n\n### Before the release\n\n"
    assert "mismatch" not in answers(f"{head}1. **Configure Taxes**\n{fence(*NO_TAX)}\n", tree)
    assert "mismatch" in answers(f"{head}1. **The tax is missing**\n{fence(*NO_TAX)}\n", tree)
    other = head.replace("Recommended hardening", "Orders")
    assert "mismatch" in answers(f"{other}1. **Configure Taxes**\n{fence(*NO_TAX)}\n", tree)


SKETCH = (
    *("# src/cart.py", "def total(cart, rate):", "    price = totals.compute(cart, rate)", "    return price"),
    *("def choose_next(cart, offers):", "    found = min(offers)", "    log(found)", "    return found"),
    *("cost = totals.compute(cart, with_tax=True)", "value = 1"),
)


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ("", False),
        ("## Totals\n\n", False),
        ("**Integration**:\n", False),
        ("**Current code:**\n", True),
        ("## Findings\n\n", True),
        ("The code as it stands:\n\n", True),
    ],
    ids=["nothing", "heading", "label", "label of existing code", "heading of existing code", "sentence"],
)
def test_code_without_a_line_may_be_a_sketch_in_a_document_of_the_checkout(
    above: str, expected: bool, tree: Path
) -> None:
    own = str(tree / "src/cart.py")
    text = f"# Cart\n\n{above}{fence(*SKETCH)}\n"
    assert ("mismatch" in answers(text, tree, own)) == expected
    assert "mismatch" in answers(text, tree)  # the answer of an agent
    assert "mismatch" in answers(text.replace("# src/cart.py", "# src/cart.py:4"), tree, own)


def test_one_altered_line_without_a_line_number_is_found_in_any_text(tree: Path) -> None:
    own = str(tree / "src/cart.py")
    altered = CODE.replace("with_tax=True", "with_tax=False", 1).split("\n")
    for lines in (altered[3:6], [altered[3], "...", *altered[4:6], altered[10]], altered[4:5]):
        assert "mismatch" in answers(f"# Cart\n\n## Totals\n\n{fence('# src/cart.py', *lines)}\n", tree, own)
