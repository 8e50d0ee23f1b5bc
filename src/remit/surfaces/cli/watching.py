"""Show the progress of a job on standard error: one changing line on a terminal, else one line per event."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Literal, Self

import click
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from remit.reports.jobs import event_lines
from remit.reports.layout import escape_control, plain_lines
from remit.store.events import Event
from remit.surfaces.cli.printing import columns

#: Events that get a line if standard error is not a terminal.
_PRINTED = ("resolved", "started", "turn", "tool", "tool-done", "waiting", "program", "told", "checked", "finished")
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
        self._update(event)
        if self._live is None and event.kind in _PRINTED:
            text = _text(event)
            if text:
                sys.stderr.write(text + "\n")
        elif self._live is not None and event.kind == "told":
            # Printed above the progress line, and kept: it is a message to the user.
            self._live.console.print(Text(_text(event)))

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
            hint = f"`remit worker` continues it, `remit logs -f {job}` shows it"
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
