"""What is found out about a result's claims."""

from __future__ import annotations

from typing import Literal

import msgspec

Outcome = Literal[
    "verified", "relocated", "missing-file", "out-of-range", "outside", "mismatch", "planned", "unchecked"
]
Seen = Literal["line", "file", "no"]
#: The first and the last line.
Span = tuple[int, int]
#: The last line of a file whose length is not known.
WHOLE = 1 << 30
OUTCOMES: dict[Outcome, str] = {
    "verified": "the file is there, the line is in range, and the symbol and quote beside it are there",
    "relocated": "what it points at stands somewhere else",
    "missing-file": "there is no such file",
    "out-of-range": "the file has no such line",
    "outside": "the path leads out of the checkout",
    "mismatch": "the file does not hold what is said of it",
    "planned": "a file that this design is going to create",
    "unchecked": "it could not be looked at",
}


class Location(msgspec.Struct, frozen=True):
    """A file, and perhaps a line."""

    path: str
    line: int | None = None


class Reference(msgspec.Struct):
    """A place that the result names, and what is there. `at` is the line of the document."""

    text: str
    path: str
    line: int | None
    end_line: int | None
    at: int
    outcome: Outcome = "unchecked"
    found: Location | None = None
    seen: Seen | None = None
    why: str = ""
    #: The symbol that should stand there.
    symbol: str = ""
    #: What stands in the same row of a table belongs together; 0 outside tables.
    row: int = 0
    section: str | None = None
    block: str | None = None
    #: Whether it is the place of a quote; the quote's rules then speak for both.
    is_quote_place: bool = False


class Quote(msgspec.Struct):
    """Code that the result quotes, and where it really stands."""

    path: str
    line: int | None
    end_line: int | None
    at: int
    text: str
    outcome: Outcome = "unchecked"
    found: Location | None = None
    similarity: float | None = None
    why: str = ""


class ChangeClaim(msgspec.Struct):
    """A file that the result says it created or modified."""

    path: str
    claim: str
    outcome: Outcome
    at: int
    why: str = ""
    #: What is stated and what was counted, where a number of lines is given.
    stated: int | None = None
    counted: int | None = None
    #: Whether receipts or a snapshot deny the change; None: there was nothing to ask.
    denied: bool | None = None


class RunClaim(msgspec.Struct):
    """A statement that tests ran."""

    at: int
    passed: bool
    command: str = ""
    text: str = ""
    #: Why the receipts do not bear it out; empty: they do.
    denied: str = ""


class Evidence(msgspec.Struct):
    """Everything found out about one result."""

    references: list[Reference] = []
    quotes: list[Quote] = []
    changes: list[ChangeClaim] = []
    run_claims: list[RunClaim] = []
    supported: float | None = None
    #: None: there are no receipts.
    tool_calls: int | None = None
    executed: bool = False
    has_repository: bool = False
    has_snapshot: bool = False
    has_rerun: bool = False

    @property
    def has_receipts(self) -> bool:
        """Whether it is known what the agent did."""
        return self.tool_calls is not None


def format_location(place: Location) -> str:
    """A place as people write it."""
    return f"{place.path}:{place.line}" if place.line else place.path


def suggestion(reference: Reference) -> str:
    """`; did you mean a/b.py:12?`, or nothing."""
    return f"; did you mean {format_location(reference.found)}?" if reference.found else ""
