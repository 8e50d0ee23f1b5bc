"""`remit jobs` and its commands, and what they share with `remit run`."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import click
import msgspec

from remit.aio import cancel_and_wait
from remit.configuration import load, split_path
from remit.dispatch.finish import remove_orphans
from remit.dispatch.worker_settings import Settings
from remit.errors import UsageError
from remit.operations.job_fields import Run
from remit.operations.jobs import (
    Cancel,
    JobNumber,
    ListJobs,
    cancel_job,
    cancel_plan,
    list_jobs,
    retry_job,
)
from remit.registry import resolution
from remit.registry.lookup import load_registry, misspelt
from remit.reports.job_text import event_lines, job_lines, job_shape, jobs_shape, list_lines
from remit.reports.layout import escape_control
from remit.reports.plan_text import plan_shape
from remit.store import jobs, workers
from remit.store.database import Database
from remit.store.events import Event, events_since, follow
from remit.store.jobs import Job
from remit.surfaces.cli.named_files import read_file
from remit.surfaces.cli.printing import (
    can_ask,
    columns,
    form_option,
    operation_options,
    print_answer,
    print_lines,
    print_text,
)
from remit.surfaces.cli.with_database import with_database

T = TypeVar("T", bound=Run)


@click.command("list")
@operation_options(ListJobs)
def list_command(wanted: ListJobs) -> int:
    """List jobs, the newest first.

    \b
    Examples:
      remit jobs list --state running
      remit jobs list --agent code-explorer --format json
    """

    async def work(database: Database, settings: Settings) -> tuple[list[Job], dict[int, str]]:
        listed = await list_jobs(database, settings, wanted, is_whole=wanted.form == "json")
        return listed, await jobs.hosts_of(database, listed)

    listed, hosts = with_database(work)
    print_answer(wanted.form, jobs_shape(listed), list_lines(listed, columns(), hosts))
    return 0


@click.command("show")
@operation_options(JobNumber)
def show(wanted: JobNumber) -> int:
    """Show one job with its result, finished or not.

    \b
    Examples:
      remit jobs show 12
      remit jobs show 12 --format json
    """

    async def work(database: Database, _: Settings) -> tuple[Job, list[dict[str, Any]], dict[int, str]]:
        job = await jobs.get(database, wanted.job)
        return job, await jobs.violations_of(database, wanted.job), await jobs.hosts_of(database, [job])

    job, violations, hosts = with_database(work)
    print_answer(wanted.form, job_shape(job), job_lines(job, columns(), violations, hosts))
    return 0


@click.command("prune")
@click.option(
    "--days",
    type=click.IntRange(0, 36_500),
    default=30,
    show_default=True,
    help="Keep jobs that finished in the last N days.",
)
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask for confirmation.")
@form_option()
def prune(days: int, form: str, *, is_sure: bool) -> int:
    """Remove old finished jobs with their transcripts, receipts and events.

    On a terminal, it asks first.

    \b
    Examples:
      remit jobs prune --days 30
      remit jobs prune --days 30 --yes
    """
    age = f"that finished more than {days} day{'s' * (days != 1)} ago" if days else "that have finished"
    question = f"Remove all jobs {age}, with their transcripts, receipts and events?"
    if not is_sure and can_ask(form) and not click.confirm(question):
        print_text("nothing was removed")
        return 0

    async def work(database: Database, settings: Settings) -> int:
        removed = await jobs.prune(database, days)
        await remove_orphans(database, settings.work, is_shared=settings.database is not None)
        return removed

    removed = with_database(work)
    print_answer(form, {"schema": "remit.prune/1", "removed": removed}, f"{removed} job{'s' * (removed != 1)} removed")
    return 0


@click.command("cancel")
@operation_options(Cancel)
def cancel_command(wanted: Cancel) -> int:
    """Cancel a job: a queued job never starts, a running job is stopped within a second.

    The jobs that it started are also cancelled, including those of an orchestrator's subagents, and its open
    questions are closed.

    \b
    Examples:
      remit jobs cancel 12
      remit jobs cancel --plan 3
    """
    number = wanted.job
    if (number is None) == (wanted.plan is None):
        raise UsageError("pass either a JOB or --plan ID")
    if number is None:
        plan, why = wanted.plan or 0, "a person cancelled the plan"
        result = with_database(lambda database, settings: cancel_plan(database, settings, plan, why))
        print_answer(wanted.form, plan_shape(result), f"plan {plan} is cancelled")
        return 0
    cancelled = with_database(lambda database, settings: cancel_job(database, settings, number))
    print_answer(
        wanted.form,
        job_shape(cancelled),
        f"job {number} is {'cancelled' if cancelled.state == 'finished' else 'being stopped'}",
    )
    return 0


@click.command("retry")
@operation_options(JobNumber)
def retry_command(wanted: JobNumber) -> int:
    """Continue a job that did not complete, or let it correct its result.

    A job that did not complete continues from its transcript; finished steps are not repeated. A completed job whose
    result was `revise` gets its violations and may correct the result, once.

    \b
    Examples:
      remit jobs retry 12
    """

    async def work(database: Database, settings: Settings) -> tuple[Job, str, str]:
        job, action = await retry_job(database, wanted.job)
        return job, action, await no_worker_notice(database, settings, job.queue)

    retried, action, warning = with_database(work)
    print_answer(wanted.form, job_shape(retried), f"job {wanted.job} waits for a worker{action}")
    if warning:
        click.echo(warning, err=True)
    return 0


def with_task(wanted: T) -> T:
    """Return the operation with the agent and the task of its words `[AGENT] TASK`."""
    words = wanted.words
    if len(words) not in (1, 2):
        raise UsageError("pass [AGENT] TASK; quote a task of several words")
    configured = load()
    if wanted.plugin_path is None:
        registry = resolution.quiet_registry(configured)
    else:
        registry = load_registry(split_path(wanted.plugin_path), resolution.allow_list(configured, None))
    if len(words) == 1:
        if registry.get(words[0]) is not None:
            raise UsageError(f"{words[0]!r} is the name of a definition; add the task: {words[0]} TASK")
        return msgspec.structs.replace(wanted, task=task_text(words[0]))
    if (file := registry.rejected(words[0])) is not None:
        raise resolution.DefinitionRejected(words[0], file)
    if not wanted.open and (near := misspelt(words[0], registry)):
        raise UsageError(
            f"there is no definition {words[0]!r}, did you mean {near!r}? With --open, the job gets the default prompt "
            "and every tool that the worker allows"
        )
    return msgspec.structs.replace(wanted, agent=words[0].strip() or None, task=task_text(words[1]))


def task_text(task: str) -> str:
    """Return the task; for `-`, the text of standard input."""
    return task if task != "-" else read_file(None).decode("utf-8", "replace")


_POLL_SECONDS = 0.5


@click.command("logs")
@click.argument("job", type=int)
@click.option("--follow", "-f", is_flag=True, help="Continue until the job is finished.")
@form_option()
def logs_command(job: int, form: str, *, follow: bool) -> int:
    """Show the events of a job: turns, tools, text, usage. In JSON, each line is one event.

    \b
    Examples:
      remit jobs logs 12
      remit jobs logs -f 12
      remit jobs logs 12 --format json
    """

    async def work(database: Database, settings: Settings) -> None:
        if follow:
            await _warn_without_worker(database, settings, job)
        await _EventPrinter(database, job, form).read(is_following=follow)

    with_database(work)
    return 0


async def _warn_without_worker(database: Database, settings: Settings, number: int) -> None:
    """Warn if no worker will start or continue the job."""
    job = await jobs.get(database, number)
    if job.state == "queued" and not await is_served(database, settings, job.queue):
        queue = escape_control(job.queue)
        warning = f"no worker takes the queue {queue!r}, so job {number} will not start"
    elif job.state == "running" and not await workers.live_workers(database, settings.takeover_seconds, listed=False):
        warning = f"no worker is alive, so job {number} does not continue"
    else:
        return
    click.echo(f"remit: {warning}; start one with `remit worker`", err=True)


class _EventPrinter:
    """Prints the events of a job, each once."""

    def __init__(self, database: Database, job: int, form: str) -> None:
        self._database = database
        self._job = job
        self._form = form
        self._last = 0

    async def read(self, *, is_following: bool) -> None:
        """Print the stored events; with `is_following`, also the new ones until the job is finished."""
        is_finished = (await jobs.get(self._database, self._job)).state == "finished"
        await self._catch_up()
        if is_finished or not is_following:
            return
        tail = asyncio.create_task(self._tail())
        try:
            # Not only by event: the state is polled, in case the event of the end was lost.
            while not tail.done() and (await jobs.get(self._database, self._job)).state != "finished":
                await asyncio.wait({tail}, timeout=_POLL_SECONDS)
        finally:
            await cancel_and_wait(tail)
        await self._catch_up()

    async def _catch_up(self) -> None:
        while events := await events_since(self._database, self._job, self._last):
            for event in events:
                self._show(event)

    async def _tail(self) -> None:
        async for event in follow(self._database, self._job, self._last):
            self._show(event)

    def _show(self, event: Event) -> None:
        _show(event, self._form)
        self._last = event.id


def _show(event: Event, form: str) -> None:
    if form == "json":
        print_text(msgspec.json.encode({"schema": "remit.event/1", **event._asdict()}).decode())
        return

    print_lines(event_lines(event, columns()))


async def is_served(database: Database, settings: Settings, queue: str) -> bool:
    """Return whether a live worker takes the jobs of a queue."""
    return await workers.is_served(database, settings.project, queue, settings.takeover_seconds)


async def no_worker_notice(database: Database, settings: Settings, queue: str) -> str:
    """Return a notice if no live worker takes the jobs of a queue, else an empty text."""
    if await is_served(database, settings, queue):
        return ""
    has_others = bool(await workers.live_workers(database, settings.takeover_seconds))
    which = f" that takes the queue {escape_control(queue)!r}" if has_others else ""
    return f"remit: no worker is alive{which}, so the job will not start; start one with `remit worker`"
