"""The model of a result: plain data, one type for each part of the document.

Every part records the line it was read from. The line is a position, not content: two parts are equal if
everything except their lines is equal. `parse(render(r)) == r` relies on this.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

SCHEMA: Final = "remit.result/1"

#: A score as written: a number, or the words used instead of one ("high", "n/a").
Score = float | str


class Part(msgspec.Struct, frozen=True, eq=False, omit_defaults=True, kw_only=True):
    """Base of every part of a document that has a line."""

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
    """A paragraph: its lines as written, without leading and trailing blanks."""

    text: str


class Heading(Part, frozen=True, tag="heading"):
    """A heading inside a section or block, such as the name of one issue under Issue Details."""

    text: str


class Code(Part, frozen=True, tag="code"):
    """A fenced block; `info` is the info string after the opening fence."""

    text: str
    info: str = ""


class Item(Part, frozen=True):
    """One entry of a list, including its continuation lines and nested lists."""

    text: str


class Items(Part, frozen=True, tag="list"):
    """A list."""

    items: tuple[Item, ...]
    ordered: bool = False


class Row(Part, frozen=True):
    """One row of a table."""

    cells: tuple[str, ...]


class Table(Part, frozen=True, tag="table"):
    """A table; every row has one cell for each column."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...] = ()


Content = Text | Heading | Code | Items | Table


class Block(Part, frozen=True):
    """A part of Findings under one heading; the heading is empty for text before the first heading."""

    content: tuple[Content, ...]
    heading: str = ""


class KeyReference(Part, frozen=True):
    """A row of Key References."""

    item: str
    location: str
    relevance: str = ""


class Confidence(Part, frozen=True):
    """The confidence score, its reason and its breakdown."""

    score: Score
    reason: str = ""
    verified: Score | None = None
    verified_reason: str = ""
    inferred: Score | None = None
    inferred_reason: str = ""
    combined: Score | None = None


class Justification(Part, frozen=True):
    """The justification of a high score."""

    score: Score | None = None
    evidence_count: Score | None = None
    method: str = ""
    blind_spots: str = ""


class Tick(Part, frozen=True):
    """A checkbox of the checklist."""

    text: str
    ticked: bool


class Issue(Part, frozen=True):
    """A bullet of Issues; `severity` is the word as written."""

    title: str
    description: str = ""
    severity: str = ""


class Blocker(Part, frozen=True):
    """An obstacle to the work, and what would resolve it."""

    text: str
    resolution: str = ""


class ErrorDetails(Part, frozen=True):
    """The error of a FAILED run."""

    type: str = ""
    message: str = ""
    occurred_at: str = ""
    recoverable: str = ""


class Override(Part, frozen=True):
    """An L2 rule that the author overrides, with the reason."""

    rule: str
    reason: str


class Count(Part, frozen=True):
    """A line of the Severity Summary."""

    severity: str
    count: int


class Extra(Part, frozen=True):
    """A section that the contract does not define. It is kept and not checked."""

    heading: str
    content: tuple[Content, ...] = ()


class Result(Part, frozen=True):
    """The document that a subagent sends back. An empty value means that the part is missing."""

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
        """Whether the run failed: the status is FAILED, or it is missing or unknown and there are Error Details."""
        return self.status == "FAILED" or (self.status not in STATUSES and self.error is not None)


Status = Literal["SUCCESS", "PARTIAL", "FAILED"]
STATUSES: tuple[Status, ...] = ("SUCCESS", "PARTIAL", "FAILED")


def without_lines(part: Any) -> Any:
    """Return the part with every line set to 0, for a form in which the original lines have no meaning."""
    if isinstance(part, Part):
        fields = {name: without_lines(getattr(part, name)) for name in part.__struct_fields__}
        return type(part)(**{**fields, "line": 0})
    if isinstance(part, tuple):
        return tuple(without_lines(member) for member in part)
    return part
