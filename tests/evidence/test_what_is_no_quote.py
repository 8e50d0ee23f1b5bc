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
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    (root / "src").mkdir()
    (root / "src/cart.py").write_text(CODE + "value = 1\n" * 20)
    (root / "src/cart.js").write_text(
        "function total(cart) {\n  return totals.compute(cart, true);\n}\n" + "go();\n" * 20
    )
    (root / "pubspec.yaml").write_text("dependencies:\n  tray_manager: ^0.2.4\n")
    return root


def answers(text: str, tree: Path, path: str = "-") -> list[str]:
    (verdict,) = check_text(text, path, Options(), Sources(workspace=WorkTree(tree)))
    return [one.outcome for one in (*verdict.evidence.references, *verdict.evidence.quotes)]


def fence(*lines: str, language: str = "python") -> str:
    return "\n".join((f"```{language}", *lines, "```"))


def test_a_list_of_names_with_remarks_is_not_a_quote(tree: Path) -> None:
    listed = fence("# src/cart.py:5", "- total() - not yet written", "- `choose_next()` — for the next release")
    assert answers(f"## Open\n\n{listed}\n", tree) == ["verified"]


def test_code_with_the_marks_of_a_diff_is_still_compared(tree: Path) -> None:
    removed = fence("# src/cart.py:5", "-    price = totals.compute(cart, with_tax=False)")
    assert answers(f"## Open\n\n{removed}\n", tree) == ["mismatch", "mismatch"]
    call = fence("# src/cart.py:5", "- total() - not yet written", "price = totals.compute(cart, with_tax=False)")
    assert answers(f"## Open\n\n{call}\n", tree) == ["mismatch", "mismatch"]


def test_comments_that_change_one_line_to_another_show_a_proposal(tree: Path) -> None:
    both = ("# Change:", "price = totals.sum(cart)", "# To:", "price = totals.compute(cart)")
    assert answers(f"## Findings\n\n{fence('# src/cart.py:5', *both)}\n", tree) == []
    assert answers(f"## Findings\n\n{fence('# src/cart.py:5', *both[:2])}\n", tree) == ["mismatch", "mismatch"]
    assert answers(f"## Findings\n\n{fence('# src/cart.py:5', both[1], both[3])}\n", tree) == ["mismatch", "mismatch"]
    mail = ("# From:", "price = totals.sum(cart)", "# To:", "price = totals.compute(cart)")
    assert answers(f"## Findings\n\n{fence('# src/cart.py:5', *mail)}\n", tree)[0] != "verified"


def test_a_comment_that_asks_to_add_code_shows_a_proposal(tree: Path) -> None:
    assert answers(f"## Findings\n\n{fence('# src/cart.py:1', '# Add import:', 'import taxes')}\n", tree) == [
        "verified"
    ]
    for comment in ("# Adds the import", "# Address of the cart:"):
        text = f"## Findings\n\n{fence('# src/cart.py:1', comment, 'import taxes')}\n"
        assert answers(text, tree) == ["mismatch", "mismatch"]


def test_a_remark_after_code_that_asks_to_add_the_line_shows_a_proposal(tree: Path) -> None:
    added = fence("// src/cart.js:2", "  return totals.compute(cart, false);  // 添加这一行", language="js")
    assert answers(f"## 问题\n\n{added}\n", tree) == ["verified"]
    above = fence("// src/cart.js:2", "  // 添加 tax", "  return totals.compute(cart, false);", language="js")
    assert answers(f"## 问题\n\n{above}\n", tree) == ["mismatch", "mismatch"]
    after = fence("// src/cart.js:2", "  return totals.compute(cart, false);  // 添加价格", language="js")
    assert answers(f"## 问题\n\n{after}\n", tree) == ["mismatch", "mismatch"]


@pytest.mark.parametrize(
    "comment",
    ["# Before the fix:", "# ДО ИСПРАВЛЕНИЯ", "# BEFORE (BROKEN):", "# 修复前", "# 🔴 問題のあるコード（修正前）"],
)
def test_code_before_a_fix_that_was_made_may_be_gone(comment: str, tree: Path) -> None:
    old = fence(comment, "price = totals.sum(cart)")
    assert answers(f"# Prices\n\nThe cause, in src/cart.py:5:\n\n{old}\n", tree)[1] == "unchecked"
    assert answers(f"# Отчёт об исправлении\n\nThe cause, in src/cart.py:5:\n\n{old}\n", tree)[1] == "unchecked"
    assert answers(f"# Code Review\n\nThe cause, in src/cart.py:5:\n\n{old}\n", tree) == ["mismatch", "mismatch"]


def test_the_problem_of_a_report_on_a_removal_may_be_gone(tree: Path) -> None:
    text = "# {}\n\n## Проблема\n\n" + fence("# src/cart.py:5", "price = OldTotals.sum(cart)") + "\n"
    assert "mismatch" not in answers(text.format("Отчёт: Удаление OldTotals"), tree)
    assert answers(text.format("Отчёт о проверке"), tree) == ["mismatch", "mismatch"]


def test_the_head_of_a_function_above_comments_is_an_outline(tree: Path) -> None:
    outline = ("# src/cart.py:9-13", "def choose_next():", "    # takes the first one", "    # and never looks back")
    assert answers(f"## Open\n\n{fence(*outline)}\n", tree) == ["verified", "unchecked"]
    invented = (outline[0], "def choose_last():", *outline[2:])
    assert answers(f"## Open\n\n{fence(*invented)}\n", tree) == ["mismatch", "mismatch"]
    parameter = (outline[0], "def choose_next(customer):", *outline[2:])
    assert answers(f"## Open\n\n{fence(*parameter)}\n", tree) == ["mismatch", "mismatch"]
    result = f"## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n{fence(*outline)}\n"
    assert answers(result, tree) == ["mismatch", "mismatch"]
    body = (*outline, "    return offers[0]")
    assert answers(f"## Open\n\n{fence(*body)}\n", tree) == ["mismatch", "mismatch"]


def test_a_label_with_a_link_to_a_page_is_not_the_label_of_code(tree: Path) -> None:
    code = fence("# src/cart.py", *CODE.replace("with_tax=True", "with_tax=False").split("\n")[3:12])
    page = "**Reference**: [prices](https://example.com/current/prices)"
    assert "mismatch" not in answers(f"**Recommended code**:\n\n{page}\n\n{code}\n", tree)
    assert answers(f"**Current code**:\n\n{page}\n\n{code}\n", tree) == ["mismatch", "mismatch"]
    shown = "**Vulnerable code** ([in the repository](https://example.com/cart)):"
    assert answers(f"**Recommended code**: none yet\n\n{shown}\n\n{code}\n", tree) == ["mismatch", "mismatch"]


def test_a_file_of_a_listed_package_with_its_version_is_not_in_the_checkout(tree: Path) -> None:
    assert answers("See `tray_manager-0.2.4/windows/plugin.cpp:32`.\n", tree) == ["unchecked"]
    assert answers("See `sound_manager-0.2.4/windows/plugin.cpp:32`.\n", tree) == ["missing-file"]
    assert answers("See `tray_manager/windows/plugin.cpp:32`.\n", tree) == ["missing-file"]


TABLE = "# {title}\n\n| Task | File |\n|---|---|\n| {task} | `src/gone.py` |\n"


@pytest.mark.parametrize("task", ["Create the container", "Создать контейнер", "创建 container"])
def test_a_row_of_a_plan_that_creates_something_may_name_a_new_file(task: str, tree: Path) -> None:
    assert answers(TABLE.format(title="Migration Plan", task=task), tree) == ["planned"]
    assert answers(TABLE.format(title="Report", task=task), tree) == ["missing-file"]
    assert answers(TABLE.format(title="Migration Plan", task="Add a check to the container"), tree) == ["missing-file"]


@pytest.mark.parametrize(
    "task", ["**ОТСУТСТВУЕТ**", "УДАЛИТЬ", "Не найден", "重命名", "Переименовать + упростить", "Удалить"]
)
def test_a_row_states_in_other_languages_that_its_file_is_or_will_be_gone(task: str, tree: Path) -> None:
    assert answers(TABLE.format(title="Report", task=task), tree) == ["planned"]
    assert answers(TABLE.format(title="Report", task="Проверить"), tree) == ["missing-file"]


def test_a_row_that_denies_a_call_does_not_claim_it(tree: Path) -> None:
    row = "| Claim | Evidence |\n|---|---|\n| {} | `src/cart.py:5` |\n"
    assert answers(row.format("no direct `fetch()` / `send()` in this path"), tree) == ["verified"]
    for claim in ("`fetch()` is called without a limit", "no `fetch()` error is handled", "`fetch()` has no test"):
        assert answers(row.format(claim), tree) == ["mismatch"]


def test_calls_that_comments_explain_are_a_list(tree: Path) -> None:
    calls = ("get_id()  # of the cart", "get_name()  # of the user", "get_bank()  # or the account")
    assert answers(f"## Helpers (src/cart.py:5)\n\n{fence(*calls)}\n", tree) == ["verified"]
    assert answers(f"## Helpers (src/cart.py:5)\n\n{fence(*calls[:1])}\n", tree) == ["mismatch", "mismatch"]
    code = (*calls, "price = totals.sum(cart)")
    assert answers(f"## Helpers (src/cart.py:5)\n\n{fence(*code)}\n", tree) == ["mismatch", "mismatch"]


def test_marks_of_a_bug_and_of_its_fix_show_a_change(tree: Path) -> None:
    bug, fix = (
        ("# ❌ BUG - no tax", "price = totals.sum(cart)"),
        ("# ✅ FIX - with tax", "price = totals.compute(cart)"),
    )
    assert answers(f"In `src/cart.py:5`:\n\n{fence(*bug, *fix)}\n", tree) == ["verified"]
    assert answers(f"In `src/cart.py:5`:\n\n{fence(*bug)}\n", tree) == ["mismatch", "mismatch"]


def test_lines_like_any_other_of_a_file_are_not_an_excerpt_of_it(tree: Path) -> None:
    lines = CODE.split("\n")
    order = (lines[10], lines[4].replace("True", "False"), lines[0], lines[12], lines[3], lines[5], lines[11])
    shuffled = fence("# src/cart.py", *order)
    assert "mismatch" not in answers(f"If you want to sort it:\n\n{shuffled}\n", tree)
    excerpt = fence("# src/cart.py", *CODE.replace("with_tax=True", "with_tax=False").split("\n")[3:12])
    assert answers(f"The code:\n\n{excerpt}\n", tree) == ["mismatch", "mismatch"]


def test_a_path_that_is_written_like_a_module_is_an_abbreviation(tree: Path) -> None:
    table = "| Name | File |\n|---|---|\n| total | `src.{}.py` |\n"
    assert answers(table.format("cart"), tree) == ["abbreviated"]
    assert answers(table.format("carts"), tree) == ["missing-file"]


def test_the_main_file_of_a_listed_dart_package_is_not_in_the_checkout(tree: Path) -> None:
    assert answers("See `tray_manager.dart:975`.\n", tree) == ["unchecked"]
    assert answers("See `sound_manager.dart:975`.\n", tree) == ["missing-file"]
