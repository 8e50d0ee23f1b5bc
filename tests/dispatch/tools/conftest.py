from __future__ import annotations

from pathlib import Path

import pytest
from toolboxes import Bench, working_sandbox

from remit.dispatch.tools import sandbox


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def unconfined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a host without bubblewrap."""
    monkeypatch.setattr(sandbox, "sandbox_problem", lambda: "bubblewrap (bwrap) is not installed")


@pytest.fixture(params=["unconfined", "bubblewrap"])
def each_confinement(request: pytest.FixtureRequest) -> str:
    """Run a test without bubblewrap and with it."""
    if request.param == "unconfined":
        request.getfixturevalue("unconfined")
    elif not working_sandbox():
        pytest.skip(f"no sandbox on this host: {sandbox.sandbox_problem()}")
    return str(request.param)
