"""The exceptions that Remit raises on purpose.

    RemitError              base class; the message is one line that states what to do
    ├── UsageError          the request is invalid (exit code 2)
    │   └── ConfigurationError   a key or value in remit.toml, pyproject.toml or the environment is invalid
    └── EnvironmentBroken   something outside Remit does not work: git, a disk, a database (exit code 3)

An invalid *document* is never an exception: it is data, a `Violation` in a `Verdict`.
"""

from __future__ import annotations

from collections.abc import Iterable


class RemitError(Exception):
    """Base class of all exceptions that Remit raises on purpose."""

    exit_code = 3


class UsageError(RemitError):
    """The request is invalid; nothing was changed."""

    exit_code = 2


class ConfigurationError(UsageError):
    """A configuration file or an environment variable has an invalid key or value."""


class EnvironmentBroken(RemitError):
    """A part outside Remit failed: git, the file system, a database."""


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return `, did you mean 'x'?` for the choice that is most similar to a word; empty if none is similar."""
    near = most_similar(word.lower(), choices)
    return f", did you mean {near!r}?" if near else ""


def most_similar(word: str, choices: Iterable[str]) -> str:
    """Return the choice that is most similar to a word; empty if none is similar."""
    import difflib  # late: the hook loads this module before every tool call

    return next(iter(difflib.get_close_matches(word, list(choices), n=1)), "")


def shorten_error(text: str, length: int) -> str:
    """Cut the text of an error in its middle: it states its cause at the beginning or at the end."""
    half = length // 2
    return text if len(text) <= length else f"{text[:half].rstrip()} … {text[-half:].lstrip()}"
