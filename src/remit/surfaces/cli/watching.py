"""Live progress of a job on standard error: one moving line on a terminal, a line an event elsewhere."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import click

from remit.reports.layout import plain_lines
from remit.surfaces.cli.printing import columns

if TYPE_CHECKING:
    from remit.store.events import Event

#: Events that are worth a line where nothing can move.
_TOLD = ("started", "turn", "tool", "tool-done", "waiting", "program", "told", "checked", "finished")
Answer = Literal["leave", "cancel", "wait", "over"]
_QUESTION = "Leave the job to a worker (l), cancel it (c), or go on waiting (w)? "
_ANSWERS: dict[str, Answer] = {"l": "leave", "c": "cancel", "w": "wait"}


class ProgressDisplay:
    """Shows turn, tool, tokens, cost and elapsed time."""

    def __init__(self, job: int) -> None:
        self._job = job
        self._live: Any = None
        self._begun = time.monotonic()
        self._turn = 0
        self._doing = "waiting for its start"
        self._used = ""
        self._spinner: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True)
            self._live = Live(get_renderable=self._line, console=console, transient=True, refresh_per_second=8)
            self._live.start()
        return self

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The line that moves is gone meanwhile: a person is asked something."""
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
        """Something happened."""
        self._note(event)
        if self._live is None and event.kind in _TOLD:
            text = _text(event)
            if text:
                sys.stderr.write(text + "\n")
        elif self._live is not None and event.kind == "told":
            from rich.text import Text

            # Above the line that moves, and it stays: it was said to whoever reads this.
            self._live.console.print(Text(_text(event)))

    def _note(self, event: Event) -> None:
        from remit.reports.layout import escape_control

        data = event.data
        if event.kind == "turn":
            self._turn, self._doing = int(data.get("turn", 0)), "thinking"
        elif event.kind == "tool":
            first = next((value for _, value in data.get("arguments", [])), "")
            self._doing = escape_control(f"{data.get('name')} {' '.join(str(first).split())}")[:60]
        elif event.kind == "text":
            self._doing = "answering"
        elif event.kind == "waiting":
            self._doing = escape_control(f"waiting {data.get('seconds')} s: {data.get('why')}")[:60]
        elif event.kind == "usage":
            cost = f" ${data['cost']:.4f}" if data.get("cost") else ""
            self._used = f"{data.get('input', 0) + data.get('output', 0):,} tokens{cost}"

    def _line(self) -> Any:
        from rich.spinner import Spinner
        from rich.text import Text

        seconds = int(time.monotonic() - self._begun)
        before = [f"job {self._job}", f"turn {self._turn}" if self._turn else ""]
        after = [self._used, f"{seconds // 60}:{seconds % 60:02}"]
        others = " · ".join(part for part in (*before, *after) if part)
        doing = self._doing[: max(8, columns() - len(others) - 8)]  # what it does is cut before figures are
        words = " · ".join(part for part in (*before, doing, *after) if part)
        self._spinner = self._spinner or Spinner("dots")  # one that is made anew each time never turns
        self._spinner.update(text=Text(words[: columns() - 4]))
        return self._spinner


def _text(event: Event) -> str:
    from remit.reports.jobs import event_lines

    return plain_lines(event_lines(event, columns()))


class Interrupts:
    """What a person or the system asks of a command that waits: Ctrl-C, or to be gone (a terminal that was closed)."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.is_told_to_go = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear them instead of being ended by them."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.asked.set)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._go)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _go(self) -> None:
        self.is_told_to_go = True
        self.asked.set()

    async def answer(self, job: int, showing: asyncio.Task[Any]) -> Answer:
        """What to do with the job; `over` if it ends meanwhile. Where nobody can be asked it is left to a worker."""
        self.asked.clear()
        chosen: Answer = "leave"
        if sys.stdin.isatty() and not self.is_told_to_go:
            chosen = await self._ask(showing)
        if chosen == "leave":
            how = f"`remit worker` goes on with it, `remit logs -f {job}` shows it"
            click.echo(f"remit: job {job} is left in the queue; {how}", err=True)
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
        """What is typed; None: Ctrl-C again, or nobody is there any more."""
        typed, again = asyncio.create_task(lines.get()), asyncio.create_task(self.asked.wait())
        try:
            await asyncio.wait({typed, again, showing}, return_when=asyncio.FIRST_COMPLETED)
            return typed.result() or None if typed.done() else None
        finally:
            typed.cancel()
            again.cancel()
