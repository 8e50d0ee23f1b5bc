"""Rule `references-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class ReferencesMissing(Rule):
    """The result has no Key References.

    References lead from a statement to the code, and every check of a statement starts from them. Only a FAILED result
    may omit them, and one that states in its Summary that nothing was found.
    """

    name = "references-missing"
    code = "RES009"
    level = "L1"
    help = "Add `### Key References` with a table Item | Location | Relevance; a location is `path/to/file.py:12`."
    prompt = "Each Location has the full path from the root of the checkout."
    bad = (
        Example(
            "generic",
            edits=(
                (
                    "### Key References\n| Item | Location | Relevance |\n| --- | --- | --- |\n| login | `app/login.py:7` | where a user comes in |\n| open_session | `app/session.py:8` | where the token is made |\n\n",
                    "",
                ),
            ),
            expect=("references-missing",),
        ),
        Example(
            "generic",
            edits=(
                (
                    "| login | `app/login.py:7` | where a user comes in |\n| open_session | `app/session.py:8` | where the token is made |\n",
                    "",
                ),
            ),
            expect=("references-missing",),
        ),
        Example(
            "generic",
            edits=(
                (
                    "| Item | Location | Relevance |\n| --- | --- | --- |\n| login | `app/login.py:7` | where a user comes in |\n| open_session | `app/session.py:8` | where the token is made |\n",
                    "",
                ),
            ),
            expect=("references-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if case.failed or case.found_nothing:
            return
        section = case.document.section("references")
        if section is None:
            yield Fault(line=case.document.title_line, message="there is no Key References section")
        elif not section.content or (section.tables() and not case.result.references):
            yield Fault(line=section.line, message="the Key References section is empty", mark=section.heading)
