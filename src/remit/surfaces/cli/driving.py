"""Drive a plan from the command line and show its progress. After Ctrl-C the plan can be resumed."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
from rich.console import Console
from rich.live import Live
from rich.text import Text

from remit.aio import cancel_and_wait
from remit.dispatch.settings import Settings
from remit.dispatch.submit import Resolving
from remit.evidence.sources import open_sources
from remit.merging.model import Merge
from remit.orchestrate.api import PlanResult, drive_plan, max_parallel, merge_plan, plan_result
from remit.orchestrate.plan import Plan
from remit.reports.formats import format_json
from remit.reports.layout import Line, escape_control, plain_lines
from remit.reports.merge.html import merge_html
from remit.reports.merge.markdown import merge_markdown
from remit.reports.plans import phase_lines, plan_lines
from remit.store import plans
from remit.store.database import Database
from remit.store.plans import JobUsage
from remit.surfaces.cli.dismissals import with_dismissals
from remit.surfaces.cli.printing import columns


class DrivenPlan(NamedTuple):
    """A plan after it was driven, the usage of its jobs, whether the user stopped it, and the merge of all phases."""

    found: PlanResult
    uses: dict[int, JobUsage]
    stopped: bool
    merged: Merge | None = None
    #: The files of the report on all phases, by their endings.
    files: dict[str, Path] = {}


async def drive_with_progress(
    database: Database,
    settings: Settings,
    plan: int,
    resolving: Resolving,
    *,
    shows_results: bool = False,
) -> DrivenPlan:
    """Drive a plan and show its progress.

    `shows_results`: print the results of each phase before the next one starts, and write a report on all phases.
    """
    from remit.orchestrate.local_worker import ensure_worker

    spec = msgspec.convert((await plans.get_plan(database, plan)).document, Plan)
    async with ensure_worker(database, settings, concurrency=max_parallel(spec)) as queue:
        display = _PlanDisplay(database, plan, len(spec.phases) if shows_results else 0)
        await display.skip_old_steps()
        driving = asyncio.create_task(
            drive_plan(
                database,
                settings,
                plan,
                queue=queue,
                resolving=resolving,
                on_change=display.show,
                can_ask=sys.stdin.isatty() and sys.stderr.isatty(),
            )
        )
        stopped = await _until_done(driving, display)
    if not stopped:
        await driving
    found, uses = await plan_result(database, plan), await plans.uses_of(database, plan)
    merged = await merge_plan(database, found.plan) if shows_results else None
    files: dict[str, Path] = {}
    if merged is not None:
        merged = await asyncio.to_thread(_without_dismissed, merged, Path(found.plan.workspace))
        folder = settings.data / "reports"
        files = await asyncio.to_thread(write_reports, merged, Path(found.plan.workspace), folder, f"plan-{plan}")
    return DrivenPlan(found, uses, stopped, merged, files)


def _without_dismissed(merged: Merge, root: Path) -> Merge:
    """Return a merge with the ids of its findings, and without those that a person has dismissed."""
    return with_dismissals(merged, open_sources(root).workspace)


def write_reports(merged: Merge, root: Path, folder: Path, stem: str) -> dict[str, Path]:
    """Write a merge as HTML, Markdown and JSON, and return the files by their endings."""
    workspace = open_sources(root).workspace
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    texts = {
        "html": merge_html(merged, workspace),
        "md": merge_markdown(merged, workspace),
        "json": format_json(merged),
    }
    files = {ending: folder / f"{stem}.{ending}" for ending in texts}
    for ending, text in texts.items():
        files[ending].write_text(text, encoding="utf-8")
    return files


async def _until_done(driving: asyncio.Task[Any], display: _PlanDisplay) -> bool:
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
    """The progress of a plan: a live tree on a terminal, otherwise a line for each step.

    The results of a phase are printed when it is finished, if another phase follows: those of `phases - 1` phases.
    """

    def __init__(self, database: Database, plan: int, phases: int = 0) -> None:
        self._database = database
        self._plan = plan
        self._phases = phases
        self._shown: set[int] = set()
        self._live: Any = None
        self._printed: set[int] = set()

    async def skip_old_steps(self) -> None:
        """Do not print the steps that were done before this command."""
        self._printed = {row["id"] for row in await self._database.rows("plans.steps", plan=self._plan, after=0)}
        for phase in await plans.phases_of(self._database, self._plan, whole=False):
            if phase.state == "finished":
                self._shown.add(phase.number)

    def __enter__(self) -> _PlanDisplay:
        if sys.stderr.isatty():
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
            await self._print_results()
            return
        await self._print_results()

        found = await plan_result(self._database, self._plan, whole=False)
        uses = await plans.uses_of(self._database, self._plan)
        self._live.update(_styled(plan_lines(found, uses, columns())))

    async def _print_results(self) -> None:
        """Print the results of each phase that has finished and is not the last."""
        finished = [
            phase.number
            for phase in await plans.phases_of(self._database, self._plan, whole=False)
            if phase.state == "finished" and phase.number not in self._shown and phase.number < self._phases - 1
        ]
        if not finished:
            return

        self._shown.update(finished)
        root = Path((await plans.get_plan(self._database, self._plan)).workspace)
        workspace = await asyncio.to_thread(lambda: open_sources(root).workspace)
        for phase in await plans.phases_of(self._database, self._plan):
            if phase.number in finished:
                lines = list(phase_lines(phase, columns(), workspace))
                if self._live is not None:
                    self._live.console.print(_styled(lines))
                else:
                    click.echo(plain_lines(lines), err=True)

    async def _print_steps(self) -> None:
        for row in await self._database.rows("plans.steps", plan=self._plan, after=max(self._printed, default=0)):
            if row["id"] not in self._printed:
                self._printed.add(row["id"])

                name = f" {row['name']}" if row["name"] else ""
                step = escape_control(f"{row['step']}{name}: {row['reason']}")
                click.echo(f"{row['at'].astimezone():%H:%M:%S} {step}", err=True)


def _styled(lines: Iterable[Line]) -> Any:
    """Return lines as text of the terminal library."""
    text = Text()
    for line in lines:
        for piece in line:
            text.append(piece.text, piece.style)
        text.append("\n")
    return text
