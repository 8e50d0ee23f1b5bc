"""The claims of a result and their outcomes."""

from __future__ import annotations

from typing import Literal

import msgspec

Outcome = Literal[
    "verified",
    "abbreviated",
    "ambiguous",
    "relocated",
    "missing-file",
    "out-of-range",
    "outside",
    "mismatch",
    "planned",
    "unchecked",
]
Seen = Literal["line", "file", "no"]
#: How a quote compares with the file: equal, equal except for white space, comments differ, lines or parts of lines
#: are omitted, or code was changed.
QuoteMatching = Literal["exact", "whitespace", "annotated", "condensed", "altered"]
#: The first and the last line.
Span = tuple[int, int]
#: The last line of a file whose length is unknown.
WHOLE = 1 << 30
OUTCOMES: dict[Outcome, str] = {
    "verified": "the file exists, the line is in range, and the symbol and the quote are there",
    "abbreviated": "as verified, but the path is only the end of the file's path",
    "ambiguous": "several files end with the path",
    "relocated": "the symbol or the quote is at another location",
    "missing-file": "the file does not exist",
    "out-of-range": "the file does not have this line",
    "outside": "the path is outside the checkout",
    "mismatch": "the file does not contain the symbol, the quote or the change",
    "planned": "this design creates the file",
    "unchecked": "it could not be checked",
}


class Location(msgspec.Struct, frozen=True):
    """A file and an optional line."""

    path: str
    line: int | None = None


class Reference(msgspec.Struct, gc=False):
    """A location that the result cites, and its outcome. `at` is the line of the document."""

    #: The words of the document; the references of a list such as `a.py:1,3` have the same.
    text: str
    path: str
    line: int | None
    end_line: int | None
    at: int
    outcome: Outcome = "unchecked"
    found: Location | None = None
    seen: Seen | None = None
    #: How a report shows it, if not as written: its own part of a list, without code marks.
    label: str = ""
    #: Whether it is not the first reference of its list.
    is_listed: bool = False
    #: The last line of the nearest range, if only the end of the cited range does not exist.
    found_end: int | None = None
    why: str = ""
    #: The file of the checkout that is meant, if it has another path than the reference states.
    target: str = ""
    #: Some of the files that may be meant, if there are several.
    candidates: tuple[str, ...] = ()
    #: Where the text names the file of a line without one: next to it, at the start of its entry, without a line, far
    #: above, or so that the line may be another number.
    carried: Literal["", "near", "start", "bare", "far", "loose"] = ""
    #: The other files that the text names around a line without a file, and whether its file is only mentioned.
    others: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    #: The files that are listed together with the file of such a line: it may be a line of each of them.
    listed: tuple[str, ...] = ()
    #: The names in the sentences between the file of such a line and the line.
    about: tuple[str, ...] = ()
    #: The names in camel case before such a line, and the one directly before it.
    words: tuple[str, ...] = ()
    called: str = ""
    is_doubtful: bool = False
    #: Whether the same text names the file of such a line directly before it: `a.py:12`, `:15`.
    is_next: bool = False
    #: Whether other files, or other code marks directly before such a line, may be what it belongs to.
    is_shared: bool = False
    #: Whether a heading or a label such as `**File:**` names the file of such a line.
    is_titled: bool = False
    #: The name that such a line is about: `Store` lines 12-18.
    named: str = ""
    #: Whether it is the location of code as it was before a change, which may be gone.
    is_past: bool = False
    #: Whether the path stands for any file: `path/to/file.py`. It is a reference only if there is such a file.
    is_placeholder: bool = False
    #: Whether the file is to be created, according to the text, or if the text is a plan.
    is_planned: bool = False
    is_planned_in_plan: bool = False
    #: The first line of the table of a plan that states what its files are for; 0 outside such a table.
    table: int = 0
    #: Whether such a table names it, and nothing states that it exists.
    may_be_planned: bool = False
    #: The symbol that should be there, and whether it may be a plain word instead: `(crash)`.
    symbol: str = ""
    is_word: bool = False
    #: Whether the symbol is not written like a name: `(login)`. Then it is one only if the file has it.
    is_plain: bool = False
    #: Whether its symbol has neither code marks nor brackets: it may be the beginning of a name.
    is_unmarked: bool = False
    #: Whether the row of a path without a line names the symbol: it may be one that is to be written.
    is_loose_symbol: bool = False
    #: The line of its table row, which groups the references of a row; 0 outside tables.
    row: int = 0
    section: str | None = None
    block: str | None = None
    #: Whether it is the location of a quote that failed; then the quote's rules report the problem.
    is_quote_location: bool = False
    #: The commit that a permalink names; None: the reference is about the files that the document is checked against.
    commit: str | None = None
    #: Whether a report only counts it: another reference states the same reason, or it is not about this repository.
    is_silent: bool = False
    #: Whether the file is not in the commit that the text names, but on disk.
    is_on_disk: bool = False
    #: Whether it is a link to lines that are not in the repository; it is not checked and supports nothing.
    is_elsewhere: bool = False

    @property
    def file(self) -> str:
        """The path of the file in the checkout."""
        return self.target or self.path

    @property
    def is_far(self) -> bool:
        """Whether the file of its line is named far above, or the line may be another number."""
        return self.carried in ("far", "loose")

    @property
    def display_text(self) -> str:
        """The reference as a report shows it."""
        return self.label or self.text


class Difference(msgspec.Struct, frozen=True):
    """The first line of a quote that differs from the file, and the line of the file that is most similar to it."""

    quoted: str
    actual: str = ""
    #: The number of that line in the file.
    line: int | None = None


class Quote(msgspec.Struct):
    """Code that the result quotes, and where it was found."""

    path: str
    line: int | None
    end_line: int | None
    at: int
    text: str
    outcome: Outcome = "unchecked"
    found: Location | None = None
    similarity: float | None = None
    why: str = ""
    #: How the quote compares with the file; None: it was not found, or not compared.
    match: QuoteMatching | None = None
    #: The reference that is its location. Together they are one claim.
    location: Reference | None = None
    difference: Difference | None = None
    #: Whether only a comment states its line, `# Line 12`, and the text above the file: elsewhere it is other code.
    is_by_text: bool = False


class ChangeClaim(msgspec.Struct):
    """A file that the result claims to have created or modified."""

    path: str
    claim: str
    outcome: Outcome
    at: int
    why: str = ""
    #: The stated and the counted number of lines, if the result states one.
    stated: int | None = None
    counted: int | None = None
    #: Whether receipts or a snapshot contradict the change; None: there are neither.
    denied: bool | None = None


class RunClaim(msgspec.Struct):
    """A claim that tests ran."""

    at: int
    passed: bool
    command: str = ""
    text: str = ""
    #: Why the receipts contradict the claim; empty: they confirm it.
    denied: str = ""


class Evidence(msgspec.Struct):
    """The checked claims of one result."""

    references: list[Reference] = []
    quotes: list[Quote] = []
    changes: list[ChangeClaim] = []
    run_claims: list[RunClaim] = []
    supported: float | None = None
    #: The number of tool calls; None: there are no receipts.
    tool_calls: int | None = None
    #: Why the receipts that were given cannot be used.
    receipts_problem: str = ""
    executed: bool = False
    has_repository: bool = False
    has_snapshot: bool = False
    has_rerun: bool = False

    @property
    def has_receipts(self) -> bool:
        """Whether there are receipts of the agent's tool calls."""
        return self.tool_calls is not None


def format_location(location: Location, last: int | None = None) -> str:
    """Return `path:line`, or `path:line-last`, or the path alone if there is no line."""
    if not location.line:
        return location.path
    return f"{location.path}:{location.line}" + (f"-{last}" if last is not None else "")


def suggestion(reference: Reference) -> str:
    """Return `; did you mean a/b.py:12?`, or an empty string."""
    return f"; did you mean {format_location(reference.found, reference.found_end)}?" if reference.found else ""
