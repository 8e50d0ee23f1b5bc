"""Rule `summary-sentences`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remit.lazy import lazy_pattern
from remit.rules.base import Case, Example, Fault, Rule

_CODE = lazy_pattern(r"`[^`\n]*`")
_ABBREVIATION = lazy_pattern(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|No|Mr|Ms|Dr)\.", re.IGNORECASE)
_END = lazy_pattern(r"[.!?]+(?=[\s\"')\]]|$)|(?:[。！]{1}|？)+|\n+")


def sentences(text: str) -> int:
    """Return the number of sentences of a text; full stops in code and common abbreviations do not count."""
    bare = _ABBREVIATION.sub("x", _CODE.sub("x", text))
    return sum(1 for piece in _END.split(bare) if re.search(r"\w", piece))


class SummarySentences(Rule):
    """The Summary is not two or three sentences long.

    One sentence rarely states both the work and its outcome. Four are more than a reader needs.
    """

    name = "summary-sentences"
    code = "RES007"
    level = "L3"
    requires = ("summary-missing", "summary-too-long")
    help = "Write the Summary in two or three sentences."
    good = (
        Example(
            "generic", edits=(("nothing waits for review.", "nothing waits for review. See `a.b. c`, e.g. there."),)
        ),
    )
    bad = (
        Example(
            "generic",
            edits=((" Its files were read and nothing waits for review.", ""),),
            expect=("summary-sentences",),
        ),
        Example("generic", edits=(("for review.", "for review. One. Two."),), expect=("summary-sentences",)),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        count = sentences(case.result.summary)
        if count not in (2, 3):
            yield Fault(
                line=case.document.line_of("summary"),
                message=f"the Summary has {count} sentence{'s' if count != 1 else ''}, not two or three",
            )
