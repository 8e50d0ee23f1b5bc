"""Rule `severity-count`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from remit.contract.findings import Severity, severity_of
from remit.rules.base import Case, Example, Fault, Rule

SCALE: tuple[Severity, ...] = ("critical", "important", "minor")


class SeverityCount(Rule):
    """The Severity Summary does not match the table.

    People read the summary and programs read the table, so both must state the same numbers.
    """

    name = "severity-count"
    code = "KND005"
    level = "L2"
    in_short_form = False
    requires = ("findings-missing", "block-missing", "empty-table", "severity-missing", "severity-unknown")
    help = "Count the rows of Issues Detected again and correct the Severity Summary."
    prompt = "Severity Summary counts the rows of Issues Detected."
    kinds = ("review",)
    good = (
        Example("review", edits=(("### Severity Summary\n- Critical: 1\n- Important: 0\n- Minor: 1\n\n", ""),)),
        Example(
            "review",
            edits=(
                (
                    "### Next Steps",
                    "### Issues\n- Slow start: loads twice (app/login.py:19) | Severity: minor\n\n### Next Steps",
                ),
            ),
        ),
        Example("review", edits=(("- Important: 0\n- Minor: 1", "- Low: 1"),)),
        Example("review", edits=(("- Important: 0", "- Total: 2"),)),
    )
    bad = (
        Example("review", edits=(("- Important: 0", "- Important: 1"),), expect=("severity-count",)),
        Example("review", edits=(("- Critical: 1", "- Critical: 2"),), expect=("severity-count",)),
        Example("review", edits=(("- Minor: 1", ""),), expect=("severity-count",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        stated = case.result.severity_summary
        if not stated:
            return
        counted = Counter(finding.severity for finding in case.findings if finding.source == "row" and finding.severity)
        claimed: Counter[str] = Counter()
        for count in stated:
            severity = severity_of(count.severity)
            if severity:
                claimed[severity] += count.count
        wrong = [
            f"{severity}: {claimed[severity]} instead of {counted[severity]}"
            for severity in SCALE
            if claimed[severity] != counted[severity]
        ]
        if wrong:
            yield Fault(
                line=case.document.line_of("severity_summary"),
                message=f"the Severity Summary states {', '.join(wrong)}",
            )
