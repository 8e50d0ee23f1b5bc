"""The table of clients: each cell names a test with the real client, and the test exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CELL = re.compile(r'\[([^\]]+)\]\(([^ )]+) "(test_\w+)"\)')


def cells(page: str) -> list[tuple[str, str, str]]:
    rows = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [(words, path.removeprefix("../"), test) for row in rows for words, path, test in CELL.findall(row)]


def test_every_cell_is_proved_by_a_test_with_the_real_client() -> None:
    found = cells("docs/clients.md")
    assert len(found) >= 10
    for _, path, test in found:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), (path, test)
