"""Rule `severity-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import has_column
from remit.rules.base import Case, Example, Fault, Rule


class SeverityMissing(Rule):
    """An issue has no severity.

    Without a severity a reader cannot set priorities, and a merge cannot compare opinions.
    """

    name = "severity-missing"
    code = "RES012"
    level = "L2"
    help = "Add `| Severity: critical`, `important` or `minor` to the issue, or fill in the Severity column."
    good = (
        Example(
            "generic",
            edits=(
                (
                    "### Next Steps",
                    "### Issues\n- Slow start: loads twice (app/login.py:7) | Severity: minor\n\n### Next Steps",
                ),
            ),
        ),
        Example("generic", edits=(("### Next Steps", "### Issues (if any)\n- None\n\n### Next Steps"),)),
    )
    bad = (
        Example(
            "generic",
            edits=(("### Next Steps", "### Issues\n- Slow start: loads twice (app/login.py:7)\n\n### Next Steps"),),
            expect=("severity-missing",),
        ),
        Example("review", edits=(("| Minor | 85 |", "|  | 85 |"),), expect=("severity-missing",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for finding in case.findings:
            if finding.severity_text or (finding.source == "row" and not has_column(case.result, "severity")):
                continue
            yield Fault(line=finding.line, message=f"the issue {finding.title[:60]!r} has no severity")
