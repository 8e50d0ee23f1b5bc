"""Sessions that hooks record as files: open pages are notified of changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from support.postgres import Postgres
from support.waiting import read_until
from support.web import RunningSite

from remit.gate.session_store import open_session


@pytest.fixture(scope="module")
def site(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    folder = tmp_path_factory.mktemp("site")
    (folder / ".git").mkdir()
    with postgres.temporary_database() as address, RunningSite(address, folder).running() as it:
        yield it


def save(site: RunningSite, session: str, warning: str) -> None:
    with open_session(str(site.folder / ".remit/gate"), session) as state:
        state.warn(warning)


def test_open_pages_are_notified_of_sessions(site: RunningSite) -> None:
    client = site.client()
    save(site, "s3", "seen")
    for path in ("/sessions", "/sessions/s3"):
        page = client.get(path).text
        assert 'data-topics="sessions"' in page
        assert "data-live" in page
    assert "s3" in client.get("/").text
    with client.stream("GET", "/live?topics=sessions") as stream:
        lines = stream.iter_lines()
        read_until(lines, ["event: open"])
        sending = threading.Thread(target=lambda: save(site, "s3", "again"))
        sending.start()
        read_until(lines, ["data: sessions"])
        sending.join()
