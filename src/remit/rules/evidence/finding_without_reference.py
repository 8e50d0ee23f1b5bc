"""Rule `finding-without-reference`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from remit.contract.findings import Finding, is_none_row
from remit.evidence.document import located_tables
from remit.evidence.model import Checked
from remit.evidence.reasons import explain
from remit.rules.base import Case, Example, Fault, Rule


class FindingWithoutReference(Rule):
    """A row of a table with locations, or an issue, has no location.

    A statement without a location cannot be checked. The same is true of a location in another repository.
    """

    name = "finding-without-reference"
    code = "EVD008"
    level = "L2"
    levels = {"v1": "L1"}
    requires = ("wrong-column",)
    help = "Add a `path/to/file.py:12` to the row or issue, or remove it."
    prompt = "Every row of a table with a location column, and every issue, names its `path/to/file.py:12`."
    good = (Example("generic", edits=(("where the token is made |\n", "where the token is made |\n| - | - | - |\n"),)),)
    bad = (
        Example(
            "generic",
            edits=(("### Next Steps", "### Issues\n- Slow start: loads twice | Severity: minor\n\n### Next Steps"),),
            expect=("finding-without-reference",),
        ),
        Example(
            "verification",
            edits=(
                (
                    "| Unknown users get nothing | `app/login.py:10` | VERIFIED |",
                    "| Unknown users get nothing | the login module | VERIFIED |",
                ),
            ),
            expect=("finding-without-reference",),
        ),
        Example(
            "exploration",
            edits=(("| login | `app/login.py:7` | function |", "| login |  | function |"),),
            expect=("finding-without-reference",),
        ),
        Example(
            "generic",
            edits=(
                ("| login | `app/login.py:7` | where a user comes in |", "| login | N/A | where a user comes in |"),
            ),
            expect=("finding-without-reference",),
            profile="v1",
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        cited: dict[int, list[Checked]] = {}
        for reference in case.evidence.references:
            cited.setdefault(reference.at, []).append(reference)
        for table, section in located_tables(case.document):
            for row in table.rows:
                references = cited.get(row.line, ())
                if not references and not is_none_row(row) and not case.found_nothing:
                    yield Fault(line=row.line, message=f"a row of {section} does not name a file")
                elif references and all(reference.is_elsewhere for reference in references):
                    yield Fault(
                        line=row.line,
                        message=f"{references[0].display_text} cannot be checked: {explain(references[0])}",
                    )
        for issue, references in issue_references(case):
            if not references:
                yield Fault(line=issue.line, message=f"the issue {issue.title[:60]!r} does not name a file")


def issue_references(case: Case) -> Iterator[tuple[Finding, list[Checked]]]:
    """Yield each bullet of Issues with the references in it."""
    issues = [finding for finding in case.findings if finding.source == "bullet"]
    lines = [issue.line for issue in issues]
    found: list[list[Checked]] = [[] for _ in issues]
    for reference in case.evidence.references:
        if reference.section == "issues" and (at := bisect_right(lines, reference.at)):
            found[at - 1].append(reference)
    yield from zip(issues, found, strict=True)
