"""Fences with several locations: lists of them, lines of the same file, and code of many files."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant, shown

from remit.contract.kinds import KINDS
from remit.contract.parse import parse
from remit.evidence.gather import gather
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

LOOKUP = "    user = store.find_user(name)"
NEW = "return secrets.compare_digest(one, other)"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = plant(tmp_path_factory.mktemp("tree"))
    lines = [
        *("import os", "class Shop:", "    def open(self, key):", "        self.key = key", "        self.log = []"),
        *("        return Result(", "            key,", "            self.log,", "            count=0,", "        )"),
        *("def close(shop):", "    shop.key = None"),
    ]
    (root / "src/shop.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (root / "CMakeLists.txt").write_text('set(ROOT "D:/lib")\nset(NAME shop)\n', encoding="utf-8")
    return root


def fence(*lines: str, info: str = "python") -> str:
    return "\n".join([f"```{info}", *lines, "```"])


def found(body: str, tree: Path) -> tuple[list[str], list[str]]:
    """Return the references and the quotes of a text."""
    evidence = evidence_of(body, tree)
    return [shown(one) for one in evidence.references], [one.outcome for one in evidence.quotes]


# --- Several locations in one comment


@pytest.mark.parametrize("mark", [" and ", ", ", "; ", " & ", " / "])
def test_code_below_a_comment_with_two_locations_may_be_at_either(mark: str, tree: Path) -> None:
    references, quotes = found(fence(f"# src/shop.py:4{mark}src/app.py:14", LOOKUP), tree)
    assert references == ["src/shop.py:4 verified", "src/app.py:14 verified"]
    assert quotes == ["verified"]


def test_code_that_is_at_none_of_the_locations_is_a_mismatch(tree: Path) -> None:
    assert found(fence("# src/shop.py:4 and src/app.py:14", NEW), tree)[1] == ["mismatch"]


def test_a_location_later_in_the_words_of_a_comment_is_not_a_location_of_the_code(tree: Path) -> None:
    assert found(fence("# src/shop.py:4 is called by src/app.py:14", "self.key = key"), tree)[0] == [
        "src/shop.py:4 verified"
    ]


def test_code_below_a_list_of_lines_may_have_pieces_of_each(tree: Path) -> None:
    pieces = ("class Shop:", "        self.log = []", "    shop.key = None")
    assert found(f"`src/shop.py` lines 2, 5, 12:\n\n{fence(*pieces)}", tree)[1] == ["verified"]
    altered = (*pieces[:2], "    shop.key = 0")
    assert found(f"`src/shop.py` lines 2, 5, 12:\n\n{fence(*altered)}", tree)[1] == ["mismatch"]


# --- Lines of the same file


@pytest.mark.parametrize("comment", ["# Line 12: clears it", "# L12", "# lines 11-12", "# 第12行"])
def test_a_comment_with_a_line_starts_a_quote_of_the_same_file(comment: str, tree: Path) -> None:
    references, quotes = found(fence("# src/shop.py:4", "self.key = key", comment, "shop.key = None"), tree)
    assert [one.split()[1] for one in references] == ["verified", "verified"]
    assert quotes == ["verified", "verified"]


def test_the_quote_of_such_a_line_may_be_altered(tree: Path) -> None:
    text = f"`src/shop.py:4`:\n{fence('self.key = key', '# Line 12', 'shop.key = 0')}"
    assert found(text, tree)[1] == ["verified", "mismatch"]


def test_a_line_that_the_file_lacks_or_a_comment_of_the_file_is_code(tree: Path) -> None:
    assert found(fence("# src/shop.py:4", "self.key = key", "# Line 90"), tree)[1] == ["verified"]
    assert found(fence("self.key = key", "# Line 12"), tree) == ([], [])


def test_code_of_many_files_is_not_that_of_the_file_above(tree: Path) -> None:
    text = fence("# src/shop.py:4", "self.key = key", "# all src/views/*.py files", "import views")
    assert found(text, tree) == (["src/shop.py:4 verified"], ["verified"])
    assert found(fence("# src/shop.py:4", "self.key = key", "# all views", "import views"), tree)[1] == ["mismatch"]


# --- The info string


@pytest.mark.parametrize("info", ["py:4-5:src/shop.py", "4:5:src/shop.py", "python 4-5:src/shop.py"])
def test_the_info_string_may_have_lines_before_the_path(info: str, tree: Path) -> None:
    references, quotes = found(fence("        self.key = key", info=info), tree)
    assert references == ["src/shop.py:4-5 verified"]
    assert quotes == ["verified"]


# --- Joined lines with others left out


def test_a_quote_may_join_lines_and_omit_lines_between_them(tree: Path) -> None:
    joined = fence("# src/shop.py:6-10", "        return Result( key, count=0, )")
    assert [one.match for one in evidence_of(joined, tree).quotes] == ["condensed"]
    altered = fence("# src/shop.py:6-10", "        return Result( key, count=1, )")
    assert found(altered, tree)[1] == ["mismatch"]


def test_the_order_of_joined_lines_counts(tree: Path) -> None:
    assert found(fence("# src/shop.py:6-10", "return Result( count=0, key, )"), tree)[1] == ["mismatch"]


def test_a_remark_in_a_cmake_file_is_a_comment(tree: Path) -> None:
    line = 'set(ROOT "D:/lib")  # a fixed path'
    text = f"`CMakeLists.txt:1`:\n{fence(line, info='cmake')}"
    assert found(text, tree)[1] == ["verified"]
    assert found(text.replace("D:/lib", "E:/lib"), tree)[1] == ["mismatch"]


# --- Lines that are omitted far away


def test_many_lines_are_omitted_only_between_the_cited_ones(tmp_path: Path) -> None:
    code = ["try:", "    load(path)", *(f"step{number}()" for number in range(100)), "except OSError:", "    pass"]
    (tmp_path / "long.py").write_text("\n".join(code) + "\n", encoding="utf-8")
    quote = ("try:", "    load(path)", "except OSError:", "    pass")
    assert found(fence("# long.py:1-104", *quote), tmp_path)[1] == ["verified"]
    assert found(fence("# long.py:1-4", *quote), tmp_path)[1] == ["relocated"]
    assert found(fence("# long.py:1-4", *quote[:2], "...", *quote[2:]), tmp_path)[1] == ["verified"]


# --- Proposed code, diagrams and steps


@pytest.mark.parametrize("language", ["mermaid", "plantuml", "dot", "http"])
def test_a_diagram_below_a_location_is_not_a_quote(language: str, tree: Path) -> None:
    body = f"**Location:** `src/shop.py:4`\n\n{fence('open -> close', info=language)}"
    assert found(body, tree) == (["src/shop.py:4 verified"], [])
    assert found(body.replace(f"```{language}", "```python"), tree)[1] == ["mismatch"]


def test_numbered_steps_are_not_code(tree: Path) -> None:
    steps = "`src/shop.py:4` does this:\n\n```\n1. SELECT count\n2. UPDATE SET count = count + 1\n```"
    assert found(steps, tree)[1] == []
    assert found(steps.replace("1. ", "").replace("2. ", ""), tree)[1] == ["mismatch"]


@pytest.mark.parametrize(
    "above",
    [
        "**Check** (to be added), `src/shop.py:4`:\n**The check** (to be added):",
        "`src/shop.py:4` 增一个可选字段：",
        "### Fix 5 — Add a check\n\n`src/shop.py:4`:",
        "## 4. Minimal patch recommendations\n\n`src/shop.py:4`:",
        "Updated (as forms, `src/shop.py:4`):",
        "Add a panel near the existing field of `src/shop.py:4`, matching its structure:",
        "The version must match `src/shop.py:4`. Use a variable for easy updates:",
        "At `src/shop.py:4`, before `close()`:",
        "- [x] **4.1** Rename `src/shop.py:4`:",
        "**Error handling pattern** (`src/shop.py:4`):",
        "## Code examples\n\n### Open a shop\n\nSource: `src/shop.py:4`",
        "**Step 3: Implement the deletion**\n\n`src/shop.py:4`:",
        "### Paso 3: Corregir el cálculo\n\n**Editar:** `src/shop.py` líneas 4-5",
        "1. **Read the defaults (`src/shop.py:4`):** Add three lines to read them:",
    ],
)
def test_code_that_is_to_be_written_is_not_a_quote(above: str, tree: Path) -> None:
    assert found(f"{above}\n\n{fence(NEW)}", tree)[1] == []


@pytest.mark.parametrize("remark", ["# 新增", "# 原 int → str", "# NEW", "# same pattern"])
def test_a_remark_on_a_new_line_makes_the_code_new(remark: str, tree: Path) -> None:
    assert found(f"`src/shop.py:4`:\n\n{fence(f'{NEW}  {remark}')}", tree)[1] == []
    assert found(f"`src/shop.py:4`:\n\n{fence(f'{NEW}  # 重要')}", tree)[1] == ["mismatch"]


def test_the_label_of_a_list_proposes_the_code_below_its_entries(tree: Path) -> None:
    listed = "**修正案（優先度順）**:\n\n1. **Upgrade** it\n2. **A hook**: in a worker\n\n"
    assert found(listed + fence("# src/shop.py", NEW), tree)[1] == []
    assert found(listed.replace("修正案", "背景") + fence("# src/shop.py", NEW), tree)[1] == ["unchecked"]


def test_the_entry_that_a_list_belongs_to_proposes_the_code_below_its_entries(tree: Path) -> None:
    steps = "  1. **A hook**: in a worker\n\n  2. **A key**: the shop has one\n\n"
    code = fence("# src/shop.py", "self.key = new_key", "self.log = []").replace("\n", "\n     ")
    shown = "- **Solución recomendada: otra clave.**\n  Es mejor así:\n\n" + steps + "     " + code
    assert found(shown, tree)[1] == []
    assert found(shown.replace("# src/shop.py", "# src/shop.py:4"), tree)[1] != []
    assert found(shown.replace("**A key**", "**Problem**"), tree)[1] != []
    for other in ("- **El problema: otra clave.**", "- otra\n- clave"):
        assert found(shown.replace("- **Solución recomendada: otra clave.**", other), tree)[1] != []


@pytest.mark.parametrize("path", ["docs/plans/login.md", "docs/login-plan.md", "specs/login.md"])
def test_the_file_of_a_plan_calls_it_one(path: str, tree: Path) -> None:
    text = f"# Login\n\n## Guards\n\nEach class gets one.\n\n{fence('# src/shop.py', NEW)}"
    (document,) = parse(text)
    workspace = Sources(workspace=WorkTree(tree))
    assert gather(document, KINDS["generic"], workspace, path).quotes == []
    assert len(gather(document, KINDS["generic"], workspace, "docs/planets.md").quotes) == 1


def test_a_comment_that_only_starts_like_a_line_is_code(tree: Path) -> None:
    text = fence("# src/shop.py:4", "self.key = key", "# L2 penalty on weights", "self.log = []")
    assert found(text, tree) == (["src/shop.py:4 verified"], ["verified"])


def test_the_lines_of_a_quote_may_have_ranges_as_numbers(tree: Path) -> None:
    text = "`src/shop.py:4-12`:\n\n```\nL4-5: self.key = key\nL12: shop.key = {}\n```"
    assert found(text.format("None"), tree)[1] == ["verified"]
    assert found(text.format("0"), tree)[1] == ["mismatch"]


def test_indented_prose_is_not_code(tree: Path) -> None:
    prose = "with the view automatically, so that a rebuild by a page ends it first"
    text = f"It is at `src/shop.py:4` and scales\n\n    {prose}"
    assert found(text, tree)[1] == []
    assert found("It is at `src/shop.py:4`:\n\n    launch(missiles)", tree)[1] == ["mismatch"]


def test_code_below_a_heading_of_what_is_required_is_to_be_written(tree: Path) -> None:
    text = f"#### New Interfaces Required\n\n{fence('# src/shop.py', NEW)}"
    assert found(text, tree)[1] == []
    assert found(text.replace("New Interfaces Required", "Interfaces"), tree)[1] == ["unchecked"]


def test_commands_below_a_comment_with_a_file_are_not_code_of_it(tree: Path) -> None:
    text = fence("# From src/shop.py, run the check", "python check.py", "# or", "python other.py", info="bash")
    assert found(text, tree)[1] == []
    assert found(fence("# src/shop.py", "shop.key = 0"), tree)[1] == ["mismatch"]


@pytest.mark.parametrize(
    ("head", "outcomes"),
    [
        ("# Report: a fix of the key\n\n## Root Cause", ["unchecked"]),
        ("# Bug Fix: the key\n\n## Root Cause", ["unchecked"]),
        ("# Bug Fix: the key\n\n## Evidence", ["mismatch"]),
        ("# Bug fixing: the key\n\n## Root Cause", ["mismatch"]),
        ("# Paste Fix - Complete\n\n### Issue 1: paste", ["unchecked"]),
        ("# Review\n\n### C2. The key is open ✅ COMPLETED", ["unchecked"]),
        ("# Fix the key: a plan\n\n## Root Cause", ["mismatch"]),
        ("# Paste Fix - Complete\n\n## Result", ["mismatch"]),
        ("# Review\n\n### C2. The key is open", ["mismatch"]),
    ],
)
def test_the_code_before_a_fix_may_be_gone(head: str, outcomes: list[str], tree: Path) -> None:
    (document,) = parse(f"{head}\n\n`src/shop.py:4`:\n\n{fence('launch(missiles)')}")
    quotes = gather(document, KINDS["generic"], Sources(workspace=WorkTree(tree))).quotes
    assert [one.outcome for one in quotes] == outcomes


# --- A later comment with a path and no line


@pytest.mark.parametrize("remark", ["", " - the lookup", " (excerpt)", ": the lookup", "（抜粋）"])
def test_a_later_comment_with_a_path_and_a_remark_starts_a_quote(remark: str, tree: Path) -> None:
    lines = ("# src/shop.py:4", "self.key = key", "", f"# src/app.py{remark}", LOOKUP)
    references, quotes = found(fence(*lines), tree)
    assert [one.split()[0] for one in references] == ["src/shop.py:4", "src/app.py"]
    assert quotes == ["verified", "verified"]


@pytest.mark.parametrize(
    "comment", ["# src/app.py calls it", "# see src/app.py", "# other.py - it is new", "# src/app"]
)
def test_a_later_comment_with_other_words_is_part_of_the_quote(comment: str, tree: Path) -> None:
    references, quotes = found(fence("# src/shop.py:4", "self.key = key", comment, "self.log = []"), tree)
    assert references == ["src/shop.py:4 verified"]
    assert quotes == ["verified"]


@pytest.mark.parametrize("label", ["Fichier: ", "Fichier : ", "Archivo: ", "文件：", "Quelle: `"])
def test_one_word_with_a_colon_may_come_before_the_location_in_a_comment(label: str, tree: Path) -> None:
    lines = ("# src/shop.py:4", "self.key = key", f"# {label}src/app.py:14", LOOKUP)
    assert found(fence(*lines), tree)[1] == ["verified", "verified"]
    assert found(fence(f"# {label}src/app.py", LOOKUP), tree) == (["src/app.py verified"], ["verified"])


@pytest.mark.parametrize("comment", ["# TODO: src/app.py:14 is slow", "# see also: src/app.py:14", "# Keys: src/app"])
def test_other_words_before_a_location_in_a_later_comment_are_part_of_the_quote(comment: str, tree: Path) -> None:
    references, quotes = found(fence("# src/shop.py:4", "self.key = key", comment, "self.log = []"), tree)
    assert (references, quotes) == (["src/shop.py:4 verified"], ["verified"])


@pytest.mark.parametrize(
    "order", ["Replace the key with:", "Insert this above the log:", "Add this key:", "在 open 函数中添加："]
)
def test_a_comment_below_a_path_that_orders_a_change_makes_the_code_new(order: str, tree: Path) -> None:
    code = ("self.key = new_key", "self.log = []")
    assert found(fence("# src/shop.py", f"# {order}", *code), tree)[1] == []
    assert found(fence("# src/shop.py:4", f"# {order}", *code), tree)[1] != []
    assert found(fence("# src/shop.py", f"# {order.rstrip(':：')}", *code), tree)[1] != []
    for other in ("Update of the counter:", "Add up the numbers:", "Change detection for the key:"):
        assert found(fence("# src/shop.py", f"# {other}", *code), tree)[1] != []
    (tree / "src/cache.py").write_text(f"# {order}\nself.key = key\nself.log = []\n")
    assert found(fence("# src/cache.py", f"# {order}", *code), tree)[1] == ["mismatch"]


@pytest.mark.parametrize(
    "above",
    [
        "**개선 방안:**",
        "**الإصلاحات المقترحة**:",
        "New keys to add:",
        "The menu needs keys. Should provide:",
        "## 修复步骤\n",
    ],
)
def test_more_labels_and_headings_propose_code(above: str, tree: Path) -> None:
    code = fence("# src/shop.py", "self.key = new_key", "self.log = []")
    assert found(f"{above}\n\n{code}", tree)[1] == []
    assert found(f"The shop:\n\n{code}", tree)[1] != []
