"""Rule `reference-outdated`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain
from remit.rules.base import Case, Fault, Rule


class ReferenceOutdated(Rule):
    """A claim was true when it was written, and is not any more.

    The code has changed since the line of the text was committed. Only texts of a checkout are dated: a result is about the
    checkout that it was written in.
    """

    name = "reference-outdated"
    code = "EVD021"
    since = "0.2"
    needs = "repository"
    level = "L2"
    help = "Write the location that was found, or correct the statement."

    def check(self, case: Case) -> Iterator[Fault]:
        for claim in case.evidence.checked:
            if claim.outcome == "outdated" and claim.fails and not claim.is_quote_location:
                yield Fault(
                    line=claim.at,
                    message=f"{claim.display_text}: {explain(claim)}",
                    mark=claim.text if claim.kind != "quote" else "",
                )
