"""Rule `symbol-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.rules.base import Case, Example, Fault, Rule


class SymbolMissing(Rule):
    """The symbol of a reference does not occur in that file.

    `a/b.py:12` followed by `(name)`, or `name()` in the same row, claims that the name is at that line.
    """

    name = "symbol-missing"
    code = "EVD006"
    needs = "repository"
    subject = "mismatch"
    level = "L2"
    help = "Name the symbol that is at this location, or correct the file."
    good = (Example("exploration", edits=(("(find_user)", "(new)"),)),)
    bad = (
        Example("exploration", edits=(("(find_user)", "(load_user)"),), expect=("symbol-missing",)),
        Example(
            "exploration",
            edits=(("| login | `app/login.py:7` | function |", "| `logon()` | `app/login.py:7` | function |"),),
            expect=("symbol-missing",),
        ),
    )

    def check(self, case: Case) -> Iterator[Fault]:
        for reference in case.evidence.references:
            if reference.outcome == "mismatch" and reference.symbol and not reference.is_quote_location:
                yield Fault(
                    line=reference.at, message=f"{reference.display_text}: {reference.why}", mark=reference.symbol
                )
