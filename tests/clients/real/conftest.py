"""The tests of this folder need the real client, which is large. Without it they are skipped."""

from __future__ import annotations

import pytest
from real_client import binary


@pytest.fixture(scope="session", autouse=True)
def client() -> None:
    if binary() is None:
        pytest.skip("the real client is not installed; `python3 dev.py test` installs it where it can be downloaded")
