"""Rule `severity-unknown`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class SeverityUnknown(Rule):
    """A severity is not one of the accepted words.

    The contract defines critical, important and minor. High and Medium count as important, Low and Info as minor.
    """

    name = "severity-unknown"
    code = "RES013"
    level = "L2"
    help = "Write critical, important or minor."
    good = (
        Example("review", edits=(("| Minor | 85 |", "| Low | 85 |"),)),
        Example("review", edits=(("| Critical | 95 |", "| **CRITICAL** | 95 |"),)),
    )
    bad = (Example("review", edits=(("| Minor | 85 |", "| Severe | 85 |"),), expect=("severity-unknown",)),)

    def check(self, case: Case) -> Iterator[Fault]:
        for finding in case.findings:
            if finding.severity_text and finding.severity is None:
                yield Fault(
                    line=finding.line,
                    message=f"the severity {finding.severity_text[:40]!r} is not critical, important or minor",
                    mark=finding.severity_text,
                )
