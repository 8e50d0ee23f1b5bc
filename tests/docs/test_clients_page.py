"""The table of clients: each cell names a test with the real client, and the test exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CELL = re.compile(r'\[([^\]]+)\]\(([^ )]+) "(test_\w+)"\)')


def cells(page: str) -> list[tuple[str, str, str]]:
    rows = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [(words, path.removeprefix("../"), test) for row in rows for words, path, test in CELL.findall(row)]


@pytest.mark.parametrize("page", ["docs/clients.md", "README.md"])
def test_every_cell_is_proved_by_a_test_with_the_real_client(page: str) -> None:
    found = cells(page)
    assert len(found) >= 10
    for _, path, test in found:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), (path, test)


def test_both_pages_have_the_same_table() -> None:
    assert cells("docs/clients.md") == cells("README.md")
