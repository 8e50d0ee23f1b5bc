"""Drive a plan from the command line and show its progress. After Ctrl-C the plan can be resumed."""

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
    """A plan after it was driven, the usage of its jobs, and whether the user stopped it."""

    found: PlanResult
    uses: dict[int, JobUsage]
    stopped: bool


async def drive_with_progress(database: Database, settings: Settings, plan: int, resolving: Resolving) -> DrivenPlan:
    """Drive a plan and show its progress."""
    import msgspec

    from remit.orchestrate.api import drive_plan, max_parallel, plan_result
    from remit.orchestrate.local_worker import ensure_worker
    from remit.orchestrate.plan import Plan
    from remit.store import plans

    spec = msgspec.convert((await plans.get_plan(database, plan)).document, Plan)
    async with ensure_worker(database, settings, concurrency=max_parallel(spec)) as queue:
        display = _PlanDisplay(database, plan)
        await display.skip_old_steps()
        driving = asyncio.create_task(
            drive_plan(database, settings, plan, queue=queue, resolving=resolving, on_change=display.show)
        )
        stopped = await _until_done(driving, display)
    if not stopped:
        await driving
    return DrivenPlan(await plan_result(database, plan), await plans.uses_of(database, plan), stopped)


async def _until_done(driving: asyncio.Task[Any], display: _PlanDisplay) -> bool:
    from remit.aio import cancel_and_wait

    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted.set)
    waiting = asyncio.create_task(interrupted.wait())
    try:
        with display:
            while not driving.done() and not interrupted.is_set():
                await asyncio.wait({driving, waiting}, return_when=asyncio.FIRST_COMPLETED, timeout=0.5)
                await display.show()
        return not driving.done()
    finally:
        waiting.cancel()
        loop.remove_signal_handler(signal.SIGINT)
        if not driving.done():  # interrupted, or the local worker failed
            await cancel_and_wait(driving)


class _PlanDisplay:
    """The progress of a plan: a live tree on a terminal, otherwise a line for each step."""

    def __init__(self, database: Database, plan: int) -> None:
        self._database = database
        self._plan = plan
        self._live: Any = None
        self._printed: set[int] = set()

    async def skip_old_steps(self) -> None:
        """Do not print the steps that were done before this command."""
        self._printed = {row["id"] for row in await self._database.rows("plans.steps", plan=self._plan, after=0)}

    def __enter__(self) -> _PlanDisplay:
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
            await self._print_steps()
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

    async def _print_steps(self) -> None:
        for row in await self._database.rows("plans.steps", plan=self._plan, after=max(self._printed, default=0)):
            if row["id"] not in self._printed:
                self._printed.add(row["id"])
                from remit.reports.layout import escape_control

                name = f" {row['name']}" if row["name"] else ""
                step = escape_control(f"{row['step']}{name}: {row['reason']}")
                click.echo(f"{row['at'].astimezone():%H:%M:%S} {step}", err=True)
