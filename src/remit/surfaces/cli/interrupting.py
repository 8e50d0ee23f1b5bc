"""Ctrl-C while a job is watched: leave it to a worker, cancel it, or go on waiting. Nothing is lost by any of them."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import click

Answer = Literal["leave", "cancel", "wait", "over"]
_QUESTION = "Leave the job to a worker (l), cancel it (c), or go on waiting (w)? "
_ANSWERS: dict[str, Answer] = {"l": "leave", "c": "cancel", "w": "wait"}


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
