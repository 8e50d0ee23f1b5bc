"""Rule `command-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain
from remit.rules.base import Case, Example, Fault, Rule


class CommandMissing(Rule):
    """A command that the project does not define.

    `npm run X`, `make X` and similar commands name a script or a target of the project. A reader who runs it gets an error.
    """

    name = "command-missing"
    code = "EVD022"
    since = "0.2"
    needs = "repository"
    level = "L2"
    help = "Name a script or target that the project defines."
    prompt = "Name only commands and tests that exist."
    good = (Example("generic", edits=(("1. Tag the release", "1. Run `python -m app.login`"),)),)
    bad = (
        Example(
            "generic", edits=(("1. Tag the release", "1. Run `python -m app.ghost`"),), expect=("command-missing",)
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for claim in case.evidence.checked:
            if claim.kind == "command" and claim.fails:
                yield Fault(line=claim.at, message=f"{claim.display_text}: {explain(claim)}", mark=claim.text)
