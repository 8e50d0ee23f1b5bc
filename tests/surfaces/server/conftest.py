"""A server for the tests of a module, with a separate database and folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.postgres import Postgres
from support.web import RunningSite


@pytest.fixture(scope="module")
def site(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    with (
        postgres.temporary_database() as address,
        RunningSite(address, tmp_path_factory.mktemp("site")).running() as it,
    ):
        yield it
