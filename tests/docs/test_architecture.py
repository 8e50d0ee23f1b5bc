"""The map of the code is complete, and every path and name in it exists."""

from __future__ import annotations

import re
from pathlib import Path

from pages import ROOT, page

SOURCE = ROOT / "src/remit"
MAP = page("docs/architecture.md")
_ROW = re.compile(r"^( *)(\S+)")
_LINK = re.compile(r"\]\(\.\./([^)#]+)\)")


def tree() -> dict[str, bool]:
    """Return each path of the tree in the map, and whether it is a folder."""
    block = next(block.text for block in MAP.blocks if block.text.startswith("src/remit/\n"))
    found: dict[str, bool] = {}
    above: list[str] = []
    for row in block.splitlines()[1:]:
        match = _ROW.match(row)
        assert match, row
        above = [*above[: len(match[1]) // 2 - 1], match[2].rstrip("/")]
        found["/".join(above)] = match[2].endswith("/")
    return found


def test_every_path_of_the_tree_exists() -> None:
    wrong = [name for name, is_folder in tree().items() if (SOURCE / name).is_dir() != is_folder]
    assert wrong == []
    assert [name for name in tree() if not (SOURCE / name).exists()] == []


def test_every_module_and_folder_is_in_the_tree() -> None:
    shown = tree()
    parents = {str(Path(name).parent) for name in shown}
    closed = tuple(f"{name}/" for name, is_folder in shown.items() if is_folder and name not in parents)
    modules = (file.relative_to(SOURCE).as_posix() for file in SOURCE.rglob("*.py") if file.name != "__init__.py")
    assert sorted(name for name in modules if name not in shown and not name.startswith(closed)) == []


def test_every_path_in_a_drawing_exists() -> None:
    drawings = [block.text for block in MAP.blocks if "-->" in block.text]
    assert len(drawings) == 4
    named = {name for text in drawings for name in re.findall(r"[a-z_/]+\.py", text)}
    assert [name for name in named if not (SOURCE / name).is_file()] == []


def test_every_module_that_the_text_names_exists() -> None:
    modules = {file.name for file in SOURCE.rglob("*.py")}
    assert set(re.findall(r"`(\w+\.py)`", MAP.prose)) - modules - {"NAME.py"} == set()


def test_the_table_of_changes_leads_to_the_names_it_mentions() -> None:
    lines = MAP.section("## Where to change what").split("\n")
    rows = [line.split(" | ") for line in lines if line.startswith("| ")][1:]
    assert len(rows) >= 15
    for what, where, names in rows:
        files = [ROOT / name for name in _LINK.findall(where)]
        assert files, what
        text = "\n".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"\b{name}\b", text), f"{what}: {name} is not in {', '.join(map(str, files))}"
