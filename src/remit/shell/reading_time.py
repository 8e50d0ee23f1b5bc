"""Limit the work that is spent on reading a command line.

The limit is a number of steps, so that the load of the machine does not decide whether a line is understood. A
limit on the time of the processor remains for machines that are much slower.
"""

from __future__ import annotations

import time

#: How long a command line is read, with some time left to answer within 0.1 s. Waiting for a processor does not count.
MAX_SECONDS = 0.08
#: Words, parts of words and operators that are read.
MAX_PARTS = 1_500
#: Commands whose effects are worked out.
MAX_COMMANDS = 300


class NotShell(Exception):
    """A quote or bracket has no end, or the text has more parts than are read."""


class ReadingBudget:
    """The steps that may be spent on a command line. What needs more of them is not understood."""

    def __init__(self) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to read a command line."""
        self.end = time.thread_time() + MAX_SECONDS
        self.parts: float = MAX_PARTS
        self.commands: float = MAX_COMMANDS

    def stop(self) -> None:
        """End the limit."""
        self.end = self.parts = self.commands = float("inf")

    def spend_part(self) -> None:
        """Read a part of the text. Raises NotShell if that is one too many, or if the time is over."""
        self.parts -= 1
        if self.parts < 0 or time.thread_time() > self.end:
            raise NotShell

    def spend_command(self) -> None:
        """Work out the effects of a command. Raises NotShell if it is one too many, or if the time is over."""
        self.commands -= 1
        if self.commands < 0 or time.thread_time() > self.end:
            raise NotShell


READING = ReadingBudget()
