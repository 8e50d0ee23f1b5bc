"""`remit cancel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from remit.surfaces.cli.printing import print_text
from remit.surfaces.cli.store import need_extra, with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database


@click.command("cancel")
@click.argument("job", type=int)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(job: int, form: str) -> int:
    """Cancel a job: one that waits never begins, one that runs is stopped within a second.

    The jobs that it started are cancelled with it, those of an orchestrator's subagents too.

    \b
    Examples:
      remit cancel 12
    """
    need_extra()
    from remit.reports.jobs import job_shape
    from remit.store import jobs

    async def work(database: Database, _: Settings) -> jobs.Job:
        await jobs.cancel(database, job)
        return await jobs.get(database, job)

    found = with_database(work)
    if form == "json":
        from remit.reports.json import pretty

        print_text(pretty(job_shape(found)))
    else:
        print_text(f"job {job} is {'cancelled' if found.state == 'finished' else 'being stopped'}")
    return 0
