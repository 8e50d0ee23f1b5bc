"""What a result is: plain data, one type for each part of the document.

Every part remembers the line it was read from. Lines are where something stands, not what it says, so
two parts are equal when everything but their lines is equal; `parse(render(r)) == r` relies on it.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

SCHEMA: Final = "remit.result/1"

#: A score as written: a number, or the words that stood in its place ("high", "n/a").
Score = float | str


class Part(msgspec.Struct, frozen=True, eq=False, omit_defaults=True, kw_only=True):
    """Base of everything that stands at a line of a document."""

    line: int = 0

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__struct_fields__ if name != "line")

    def __ne__(self, other: object) -> bool:
        return not self == other  # msgspec's own compares identities

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__struct_fields__ if name != "line"))


class Text(Part, frozen=True, tag="text"):
    """A paragraph: its lines as written, without outer blanks."""

    text: str


class Heading(Part, frozen=True, tag="heading"):
    """A heading inside a section or block, such as the name of one issue under Issue Details."""

    text: str


class Code(Part, frozen=True, tag="code"):
    """A fenced block; `info` is what stands after the opening fence."""

    text: str
    info: str = ""


class Item(Part, frozen=True):
    """One entry of a list; further lines belong to it, nested lists included."""

    text: str


class Items(Part, frozen=True, tag="list"):
    """A list."""

    items: tuple[Item, ...]
    ordered: bool = False


class Row(Part, frozen=True):
    """One row of a table."""

    cells: tuple[str, ...]


class Table(Part, frozen=True, tag="table"):
    """A table; every row has as many cells as there are columns."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...] = ()


Content = Text | Heading | Code | Items | Table


class Block(Part, frozen=True):
    """A part of Findings with a heading of its own; the words before the first heading have none."""

    content: tuple[Content, ...]
    heading: str = ""


class KeyReference(Part, frozen=True):
    """A row of Key References."""

    item: str
    location: str
    relevance: str = ""


class Confidence(Part, frozen=True):
    """The score, why, and what it is made of."""

    score: Score
    reason: str = ""
    verified: Score | None = None
    verified_reason: str = ""
    inferred: Score | None = None
    inferred_reason: str = ""
    combined: Score | None = None


class Justification(Part, frozen=True):
    """Why a high score is deserved."""

    score: Score | None = None
    evidence_count: Score | None = None
    method: str = ""
    blind_spots: str = ""


class Tick(Part, frozen=True):
    """A box of the checklist."""

    text: str
    ticked: bool


class Issue(Part, frozen=True):
    """A bullet of Issues; `severity` is the word as written."""

    title: str
    description: str = ""
    severity: str = ""


class Blocker(Part, frozen=True):
    """What stops the work, and what would help."""

    text: str
    resolution: str = ""


class ErrorDetails(Part, frozen=True):
    """What went wrong in a FAILED run."""

    type: str = ""
    message: str = ""
    occurred_at: str = ""
    recoverable: str = ""


class Override(Part, frozen=True):
    """A default rule that the author departs from, with the reason."""

    rule: str
    reason: str


class Count(Part, frozen=True):
    """A line of the Severity Summary."""

    severity: str
    count: int


class Extra(Part, frozen=True):
    """A section that the contract does not know; kept, never judged."""

    heading: str
    content: tuple[Content, ...] = ()


class Result(Part, frozen=True):
    """The document a subagent sends back. Empty means that the part is missing."""

    agent: str = ""
    status: str = ""
    summary: str = ""
    findings: tuple[Block, ...] = ()
    references: tuple[KeyReference, ...] = ()
    confidence: Confidence | None = None
    justification: Justification | None = None
    uncertainty: str = ""
    checklist: tuple[Tick, ...] = ()
    issues: tuple[Issue, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    error: ErrorDetails | None = None
    attempted_actions: tuple[str, ...] = ()
    root_cause: str = ""
    recovery_options: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    tradeoffs: tuple[str, ...] = ()
    severity_summary: tuple[Count, ...] = ()
    insights: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    extra: tuple[Extra, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the run failed: it says so, or it says nothing and has Error Details."""
        return self.status == "FAILED" or (self.status not in STATUSES and self.error is not None)


Status = Literal["SUCCESS", "PARTIAL", "FAILED"]
STATUSES: tuple[Status, ...] = ("SUCCESS", "PARTIAL", "FAILED")


def without_lines(part: Any) -> Any:
    """The same part with every line forgotten, for a form in which those lines mean nothing."""
    if isinstance(part, Part):
        fields = {name: without_lines(getattr(part, name)) for name in part.__struct_fields__}
        return type(part)(**{**fields, "line": 0})
    if isinstance(part, tuple):
        return tuple(without_lines(member) for member in part)
    return part
