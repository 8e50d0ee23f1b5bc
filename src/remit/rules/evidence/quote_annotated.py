"""Rule `quote-annotated`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.model import Location, format_location
from remit.rules.base import Case, Example, Fault, Rule


class QuoteAnnotated(Rule):
    """The comments of a quote differ from those of the file.

    The code is the same, token by token, so the quote is verified. A reader who searches for the quoted lines may
    still not find them.
    """

    name = "quote-annotated"
    code = "EVD019"
    since = "0.2"
    needs = "repository"
    level = "L3"
    help = "Keep the comments of the file in a quote, and write your own remarks below it."
    good = (
        Example(
            "review", edits=(("    return user.password == password\n```", "return user.password==password\n```"),)
        ),
    )
    bad = (
        Example(
            "review",
            edits=(
                ("    return user.password == password\n```", "    return user.password == password  # unsafe\n```"),
            ),
            expect=("quote-annotated",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for quote in case.evidence.quotes:
            if quote.outcome == "verified" and quote.match == "annotated":
                location = format_location(Location(quote.path, quote.line))
                yield Fault(line=quote.at, message=f"the comments of the quote from {location} differ from the file")
