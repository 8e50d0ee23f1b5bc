"""Submit a job, show its progress, and wait for its result."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import click
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from remit.aio import cancel_and_wait
from remit.configuration import load
from remit.contract.outcome import failure_in
from remit.dispatch.submit import correct, may_correct, submit
from remit.dispatch.worker_settings import Settings
from remit.errors import UsageError
from remit.operations.job_fields import Run
from remit.operations.jobs import AcceptedJob, queueing_of, submit_job
from remit.orchestrate.answers import open_questions_of
from remit.orchestrate.orchestrator_tools import orchestrator_prompt
from remit.registry.definition import ORCHESTRATOR
from remit.registry.resolution import quiet_registry
from remit.reports.formats import format_json
from remit.reports.job_text import event_lines, job_lines, job_shape
from remit.reports.layout import escape_control, plain_lines
from remit.reports.plan_text import question_lines
from remit.store import jobs
from remit.store.database import Database
from remit.store.events import Event, follow
from remit.store.jobs import Job
from remit.store.plans import Escalation
from remit.surfaces.cli.job_commands import no_worker_notice, task_text, with_task
from remit.surfaces.cli.printing import columns, print_answer, print_lines, print_text
from remit.surfaces.cli.with_database import with_database

#: Events that get a line if standard error is not a terminal.
_PRINTED = (
    "resolved",
    "left",
    "started",
    "turn",
    "tool",
    "tool-done",
    "waiting",
    "program",
    "told",
    "checked",
    "finished",
)
Answer = Literal["leave", "cancel", "wait", "over"]
_QUESTION = "Leave the job to a worker (l), cancel it (c), or continue waiting (w)? "
_ANSWERS: dict[str, Answer] = {"l": "leave", "c": "cancel", "w": "wait"}


class ProgressDisplay:
    """Shows turn, tool, tokens, cost and elapsed time."""

    def __init__(self, job: int) -> None:
        self._job = job
        self._live: Any = None
        self._started = time.monotonic()
        self._turn = 0
        self._activity = "waiting for its start"
        self._used = ""
        self._spinner: Any = None
        #: The number of the last event that was shown.
        self.last = 0

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            console = Console(stderr=True)
            self._live = Live(get_renderable=self._line, console=console, transient=True, refresh_per_second=8)
            self._live.start()
        return self

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the progress line, to ask the user a question."""
        if self._live is not None:
            self._live.stop()
        try:
            yield
        finally:
            if self._live is not None:
                self._live.start(refresh=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, event: Event) -> None:
        """Show an event."""
        self.last = event.id
        self._update(event)
        if self._live is None and event.kind in _PRINTED:
            text = _text(event)
            if text:
                sys.stderr.write(text + "\n")
        elif self._live is not None and event.kind == "told":
            # Printed above the progress line, and kept: it is a message to the user.
            self._live.console.print(Text(_text(event)))

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if self._live is None:
            sys.stderr.write(f"{text}\n")
        else:
            self._live.console.print(Text(text))

    def _update(self, event: Event) -> None:
        data = event.data
        if event.kind == "turn":
            self._turn, self._activity = int(data.get("turn", 0)), "thinking"
        elif event.kind == "tool":
            first = next((value for _, value in data.get("arguments", [])), "")
            self._activity = escape_control(f"{data.get('name')} {' '.join(str(first).split())}")[:60]
        elif event.kind == "text":
            self._activity = "answering"
        elif event.kind == "waiting":
            self._activity = escape_control(f"waiting {data.get('seconds')} s: {data.get('why')}")[:60]
        elif event.kind == "left":
            self._activity = "waiting for a worker on a host that has the folder"
        elif event.kind == "usage":
            cost = f" ${data['cost']:.4f}" if data.get("cost") else ""
            self._used = f"{data.get('input', 0) + data.get('output', 0):,} tokens{cost}"

    def _line(self) -> Any:
        seconds = int(time.monotonic() - self._started)
        before = [f"job {self._job}", f"turn {self._turn}" if self._turn else ""]
        after = [self._used, f"{seconds // 60}:{seconds % 60:02}"]
        others = " · ".join(part for part in (*before, *after) if part)
        activity = self._activity[: max(8, columns() - len(others) - 8)]  # cut before the figures are
        text = " · ".join(part for part in (*before, activity, *after) if part)
        self._spinner = self._spinner or Spinner("dots")  # a new one each time would not turn
        self._spinner.update(text=Text(text[: columns() - 4]))
        return self._spinner


def _text(event: Event) -> str:
    return plain_lines(event_lines(event, columns()))


class Interrupts:
    """The signals to a command that waits: Ctrl-C, or a request to exit (SIGTERM, or SIGHUP of a closed terminal)."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.must_exit = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals instead of being ended by them."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.asked.set)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._request_exit)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _request_exit(self) -> None:
        self.must_exit = True
        self.asked.set()

    async def answer(self, job: int, showing: asyncio.Task[Any]) -> Answer:
        """Ask what to do with the job; `over` if it ends meanwhile. Without a terminal, it is left to a worker."""
        self.asked.clear()
        chosen: Answer = "leave"
        if sys.stdin.isatty() and not self.must_exit:
            chosen = await self._ask(showing)
        if chosen == "leave":
            hint = f"`remit worker` continues it, `remit jobs logs -f {job}` shows it"
            click.echo(f"remit: job {job} is left in the queue; {hint}", err=True)
        return chosen

    async def _ask(self, showing: asyncio.Task[Any]) -> Answer:
        lines: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        loop.add_reader(sys.stdin.fileno(), lambda: lines.put_nowait(sys.stdin.readline()))
        click.echo("", err=True)
        try:
            while True:
                click.echo(_QUESTION, nl=False, err=True)
                line = await self._line(lines, showing)
                if line is None or showing.done():
                    click.echo("", err=True)
                    return "over" if showing.done() else "leave"
                if answer := _ANSWERS.get(line.strip().lower()[:1]):
                    return answer
        finally:
            loop.remove_reader(sys.stdin.fileno())

    async def _line(self, lines: asyncio.Queue[str], showing: asyncio.Task[Any]) -> str | None:
        """Return the typed line; None after another Ctrl-C or at the end of the input."""
        typed, again = asyncio.create_task(lines.get()), asyncio.create_task(self.asked.wait())
        try:
            await asyncio.wait({typed, again, showing}, return_when=asyncio.FIRST_COMPLETED)
            return typed.result() or None if typed.done() else None
        finally:
            typed.cancel()
            again.cancel()


_POLL_SECONDS = 1.0


def run_and_print(wanted: Run) -> int:
    """Run a job, print its result, and return the exit code."""
    if len(wanted.words) == 2 and wanted.words[0] == ORCHESTRATOR:
        return _run_orchestrator(wanted)
    named = with_task(wanted)
    if wanted.detach:
        return _detach(wanted, lambda database, settings: submit_job(database, settings, _folder(named), named))
    finished = with_database(lambda database, settings: _run(database, settings, named))
    if finished is None:
        return 130
    job, violations = finished
    print_answer(wanted.form, job_shape(job), job_lines(job, columns(), violations))

    return 0 if job.outcome == "completed" and job.verdict == "accept" and failure_in(job.result) is None else 1


def _folder(wanted: Run) -> Path:
    return Path(wanted.repo or ".")


def _detach(wanted: Run, submit_it: Callable[[Database, Settings], Awaitable[AcceptedJob]]) -> int:
    """Put a job into the queue, and print it."""

    async def work(database: Database, settings: Settings) -> tuple[AcceptedJob, str]:
        accepted = await submit_it(database, settings)
        return accepted, await no_worker_notice(database, settings, accepted.job.queue)

    (job, is_new), warning = with_database(work)
    state = "waits" if is_new else "already has this key"
    print_answer(wanted.form, job_shape(job), f"job {job.id} {state} ({job.agent})")
    if warning:
        click.echo(warning, err=True)
    return 0


async def _run(database: Database, settings: Settings, wanted: Run) -> tuple[Job, list[dict[str, Any]]] | None:
    """Submit the job and wait for it. Return None if it was left to a worker."""
    from remit.orchestrate.local_worker import ensure_worker

    async with ensure_worker(database, settings, wanted.queue, concurrency=1) as queue:
        job, is_new = await submit_job(database, settings, _folder(wanted), wanted, first_queue=queue)
        if not is_new:
            click.echo(f"remit: job {job.id} already has this key; waiting for it", err=True)
            if queue is not None:
                await _enqueue_here(database, job.id, queue)
        is_finished = await wait_for_job(database, job.id, queue)
    if not is_finished:
        return None
    return await jobs.get(database, job.id), await jobs.violations_of(database, job.id)


async def _enqueue_here(database: Database, number: int, queue: str) -> None:
    """Add a ticket in this command's queue for a job that waits in a queue without a worker."""
    job = await jobs.get(database, number)
    if job.state == "queued":
        async with database.transaction() as connection:
            await jobs.enqueue(connection, number, queue, job.priority)


async def wait_for_job(database: Database, job: int, queue: str | None = None) -> bool:
    """Show the progress of a job until it is finished; a result that breaks the contract is sent back, once.

    Return False if the user leaves it to a worker. The correction goes into `queue`, if that is set.
    """
    interrupts = Interrupts()
    with interrupts.handled(), ProgressDisplay(job) as progress:
        while await _wait_for_end(database, job, interrupts, progress):
            if await may_correct(database, job) and await correct(database, job, queue):
                progress.say(f"remit: the result of job {job} is sent back once, with what it must correct")
            elif (await jobs.get(database, job)).state == "finished":
                return True
        return False


async def _wait_for_end(database: Database, job: int, interrupts: Interrupts, progress: ProgressDisplay) -> bool:
    """Wait until a job is finished. Return False if the user leaves it to a worker."""
    showing = asyncio.create_task(_show(database, job, progress))
    try:
        while not showing.done():
            asked = asyncio.create_task(interrupts.asked.wait())
            await asyncio.wait({showing, asked}, return_when=asyncio.FIRST_COMPLETED, timeout=_POLL_SECONDS)
            asked.cancel()
            if (await jobs.get(database, job)).state == "finished":
                return True
            if interrupts.asked.is_set():
                with progress.paused():
                    answer = await interrupts.answer(job, showing)
                if answer == "leave":
                    return False
                if answer == "cancel":
                    await jobs.cancel(database, job)
        await showing
    finally:
        await cancel_and_wait(showing)
    return True


async def _show(database: Database, job: int, progress: ProgressDisplay) -> None:
    """Show the events that were not shown yet, to the end of the job. The end of an earlier submission is none."""
    async for event in follow(database, job, progress.last):
        progress.show(event)
        if event.kind == "finished" and (await jobs.get(database, job)).state == "finished":
            return


#: What the job of an orchestrator has by itself.
_NOT_OF_AN_ORCHESTRATOR = {
    "system": "--system",
    "allowed_tools": "--tools",
    "kind": "--kind",
    "profile": "--profile",
    "contract": "--no-contract",
    "contract_version": "--contract",
    "isolation": "--isolation",
}
_ORCHESTRATOR_TURNS = 60


def _run_orchestrator(wanted: Run) -> int:
    """Let a model do a task by delegating it. Open questions stay until a person answers them."""
    given = [option for name, option in _NOT_OF_AN_ORCHESTRATOR.items() if getattr(wanted, name) is not None]
    if given:
        raise UsageError(f"{', '.join(given)} has no effect on an orchestrator: it gets its own prompt and tools")
    if wanted.detach:
        return _detach(wanted, lambda database, settings: _submit_orchestrator(database, settings, wanted))
    ran = with_database(lambda database, settings: _orchestrate(database, settings, wanted))
    if ran is None:
        return 130
    job, violations, questions = ran
    for unchecked in (violation for violation in violations if violation["level"] == "L3"):
        click.echo(f"remit: {unchecked['message']}", err=True)
    if wanted.form == "json":
        print_text(format_json(job_shape(job)))
    else:
        print_lines(job_lines(job, columns(), violations))
        if questions:
            print_lines(question_lines(questions, columns()))
    return 0 if job.outcome == "completed" and job.verdict == "accept" and not questions else 1


async def _submit_orchestrator(
    database: Database, settings: Settings, wanted: Run, first_queue: str | None = None
) -> AcceptedJob:
    registry = quiet_registry(load())  # it may delegate to the definitions of the plugin path and to the team
    limits = {name: getattr(wanted, f"max_{name}") for name in ("tokens", "cost", "seconds")}
    request: dict[str, Any] = {
        "prompt": task_text(wanted.words[1]),
        "system": orchestrator_prompt(registry),
        "allowed_tools": [],
        "model": wanted.model,
        "max_turns": wanted.max_turns or _ORCHESTRATOR_TURNS,
        "runner": ORCHESTRATOR,
        "limits": {name: limit for name, limit in limits.items() if limit is not None} or None,
    }
    queueing = queueing_of(wanted)._replace(first_queue=first_queue, agent=ORCHESTRATOR)
    submitted = await submit(database, request, settings, _folder(wanted), queueing=queueing)
    return AcceptedJob(await jobs.get(database, submitted.id), submitted.is_new)


async def _orchestrate(
    database: Database, settings: Settings, wanted: Run
) -> tuple[Job, list[dict[str, Any]], list[Escalation]] | None:
    """Submit the job of the orchestrator and wait for it. Return None if it was left to a worker."""
    from remit.orchestrate.local_worker import LocalWorker, ensure_worker, short_poll_worker
    from remit.orchestrate.orchestrator import build_orchestrator

    own_queue = f"run-{uuid.uuid4()}"
    accepted = await _submit_orchestrator(database, settings, wanted, own_queue)
    async with ensure_worker(database, settings) as queue:
        # A separate worker, so that subagents never wait for the slot of the orchestrator.
        runners = {ORCHESTRATOR: build_orchestrator(queue)}
        async with LocalWorker(short_poll_worker(database, settings, own_queue, runners=runners)) as local:
            local.start()
            is_finished = await wait_for_job(database, accepted.job.id, own_queue)
    if not is_finished:
        return None
    number = accepted.job.id
    violations = await jobs.violations_of(database, number)
    return await jobs.get(database, number), violations, await open_questions_of(database, number)
