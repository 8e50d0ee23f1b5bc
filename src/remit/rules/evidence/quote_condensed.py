"""Rule `quote-condensed`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.model import Location, format_location
from remit.rules.base import Case, Example, Fault, Rule


class QuoteCondensed(Rule):
    """A quote omits lines without marking them, or parts of a line.

    Everything that is quoted is in the file in this order. A reader cannot see what was left out, so the quote is not
    verified.
    """

    name = "quote-condensed"
    code = "EVD020"
    since = "0.2"
    needs = "repository"
    level = "L2"
    levels = {"v1": None}
    help = "Mark omitted lines with a line `...`, and quote whole lines."
    good = (
        Example(
            "review",
            edits=(
                (
                    "    return user.password == password\n```",
                    "def check_password(user, password):\n...\n    return user.password == password\n```",
                ),
            ),
        ),
    )
    bad = (
        Example(
            "review",
            edits=(("    return user.password == password\n```", "    return user.password == ...\n```"),),
            expect=("quote-condensed",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for quote in case.evidence.quotes:
            if quote.reason == "quote-condensed":
                location = format_location(Location(quote.path, quote.line))
                yield Fault(line=quote.at, message=f"the quote from {location} omits code without a line `...`")
