"""Where the location of a quote may be, and which code that is not there is not accused."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.tree import evidence_of, plant, shown

from remit.contract.kinds import KINDS
from remit.contract.parse import parse
from remit.evidence.gather import gather
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

KEY = "        self.key = key"
LOOKUP = "    user = store.find_user(name)"
ALTERED = "    user = store.find_user(names)"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = plant(tmp_path_factory.mktemp("tree"))
    (root / "src/deep").mkdir()
    (root / "src/deep/shop.py").write_text(f"class Shop:\n    def open(self, key):\n{KEY}\n", encoding="utf-8")
    (root / "docs/rules.md").write_text("# Rules\n\n- List all **21** entries.\n- x\n", encoding="utf-8")
    return root


def fence(*lines: str, info: str = "python") -> str:
    return "\n".join([f"```{info}", *lines, "```"])


def found(body: str, tree: Path) -> tuple[list[str], list[str]]:
    """Return the references and the quotes of a text."""
    evidence = evidence_of(body, tree)
    return [shown(one) for one in evidence.references], [one.outcome for one in evidence.quotes]


# --- Emoji


@pytest.mark.parametrize("mark", ["📄 ", "📍", "⚠️ ", "▶ ", "❌ "])
def test_an_emoji_may_come_before_the_location_in_a_comment(mark: str, tree: Path) -> None:
    references, quotes = found(fence(f"# {mark}src/app.py (lines 14-15)", LOOKUP), tree)
    assert (references, quotes) == (["src/app.py:14-15 verified"], ["verified"])
    assert found(fence(f"# {mark}src/app.py (lines 14-15)", ALTERED), tree)[1] == ["mismatch"]


def test_an_emoji_before_other_words_is_part_of_the_code(tree: Path) -> None:
    assert found(fence("# 📄 the file src/app.py:14 has it", LOOKUP), tree) == ([], [])
    assert found(fence("# → src/app.py:14", LOOKUP), tree) == ([], [])


def test_an_emoji_may_take_the_place_of_a_comment_in_the_first_line(tree: Path) -> None:
    assert found(fence("📄 src/app.py (lines 14-15):", LOOKUP, info=""), tree)[1] == ["verified"]
    assert found(fence("📄 src/app.py (lines 14-15):", ALTERED, info=""), tree)[1] == ["mismatch"]


@pytest.mark.parametrize("line", ["📁 src/app.py", "📄 src/app.py:14 has the lookup of the user"])
def test_an_emoji_in_a_tree_of_files_or_a_sentence_is_not_a_location(line: str, tree: Path) -> None:
    assert found(fence(line, LOOKUP, info=""), tree) == ([], [])


# --- Later comments


def test_a_later_comment_with_the_name_of_a_file_and_a_remark_ends_a_quote(tree: Path) -> None:
    lines = ("# src/app.py:14", LOOKUP, "", "# shop.py - the part of the shop", KEY)
    references, quotes = found(fence(*lines), tree)
    assert references == ["src/app.py:14 verified", "shop.py abbreviated > src/deep/shop.py"]
    assert quotes == ["verified", "verified"]


def test_a_later_comment_with_a_name_that_no_file_has_is_part_of_the_quote(tree: Path) -> None:
    lines = ("# src/app.py:14", LOOKUP, "", "# nothing.py - the part of the shop", KEY)
    assert found(fence(*lines), tree)[1] == ["mismatch"]


@pytest.mark.parametrize("comment", ["# The lookup (src/app.py lines 14-15)", "# 検索（src/app.py:14-15）"])
def test_a_location_may_be_in_brackets_at_the_end_of_a_comment(comment: str, tree: Path) -> None:
    assert found(fence(comment, LOOKUP), tree) == (["src/app.py:14-15 verified"], ["verified"])
    assert found(fence(comment, ALTERED), tree)[1] == ["mismatch"]


# --- Notes


@pytest.mark.parametrize("note", ["  // ← a fixed number", "  ← a fixed number", "  <!-- ← fixed", "   # ❌ fixed"])
def test_a_note_at_the_end_of_a_quoted_line_is_ignored(note: str, tree: Path) -> None:
    text = "`docs/rules.md:3`:\n\n{}"
    assert found(text.format(fence(f"- List all **21** entries.{note}", info="markdown")), tree)[1] == ["verified"]
    assert found(text.format(fence(f"- List all **22** entries.{note}", info="markdown")), tree)[1] == ["mismatch"]


def test_words_without_a_mark_at_the_end_of_a_quoted_line_are_part_of_it(tree: Path) -> None:
    text = f"`docs/rules.md:3`:\n\n{fence('- List all **21** entries. or more', info='markdown')}"
    assert found(text, tree)[1] == ["mismatch"]


# --- Labels further above


@pytest.mark.parametrize(
    "above",
    [
        "**位置**: `src/app.py:14`\n\n**问题描述**:\n",
        "- **File:** `src/app.py:14`\n- **Severity:** high\n\nThe lookup is slow:\n",
        "### SEC-1: the lookup (src/app.py:14)\n\n**Problem:**\n",
    ],
)
def test_a_location_may_be_in_a_label_above_the_line_that_introduces_the_code(above: str, tree: Path) -> None:
    assert found(above + fence(LOOKUP), tree) == (["src/app.py:14 verified"], ["verified"])
    assert found(above + fence(ALTERED), tree)[1] == ["mismatch"]
    # Other code below such a line may be anything.
    assert found(above + fence("launch(missiles, now=True)"), tree) == (["src/app.py:14 verified"], [])


@pytest.mark.parametrize(
    "above",
    [
        "The lookup of src/app.py:14 is slow.\n\nIt has this:\n",
        "**Location**: `src/app.py:14`\n\nThere is more.\n\n",
        "**Location**: `src/app.py:14`\n\n**Fix:**\n",
        "**Location**: `src/app.py:14`\n\n## Results\n\nThis is the code:\n",
        "**Location**: `src/app.py:14`, `src/store.py:1`\n\n**Problem**:\n",
        "**Location**: `src/app.py:14`\n\n**Before:**\n",
        "**Location**: `src/app.py:14`\n\n**Problem:** The spec requires this:\n",
    ],
)
def test_code_that_is_not_introduced_below_a_label_has_no_location(above: str, tree: Path) -> None:
    assert found(above + fence(ALTERED), tree)[1] == []


# --- Omitted lines


def test_an_altered_last_line_that_another_function_has_is_a_mismatch(tmp_path: Path) -> None:
    one = ["void one() {", "    if (state.open) {", "        check_all();", "    }", "}"]
    other = ["void other() {", "    reset_all();", "}"]
    lines = [*one, *(f"int field{number};" for number in range(100)), *other]
    (tmp_path / "long.cpp").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = "// long.cpp:1-3"
    assert found(fence(text, *one[:3], info="cpp"), tmp_path)[1] == ["verified"]
    assert found(fence(text, *one[:2], "        reset_all();", info="cpp"), tmp_path)[1] == ["mismatch"]


def test_lines_omitted_inside_a_block_leave_a_quote_relocated(tmp_path: Path) -> None:
    lines = ["def one():", "    total = 0", *["    total += 1"] * 100, "    return total", "", "def other():"]
    (tmp_path / "long.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    quote = fence("# long.py:50", "def one():", "    total = 0", "    return total")
    assert found(quote, tmp_path)[1] == ["relocated"]


# --- Code that is proposed, output, and schematic code

NEW = "    user = store.find_user(name) if name else None"


def verify(text: str, tree: Path, path: str = "") -> list[str]:
    (document,) = parse(text)
    quotes = gather(document, KINDS["generic"], Sources(workspace=WorkTree(tree)), path).quotes
    return [one.outcome for one in quotes]


@pytest.mark.parametrize("label", ["Mudancas", "Changes", "Cambios", "Änderungen", "Изменения", "变更"])
def test_the_label_of_a_list_of_changes_proposes_the_code_of_all_its_entries(label: str, tree: Path) -> None:
    code = fence("    return open_session(user, True)")
    entries = f"1. **Lookup** (`src/app.py:14`):\n{fence(NEW)}\n\n2. **Session** (`src/app.py:17`):\n{code}\n"
    text = f"### The login\n**{label}:**\n\n{entries}"
    assert verify(text, tree) == []
    assert verify(text.replace(label, "Findings"), tree) == ["mismatch", "mismatch"]
    assert verify(text.replace(NEW, LOOKUP), tree) == ["verified"]


@pytest.mark.parametrize(
    "head",
    [
        "# Plano de implementacao\n\n### Login\n\n",
        "# Work\n\n## Remaining Work\n\n### Login\n\n",
        "# Work\n\n## Refactors Necesarios\n\n### Login\n\n",
        "# Work\n\n### 🔨 7. Update the lookup\n\n",
        "# Work\n\n### T2.2 [DEV] Modificar o login\n\n",
    ],
)
def test_code_in_a_plan_that_is_not_there_is_not_accused(head: str, tree: Path) -> None:
    text = f"{head}**File:** `src/app.py:14`\n\n"
    assert verify(text + fence(NEW), tree) == []
    assert verify(text + fence(LOOKUP), tree) == ["verified"]
    assert verify(f"{head}**Current code** (`src/app.py:14`):\n\n{fence(NEW)}", tree) == ["mismatch"]


def test_the_current_state_in_a_plan_is_compared(tree: Path) -> None:
    text = f"# Plan: the login\n\n## Current state\n\n`src/app.py:14` has the lookup:\n\n{fence(ALTERED)}"
    assert verify(text, tree) == ["mismatch"]
    assert verify(text.replace("Current state", "Guards"), tree) == []
    assert verify(text.replace("Current state", "Quality issues"), tree) == ["mismatch"]
    review = text.replace("# Plan: the login", "# Code review and plan").replace("Current state", "Guards")
    assert verify(review, tree) == ["mismatch"]
    assert verify(text.replace("# Plan: the login", "# Login").replace("Current state", "Guards"), tree) == ["mismatch"]


def test_code_below_a_label_of_the_implementation_is_compared(tree: Path) -> None:
    text = "# Security notes\n\n**Implementation**:\n" + fence("# src/app.py (lines 14-15)", "{}")
    assert verify(text.format(LOOKUP), tree) == ["verified"]
    assert verify(text.format(ALTERED), tree) == ["mismatch"]
    # Other code may be an implementation that is to be written.
    assert verify(text.format("launch(missiles, now=True)"), tree) == []
    assert verify(text.replace("Implementation", "Fix").format(ALTERED), tree) == []


def test_the_output_of_a_test_below_a_line_is_not_a_quote(tree: Path) -> None:
    text = "1. **src/app.py:14** fails:\n   ```\n   expect(user).toBe(502)\n   {}\n   ```"
    assert verify(text.format("Expected: 502"), tree) == []
    assert verify(text.format("expected = 502"), tree) == ["mismatch"]


def test_a_schematic_below_a_path_is_not_a_quote(tree: Path) -> None:
    text = "**Current chain:**\n" + fence("# src/app.py - all routes {}", "router.post('/route', check)")
    assert verify(text.format("follow this pattern"), tree) == []
    assert verify(text.format("of the shop"), tree) == ["mismatch"]


def test_a_remark_in_a_qml_file_is_a_comment(tmp_path: Path) -> None:
    (tmp_path / "List.qml").write_text("Rectangle {\n    spacing: 12\n}\n", encoding="utf-8")
    text = fence("// List.qml:1-3", "Rectangle {", "    spacing: {}  // FINDING: not on the grid", "}", info="qml")
    assert verify(text.replace("{}", "12"), tmp_path) == ["verified"]
    assert verify(text.replace("{}", "16"), tmp_path) == ["mismatch"]


def test_a_list_of_calls_below_a_location_is_not_a_quote(tree: Path) -> None:
    steps = ("login(name)", "  1. store.find_user(name)", "     a. lock it", "  2. open_session(user)")
    text = "**File**: `src/app.py:14`\n\n"
    assert verify(text + fence(*steps, info=""), tree) == []
    assert verify(text + fence(*steps, info="python"), tree) == ["mismatch"]


def test_old_and_new_code_in_one_fence_is_not_a_quote(tree: Path) -> None:
    text = "`src/app.py:14`:\n\n" + fence("# OLD QUERY:", "x = find(name)", "# {} QUERY:", LOOKUP)
    assert verify(text.format("NEW"), tree) == []
    assert verify(text.format("OTHER"), tree) == ["mismatch"]


def test_a_semicolon_that_a_line_need_not_have_is_ignored(tmp_path: Path) -> None:
    for ending, outcome in (("ts", "verified"), ("rs", "mismatch")):
        (tmp_path / f"bus.{ending}").write_text("let a = open()\nlet b = close();\nrun(a)\n", encoding="utf-8")
        quote = fence(f"// bus.{ending}:1-3", "let a = open();", "let b = close()", "run(a);", info=ending)
        assert verify(quote, tmp_path) == [outcome]
        assert verify(quote.replace("close()", "close(1)"), tmp_path) == ["mismatch"]


# --- Entries with labels between a location and the code

ENTRIES = "- **Location:** `src/app.py:14`\n- **Logged:** no\n- **{}:**\n  ```python\n  {}\n  ```"


@pytest.mark.parametrize("label", ["Data to be logged", "Данные для БД", "Expected record", "Response"])
def test_code_below_an_entry_on_something_else_is_not_that_of_the_location(label: str, tree: Path) -> None:
    assert found(ENTRIES.format(label, ALTERED.strip()), tree) == (["src/app.py:14 verified"], [])


@pytest.mark.parametrize(
    "label",
    [
        *("Code", "Details", "Description", "Problem", "Current log", "Evidence", "Код", "代码", "Affected function"),
        *("Handler", "Body", "Relevant part", "Query", "Found", "Auszug", "Quellcode", "Preuve", "Фрагмент", "証拠"),
    ],
)
def test_code_below_an_entry_on_the_code_is_compared_with_the_location(label: str, tree: Path) -> None:
    assert found(ENTRIES.format(label, ALTERED.strip()), tree) == (["src/app.py:14 mismatch"], ["mismatch"])
    without = ENTRIES.replace("- **Logged:** no\n", "").format("Data to be logged", ALTERED.strip())
    assert found(without, tree) == (["src/app.py:14 mismatch"], ["mismatch"])


# --- Text that is indented like code


@pytest.mark.parametrize(
    "lines",
    [
        ("Update the props:", "- Remove the user prop (line 59)", "- Remove the name prop (line 60)"),
        ("Keep all other parts:", "- Genre profile chart", "- Rating chart"),
    ],
)
def test_an_indented_list_of_words_is_not_a_quote(lines: tuple[str, ...], tree: Path) -> None:
    body = "See `src/app.py:14`\n\n" + "\n".join(f"    {line}" for line in lines)
    assert found(body, tree) == (["src/app.py:14 verified"], [])


@pytest.mark.parametrize(
    "lines",
    [
        (ALTERED, "    if user is None or not check_password(user, password):"),
        ("- name: login", "- user: find_user(names)"),
    ],
)
def test_other_indented_code_is_a_quote(lines: tuple[str, ...], tree: Path) -> None:
    body = "See `src/app.py:14`\n\n" + "\n".join(f"    {line}" for line in lines)
    assert found(body, tree) == (["src/app.py:14 mismatch"], ["mismatch"])


def test_an_indented_list_of_a_text_is_a_quote(tree: Path) -> None:
    assert found("See `docs/rules.md:3`\n\n    - List all **22** entries.", tree)[1] == ["mismatch"]


# --- Headings that are instructions


@pytest.mark.parametrize("heading", ["Step 3: Register the login", "Paso 2: Configure the login"])
def test_code_below_a_heading_that_registers_something_is_to_be_written(heading: str, tree: Path) -> None:
    assert found(f"### {heading}\n\n`src/app.py:14`\n{fence(ALTERED)}", tree)[1] == []


@pytest.mark.parametrize(
    "heading",
    [
        *("6.1 Configured login", "Registration of the login", "3. Registered logins", "6.1 Configurar el login"),
        *("Register endpoint accepts weak hashes", "2. Register form", "Part 2: configure", "Configure page leaks"),
    ],
)
def test_code_below_a_heading_on_what_is_registered_is_compared(heading: str, tree: Path) -> None:
    assert found(f"### {heading}\n\n`src/app.py:14`\n{fence(ALTERED)}", tree)[1] == ["mismatch"]
