"""Rule `result-too-long`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule

LIMIT = 1000


class ResultTooLong(Rule):
    """The whole result is longer than 1,000 tokens.

    Long answers fill the context of the agent that has to act on them.
    """

    name = "result-too-long"
    code = "RES018"
    level = "L3"
    help = "Shorten the result: keep the findings and their places, drop the story."
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
