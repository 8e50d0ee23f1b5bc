"""Sessions of the client, with a separate home folder."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.client_session import Client


@pytest.fixture
def client(begin: Callable[[str], Client]) -> Client:
    return begin("")
