"""`remit retry`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from remit.surfaces.cli.printing import print_text
from remit.surfaces.cli.store import need_extra, unserved, with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database


@click.command("retry")
@click.argument("job", type=int)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(job: int, form: str) -> int:
    """Let a job that did not complete go on from its transcript; finished steps are not run again.

    \b
    Examples:
      remit retry 12
    """
    need_extra()
    from remit.reports.jobs import job_shape
    from remit.store import jobs

    async def work(database: Database, settings: Settings) -> tuple[jobs.Job, str]:
        await database.frankly(lambda: jobs.retry(database, job))
        again = await jobs.get(database, job)
        return again, await unserved(database, settings, again.queue)

    found, warning = with_database(work)
    if form == "json":
        from remit.reports.json import pretty

        print_text(pretty(job_shape(found)))
    else:
        print_text(f"job {job} waits for a worker")
    if warning:
        click.echo(warning, err=True)
    return 0
