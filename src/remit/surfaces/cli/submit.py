"""`remit submit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remit.surfaces.cli.printing import print_text
from remit.surfaces.cli.request import queueing_of, request_of, request_options, resolving_of, task_text
from remit.surfaces.cli.store import need_extra, unserved, with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database
    from remit.store.jobs import Job


@click.command("submit")
@click.argument("agent")
@click.argument("task")
@request_options
@click.option("--delay", type=float, help="Begin only after so many seconds.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(agent: str, task: str, **given: Any) -> int:
    """Put a job for AGENT into the queue and return. TASK is what it shall do, or - for standard input.

    \b
    Examples:
      remit submit code-explorer "trace the login flow"
      remit submit qa-engineer "review the last commit" --key review-1a2b --priority 5
    """
    need_extra()
    from remit.dispatch.submitting import submit
    from remit.reports.jobs import job_shape
    from remit.store import jobs

    async def work(database: Database, settings: Settings) -> tuple[Job, bool, str]:
        submitted = await submit(
            database,
            request_of(agent, task_text(task), given),
            settings,
            given["repo"] or Path.cwd(),
            queueing=queueing_of(given),
            resolving=resolving_of(given),
        )
        job = await jobs.get(database, submitted.id)
        return job, submitted.is_new, await unserved(database, settings, job.queue)

    job, is_new, warning = with_database(work)
    if given["form"] == "json":
        from remit.reports.json import pretty

        print_text(pretty(job_shape(job)))
    else:
        print_text(f"job {job.id} {'waits' if is_new else 'has this key already'} ({job.agent})")
    if warning:
        click.echo(warning, err=True)
    return 0
