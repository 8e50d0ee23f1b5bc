"""Rule `security-without-quote`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.find_names import REACH
from remit.evidence.model import Checked
from remit.rules.base import Case, Example, Fault, Rule
from remit.rules.evidence.finding_without_reference import issue_references


class SecurityWithoutQuote(Rule):
    """A security finding does not quote the code.

    Security findings cause expensive work. They need the code itself as evidence, in addition to its location.
    """

    name = "security-without-quote"
    code = "KND007"
    subject = "security"
    level = "L2"
    levels = {"v1": None}
    requires = ("block-missing", "wrong-column")
    help = "Add a `path/to/file.py:12`, and quote the code: under Issue Details below the finding's ID, or below the issue."
    prompt = "A security finding has a reference and quotes the code that it is about."
    good = (
        Example(
            "generic",
            edits=(
                (
                    "one place that makes tokens, `app/session.py:8`.\n",
                    "one place that makes tokens, `app/session.py:8`.\n\n#### Issues Detected\n| ID | Issue | File:Line | Severity | Confidence |\n| --- | --- | --- | --- | --- |\n| SEC-001 | Tokens can be guessed | `app/session.py:10` | Minor | 85 |\n",
                ),
            ),
        ),
        Example(
            "review",
            edits=(
                (
                    "| ID | Issue | File:Line | Severity | Confidence |\n| --- | --- | --- | --- | --- |",
                    "| ID | Issue | File:Line | Severity | Confidence | Category |\n| --- | --- | --- | --- | --- | --- |",
                ),
                ("| Minor | 85 |", "| Minor | 85 | quality |"),
                ("```python\n# app/login.py:19\n    return user.password == password\n```\n", ""),
            ),
        ),
    )
    bad = (
        Example(
            "generic",
            edits=(
                (
                    "### Next Steps",
                    "### Issues\n- SEC-001 Tokens can be guessed: `app/session.py:10` | Severity: critical\n\n### Next Steps",
                ),
            ),
            expect=("security-without-quote",),
        ),
        Example(
            "review",
            edits=(("```python\n# app/login.py:19\n    return user.password == password\n```\n", ""),),
            expect=("security-without-quote",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        quoted = {detail.id.upper() for detail in case.details if detail.has_quote}
        found = [finding for finding in case.findings if case.kind.name == "review" and finding.source == "row"]
        found += [issue for issue, references in issue_references(case) if not _is_quoted(references, case)]
        for finding in found:
            if finding.category == "security" and not (finding.id and finding.id.upper() in quoted):
                yield Fault(
                    line=finding.line,
                    message=f"the security finding {finding.id or finding.title[:60]} does not quote the code",
                )


def _is_quoted(references: list[Checked], case: Case) -> bool:
    """Return whether the code at one of the references is quoted anywhere in the result."""
    return any(
        quote.path in (reference.path, reference.file)
        and (reference.line is None or quote.line is None or abs(reference.line - quote.line) <= REACH)
        for reference in references
        for quote in case.evidence.quotes
    )
