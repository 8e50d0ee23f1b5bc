"""Driving a plan from the command line: live on a terminal, quiet elsewhere; Ctrl-C leaves it to be resumed."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from remit.surfaces.cli.printing import columns

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.dispatch.submit import Resolving
    from remit.orchestrate.api import PlanResult
    from remit.store.database import Database
    from remit.store.plans import JobUsage


class DrivenPlan(NamedTuple):
    """A plan that was driven: as it stands, what its jobs used, and whether a person stopped it."""

    found: PlanResult
    uses: dict[int, JobUsage]
    stopped: bool


async def drive_with_progress(database: Database, settings: Settings, plan: int, resolving: Resolving) -> DrivenPlan:
    """Drive a plan and show how it goes."""
    import msgspec

    from remit.orchestrate.api import drive_plan, max_parallel, plan_result
    from remit.orchestrate.local_worker import ensure_worker
    from remit.orchestrate.plan import Plan
    from remit.store import plans

    spec = msgspec.convert((await plans.get_plan(database, plan)).document, Plan)
    async with ensure_worker(database, settings, concurrency=max_parallel(spec)) as queue:
        tree = _Tree(database, plan)
        await tree.pass_over_old()
        driving = asyncio.create_task(
            drive_plan(database, settings, plan, queue=queue, resolving=resolving, on_change=tree.show)
        )
        stopped = await _until_done(driving, tree)
    if not stopped:
        await driving
    return DrivenPlan(await plan_result(database, plan), await plans.uses_of(database, plan), stopped)


async def _until_done(driving: asyncio.Task[Any], tree: _Tree) -> bool:
    from remit.aio import cancel_and_wait

    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted.set)
    waiting = asyncio.create_task(interrupted.wait())
    try:
        with tree:
            while not driving.done() and not interrupted.is_set():
                await asyncio.wait({driving, waiting}, return_when=asyncio.FIRST_COMPLETED, timeout=0.5)
                await tree.show()
        return not driving.done()
    finally:
        waiting.cancel()
        loop.remove_signal_handler(signal.SIGINT)
        if not driving.done():  # interrupted, or nobody does its jobs any more
            await cancel_and_wait(driving)


class _Tree:
    """The tree of a plan, redrawn as it changes; elsewhere a line when something changed."""

    def __init__(self, database: Database, plan: int) -> None:
        self._database = database
        self._plan = plan
        self._live: Any = None
        self._told: set[int] = set()

    async def pass_over_old(self) -> None:
        """What was done before this command is not told again."""
        self._told = {row["id"] for row in await self._database.rows("plans.steps", plan=self._plan, after=0)}

    def __enter__(self) -> _Tree:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    async def show(self) -> None:
        """Show the plan as it is now."""
        if self._live is None:
            await self._tell()
            return
        from rich.text import Text

        from remit.orchestrate.api import plan_result
        from remit.reports.plans import plan_lines
        from remit.store import plans

        found = await plan_result(self._database, self._plan, whole=False)
        uses = await plans.uses_of(self._database, self._plan)
        text = Text()
        for line in plan_lines(found, uses, columns()):
            for piece in line:
                text.append(piece.text, piece.style)
            text.append("\n")
        self._live.update(text)

    async def _tell(self) -> None:
        for row in await self._database.rows("plans.steps", plan=self._plan, after=max(self._told, default=0)):
            if row["id"] not in self._told:
                self._told.add(row["id"])
                from remit.reports.layout import escape_control

                whose = f" {row['name']}" if row["name"] else ""
                words = escape_control(f"{row['step']}{whose}: {row['reason']}")
                click.echo(f"{row['at'].astimezone():%H:%M:%S} {words}", err=True)
