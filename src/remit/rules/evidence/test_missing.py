"""Rule `test-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain
from remit.rules.base import Case, Example, Fault, Rule


class TestMissing(Rule):
    """A test that does not exist.

    `tests/test_x.py::test_y` names a test. It must be defined in that file.
    """

    name = "test-missing"
    code = "EVD023"
    since = "0.2"
    needs = "repository"
    level = "L2"
    help = "Name a test that exists."
    good = (
        Example(
            "generic",
            edits=(("1. Tag the release", "1. Run `tests/test_login.py::test_a_wrong_password_gets_nothing`"),),
        ),
    )
    bad = (
        Example(
            "generic",
            edits=(("1. Tag the release", "1. Run `tests/test_login.py::test_a_locked_user_gets_nothing`"),),
            expect=("test-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for claim in case.evidence.checked:
            if claim.kind == "test" and claim.fails:
                yield Fault(line=claim.at, message=f"{claim.display_text}: {explain(claim)}", mark=claim.text)
