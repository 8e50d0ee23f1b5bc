"""Sessions of the client, with a separate home folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.client_session import Client


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Client]:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "REMIT_GATE_MODE", "REMIT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return lambda settings: Client(tmp_path, settings)


@pytest.fixture
def client(begin: Callable[[str], Client]) -> Client:
    return begin("")
