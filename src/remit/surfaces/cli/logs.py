"""`remit logs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.store import with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database
    from remit.store.events import Event


@click.command("logs")
@click.argument("job", type=int)
@click.option("--follow", "-f", is_flag=True, help="Go on until the job is finished.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(job: int, form: str, *, follow: bool) -> int:
    """Show what happened in a job: turns, tools, text, usage. JSON is one event a line.

    \b
    Examples:
      remit logs 12
      remit logs -f 12
      remit logs 12 --format json
    """
    from remit.store import jobs
    from remit.store.events import events_since
    from remit.store.events import follow as follow_events

    async def work(database: Database, _: Settings) -> None:
        is_over = (await jobs.get(database, job)).state == "finished"
        last = 0
        while found := await events_since(database, job, last):
            for event in found:
                _show(event, form)
                last = event.id
        if is_over or not follow:
            return
        async for event in follow_events(database, job, last):
            _show(event, form)
            if event.kind == "finished":
                return

    with_database(work)
    return 0


def _show(event: Event, form: str) -> None:
    if form == "json":
        import msgspec

        print_text(msgspec.json.encode({"schema": "remit.event/1", **event._asdict()}).decode())
        return
    from remit.reports.jobs import event_lines

    print_lines(event_lines(event, columns()))
