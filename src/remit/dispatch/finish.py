"""End a job: its outcome, what it changed, and what happens to its worktree and its files."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from remit.dispatch.failpoints import failpoint
from remit.dispatch.worker_settings import Settings
from remit.dispatch.worktree import WORKTREE, WorktreeChanges, read_changes, remove_worktree, without_secrets
from remit.errors import EnvironmentBroken, RemitError
from remit.secrets.scan import redact_all
from remit.store import jobs, plans
from remit.store.database import Database
from remit.store.events import unfinished_text
from remit.store.jobs import AttemptFenced, Job, Outcome
from remit.store.storable import to_storable

log = logging.getLogger("remit.worker")
#: Characters of a job's outcome in a log line.
_MAX_LOGGED = 300
#: Folders of the data folder that hold one folder for each job or plan.
_FOLDERS = ("spill", "worktrees", "results")
_FOLDER_NAME = re.compile(r"(job|plan)-(\d{1,18})")


class RunEnd(NamedTuple):
    """How a run ended, with its last output; the verdict on it, if the runner has judged it."""

    outcome: Outcome
    text: str
    error: str | None = None
    verdict: str | None = None


class RunStopped(Exception):
    """The run ends here, with this outcome."""

    def __init__(self, outcome: Outcome, error: str) -> None:
        super().__init__(error)
        self.outcome: Outcome = outcome
        self.error = error


class TransportFailed(Exception):
    """The provider could not be reached or could not answer; a later try may succeed."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def worktree_of(job: Job, settings: Settings) -> Path:
    """Return the path of a job's worktree, whether it exists or not."""
    return settings.work / "worktrees" / f"job-{job.id}"


async def partial_output(database: Database, job: int) -> str:
    """Return the text of a job that did not complete: the unfinished answer, or else its last answer."""
    unfinished = await unfinished_text(database, job)
    return unfinished.strip() or (await jobs.get(database, job)).result or ""


async def stop_job(database: Database, job: Job, settings: Settings, *, is_shutdown: bool) -> None:
    """End a job whose run was cancelled. On a shutdown of its worker, return it to the queue instead."""
    if is_shutdown and not (await jobs.get(database, job.id)).is_cancelled:
        await jobs.give_back(database, job.id, job.attempt)
        return
    await jobs.cancel_under(database, job.id)
    text = await partial_output(database, job.id)
    with contextlib.suppress(AttemptFenced):
        await end_job(database, job, settings, RunEnd("cancelled", text, "cancelled while it ran"))


async def fail_job(database: Database, job: Job, settings: Settings, error: Exception) -> None:
    """End a job with an error of Remit, of a library or of the host."""
    message = " ".join(str(error).split())[:1000]
    error_text = message if isinstance(error, RemitError) else f"{type(error).__name__}: {message}"
    text = await partial_output(database, job.id)
    with contextlib.suppress(AttemptFenced):
        await end_job(database, job, settings, RunEnd("error", text, error_text))


async def end_job(database: Database, job: Job, settings: Settings, ended: RunEnd, verdict: str | None = None) -> None:
    """Store the outcome of a job and its diff; remove its worktree if the diff contains all of it.

    Raises AttemptFenced if another attempt owns the job. The output of an attempt that was ended as hung is still
    stored.
    """
    changes = await _changes(database, job, settings)
    diff = job.diff if changes is None or changes.diff is None else changes.diff
    error = ended.error
    if settings.is_redacting:
        error, text = await asyncio.to_thread(redact_all, (error, ended.text))
        ended = ended._replace(text=text)
    if changes is not None and changes.kept is not None:
        notice = f"the worktree stays in {worktree_of(job, settings)}: {changes.kept}"
        log.warning("job %s: %s", job.id, notice)
        error = f"{error}; {notice}" if error else notice
    try:
        await jobs.finish(
            database, job.id, job.attempt, ended.outcome, error=error, verdict=verdict, result=ended.text, diff=diff
        )
    except AttemptFenced:
        output = {"diff": to_storable(diff), "result": to_storable(ended.text)}
        await database.rows("jobs.leave_behind", job=job.id, attempt=job.attempt, **output)
        await _clear(database, job, settings, changes, diff)
        raise
    failpoint("finished")
    outcome = " ".join(filter(None, (ended.outcome, verdict, f"({error})" if error else "")))
    log.info("job %s (%s): %s", job.id, job.agent, " ".join(outcome.split())[:_MAX_LOGGED])
    await _clear(database, job, settings, changes, diff)


async def _changes(database: Database, job: Job, settings: Settings) -> WorktreeChanges | None:
    """Return the changes in a job's worktree; None if it has no completely created worktree."""
    if job.isolation != WORKTREE:
        return None
    folder = worktree_of(job, settings)
    current = await jobs.get(database, job.id)
    if current.attempt != job.attempt and current.state != "finished":
        raise AttemptFenced(job.id, job.attempt)  # the worktree belongs to the new attempt, too
    if current.worktree != str(folder) or not await asyncio.to_thread(folder.exists):
        return None
    changes = await asyncio.to_thread(read_changes, Path(job.workspace), folder)
    return await asyncio.to_thread(without_secrets, changes) if settings.is_redacting else changes


async def _clear(
    database: Database, job: Job, settings: Settings, changes: WorktreeChanges | None, diff: str | None
) -> None:
    """Remove the worktree, unless it contains something that is stored nowhere else or the job runs again."""
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


async def remove_orphans(database: Database, data: Path, *, is_shared: bool) -> None:
    """Remove the files of jobs and plans that no longer exist, and worktrees that are no longer needed.

    If the database is shared, a folder without a job may belong to another database and is kept.
    """
    await plans.delete_orphans(database)
    for folder in _FOLDERS:
        for path in await asyncio.to_thread(_entries, data / folder):
            if await _is_orphan(database, folder, path.name, is_shared=is_shared):
                await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)


async def _is_orphan(database: Database, folder: str, name: str, *, is_shared: bool) -> bool:
    match = _FOLDER_NAME.fullmatch(name)
    if match is None:
        return False
    if match[1] == "plan":
        return not is_shared and await database.row("plans.get", plan=int(match[2])) is None
    row = await database.row("jobs.get", job=int(match[2]))
    if row is None:
        return not is_shared
    # The worktree of a job with isolation contains what its diff does not: it is removed with the job.
    return folder == "worktrees" and row["state"] == "finished" and row["isolation"] != WORKTREE


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
