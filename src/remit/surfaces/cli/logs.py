"""`remit logs`."""

from __future__ import annotations

import asyncio

import click
import msgspec

from remit.aio import cancel_and_wait
from remit.dispatch.settings import Settings
from remit.reports.jobs import event_lines
from remit.reports.layout import escape_control
from remit.store import jobs, workers
from remit.store.database import Database
from remit.store.events import Event, events_since, follow
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.store import is_served, with_database

_POLL_SECONDS = 0.5


@click.command("logs")
@click.argument("job", type=int)
@click.option("--follow", "-f", is_flag=True, help="Continue until the job is finished.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(job: int, form: str, *, follow: bool) -> int:
    """Show the events of a job: turns, tools, text, usage. In JSON, each line is one event.

    \b
    Examples:
      remit logs 12
      remit logs -f 12
      remit logs 12 --format json
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
        while found := await events_since(self._database, self._job, self._last):
            for event in found:
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
