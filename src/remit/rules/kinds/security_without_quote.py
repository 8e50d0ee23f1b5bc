"""Rule `security-without-quote`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class SecurityWithoutQuote(Rule):
    """A security finding does not quote the code.

    Security findings cause expensive work. They need the code itself as evidence, in addition to its location.
    """

    name = "security-without-quote"
    code = "KND007"
    level = "L2"
    levels = {"v1": None}
    requires = ("block-missing", "wrong-column")
    help = "Add a `path/to/file.py:12` to the row, and quote the code under Issue Details below the finding's ID."
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
            "review",
            edits=(("```python\n# app/login.py:19\n    return user.password == password\n```\n", ""),),
            expect=("security-without-quote",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if case.kind.name != "review":
            return
        quoted = {detail.id.upper() for detail in case.details if detail.has_quote}
        for finding in case.findings:
            if finding.source != "row" or finding.category != "security":
                continue
            if finding.id.upper() not in quoted:
                yield Fault(
                    line=finding.line,
                    message=f"the security finding {finding.id or finding.title[:60]} does not quote the code",
                )
