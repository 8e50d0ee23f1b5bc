"""Rule `commit-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain
from remit.rules.base import Case, Fault, Rule


class CommitMissing(Rule):
    """A commit that the repository does not have.

    A hash that the text calls a commit must be one of this repository.
    """

    name = "commit-missing"
    code = "EVD024"
    since = "0.2"
    needs = "repository"
    level = "L2"
    help = "Name a commit of this repository."

    def check(self, case: Case) -> Iterator[Fault]:
        for claim in case.evidence.checked:
            if claim.kind == "commit" and claim.fails:
                yield Fault(line=claim.at, message=f"{claim.display_text}: {explain(claim)}", mark=claim.text)
