"""Rule `status-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class StatusMissing(Rule):
    """The result has no Status.

    A missing or empty status never counts as SUCCESS: an orchestrator that assumed it would continue with work that was
    not done.
    """

    name = "status-missing"
    code = "RES002"
    level = "L1"
    help = "Add `### Status` with SUCCESS, PARTIAL or FAILED on the next line."
    prompt = "PARTIAL means that the task is incomplete."
    good = (
        Example("review", edits=(("### Status\nSUCCESS", "### Status: SUCCESS"),)),
        Example("review", edits=(("### Status\nSUCCESS", "**Status:** SUCCESS"),)),
    )
    bad = (
        Example("review", edits=(("### Status\nSUCCESS\n\n", ""),), expect=("status-missing",)),
        Example("review", edits=(("### Status\nSUCCESS\n", "### Status\n"),), expect=("status-missing",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        if not case.result.status:
            section = case.document.section("status")
            what = "the Status section is empty" if section else "there is no Status section"
            yield Fault(line=case.document.line_of("status"), message=what)
