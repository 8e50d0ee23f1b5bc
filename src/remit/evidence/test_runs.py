"""Check claims of test runs against the commands that ran: which command of a line runs tests, and how it ended."""

from __future__ import annotations

import re

from remit.evidence.commands import ReceiptCommand, simple_commands
from remit.evidence.model import RunClaim
from remit.evidence.receipts import RERUN, Receipt
from remit.lazy import lazy_pattern

_RUNNER = lazy_pattern(
    r"\b(?:py\.?test|unittest|tox|nox|jest|vitest|mocha|ava|karma|cypress|playwright|rspec|minitest|phpunit|ctest|"
    r"nextest|busted|bats|prove|nosetests|hypothesis)\b"
    r"|\b(?:npm|pnpm|yarn|bun|deno|go|cargo|mvn|mvnw|gradle|gradlew|dotnet|make|just|swift|mix|rake|sbt|lein|zig|bazel|rails)\b"
    r"[^|;&\n]{0,80}?\b(?:tests?|check|verify|spec)\b|\btests?\.(?:py|sh|js)\b|\b(?:run[-_]?)?tests?\b",
    re.IGNORECASE,
)
#: Programs whose arguments may name tests although they do not run any, and the install commands of package managers.
_NOT_RUNNERS = frozenset(
    """
    apt apt-get black brew chmod cp eslint flake8 git ln mkdir mv mypy prettier pylint rm rmdir ruff tee touch
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
_INSTALLS = frozenset({"add", "ci", "i", "init", "install", "remove", "uninstall"})
_MANAGERS = frozenset({"bun", "cargo", "gem", "npm", "npx", "pip", "pip3", "pipx", "pnpm", "poetry", "uv", "yarn"})


def settle_runs(claims: list[RunClaim], runs: list[Receipt]) -> None:
    """Check claims of test runs against the commands that ran."""
    for claim in claims:
        matching = [run for run in runs if run.tool == RERUN or _tests_in(run.command, claim.command)]
        if not matching:
            claim.denied = "the receipts contain no test command"
            continue
        ended = [run for run in matching if not run.pending]
        last = (ended or matching)[-1]
        command = " ".join(last.command.split())[:80]
        status = last.exit if last.exit is not None else "unknown"
        if last.pending:
            claim.denied = f"`{command}` ran in the background, and its output was never read"
            continue
        contradicts = (last.failed or last.exit not in (0, None)) if claim.passed else last.exit == 0
        if contradicts and _is_own(last, claim):
            claim.denied = f"`{command}` ended with exit status {status}"


def _tests_in(command: str, stated: str) -> list[int]:
    """Return the positions of the commands in a line that run tests: the stated command, or a test runner."""
    return [index for index, simple in enumerate(simple_commands(command)) if _runs_tests(simple, stated)]


def _runs_tests(simple: ReceiptCommand, stated: str) -> bool:
    words = simple.words
    if not words or simple.shows or simple.program in _NOT_RUNNERS or "--collect-only" in words:
        return False
    if (simple.program in _MANAGERS or words[1:3] == ["-m", "pip"]) and not _INSTALLS.isdisjoint(words[1:4]):
        return False
    bare = " ".join(words)
    named = (" ".join(one.words) for one in simple_commands(stated) if one.words and not one.shows)
    return any(command in bare for command in named) or bool(_RUNNER.search(bare))


def may_write(command: str) -> bool:
    """Return whether a command line does more than read and test."""
    return any(not simple.shows and not _runs_tests(simple, "") for simple in simple_commands(command))


def _is_own(run: Receipt, claim: RunClaim) -> bool:
    """Return whether a command line's exit status is that of its tests and not of a later command."""
    if run.tool == RERUN or run.exit is None:
        return True
    later = simple_commands(run.command)[_tests_in(run.command, claim.command)[-1] + 1 :]
    if run.exit == 0:
        return all(simple.joined == "&&" for simple in later)
    return all(simple.shows or simple.joined.startswith("|") for simple in later)
