"""Rule `quote-relocated`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class QuoteRelocated(Rule):
    """A quote is at another location than the cited one.

    The quote is real, but a reader who opens the cited location finds other code.
    """

    name = "quote-relocated"
    code = "EVD005"
    needs = "repository"
    level = "L2"
    help = "Change the location of the quote to the one that was found."
    good = (Example("review", edits=(("# app/login.py:19\n", "# app/login.py:14\n"),)),)
    bad = (
        Example("review", edits=(("# app/login.py:19\n", "# app/login.py:2\n"),), expect=("quote-relocated",)),
        Example("review", edits=(("# app/login.py:19\n", "# app/login.py:13\n"),), expect=("quote-relocated",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for quote in case.evidence.quotes:
            if quote.outcome == "relocated" and quote.fails and quote.found is not None:
                location = f"{quote.found.path}:{quote.found.line}"
                yield Fault(
                    line=quote.at,
                    message=f"the quote from {quote.path}:{quote.line} is at {location}",
                    help=f"Cite {location} for this quote.",
                )
