"""Rule `summary-too-long`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.tokens import estimate_tokens
from remit.rules.base import Case, Example, Fault, Rule

LIMIT = 500


class SummaryTooLong(Rule):
    """The Summary is longer than 500 tokens.

    A summary saves the reader's context, and a long one does not. The number of tokens is an estimate; the guide states
    its error.
    """

    name = "summary-too-long"
    code = "RES006"
    level = "L1"
    requires = ("summary-missing",)
    help = "Cut the Summary to two or three sentences and move the rest to Findings."
    prompt = "The Summary has two or three sentences, at most 500 tokens."
    good = (Example("error", edits=(("Nothing was written.", "Nothing was written" + " or deleted" * 229 + " now."),)),)
    bad = (
        Example(
            "error",
            edits=(("Nothing was written.", "Nothing was written" + " or deleted" * 230 + "."),),
            expect=("summary-too-long",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        tokens = estimate_tokens(case.result.summary)
        if tokens > LIMIT:
            yield Fault(
                line=case.document.line_of("summary"),
                message=f"the Summary has about {tokens} tokens, more than {LIMIT}",
            )
