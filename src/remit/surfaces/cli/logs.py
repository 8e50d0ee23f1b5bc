"""`remit logs`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.store import is_served, need_extra, with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database
    from remit.store.events import Event

_LOOK_SECONDS = 0.5


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
    need_extra()

    async def work(database: Database, settings: Settings) -> None:
        if follow:
            await _tell_of_nobody(database, settings, job)
        await _Reader(database, job, form).read(is_following=follow)

    with_database(work)
    return 0


async def _tell_of_nobody(database: Database, settings: Settings, number: int) -> None:
    """Say at once that there is nobody whose doings could be followed."""
    from remit.reports.layout import escape_control
    from remit.store import jobs, workers

    job = await jobs.get(database, number)
    if job.state == "queued" and not await is_served(database, settings, job.queue):
        queue = escape_control(job.queue)
        words = f"no worker takes the queue {queue!r}, so nothing will start job {number}"
    elif job.state == "running" and not await workers.live_workers(database, settings.takeover_seconds, listed=False):
        words = f"no worker is alive, so nothing goes on with job {number}"
    else:
        return
    click.echo(f"remit: {words}; start one with `remit worker`", err=True)


class _Reader:
    """Shows the events of a job, each once."""

    def __init__(self, database: Database, job: int, form: str) -> None:
        self._database = database
        self._job = job
        self._form = form
        self._last = 0

    async def read(self, *, is_following: bool) -> None:
        """Show what there is; then, if the job goes on, what comes until it is finished."""
        from remit.aio import cancel_and_wait
        from remit.store import jobs

        is_over = (await jobs.get(self._database, self._job)).state == "finished"
        await self._catch_up()
        if is_over or not is_following:
            return
        tail = asyncio.create_task(self._tail())
        try:
            # Not every end has an event of its own: a job may be cancelled before anybody has taken it.
            while not tail.done() and (await jobs.get(self._database, self._job)).state != "finished":
                await asyncio.wait({tail}, timeout=_LOOK_SECONDS)
        finally:
            await cancel_and_wait(tail)
        await self._catch_up()

    async def _catch_up(self) -> None:
        from remit.store.events import events_since

        while found := await events_since(self._database, self._job, self._last):
            for event in found:
                self._show(event)

    async def _tail(self) -> None:
        from remit.store.events import follow

        async for event in follow(self._database, self._job, self._last):
            self._show(event)

    def _show(self, event: Event) -> None:
        _show(event, self._form)
        self._last = event.id


def _show(event: Event, form: str) -> None:
    if form == "json":
        import msgspec

        print_text(msgspec.json.encode({"schema": "remit.event/1", **event._asdict()}).decode())
        return
    from remit.reports.jobs import event_lines

    print_lines(event_lines(event, columns()))
