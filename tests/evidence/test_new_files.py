"""Files that a text calls new, files of another code base, and what is not a name: each with the closest lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    (root / "src").mkdir()
    (root / "src/cart.py").write_text("def total(cart):\n    return compute(cart)\n" + "value = 1\n" * 20)
    (root / "src/other.py").write_text("value = 2\n" * 20)
    return root


def answers(text: str, tree: Path, path: str = "-") -> list[str]:
    (verdict,) = check_text(text, path, Options(), Sources(workspace=WorkTree(tree)))
    return [one.outcome for one in (*verdict.evidence.references, *verdict.evidence.quotes)]


def row(*cells: str, head: str = "Method | Place | Notes") -> str:
    return f"| {head} |\n|{'---|' * (head.count('|') + 1)}\n| {' | '.join(cells)} |\n"


def result(text: str) -> str:
    return f"## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n{text}\n"


FILES = "Item | Files | Effort"


@pytest.mark.parametrize("word", ["Novo", "Nueva", "Neu", "Nouveau", "Nuovo", "Новый", "**Novo**"])
def test_a_file_after_a_word_for_new_and_a_colon_is_planned(word: str, tree: Path) -> None:
    text = row("Add a node", f"{word}: `src/node.py`, `src/edge.py`. Editar: `src/cart.py`", "M", head=FILES)
    assert answers(text, tree) == ["planned", "planned", "verified"]


@pytest.mark.parametrize(
    "cell",
    [
        "Novo: `src/cart.py`. Editar: `src/node.py`",
        "Novo: `src/cart.py` usa `src/node.py`",
        "Novo nó em `src/node.py`",
        "Motivo: `src/node.py`",
        "nicht neu: `src/node.py`",
        "Casa Nova: `src/node.py`",
    ],
)
def test_a_file_after_another_label_or_in_a_sentence_is_not(cell: str, tree: Path) -> None:
    assert answers(row("Add a node", cell, "M", head=FILES), tree)[-1] == "missing-file"


def test_a_file_after_such_a_label_in_a_result_is_there(tree: Path) -> None:
    text = "### Key References\n\n" + row("A node", "Novo: `src/node.py`", "M", head="Item | Location | Relevance")
    assert answers(result(text), tree) == ["missing-file"]


def test_dots_among_names_in_braces_are_not_a_file(tree: Path) -> None:
    assert answers(row("Tax", "`src/{cart,other,...}.py`", "M", head=FILES), tree) == ["verified", "verified"]
    assert answers(row("Tax", "`src/{costs,others,...}.py`", "M", head=FILES), tree) == ["missing-file"] * 2


@pytest.mark.parametrize(
    ("name", "outcome"), [("C5", "verified"), ("H12", "verified"), ("MD5", "mismatch"), ("compute5", "mismatch")]
)
def test_the_number_of_a_finding_after_a_location_is_not_a_symbol(name: str, outcome: str, tree: Path) -> None:
    assert answers(f"The tax is wrong: `src/cart.py:2` ({name})\n", tree) == [outcome]


PLAN = "# Plan: offers in the cart\n\n"
CHANGED = "File | Changes"
OFFERS = row("`src/offers.py`", "Offers and their rules", head=CHANGED)


@pytest.mark.parametrize(
    "heading",
    [
        "新增",
        "2. 新建（3 个）",
        "In the server (NEW files):",
        "Целевая структура модулей",
        "Целевые shared-модули",
        "4.1 后端 — 新增",
        "3.2 新增前端文件预估",
        "생성되는 파일 (8개)",
        "Phase 1 — New Only (first)",
        "Backend – new",
    ],
)
def test_files_below_a_heading_of_a_plan_that_creates_them_are_planned(heading: str, tree: Path) -> None:
    assert answers(f"{PLAN}## {heading}\n\n{OFFERS}", tree) == ["planned"]
    assert answers(f"# Audit\n\n## {heading}\n\n{OFFERS}", tree) == ["missing-file"]
    assert answers(f"{PLAN}## {heading}\n\n{OFFERS.replace('.py', '.py:12')}", tree) == ["missing-file"]


@pytest.mark.parametrize("heading", ["Proposed Artifacts", "2.1 Planned artifacts (6)", "Proposed test files"])
def test_files_below_a_heading_that_proposes_them_are_planned(heading: str, tree: Path) -> None:
    for title in ("# Audit\n\n", PLAN):
        assert answers(f"{title}## {heading}\n\n{OFFERS}", tree) == ["planned"]
        assert answers(f"{title}## Missing artifacts\n\n{OFFERS}", tree) == ["missing-file"]
        assert answers(f"{title}## {heading}\n\n{OFFERS.replace('.py', '.py:12')}", tree) == ["missing-file"]


def test_a_mark_for_new_in_chinese_makes_a_file_planned(tree: Path) -> None:
    text = "| 文件 | 改什么 |\n|---|---|\n| `src/lens.py` {} | 透镜 |\n"
    assert answers(f"{PLAN}{text.format('(新)')}", tree) == ["planned"]
    assert answers(f"{PLAN}{text.format('（新）')}", tree) == ["planned"]
    for words in ("(新的问题)", "(新 API)"):
        assert answers(f"{PLAN}{text.format(words)}", tree) == ["missing-file"]


@pytest.mark.parametrize(
    "heading",
    [
        *("4.2 后端 — 修改", "Backend — new checks", "New", "Why this is new", "新增检查"),
        *("Целевая аудитория", "Целевые файлы", "Целевая структура (сейчас)", "In the server (MODIFIED files):"),
        *("Scanner ignores (new files)", "Bugs (new file)"),
    ],
)
def test_files_below_another_heading_of_a_plan_are_there(heading: str, tree: Path) -> None:
    assert answers(f"{PLAN}## {heading}\n\n{OFFERS}", tree) == ["missing-file"]


def test_a_row_of_a_plan_may_call_its_file_new(tree: Path) -> None:
    new, checks = (row("`src/offers.py`", cell, head=CHANGED) for cell in ("New — the rules", "New checks"))
    assert answers(PLAN + new, tree) == ["planned"]
    assert answers(PLAN + checks, tree) == ["missing-file"]
    assert answers(PLAN + new.replace("—", "-"), tree) == ["missing-file"]
    assert answers("# Report\n\n" + new, tree) == ["missing-file"]
    assert answers(PLAN + result(new), tree) == ["missing-file"]


LOST = "`server/a.py:12`, `cmd/b.py:50`, `server/c.py:8`, `cmd/d.py:9` and `net/e.py:7` are slow.\n"


def test_references_without_a_single_file_here_are_reported_once(tree: Path) -> None:
    assert answers(LOST, tree) == ["missing-file"] + ["unchecked"] * 4
    assert answers(LOST + "See `src/cart.py:1`.\n", tree) == ["missing-file"] * 5 + ["verified"]
    assert answers(LOST.replace("net/", "src/"), tree) == ["missing-file"] * 5
    assert answers(result(LOST), tree) == ["missing-file"] * 5


def test_a_title_with_many_blanks_takes_little_time(tree: Path) -> None:
    assert answers("# a" + " " * 200_000 + "x\n\n`src/cart.py:1`\n", tree) == ["verified"]


def test_many_symbols_in_a_line_with_accents_take_little_time(tree: Path) -> None:
    (first, *_) = found = answers("é " + "`src/cart.py:1` (total) " * 4_000, tree)
    assert (first, len(found)) == ("verified", 4_000)


@pytest.mark.parametrize("label", ["New files:", "**New files (2):**", "**Files to create**:", "新增文件："])
def test_files_below_a_label_of_a_plan_that_creates_them_are_planned(label: str, tree: Path) -> None:
    assert answers(f"{PLAN}## Inventory\n\n{label}\n\n{OFFERS}", tree) == ["planned"]
    assert answers(f"# Audit\n\n## Inventory\n\n{label}\n\n{OFFERS}", tree)[0] in ("missing-file", "planned")
    assert answers(f"{PLAN}## Inventory\n\n{label}\n\n{OFFERS.replace('.py', '.py:12')}", tree) == ["missing-file"]
    below = f"{label}\n\n{row('`src/cart.py`', 'x', head=CHANGED)}\n\nModified files:\n\n{OFFERS}"
    assert answers(f"{PLAN}## Inventory\n\n{below}", tree) == ["verified", "missing-file"]


@pytest.mark.parametrize(
    "label", ["New files break here:", "New files are ignored by:", "The new files have a bug:", "Modified files:"]
)
def test_files_below_another_label_of_a_plan_are_there(label: str, tree: Path) -> None:
    assert answers(f"{PLAN}## Inventory\n\n{label}\n\n{OFFERS}", tree) == ["missing-file"]


DESCRIBED = "| File | {} |\n|---|---|\n| `src/offers.py` | Offers and their rules |\n"


@pytest.mark.parametrize(
    "column",
    ["Purpose", "**Contents**", "Role", "Responsibility", "职责", "役割", "Роль", "Zweck", "Contenido", "역할"],
)
def test_a_file_that_a_table_of_a_plan_describes_is_planned(column: str, tree: Path) -> None:
    table = DESCRIBED.format(column)
    assert answers(PLAN + table, tree) == ["planned"]
    assert answers(f"{PLAN}## Phase 2\n\nThe modules:\n\n{table}", tree) == ["planned"]
    assert (
        answers(PLAN + table.replace("|\n|---", "| Lines (est.) |\n|---|---").replace("rules |", "rules | 80 |"), tree)[
            0
        ]
        == "planned"
    )


@pytest.mark.parametrize(
    "text",
    [
        "# Audit of the cart\n\n{}",
        "# Plan: review of the cart\n\n{}",
        "# Plan for the cart: completed\n\n{}",
        "# Plan: the cart\n\n**Status:** ✅ Implemented\n\n{}",
        "# Plan: the cart\n\nStatus: done\n\n{}",
        "# Plan: the cart\n\n**State:** all phases complete\n\n{}",
        "# Plan: the cart\n\n## Files to read first\n\n{}",
        "# Plan: the cart\n\nThe cart consists of these files:\n\n{}",
        "# Plan: the cart\n\n## Current state\n\n### Modules\n\n{}",
        "# Plan: the cart\n\n## Key files\n\n{}",
        "# Plan: the cart\n\n## Files to modify\n\n{}",
        "# Plan: the cart\n\n## 现有模块\n\n{}",
        "# Plan: the cart\n\nThe existing modules:\n\n{}",
        "# Plan: the cart\n\nThe scanner has these files:\n{}",
    ],
)
def test_a_file_that_another_table_describes_is_there(text: str, tree: Path) -> None:
    assert answers(text.format(DESCRIBED.format("Purpose")), tree) == ["missing-file"]


@pytest.mark.parametrize(
    "cells",
    [
        "✅ Offers",
        "Add offers",
        "The existing offers",
        "Offers (done)",
        "Its rules are wrong",
        "Update: offers",
        "规则崩溃",
        "Never closes it",
        "120 lines",
    ],
)
def test_a_row_of_such_a_table_may_state_that_its_file_is_there(cells: str, tree: Path) -> None:
    assert answers(PLAN + DESCRIBED.format("Purpose").replace("Offers and their rules", cells), tree) == [
        "missing-file"
    ]


@pytest.mark.parametrize("purpose", ["Duplicate detection", "Dead letter queue", "错误处理", "风险评估", "缺货处理"])
def test_a_purpose_with_a_word_for_a_fault_is_one_of_a_new_file(purpose: str, tree: Path) -> None:
    table = DESCRIBED.format("Purpose").replace("Offers and their rules", purpose)
    assert answers(PLAN + table, tree) == ["planned"]
    assert answers(f"{PLAN}## File Structure\n\n{table}", tree) == ["planned"]
    assert answers(f"{PLAN}**Status:** not yet implemented\n\n## Parts\n\n{table}", tree) == ["planned"]
    table = table.replace("| File | Purpose |", "| Component | Location | Purpose |").replace("|---|", "|---|---|", 1)
    assert answers(PLAN + table.replace("| `src", "| Offers | `src"), tree) == ["planned"]


@pytest.mark.parametrize("column", ["Changes", "Issue", "Status", "Current lines", "Problem", "修改", "Severity"])
def test_a_table_with_a_column_on_existing_files_is_compared(column: str, tree: Path) -> None:
    table = row("`src/offers.py`", "Offers", "rules", head=f"File | Purpose | {column}")
    assert answers(PLAN + table, tree) == ["missing-file"]
    assert answers(PLAN + DESCRIBED.format(column), tree) == ["missing-file"]


def test_a_described_file_with_a_line_or_in_a_result_is_there(tree: Path) -> None:
    table = DESCRIBED.format("Purpose")
    assert answers(PLAN + table.replace(".py", ".py:12"), tree) == ["missing-file"]
    assert answers(PLAN + result(table), tree) == ["missing-file"]


def test_a_described_file_that_is_in_another_folder_is_not_new(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/offers.py").write_text("value = 1\n")
    assert answers(PLAN + DESCRIBED.format("Purpose"), tmp_path) == ["missing-file"]
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "offers.py").write_text("value = 1\n")
    assert answers(PLAN + DESCRIBED.format("Purpose"), tmp_path) == ["planned"]  # a name that many files have


def test_a_described_file_with_a_similar_name_or_among_files_that_are_there_is_missing(tree: Path) -> None:
    table = DESCRIBED.format("Purpose")
    for path in ("src/Cart.py", "src/carts.py", "src/cart.ts"):
        assert answers(PLAN + table.replace("src/offers.py", path), tree) == ["missing-file"]
    here = "| `src/cart.py` | The cart |\n| `src/other.py` | The others |\n"
    assert answers(PLAN + table + here, tree) == ["missing-file", "verified", "verified"]
    assert (
        answers(PLAN + table + "| `src/rules.py` | Rules |\n| `src/gifts.py` | Gifts |\n" + here, tree)[:2]
        == ["planned"] * 2
    )


def test_a_long_table_of_described_files_takes_little_time(tree: Path) -> None:
    rows = "".join(f"| `src/new{at}.py` | Offers |\n" for at in range(5_000))
    assert set(answers(PLAN + "| File | Purpose |\n|---|---|\n" + rows, tree)) == {"planned"}


def test_a_row_of_a_plan_may_call_its_file_new_in_other_languages(tree: Path) -> None:
    table = row("`src/offers.py`", "**NEU** - Angebote", head="Datei | Änderung")
    assert answers(PLAN + table, tree) == ["planned"]
    assert answers("# Audit\n\n" + table, tree) == ["missing-file"]
    for cell in ("Neue Angebote sind falsch", "**NEU** im Menü sichtbar"):
        assert answers(PLAN + table.replace("**NEU** - Angebote", cell), tree) == ["missing-file"]


def test_a_file_that_a_plan_creates_is_planned_wherever_it_is_named_without_a_line(tree: Path) -> None:
    changed = row("`src/offers.py`", "Add a check", head=CHANGED)
    text = f"{PLAN}## Files to create\n\n{OFFERS}\n## Files to modify\n\n{changed}"
    assert answers(text, tree) == ["planned", "planned"]
    assert answers(text.replace("Files to create", "Files to read"), tree) == ["missing-file", "missing-file"]
    assert answers(f"{text}\n`src/offers.py:12`\n", tree)[-1] == "missing-file"


def test_a_long_heading_above_many_tables_takes_little_time(tree: Path) -> None:
    tables = "".join(f"### a{at}\n\n{OFFERS}\n" for at in range(600))
    assert len(answers(f"{PLAN}## {'w ' * 100_000}\n\n{tables}", tree)) == 600
