"""Fixtures for the tests of the workspace."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from checkouts import Make, Repository


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that creates repositories below the test's folder."""
    return lambda name: Repository(tmp_path / name)


@pytest.fixture
def repository(make: Make) -> Repository:
    """An empty repository."""
    return make("shop")


@pytest.fixture
def in_time() -> Iterator[None]:
    """Fail instead of blocking forever."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TimeoutError("it blocks")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
