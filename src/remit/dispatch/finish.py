"""The end of a job, whoever brings it about: what it said, what it changed, and what becomes of its worktree."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import NamedTuple

from remit.dispatch.failpoints import failpoint
from remit.dispatch.redact import redact
from remit.dispatch.settings import Settings
from remit.dispatch.worktree import WORKTREE, WorktreeChanges, read_changes, remove_worktree
from remit.errors import EnvironmentBroken, RemitError
from remit.store import jobs
from remit.store.database import Database
from remit.store.events import unfinished_text
from remit.store.jobs import AttemptFenced, Job, Outcome
from remit.store.storable import to_storable

log = logging.getLogger("remit.worker")
#: So much of how a job ended is a line in the log.
_TOLD = 300


def worktree_of(job: Job, settings: Settings) -> Path:
    """Where a job has its worktree, if it has one."""
    return settings.data / "worktrees" / f"job-{job.id}"


async def partial_output(database: Database, job: int) -> str:
    """The text of a job that did not complete: the answer it was in the middle of, else its last one."""
    unfinished = await unfinished_text(database, job)
    return unfinished.strip() or (await jobs.get(database, job)).result or ""


async def stop_job(database: Database, job: Job, settings: Settings, *, is_shutdown: bool) -> None:
    """A job whose run was cancelled: by its owner, or because the worker ends and another shall have it."""
    if is_shutdown:
        await jobs.give_back(database, job.id, job.attempt)
        return
    await jobs.cancel_under(database, job.id)
    text = await partial_output(database, job.id)
    with contextlib.suppress(AttemptFenced):
        await end_job(database, job, settings, RunEnd("cancelled", text, "cancelled while it ran"))


async def fail_job(database: Database, job: Job, settings: Settings, error: Exception) -> None:
    """A fault of ours, of a library's or of the host's: the job ends with it."""
    words = " ".join(str(error).split())[:1000]
    said = words if isinstance(error, RemitError) else f"{type(error).__name__}: {words}"
    text = await partial_output(database, job.id)
    with contextlib.suppress(AttemptFenced):
        await end_job(database, job, settings, RunEnd("error", text, said))


async def end_job(database: Database, job: Job, settings: Settings, ended: RunEnd, verdict: str | None = None) -> None:
    """Write down how a job ended and what it changed; its worktree goes, if all that is in it is in the diff.

    Raises Fenced if the job is somebody else's. What an attempt brings that was ended from outside is kept all the
    same.
    """
    changes = await _changes(database, job, settings)
    diff = job.diff if changes is None or changes.diff is None else changes.diff
    error = redact(ended.error) if ended.error and settings.is_redacting else ended.error
    if changes is not None and changes.kept is not None:
        stays = f"the worktree stays in {worktree_of(job, settings)}: {changes.kept}"
        log.warning("job %s: %s", job.id, stays)
        error = f"{error}; {stays}" if error else stays
    try:
        await jobs.finish(
            database, job.id, job.attempt, ended.outcome, error=error, verdict=verdict, result=ended.text, diff=diff
        )
    except AttemptFenced:
        brought = {"diff": to_storable(diff), "result": to_storable(ended.text)}
        await database.rows("jobs.leave_behind", job=job.id, attempt=job.attempt, **brought)
        await _clear(database, job, settings, changes, diff)
        raise
    failpoint("finished")
    how = " ".join(filter(None, (ended.outcome, verdict, f"({error})" if error else "")))
    log.info("job %s (%s): %s", job.id, job.agent, " ".join(how.split())[:_TOLD])
    await _clear(database, job, settings, changes, diff)


async def _changes(database: Database, job: Job, settings: Settings) -> WorktreeChanges | None:
    """What a job did in its worktree; None: it has none, or none that was made to its end."""
    if job.isolation != WORKTREE:
        return None
    folder = worktree_of(job, settings)
    current = await jobs.get(database, job.id)
    if current.attempt != job.attempt and current.state != "finished":
        raise AttemptFenced(f"job {job.id} is no longer attempt {job.attempt}'s")  # and so is the worktree
    if current.worktree != str(folder) or not await asyncio.to_thread(folder.exists):
        return None
    return await asyncio.to_thread(read_changes, Path(job.workspace), folder)


async def _clear(
    database: Database, job: Job, settings: Settings, changes: WorktreeChanges | None, diff: str | None
) -> None:
    """Remove the worktree, unless something of it is nowhere else or the job goes on already."""
    folder = worktree_of(job, settings)
    is_kept = changes is not None and changes.kept is not None
    if job.isolation != WORKTREE or is_kept or not await asyncio.to_thread(folder.exists):
        return
    current = await jobs.get(database, job.id)
    if current.state != "finished" or current.diff != to_storable(diff):
        return
    try:
        await asyncio.to_thread(remove_worktree, Path(job.workspace), folder)
    except (EnvironmentBroken, OSError) as error:
        log.warning("job %s: its worktree in %s cannot be removed: %s", job.id, folder, error)


class RunEnd(NamedTuple):
    """The end of a run, and its last words."""

    outcome: Outcome
    text: str
    error: str | None = None


class RunStopped(Exception):
    """The run ends here, with this outcome."""

    def __init__(self, outcome: Outcome, error: str) -> None:
        super().__init__(error)
        self.outcome: Outcome = outcome
        self.error = error


class TransportFailed(Exception):
    """The provider could not be reached or could not answer: worth another try later."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
