"""A scratch project in which command lines really run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scratch_project import ScratchProject

from remit.gate import paths


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ScratchProject]:
    use_as_home(tmp_path, monkeypatch)

    def make(**gate: Any) -> ScratchProject:
        return ScratchProject(tmp_path, gate)

    return make


@pytest.fixture
def shop(start: Callable[..., ScratchProject]) -> ScratchProject:
    return start()


def use_as_home(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the scratch home folder. Folders of pytest are temporary ones, in which the gate lets everybody write."""
    is_scratch = paths._is_scratch
    monkeypatch.setattr(paths, "_is_scratch", lambda real: is_scratch(real) and not real.startswith(str(root)))
    monkeypatch.setenv("HOME", str(root / "home"))
    for name in ("REMIT_GATE_MODE", "CLAUDE_CONFIG_DIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
