"""What cells, labels and comments state about code, each with the closest claim, which is still reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

CODE = """\
def total(cart):
    price = compute(cart, with_tax=True)
    return price


def choose_next(cart, offers):
    found = min(offers)
    log(found)
    return found
"""
FAITHFUL = ("    price = compute(cart, with_tax=True)", "    return price")
ALTERED = ("    price = compute(cart, with_tax=False)", "    return price")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    (root / "src").mkdir()
    (root / "src/cart.py").write_text(CODE + "value = 1\n" * 20)
    (root / "src/other.py").write_text("def prepare():\n    return 2\n" + "value = 2\n" * 20)
    packages = {"react-native-udp": "^4.1.7", "shop-parts": "file:parts", "shop-tools": "workspace:*"}
    (root / "package.json").write_text(
        json.dumps({"dependencies": packages, "scripts": {"build-all": "1 && 2"}, "devDependencies": {"src": "1.0.0"}})
    )
    return root


def answers(text: str, tree: Path, path: str = "-") -> list[str]:
    (verdict,) = check_text(text, path, Options(), Sources(workspace=WorkTree(tree)))
    return [one.outcome for one in (*verdict.evidence.references, *verdict.evidence.quotes)]


def fence(*lines: str, language: str = "python") -> str:
    return "\n".join((f"```{language}", *lines, "```"))


def row(*cells: str, head: str = "Method | Place | Notes") -> str:
    return f"| {head} |\n|{'---|' * (head.count('|') + 1)}\n| {' | '.join(cells)} |\n"


def result(text: str) -> str:
    return f"## Code Reviewer Result\n\n### Status\nSUCCESS\n\n### Findings\n\n{text}\n"


@pytest.mark.parametrize("call", ["total()", "total(cart, ...)"])
def test_the_call_directly_before_a_location_is_the_symbol_of_its_row(call: str, tree: Path) -> None:
    assert answers(row("`GetTotal()`", f"`{call}` in src/cart.py:1", "done"), tree) == ["verified"]


@pytest.mark.parametrize(
    ("first", "place"),
    [
        ("`total()`", "`invented()` in src/cart.py:1"),
        ("`invented()`", "src/cart.py:1"),
        ("`invented()`", "total, src/cart.py:1"),
    ],
)
def test_an_invented_symbol_of_a_row_is_a_mismatch(first: str, place: str, tree: Path) -> None:
    assert answers(row(first, place, "done"), tree) == ["mismatch"]


@pytest.mark.parametrize("column", ["Patch", "Патч", "Fix"])
def test_a_call_in_a_column_of_patches_is_to_be_written(column: str, tree: Path) -> None:
    assert answers(row("src/cart.py:1", "`compare_digest()`", head=f"File:Line | {column}"), tree) == ["verified"]


def test_a_call_in_another_column_is_a_symbol(tree: Path) -> None:
    assert answers(row("src/cart.py:1", "`compare_digest()`", head="File:Line | Function"), tree) == ["mismatch"]


def test_a_comment_that_compares_with_a_location_starts_a_quote(tree: Path) -> None:
    parts = ("# src/cart.py:2-3", *FAITHFUL, "", "# vs src/other.py:1-2", "def prepare():", "    return 2")
    assert answers(fence(*parts), tree) == ["verified"] * 4
    parts = (*parts[:-1], "    return 3")
    assert answers(fence(*parts), tree) == ["verified", "mismatch", "verified", "mismatch"]


def test_a_list_of_words_is_not_a_quote(tree: Path) -> None:
    lines = ("# src/cart.py (650+ lines)", "- HTTP server setup", "- selection of the transport")
    for heading in ("#### Current structure:\n", "### Parts\n"):
        assert "mismatch" not in answers(heading + fence(*lines), tree)


@pytest.mark.parametrize(
    "lines", [("- price = 2", "- value of tax"), ("- value",), ("-value one", "-price two"), ("price of cart",)]
)
def test_other_entries_are_a_quote(lines: tuple[str, ...], tree: Path) -> None:
    assert answers("`src/cart.py:2`:\n" + fence(*lines), tree) == ["mismatch", "mismatch"]
    text = result("`src/cart.py:2`:\n" + fence("- the price of", "- a whole cart"))
    assert answers(text, tree) == ["mismatch", "mismatch"]


def test_a_row_of_a_plan_may_call_its_file_new(tree: Path) -> None:
    change = row("`src/buffer.py`", "**New** — `Buffer` types", head="File | Change")
    assert answers(f"# Plan: buffers\n\n{change}", tree) == ["planned"]
    assert answers(f"# Changes that were made\n\n{change}", tree) == ["missing-file"]
    change = row("`src/buffer.py`", "New checks", head="File | Change")
    assert answers(f"# Plan: buffers\n\n{change}", tree) == ["missing-file"]


@pytest.mark.parametrize("status", ["✅ Fixed — removed", "Resolved – deleted"])
def test_a_status_may_state_that_a_file_was_removed(status: str, tree: Path) -> None:
    assert answers(row("Dead file", "`src/dead.py`", status, head="Issue | File | Status"), tree) == ["unchecked"]


@pytest.mark.parametrize("status", ["✅ Fixed — removed checks", "✅ Fixed — not removed", "✅ Fixed", "Fixed removed"])
def test_another_status_does_not(status: str, tree: Path) -> None:
    assert answers(row("Dead file", "`src/dead.py`", status, head="Issue | File | Status"), tree) == ["missing-file"]


@pytest.mark.parametrize("heading", ["🎯 ПЛАН ИСПРАВЛЕНИЙ", "План исправлений", "Rollback Plan", "Rollback steps"])
def test_code_below_a_plan_of_fixes_is_to_be_written(heading: str, tree: Path) -> None:
    text = f"# Audit\n\n## {heading}\n\n1. **X**\n\n" + fence("# src/cart.py:2-3", *ALTERED)
    assert "mismatch" not in answers(text, tree)


@pytest.mark.parametrize("heading", ["ПЛАН", "Rollback of a transaction", "Missing rollback", "План проверки"])
def test_code_below_another_heading_is_compared(heading: str, tree: Path) -> None:
    text = f"# Audit\n\n## {heading} (critical)\n\n1. **X**\n\n" + fence("# src/cart.py:2-3", *ALTERED)
    assert answers(text, tree) == ["mismatch", "mismatch"]


def test_a_file_of_a_package_that_the_project_uses_is_not_missing(tree: Path) -> None:
    assert answers("See `react-native-udp/src/UdpSocket.js:229`.\n", tree) == ["unchecked"]
    assert answers(result("See `react-native-udp/src/UdpSocket.js:229`.\n"), tree) == ["missing-file"]


@pytest.mark.parametrize("folder", ["left-pad", "shop-parts", "shop-tools", "build-all", "src"])
def test_a_file_of_another_folder_is(folder: str, tree: Path) -> None:
    assert answers(f"See `{folder}/lib/socket.js:229`.\n", tree) == ["missing-file"]


def test_packages_of_a_project_with_workspaces_may_be_its_own(tmp_path: Path) -> None:
    manifest = {"workspaces": ["packages/*"], "dependencies": {"shop-core": "1.0.0"}}
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    (tmp_path / "a.py").write_text("x = 1\n")
    assert answers("See `shop-core/src/ghost.js:2` and `a.py:1`.\n", tmp_path) == ["missing-file", "verified"]
    for text in ("[1]", "{", '{"dependencies": ["shop-core"]}'):
        (tmp_path / "package.json").write_text(text)
        assert answers("See `shop-core/src/ghost.js:2` and `a.py:1`.\n", tmp_path) == ["missing-file", "verified"]


CARGO = """\
[dependencies]
agent-protocol = "0.9"
shop-model = { path = "model", version = "0.1" }
shop-types.workspace = true

[workspace.dependencies]
wire-format = { version = "1.2", features = ["x"] }
shop-core = "0.1"
"""


@pytest.mark.parametrize(
    ("folder", "outcome"),
    [
        ("agent-protocol", "unchecked"),
        ("wire-format", "unchecked"),
        ("shop-model", "missing-file"),
        ("shop-types", "missing-file"),
        ("shop-core", "missing-file"),
        ("left-pad", "missing-file"),
    ],
)
def test_a_file_of_a_crate_from_elsewhere_is_not_missing(folder: str, outcome: str, tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text(CARGO)
    (tmp_path / "crates/shop-core").mkdir(parents=True)
    (tmp_path / "crates/shop-core/Cargo.toml").write_text("[package]\n")
    assert answers(f"See `{folder}/src/ghost.rs:229`.\n", tmp_path) == [outcome]
    assert answers(result(f"See `{folder}/src/ghost.rs:229`.\n"), tmp_path) == ["missing-file"]
    for text in ("[dependencies", "dependencies = 1\n", "workspace = [1]\n", "[dependencies]\nagent-protocol = 1\n"):
        (tmp_path / "Cargo.toml").write_text(text)
        assert answers(f"See `{folder}/src/ghost.rs:229`.\n", tmp_path) == ["missing-file"]


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("`prepare()`", "unchecked"), ("`choose_next()`", "out-of-range"), ("the loop", "out-of-range")],
)
def test_a_line_in_a_function_that_its_file_lacks_is_one_of_another_file(name: str, outcome: str, tree: Path) -> None:
    text = f"### Set\n\n**Location:** `src/cart.py` lines 1-9\n\n- It is used → Line 754 in {name}\n"
    assert answers(text, tree) == ["verified", outcome]


FAULT = "# Review\n\n### Wrong tax\n\n**Location**: `src/cart.py:2-3`\n\n{label}: the tax is always there\n\n"


@pytest.mark.parametrize("label", ["**Problem**", "**Issue**", "- **Bug**", "**Description**"])
def test_code_below_a_label_of_a_fault_is_that_of_the_location(label: str, tree: Path) -> None:
    text = FAULT.format(label=label)
    assert answers(text + fence(*FAITHFUL), tree) == ["verified", "verified"]
    assert answers(text + fence(*ALTERED), tree) == ["mismatch", "mismatch"]


@pytest.mark.parametrize("label", ["**Fix**", "**Solution**", "**Note**", "**Issue**: should be changed. **Fix**"])
def test_code_below_another_label_with_a_sentence_is_not(label: str, tree: Path) -> None:
    assert answers(FAULT.format(label=label) + fence(*ALTERED), tree) == ["verified"]


def test_in_a_report_of_changes_code_below_a_label_of_a_fault_may_be_gone(tree: Path) -> None:
    text = FAULT.format(label="**Problem**").replace("# Review", "# Corrected faults")
    assert answers(text + fence(*ALTERED), tree) == ["verified"]
    assert answers(text + fence(*FAITHFUL), tree) == ["verified", "verified"]


FILES = "Item | Files | Effort"


@pytest.mark.parametrize("word", ["Novo", "Nueva", "Neu", "Nouveau", "Nuovo", "Новый", "**Novo**"])
def test_a_file_after_a_word_for_new_and_a_colon_is_planned(word: str, tree: Path) -> None:
    text = row("Add a node", f"{word}: `src/node.py`, `src/edge.py`. Editar: `src/cart.py`", "M", head=FILES)
    assert answers(text, tree) == ["planned", "planned", "verified"]


@pytest.mark.parametrize(
    "cell", ["Novo: `src/cart.py`. Editar: `src/node.py`", "Novo nó em `src/node.py`", "Motivo: `src/node.py`"]
)
def test_a_file_after_another_label_or_in_a_sentence_is_not(cell: str, tree: Path) -> None:
    assert answers(row("Add a node", cell, "M", head=FILES), tree)[-1] == "missing-file"


def test_dots_among_names_in_braces_are_not_a_file(tree: Path) -> None:
    assert answers(row("Tax", "`src/{cart,other,...}.py`", "M", head=FILES), tree) == ["verified", "verified"]
    assert answers(row("Tax", "`src/{costs,others,...}.py`", "M", head=FILES), tree) == ["missing-file"] * 2


@pytest.mark.parametrize(("name", "outcome"), [("C5", "verified"), ("H12", "verified"), ("compute5", "mismatch")])
def test_the_number_of_a_finding_after_a_location_is_not_a_symbol(name: str, outcome: str, tree: Path) -> None:
    assert answers(f"The tax is wrong: `src/cart.py:2` ({name})\n", tree) == [outcome]
