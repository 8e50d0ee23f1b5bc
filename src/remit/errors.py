"""Everything Remit raises on purpose.

    RemitError              base; its message is one line that says what to do
    ├── UsageError          the caller asked for something that does not exist (exit code 2)
    │   └── ConfigurationError   a key or value in remit.toml, pyproject.toml or the environment
    └── EnvironmentBroken   something outside Remit does not work: git, a disk, a database (exit code 3)

A faulty *document* is never an exception: it is data, a `Violation` in a `Verdict`.
"""

from __future__ import annotations

from collections.abc import Iterable


class RemitError(Exception):
    """Base of all errors that Remit raises on purpose."""

    exit_code = 3


class UsageError(RemitError):
    """The request itself is wrong; nothing was done."""

    exit_code = 2


class ConfigurationError(UsageError):
    """A configuration file or variable holds something Remit does not know."""


class EnvironmentBroken(RemitError):
    """A part outside Remit failed: git, the file system, a database."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` for the nearest known word, or nothing."""
    import difflib  # late: only a message needs it

    near = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f", did you mean {near[0]!r}?" if near else ""
