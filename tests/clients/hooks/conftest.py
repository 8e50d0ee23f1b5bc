"""A project under contract, with files of every kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hooking import Hooks


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Hooks]:
    project = tmp_path / "shop"
    for folder in ("src", "docs/specs"):
        (project / folder).mkdir(parents=True)
    (project / "src/app.py").write_text("def answer():\n    return 42\n")
    for number in range(5):
        (project / f"src/f{number}.py").write_text("x = 1\n" * 10)
    (project / "docs/specs/orders.md").write_text("# Orders\n\nThe service answers.\n")

    def make(**gate: Any) -> Hooks:
        return Hooks(project, gate)

    return make


@pytest.fixture
def hooks(start: Callable[..., Hooks]) -> Hooks:
    return start()
