"""Rule `security-without-quote`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.find_names import REACH
from remit.evidence.model import Checked, Location
from remit.lazy import lazy_pattern
from remit.rules.base import Case, Example, Fault, Rule
from remit.rules.evidence.finding_without_reference import issue_references

_WORD = lazy_pattern(r"\w+")
_MIN_WORDS = 2


class SecurityWithoutQuote(Rule):
    """A security finding does not quote the code.

    Security findings cause expensive work. They need the code itself as evidence, in addition to its location: at
    least one statement, from at most five lines away. Quoted comments prove nothing.
    """

    name = "security-without-quote"
    code = "KND007"
    level = "L2"
    in_short_form = False
    levels = {"v1": None}
    requires = ("block-missing", "wrong-column")
    help = "Add a `path/to/file.py:12`, and quote the code: under Issue Details below the finding's ID, or below the issue."
    prompt = "A security finding has a location and quotes its code."
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
        rows = {finding.line for finding in case.findings if case.kind.name == "review" and finding.source == "row"}
        cited: dict[int, list[Checked]] = {line: [] for line in rows}
        for reference in case.evidence.references:
            if reference.at in rows:
                cited[reference.at].append(reference)
        places = {issue.line: references for issue, references in issue_references(case)} | cited
        detailed = {detail.id.upper() for detail in case.details if detail.has_quote}
        for finding in case.findings:
            if finding.category != "security" or finding.line not in places:
                continue
            references = places[finding.line]
            if not (_is_quoted(references, case) if references else finding.id.upper() in detailed):
                yield Fault(
                    line=finding.line,
                    message=f"the security finding {finding.id or finding.title[:60]} does not quote the code",
                )


def _is_quoted(references: list[Checked], case: Case) -> bool:
    """Return whether a statement of the code at one of the references is quoted anywhere in the result."""
    return any(
        _is_within_reach(reference, location, quote.code.count("\n"))
        for quote in case.evidence.quotes
        if not (quote.outcome == "unchecked" and case.evidence.has_repository) and has_statement(quote.code)
        for location in (Location(quote.path, quote.line), quote.found)
        if location is not None
        for reference in references
    )


def _is_within_reach(reference: Checked, quoted: Location, length: int) -> bool:
    """Return whether quoted lines are at most `REACH` lines away from those of a reference."""
    if quoted.path not in (reference.path, reference.file):
        return False
    if reference.line is None or quoted.line is None:
        return True
    last = reference.end_line or reference.line
    return quoted.line <= last + REACH and quoted.line + length >= reference.line - REACH


def has_statement(code: str) -> bool:
    """Return whether code has at least two words or numbers: `)`, `else:` and `return ...` prove nothing."""
    return len(_WORD.findall(code)) >= _MIN_WORDS
