"""Import the reports of recorded sessions into the ledger. A report that was imported before is skipped."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.aio import cancel_and_wait
from remit.clients.hooks.recorded_project import SessionProject, current_project
from remit.clients.hooks.results import MAX_CHECK_BYTES, KeptResult, list_results, read_text, sessions_with_results
from remit.contract.kinds import slug
from remit.errors import RemitError
from remit.gate.session_store import read_session
from remit.ledger.items import ItemOrigin, NewItem, result_item
from remit.ledger.ledger_entries import INVENTED, LedgerEntry
from remit.merging.merge_data import AgentReport
from remit.registry.model_names import full_name
from remit.store import ledger, review_queue
from remit.store.database import CONNECTION_ERRORS, Database

if TYPE_CHECKING:
    from remit.store.database import Database

log = logging.getLogger("remit.sessions")
#: The change of many files at once is one change, and reports are imported at most this often.
_PAUSE_SECONDS = 0.3
#: A folder that does not exist yet, or a system without inotify, is looked at this often.
_LOOK_SECONDS = 2.0
#: Reports that were stored this long before the last import are imported again: clocks of file systems are coarse, and
#: a report that is known is skipped.
_OVERLAP_SECONDS = 5.0
_CLOSE_WRITE, _MOVED_TO = 0x8, 0x80
_NONBLOCK = os.O_NONBLOCK | os.O_CLOEXEC if os.name == "posix" else 0


async def import_sessions(database: Database, folders: Iterable[str], project: str = "", *, since: float = 0.0) -> int:
    """Record the judged reports of the sessions in some folders of the gate, and return how many were new.

    A report that was rejected becomes a review item. Sessions without a report after `since` are left out.
    """
    entries, items = await asyncio.to_thread(_read_sessions, list(folders), project, since)
    new = await ledger.record(database, entries)
    await review_queue.add_items(database, items)
    return new


def _read_sessions(folders: list[str], project: str, since: float) -> tuple[list[LedgerEntry], list[NewItem]]:
    entries: list[LedgerEntry] = []
    items: list[NewItem] = []
    sessions = [(folder, name) for folder in folders for name in sessions_with_results(folder, since)]
    for folder, name in sessions:
        state = read_session(folder, name)
        if state is None:
            continue
        session = state.session or name
        for kept in list_results(folder, session):
            if not kept.verdict:
                continue
            entry = entry_of(kept, session, project)
            entries.append(entry)
            if kept.outcome in ("rejected", "failed"):
                items.append(_item(kept, entry))
    return entries, items


def entry_of(kept: KeptResult, session: str, project: str) -> LedgerEntry:
    """Return the ledger's entry of a stored report. Its file name is unique in its session."""
    check = _read_check(kept)
    counts = _counts(check.get("summary"))
    first = next(iter(_tables(check.get("results"))), {})
    confidence = first.get("confidence")
    scores = confidence if isinstance(confidence, dict) else {}
    return LedgerEntry(
        key=f"hook-{session}-{Path(kept.base).name}",
        source="hook",
        at=datetime.fromtimestamp(kept.at, UTC),
        session=session,
        path=kept.path,
        agent=slug(kept.agent.rpartition(":")[2]),
        definition=kept.definition,
        model=full_name(kept.model, {}) if kept.model else "",
        kind=_text(first.get("kind")),
        profile=kept.profile,
        project=project,
        revision=kept.commit,
        findings=max(0, kept.findings),
        status=_text(first.get("status")),
        verdict=kept.verdict,
        outcome=kept.outcome,
        attempt=max(1, kept.attempt),
        claims=sum(counts.values()),
        invented=sum(number for outcome, number in counts.items() if outcome in INVENTED),
        outcomes=counts,
        violations=dict(Counter(_text(violation.get("rule")) for violation in kept.violations)),
        claimed=_number(scores.get("claimed")),
        supported=_number(scores.get("supported")),
        verified=_number(scores.get("verified")),
        inferred=_number(scores.get("inferred")),
    )


def _item(kept: KeptResult, entry: LedgerEntry) -> NewItem:
    why = kept.failure or "the result was rejected"
    report = AgentReport(entry.agent, entry.status or "FAILED", entry.verdict, entry.kind, entry.claimed)
    origin = ItemOrigin("hook", session=entry.session, project=entry.project)
    return result_item(entry.key, entry.agent, why, report, origin, read_text(kept))


def _read_check(kept: KeptResult) -> Mapping[str, Any]:
    """Return the stored verdicts; empty if they are missing or broken. The file may have been changed."""
    try:
        with Path(kept.check).open("rb") as file:
            values = json.loads(file.read(MAX_CHECK_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _counts(summary: object) -> dict[str, int]:
    values = summary.get("claims_by_outcome") if isinstance(summary, dict) else None
    entries = values.items() if isinstance(values, dict) else ()
    return {name: number for name, number in entries if isinstance(number, int) and 0 <= number < 1_000_000}


def _tables(values: object) -> Iterator[dict[str, Any]]:
    return (value for value in values if isinstance(value, dict)) if isinstance(values, list) else iter(())


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


class FolderWatch:
    """Calls a function after files in some folders have changed."""

    def __init__(self, folders: list[str], on_change: Callable[[], None]) -> None:
        self._folders = folders
        self._on_change = on_change
        self._library = _inotify_library()
        self._descriptor = self._library.inotify_init1(_NONBLOCK) if self._library is not None else -1
        self._times: dict[str, int] = {}

    def start(self) -> None:
        """Receive the next change in the running event loop; after that, none until it is called again."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().add_reader(self._descriptor, self._receive)
        self.look()

    def close(self) -> None:
        """Receive no more changes."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def look(self) -> None:
        """Watch folders that are new; without inotify, find out which folders have changed."""
        for folder in self._folders:
            try:
                about = os.stat(folder)
            except OSError:
                self._times.pop(folder, None)
                continue
            mark = about.st_ino if self._descriptor >= 0 else _newest(folder)
            if self._times.get(folder) == mark:
                continue
            if self._descriptor >= 0 and self._library is not None:
                self._library.inotify_add_watch(self._descriptor, os.fsencode(folder), _CLOSE_WRITE | _MOVED_TO)
            self._times[folder] = mark
            self._on_change()

    def _receive(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)  # a hook changes several files, many times a second
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, 65_536)  # which folder it is does not matter
        self._on_change()


def _newest(folder: str) -> int:
    """Return the newest time of the files in a folder: a state is appended to its file."""
    try:
        with os.scandir(folder) as entries:
            return max((entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries), default=0)
    except OSError:  # a file was removed in the meantime
        return 0


def _inotify_library() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "inotify_init1") else None


@contextlib.asynccontextmanager
async def watching_sessions(
    database: Database, folder: str, on_change: Callable[[], None] = lambda: None
) -> AsyncIterator[None]:
    """Import the sessions of the project that contains a folder, now and after each change, until the block ends."""
    watching = asyncio.create_task(_watch(database, current_project(folder), on_change))
    try:
        yield
    finally:
        await cancel_and_wait(watching)


async def _watch(database: Database, project: SessionProject, on_change: Callable[[], None]) -> None:
    changed = asyncio.Event()
    watch = FolderWatch(project.folders, changed.set)
    watch.start()
    since = 0.0
    try:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await changed.wait()
            watch.look()
            if not changed.is_set():
                continue
            on_change()
            await asyncio.sleep(_PAUSE_SECONDS)  # the report of a subagent may be written after the state
            changed.clear()
            watch.start()
            started = time.time()
            try:
                await import_sessions(database, project.folders, project.root, since=since)
                since = started - _OVERLAP_SECONDS
            except (RemitError, OSError, *CONNECTION_ERRORS) as error:
                log.warning("the sessions could not be imported: %s", " ".join(str(error).split()))
    finally:
        watch.close()
