"""Sessions that hooks record as files: open pages are notified of changes, and reports get into the ledger once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.postgres import Postgres
from support.waiting import read_until, until
from support.web import RunningSite

from remit.clients.hooks import session_import as session_watch
from remit.clients.hooks.results import keep_result
from remit.clients.hooks.session_import import FolderWatch
from remit.gate.session_store import open_session


@pytest.fixture(scope="module")
def site(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSite]:
    folder = tmp_path_factory.mktemp("site")
    (folder / ".git").mkdir()
    with postgres.temporary_database() as address, RunningSite(address, folder).running() as it:
        yield it


def gate(site: RunningSite) -> str:
    return str(site.folder / ".remit/gate")


def save(site: RunningSite, session: str, warning: str = "") -> None:
    with open_session(gate(site), session) as state:
        state.warn(warning or "seen")


def report(site: RunningSite, session: str, *, outcome: str = "accepted", verdict: str = "accept") -> None:
    about = {"agent": "code-explorer", "agent_id": "a1", "text": "text", "check": "{}", "violations": ()}
    keep_result(gate(site), session, outcome=outcome, verdict=verdict, **about)  # type: ignore[arg-type]
    save(site, session, f"{outcome} {verdict}")


def entries(site: RunningSite, session: str) -> list[tuple[str, str]]:
    return site.rows("SELECT agent, verdict FROM remit.ledger WHERE session = %s ORDER BY id", session)


def test_a_report_gets_into_the_ledger_while_the_server_runs_and_is_counted_once(site: RunningSite) -> None:
    report(site, "s1")
    until(lambda: entries(site, "s1"))
    report(site, "s1", outcome="rejected", verdict="reject")
    until(lambda: len(entries(site, "s1")) == 2)
    for number in range(3):  # later calls of the session
        save(site, "s1", f"call {number}")
    report(site, "s2")  # imported after all of them
    until(lambda: entries(site, "s2"))
    assert entries(site, "s1") == [("code-explorer", "accept"), ("code-explorer", "reject")]
    assert site.rows("SELECT kind, session FROM remit.review_items") == [("result", "s1")]


def test_open_pages_are_notified_of_sessions_and_of_the_ledger(site: RunningSite) -> None:
    client = site.client("viewer")
    save(site, "s3")
    for path in ("/sessions", "/sessions/s3"):
        page = client.get(path).text
        assert 'data-topics="sessions"' in page
        assert "data-live" in page
    with client.stream("GET", "/live?topics=sessions,ledger") as stream:
        lines = stream.iter_lines()
        read_until(lines, ["event: open"])
        sending = threading.Thread(target=lambda: report(site, "s3"))
        sending.start()
        read_until(lines, ["data: sessions", "data: ledger"])
        sending.join()
    assert entries(site, "s3") == [("code-explorer", "accept")]


@pytest.mark.parametrize("has_inotify", [True, False])
def test_a_folder_that_is_made_later_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_inotify: bool
) -> None:
    if not has_inotify:
        monkeypatch.setattr(session_watch, "_inotify_library", lambda: None)
    folder = tmp_path / "gate"
    seen: list[int] = []

    async def work() -> None:
        watch = FolderWatch([str(folder), str(tmp_path / "never")], lambda: seen.append(1))
        watch.start()
        assert seen == []
        folder.mkdir()
        watch.look()
        assert len(seen) == 1
        watch.look()
        assert len(seen) == 1, "nothing has changed"
        (folder / "one.json").write_text("{}")
        async with asyncio.timeout(10):
            while len(seen) == 1:
                watch.look()
                await asyncio.sleep(0.01)
        count = len(seen)
        with (folder / "one.json").open("a") as file:  # as a state is saved
            file.write("\n{}")
        async with asyncio.timeout(10):
            while len(seen) == count:
                watch.start()
                await asyncio.sleep(0.01)
        watch.close()

    asyncio.run(work())
