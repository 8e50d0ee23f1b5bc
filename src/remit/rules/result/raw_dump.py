"""Rule `raw-dump`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.model import Code, Text
from remit.contract.parse import Document
from remit.contract.tokens import estimate_tokens
from remit.rules.base import Case, Example, Fault, Rule

MAX_TOKENS = 1000
MAX_SHARE = 0.6
#: A paragraph of more lines than this is not prose: it is output without a fence.
MAX_PARAGRAPH = 40


def outputs(document: Document) -> Iterator[str]:
    """Yield the text of every fenced block, and of every paragraph that is too long to be prose."""
    for section in document.outline.sections:
        for part in section.content:
            if isinstance(part, Code) or (isinstance(part, Text) and part.text.count("\n") >= MAX_PARAGRAPH):
                yield part.text


class RawDump(Rule):
    """Most of the result is raw output.

    The result has more than 1,000 tokens, and more than 60 % of them are in fenced blocks or in paragraphs of more than
    40 lines. A result summarises output and does not copy it.
    """

    name = "raw-dump"
    code = "RES017"
    level = "L2"
    help = "Summarise what the output shows, and quote only the lines that prove it."
    prompt = "Summarise output; never paste it raw. Keep the whole result under 1,000 tokens."
    good = (
        Example(
            "implementation",
            edits=(("2 passed in 0.01s\n", "2 passed in 0.01s\n" + "one PASSED\n" * 193 + "again\n" * 2),),
        ),
    )
    bad = (
        Example(
            "implementation",
            edits=(("2 passed in 0.01s\n", "2 passed in 0.01s\n" + "one PASSED\n" * 194 + "again\n"),),
            expect=("raw-dump", "result-too-long"),
        ),
        Example(
            "implementation",
            edits=(
                ("2 passed in 0.01s\n", "2 passed in 0.01s\n" + "one PASSED\n" * 200),
                ("tests of the login |", "tests of the login" + " again" * 72 + " |"),
            ),
            expect=("result-too-long",),
        ),
        Example(
            "implementation",
            edits=(
                ("2 passed in 0.01s\n", "2 passed in 0.01s\n" + "one PASSED\n" * 200),
                ("tests of the login |", "tests of the login" + " again" * 71 + " |"),
            ),
            expect=("raw-dump", "result-too-long"),
        ),
        Example(
            "generic",
            edits=(
                (
                    "### Key References",
                    "tests/test_login.py::test_a_known_user_gets_a_token PASSED\n" * 120 + "\n### Key References",
                ),
            ),
            expect=("raw-dump", "result-too-long"),
        ),
        Example(
            "implementation",
            edits=(
                ("2 passed in 0.01s\n", "2 passed in 0.01s\n" + "tests/test_login.py::test_one PASSED\n" * 120 + ""),
            ),
            expect=("raw-dump", "result-too-long"),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        total = case.tokens
        if total <= MAX_TOKENS:
            return
        fenced = sum(map(estimate_tokens, outputs(case.document)))
        if fenced > MAX_SHARE * total:
            yield Fault(
                line=case.document.title_line,
                message=f"{fenced * 100 // total} % of about {total} tokens are raw output",
            )
