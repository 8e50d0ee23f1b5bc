"""Rule `raw-dump`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.contract.findings import blocks
from remit.contract.parse import Document
from remit.contract.result_data import Code, Items, Table, Text
from remit.contract.tokens import estimate_tokens
from remit.rules.base import Case, Example, Fault, Rule

MAX_TOKENS = 1000
MAX_SHARE = 0.6
#: A paragraph, list or table with more lines than this is not written by hand: it is output without a fence.
MAX_PARAGRAPH = 40
_REVIEWED = ("issues_detected", "claims", "files", "files_created", "files_modified")


def outputs(document: Document) -> Iterator[str]:
    """Yield the text of every fenced block, and of every paragraph, list and table that is too long to be written by hand.

    The tables and lists of findings are never output: each entry has a severity or an outcome.
    """
    kept = {part.line for key in _REVIEWED for block in blocks(document.result, key) for part in block.content}
    for section in document.outline.sections:
        for part in section.content if section.key != "issues" else ():
            if isinstance(part, Code) or (isinstance(part, Text) and part.text.count("\n") >= MAX_PARAGRAPH):
                yield part.text
            elif isinstance(part, Items) and len(part.items) > MAX_PARAGRAPH and part.line not in kept:
                yield "\n".join(item.text for item in part.items)
            elif isinstance(part, Table) and len(part.rows) > MAX_PARAGRAPH and part.line not in kept:
                yield "\n".join(" | ".join(row.cells) for row in part.rows)


class RawDump(Rule):
    """Most of the result is raw output.

    The result has more than 1,000 tokens, and more than 60 % of them are in fenced blocks or in paragraphs, lists and
    tables of more than 40 lines. A result summarises output and does not copy it.
    """

    name = "raw-dump"
    code = "RES017"
    level = "L2"
    help = "Summarise what the output shows, and quote only the lines that prove it."
    prompt = "Summarise output and search hits; never paste them. Keep the result under 1,000 tokens."
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
            "generic",
            edits=(("### Key References", "- `app/login.py:7`: def login\n" * 120 + "\n### Key References"),),
            expect=("raw-dump", "result-too-long"),
        ),
        Example(
            "generic",
            edits=(
                (
                    "| login | `app/login.py:7` | where a user comes in |\n",
                    "| login | `app/login.py:7` | a hit of the search |\n" * 120,
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
