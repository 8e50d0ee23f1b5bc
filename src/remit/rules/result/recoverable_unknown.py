"""Rule `recoverable-unknown`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.lines import plain_text
from remit.lazy import lazy_pattern
from remit.rules.base import Case, Example, Fault, Rule

_ANSWER = lazy_pattern(r"(?i)(?:true|false)\b")


class RecoverableUnknown(Rule):
    """Recoverable is neither true nor false.

    It decides what follows a failure: an error that is not recoverable is not tried again.
    """

    name = "recoverable-unknown"
    code = "RES023"
    level = "L2"
    since = "0.2"
    requires = ("error-details-missing",)
    help = "Write true if the same task can succeed when it is tried again, else false."
    good = (Example("error", edits=(("| Recoverable | true |", "| Recoverable | **False** (no access) |"),)),)
    bad = (
        Example(
            "error", edits=(("| Recoverable | true |", "| Recoverable | maybe |"),), expect=("recoverable-unknown",)
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        error = case.result.error
        if not case.failed or error is None or not error.recoverable:
            return
        if not _ANSWER.match(plain_text(error.recoverable)):
            yield Fault(
                line=error.line,
                message=f"Recoverable is {plain_text(error.recoverable)[:60]!r}, not true or false",
                mark=error.recoverable,
            )
