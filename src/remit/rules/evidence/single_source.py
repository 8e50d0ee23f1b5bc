"""Rule `single-source`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.lazy import lazy_pattern
from remit.rules.base import Case, Example, Fault, Rule

_SAYS_SO = lazy_pattern(r"needs?[ -]corroboration|要確認|需要佐证", re.IGNORECASE)


class SingleSource(Rule):
    """All references lie in one file, and the result does not say so.

    A single source may be all there is, or all that was looked at. "Needs corroboration" tells the reader which.
    """

    name = "single-source"
    code = "EVD009"
    level = "L2"
    levels = {"v1": None}
    requires = ("references-missing",)
    help = "Look at a second file that confirms the statement, or write that it needs corroboration."
    prompt = "If all your references lie in one file, write that the result needs corroboration."
    good = (
        Example(
            "verification",
            edits=(
                ("`app/session.py:10` | UNVERIFIED", "`app/login.py:14` | UNVERIFIED"),
                ("`app/session.py:8` | where", "`app/login.py:14` | where"),
                ("One holds and one does not.", "One holds and one does not; this needs corroboration."),
            ),
        ),
        Example(
            "generic",
            edits=(
                ("one place that makes tokens, `app/session.py:8`", "nothing else"),
                ("`app/session.py:8` | where", "`app/login.py:14` | where"),
            ),
        ),
    )
    bad = (
        Example(
            "verification",
            edits=(
                ("`app/session.py:10` | UNVERIFIED", "`app/login.py:14` | UNVERIFIED"),
                ("`app/session.py:8` | where", "`app/login.py:14` | where"),
            ),
            expect=("single-source",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if case.failed or case.kind.name == "generic" or len(case.scope) == 1:
            return
        files = {reference.path for reference in case.evidence.references}
        if len(files) == 1 and not _SAYS_SO.search(case.document.text):
            yield Fault(line=case.document.line_of("references"), message=f"all references lie in {files.pop()}")
