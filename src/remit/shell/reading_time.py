"""Limit the time that is spent on reading a command line."""

from __future__ import annotations

import time

#: How long a command line is read.
MAX_SECONDS = 0.1


class NotShell(Exception):
    """A quote or bracket has no end, or the text has more parts than are read."""


class ReadingTime:
    """The time that may be spent on a command line. What takes longer is not understood."""

    __slots__ = ("end",)

    def __init__(self) -> None:
        self.end = float("inf")

    def start(self) -> None:
        """Begin to read a command line."""
        self.end = time.monotonic() + MAX_SECONDS

    def stop(self) -> None:
        """End the time limit."""
        self.end = float("inf")

    def check(self) -> None:
        """Raise NotShell if the time is over."""
        if time.monotonic() > self.end:
            raise NotShell


READING = ReadingTime()
