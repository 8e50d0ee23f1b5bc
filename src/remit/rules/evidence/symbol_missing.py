"""Rule `symbol-missing`."""

from __future__ import annotations

from collections.abc import Iterator

from remit.evidence.claims import explain
from remit.rules.base import Case, Example, Fault, Rule


class SymbolMissing(Rule):
    """The name next to a location does not occur in that file.

    `name()` in `a/b.py:12`, `a/b.py:12` (name), or a name in the same row states that the name is at that line. It is a
    hard rule if the name exists nowhere in the repository.
    """

    name = "symbol-missing"
    code = "EVD006"
    needs = "repository"
    level = "L1"
    help = "Name the symbol that is at this location, or correct the file."
    prompt = "A name next to a location, `path/to/file.py:12` (name), makes the line checkable."
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
            is_missing = reference.outcome == "mismatch" and reference.fails and not reference.is_quote_location
            if is_missing and reference.symbol:
                is_nowhere = reference.reason == "name-nowhere"
                yield Fault(
                    line=reference.at,
                    message=f"{reference.display_text}: {explain(reference)}",
                    mark=reference.symbol.partition("|")[0],
                    level=None if is_nowhere else "L2",
                )
