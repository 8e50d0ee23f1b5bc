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


PLAN = "# Plan: offers in the cart\n\n"
CHANGED = "File | Changes"


@pytest.mark.parametrize("notes", ["Offers and their rules", "New — the rules", "选择器", "`Offer`, `Rule`"])
@pytest.mark.parametrize("title", [PLAN, "# 购物车计划\n\n", "# Cart roadmap\n\n"])
def test_a_row_of_a_plan_may_create_its_file(notes: str, title: str, tree: Path) -> None:
    assert answers(title + row("`src/offers.py`", notes, head=CHANGED), tree) == ["planned"]
    assert answers(row("`src/offers.py`", notes, head=CHANGED), tree, "docs/specs/offers.md") == ["planned"]


def test_a_file_next_to_words_in_its_cell_is_there(tree: Path) -> None:
    text = row("a new check in `src/offers.py`", "before a sale", head=CHANGED)
    assert answers(PLAN + text, tree) == ["missing-file"]


@pytest.mark.parametrize("heading", ["Files to modify", "4.2 后端 — 修改", "Modified Files", "수정할 파일"])
def test_a_file_below_a_heading_of_changed_files_is_there(heading: str, tree: Path) -> None:
    text = row("`src/offers.py`", "Offers and their rules", head=CHANGED)
    assert answers(f"{PLAN}### {heading}\n\n{text}", tree) == ["missing-file"]


@pytest.mark.parametrize(
    "notes", ["Update the types", "**Add** a check", "修改类型", "Extend `Rule`", "Existing rules"]
)
def test_a_row_of_a_plan_that_changes_something_needs_its_file(notes: str, tree: Path) -> None:
    assert answers(PLAN + row("`src/offers.py`", notes, head=CHANGED), tree) == ["missing-file"]


def test_other_rows_need_their_file(tree: Path) -> None:
    text = row("`src/offers.py`", "Offers and their rules", head=CHANGED)
    for title in ("# Review of the plan\n\n", "# Audit\n\n", "# Validation of the plan\n\n"):
        assert answers(title + text, tree) == ["missing-file"]
    assert answers(PLAN + text.replace(".py", ".py:12"), tree) == ["missing-file"]
    assert answers(PLAN + result(text), tree) == ["missing-file"]


LOST = "`server/a.go:12`, `cmd/b.go:50`, `server/c.go:8`, `cmd/d.go:9` and `net/e.go:7` are slow.\n"


def test_references_without_a_single_file_here_are_reported_once(tree: Path) -> None:
    assert answers(LOST, tree) == ["missing-file"] + ["unchecked"] * 4
    assert answers(LOST + "See `src/cart.py:1`.\n", tree) == ["missing-file"] * 5 + ["verified"]
    assert answers(LOST.replace("net/", "src/"), tree) == ["missing-file"] * 5
    assert answers(result(LOST), tree) == ["missing-file"] * 5


def test_a_title_with_many_blanks_takes_little_time(tree: Path) -> None:
    assert answers("# a" + " " * 200_000 + "x\n\n`src/cart.py:1`\n", tree) == ["verified"]
