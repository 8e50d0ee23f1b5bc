"""`remit run`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from remit.aio import cancel_and_wait
from remit.contract.outcome import failure_in
from remit.dispatch.settings import Settings
from remit.operations.jobs import Run, submit_job
from remit.reports.formats import format_json
from remit.reports.jobs import job_lines, job_shape
from remit.store import jobs
from remit.store.database import Database
from remit.store.events import follow
from remit.store.jobs import Job
from remit.surfaces.cli.operation_options import operation_options
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.request import with_task
from remit.surfaces.cli.store import with_database
from remit.surfaces.cli.watching import Interrupts, ProgressDisplay

_POLL_SECONDS = 1.0


@click.command("run")
@operation_options(Run)
def command(wanted: Run) -> int:
    """Run AGENT on TASK, wait for its result and check it. TASK may be - for standard input.

    Without AGENT, the job has no definition: the default prompt, and all tools that the worker allows.

    If a worker is alive, it runs the job; otherwise this command does. Ctrl-C asks whether to leave the job to a
    worker or to cancel it. The exit code is 0 if the job completed and its result was accepted; it is 1 if the result
    has the status FAILED.

    \b
    Examples:
      remit run code-explorer "trace the login flow"
      remit run security-auditor "audit src/auth" --model openai:gpt-5.2 --max-cost 0.50
      remit run backend-specialist "fix the failing test" --isolation worktree
      remit run "count the TODO comments" --no-contract
    """
    named = with_task(wanted)
    finished = with_database(lambda database, settings: _run(database, settings, named))
    if finished is None:
        return 130
    job, violations = finished
    if wanted.form == "json":
        print_text(format_json(job_shape(job)))
    else:
        print_lines(job_lines(job, columns(), violations))

    return 0 if job.outcome == "completed" and job.verdict == "accept" and failure_in(job.result) is None else 1


async def _run(database: Database, settings: Settings, wanted: Run) -> tuple[Job, list[dict[str, Any]]] | None:
    """Submit the job and wait for it. Return None if it was left to a worker."""
    from remit.orchestrate.local_worker import ensure_worker

    async with ensure_worker(database, settings, wanted.queue, concurrency=1) as queue:
        job, is_new = await submit_job(database, settings, Path(wanted.repo or "."), wanted, first_queue=queue)
        if not is_new:
            click.echo(f"remit: job {job.id} already has this key; waiting for it", err=True)
            if queue is not None:
                await _enqueue_here(database, job.id, queue)
        is_finished = await wait_for_job(database, job.id)
    if not is_finished:
        return None
    return await jobs.get(database, job.id), await jobs.violations_of(database, job.id)


async def _enqueue_here(database: Database, number: int, queue: str) -> None:
    """Add a ticket in this command's queue for a job that waits in a queue without a worker."""
    job = await jobs.get(database, number)
    if job.state == "queued":
        async with database.transaction() as connection:
            await jobs.enqueue(connection, number, queue, job.priority)


async def wait_for_job(database: Database, job: int) -> bool:
    """Show the progress of a job until it is finished. Return False if the user leaves it to a worker."""
    interrupts = Interrupts()
    with interrupts.handled(), ProgressDisplay(job) as progress:
        showing = asyncio.create_task(_show(database, job, progress))
        try:
            while not showing.done():
                asked = asyncio.create_task(interrupts.asked.wait())
                await asyncio.wait({showing, asked}, return_when=asyncio.FIRST_COMPLETED, timeout=_POLL_SECONDS)
                asked.cancel()
                if (await jobs.get(database, job)).state == "finished":
                    return True
                if interrupts.asked.is_set():
                    with progress.paused():
                        answer = await interrupts.answer(job, showing)
                    if answer == "leave":
                        return False
                    if answer == "cancel":
                        await jobs.cancel(database, job)
            await showing
        finally:
            await cancel_and_wait(showing)
    return True


async def _show(database: Database, job: int, progress: ProgressDisplay) -> None:
    async for event in follow(database, job):
        progress.show(event)
        if event.kind == "finished":
            return
