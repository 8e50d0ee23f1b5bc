"""Rule `single-source`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.lazy import lazy_pattern
from remit.rules.base import Case, Example, Fault, Rule

_STATES_IT = lazy_pattern(r"needs?[ -]corroboration|要確認|需要佐证", re.IGNORECASE)


class SingleSource(Rule):
    """All references point to one file, and the result does not state that it needs corroboration.

    A statement that rests on a single file is weaker than one that a second file confirms, and the reader must know it.
    """

    name = "single-source"
    code = "EVD009"
    level = "L2"
    in_short_form = False
    levels = {"v1": None}
    requires = ("references-missing",)
    help = "Read a second file that confirms the statement, or write that the result needs corroboration."
    prompt = "If all locations are in one file, write that the result needs corroboration."
    kinds = ("exploration", "design", "review", "implementation", "verification", "document")
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
        if case.failed or case.found_nothing or case.kind.name == "generic" or len(case.scope) == 1:
            return
        files = {reference.file for reference in case.evidence.references if not reference.is_elsewhere}
        if len(files) == 1 and not _STATES_IT.search(case.document.text):
            yield Fault(line=case.document.line_of("references"), message=f"all references point to {files.pop()}")
