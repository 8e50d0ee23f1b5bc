"""Rule `quote-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class QuoteMismatch(Rule):
    """A quote is not in the file that it is said to come from.

    It is compared exactly, then with white space collapsed, then for near equality (90 %) within five lines of
    its place, and looked for in the rest of the repository.
    """

    name = "quote-mismatch"
    code = "EVD004"
    needs = "repository"
    level = "L1"
    help = "Copy the lines from the file as they are; mark what you leave out with a line `...`."
    good = (
        Example(
            "review", edits=(("    return user.password == password\n```", "return  user.password  ==  password\n```"),)
        ),
        Example(
            "review",
            edits=(
                (
                    "    return user.password == password\n```",
                    "def check_password(user, password):\n# ...\n    return user.password == password\n```",
                ),
            ),
        ),
    )
    bad = (
        Example(
            "review",
            edits=(
                ("    return user.password == password\n```", "    return constant_time(user.secret, password)\n```"),
            ),
            expect=("quote-mismatch",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for quote in case.evidence.quotes:
            if quote.outcome == "mismatch":
                place = f"{quote.path}:{quote.line}" if quote.line else quote.path
                yield Fault(line=quote.at, message=f"the quote from {place} is not there: {quote.why}")
