"""A scratch project in which command lines really run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scratch_project import ScratchProject, use_as_home


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ScratchProject]:
    use_as_home(tmp_path, monkeypatch)

    def make(**gate: Any) -> ScratchProject:
        return ScratchProject(tmp_path, gate)

    return make


@pytest.fixture
def shop(start: Callable[..., ScratchProject]) -> ScratchProject:
    return start()
