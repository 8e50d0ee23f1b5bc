"""Commands that only a person gives need a terminal, or the consent that a client asked for.

A program of an agent has none of them. One that makes itself a terminal gets through: this is
a protection against mistakes, not a sandbox.
"""

from __future__ import annotations

import os
import sys

from remit.clients.hooks.compiled import folder_of, project_of
from remit.errors import UsageError
from remit.gate.person_commands import has_consent


def require_person(command: str) -> None:
    """Raise UsageError unless a person gives this command: at a terminal, or as a client has asked."""
    if not has_terminal() and not has_consent(folder_of(project_of(os.getcwd())), command):  # noqa: PTH109 (a name)
        raise UsageError(f"`{command}` is for a person: run it in a terminal")


def has_terminal() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()
