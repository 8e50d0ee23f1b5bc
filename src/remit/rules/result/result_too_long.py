"""Rule `result-too-long`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule

LIMIT = 1000


class ResultTooLong(Rule):
    """The whole result is longer than 1,000 tokens.

    A long result uses up the context of the agent that acts on it.
    """

    name = "result-too-long"
    code = "RES018"
    level = "L3"
    help = "Shorten the result: keep the findings and their locations, remove the narrative."
    good = (Example("generic", edits=(("The login has one entry", "The login has" + " really" * 633 + " one entry"),)),)
    bad = (
        Example(
            "generic",
            edits=(("The login has one entry", "The login has" + " really" * 633 + " very one entry"),),
            expect=("result-too-long",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        tokens = case.tokens
        if tokens > LIMIT:
            yield Fault(
                line=case.document.title_line,
                message=f"the result has about {tokens} tokens, more than {LIMIT:,}",
            )
