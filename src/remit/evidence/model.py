"""The types of the three steps: a claim is read, facts are looked up, and a judgement is made from both.

All of them are frozen: a fact is never overwritten, and a doubt is a second value next to the outcome.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from remit.evidence.document import Segment

ClaimKind = Literal["place", "path", "quote", "name", "command", "test", "change", "run"]
#: The kinds that are references: a location, with or without a line or a name.
REFERENCES: frozenset[ClaimKind] = frozenset({"place", "path", "name"})
Outcome = Literal[
    "verified",
    "exists",
    "relocated",
    "outdated",
    "missing-file",
    "out-of-range",
    "mismatch",
    "planned",
    "unchecked",
    "contradicted",
    "unseen",
]
OUTCOMES: dict[Outcome, str] = {
    "verified": "what the text states was compared and is there: a name, a quote, a run or a change",
    "exists": "the file, the line, the command or the test exists; nothing else could be compared",
    "relocated": "the name or the quote is at another location",
    "outdated": "it was true when it was written, and is not any more",
    "missing-file": "the checkout does not have the file",
    "out-of-range": "the file does not have this line",
    "mismatch": "the name, the quote, the command or the test is not there",
    "planned": "this design creates the file",
    "unchecked": "it could not be checked",
    "contradicted": "the record shows the opposite",
    "unseen": "the record has nothing of it",
}
#: What a text is: a result or another answer of an agent, a text that a person names, or a document of the project.
#: It decides which claims fail.
TextKind = Literal["report", "document", "project"]
Seen = Literal["line", "file", "no"]
#: How a quote compares with the file: equal, equal except for white space, comments differ, lines or parts of lines
#: are omitted, or code was changed.
QuoteMatching = Literal["exact", "whitespace", "annotated", "condensed", "altered"]
#: The first and the last line.
Span = tuple[int, int]
#: The last line of a file whose length is unknown.
WHOLE = 1 << 30
#: What the reader noticed about the form of a claim, in the text itself.
Note = Literal[
    "listed",  # not the first of a list: `a.py:1,3`
    "carried",  # the file of the line is named elsewhere
    "far",  # ... in a heading or label above, or in another sentence
    "bare",  # the path has no folder
    "marked",  # in code marks, a link or a column of locations
    "link",  # the target of a Markdown link
    "column",  # in a column of locations
    "label",  # after a label such as `**File:**`
    "plain",  # the name is a plain word in brackets: `a.py:12 (login)`
    "code",  # the name is written as code: `name`, `name()`
    "defined",  # the clause states that the name is defined there
    "estimate",  # `~120`, `around line 120`
    "create",  # a Create row of a design
    "comment",  # the location of a quote is a comment inside its fence
    "info",  # the location of a quote is its info string
    "above",  # the location of a quote is in the line directly above
    "labelled",  # the location of a quote is a label further above
    "finding",  # the location of a quote is that of the finding with the same ID
    "inline",  # inline code after `Code match:`
    "hidden",  # the location has invisible characters
]


class Location(msgspec.Struct, frozen=True):
    """A file and an optional line."""

    path: str
    line: int | None = None


class Place(Location, frozen=True):
    """A file and the lines that may be meant."""

    end_line: int | None = None


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A checkable statement of a text, as it is written. `at` is the line of the document."""

    kind: ClaimKind
    #: The words of the document; the claims of a list such as `a.py:1,3` have the same.
    text: str
    at: int
    segment: Segment
    path: str = ""
    line: int | None = None
    end_line: int | None = None
    #: The symbol, command or test.
    name: str = ""
    #: The quoted code.
    code: str = ""
    notes: frozenset[Note] = frozenset()
    #: Other places that may be meant, the nearest first: files of a line without a file, locations of a quote.
    others: tuple[Place, ...] = ()
    #: Where its words are in the text of the segment.
    start: int = 0
    end: int = 0
    #: How a report shows it, if not as written: its own part of a list, without code marks.
    label: str = ""
    #: The commit that a permalink names; None: the claim is about the files that the document is checked against.
    commit: str | None = None
    #: For a quote: the line of the document with its location.
    located_at: int = 0

    @property
    def display_text(self) -> str:
        """The claim as a report shows it."""
        return self.label or self.text


#: What is at a path: a text file, or why it cannot be read. `elsewhere`: it is not of this repository.
State = Literal[
    "file",
    "folder",
    "missing",
    "dangling",
    "outside",
    "large",
    "binary",
    "special",
    "forbidden",
    "submodule",
    "elsewhere",
    "none",
]
#: How the file of a path was found: as written, from the folder of the document, without a foreign root, or by its end.
Resolved = Literal["written", "relative", "rooted", "end", "several"]


class NameFacts(msgspec.Struct, frozen=True, gc=False):
    """Where a name is."""

    #: Whether it is within reach of the cited lines, or they are in the body of its definition.
    is_near: bool
    #: The nearest definition in the file, else the nearest occurrence; None: the file does not have it.
    line: int | None = None
    #: Whether that line is a definition, and all lines of definitions.
    is_definition: bool = False
    definitions: tuple[int, ...] = ()
    #: Whether it occurs anywhere in the checkout; None: not asked, because the file has it.
    is_anywhere: bool | None = None
    #: Whether it is a name of a dependency, which the checkout does not contain.
    is_imported: bool = False
    #: Whether near the cited lines there are only names of something else: `file.save` for `Store.save`.
    is_other: bool = False


class Difference(msgspec.Struct, frozen=True):
    """The first line of a quote that differs from the file, and the line of the file that is most similar to it."""

    quoted: str
    actual: str = ""
    #: The number of that line in the file.
    line: int | None = None


class CodeFacts(msgspec.Struct, frozen=True, gc=False):
    """Where quoted code is."""

    #: `cited`: at the cited lines or within reach; `file`: elsewhere in the file; `nowhere`: not found;
    #: `empty`: there is no code to compare; `skipped`: too large to compare.
    place: Literal["cited", "file", "nowhere", "empty", "skipped"]
    match: QuoteMatching | None = None
    found: Location | None = None
    similarity: float | None = None
    difference: Difference | None = None
    #: How many tokens differ from the most similar lines; None: unknown.
    changed_tokens: int | None = None
    #: How many of the first lines with code of a quote that is nowhere are at the cited lines, and from where to where.
    found_lines: tuple[int, int, int] | None = None
    #: How many lines with code were quoted; 0: not counted, because the code was found.
    quoted_lines: int = 0
    #: The place at which the code is, if it is another one of those that may be meant.
    cited: Place | None = None


class Then(msgspec.Struct, frozen=True):
    """A commit at which a claim held, or that has its file, and what changed it."""

    commit: str
    date: str
    #: The commit that made it false, and where the claim is today.
    changed_in: str = ""
    found: Location | None = None
    #: The first line of the message of the commit that made it false.
    subject: str = ""
    #: Whether only the file was there, without the line, the name or the quote of the claim.
    is_file_only: bool = False
    #: The path of the file at the commit, if the claim held there.
    path: str = ""


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What the checkout, the history and the receipts show about a claim."""

    state: State = "none"
    #: The file of the checkout that is meant.
    path: str = ""
    how: Resolved = "written"
    #: Some of the files that may be meant, if there are several.
    candidates: tuple[str, ...] = ()
    line_count: int | None = None
    #: Which of the folders of a missing file are here.
    folders: Literal["all", "some", "none"] = "none"
    #: The nearest likely path of a missing file.
    suggestion: Location | None = None
    #: What the claim is about, if not about this checkout.
    elsewhere: str = ""
    name: NameFacts | None = None
    code: CodeFacts | None = None
    #: Whether a command or test exists; None: it cannot be known here.
    is_known: bool | None = None
    then: Then | None = None
    seen: Seen | None = None
    #: Whether the checkout ignores a missing path: programs write it.
    is_ignored: bool = False


class Judgement(msgspec.Struct, frozen=True, gc=False):
    """The outcome of a claim, why, and whether it fails. Only `judge` makes one."""

    outcome: Outcome
    #: A stable word: one of `remit.evidence.judge.Reason`.
    reason: str = ""
    found: Location | None = None
    #: The last line of what was found, if it is a range.
    found_end: int | None = None
    #: Whether the claim fails in this kind of text.
    fails: bool = False


class Checked(msgspec.Struct, frozen=True, gc=False):
    """A claim with its facts and its judgement."""

    claim: Claim
    facts: Facts
    judgement: Judgement
    #: Whether it is the location of a quote: together they are one claim.
    has_quote: bool = False
    #: Whether that quote failed; then the quote's rules report the problem.
    is_quote_location: bool = False

    @property
    def kind(self) -> ClaimKind:
        """The kind of the claim."""
        return self.claim.kind

    @property
    def text(self) -> str:
        """The words of the document."""
        return self.claim.text

    @property
    def display_text(self) -> str:
        """The claim as a report shows it."""
        return self.claim.display_text

    @property
    def at(self) -> int:
        """The line of the document."""
        return self.claim.at

    @property
    def path(self) -> str:
        """The cited path, from the root of the checkout if it was found without a foreign root or from the document."""
        is_resolved = self.facts.how in ("relative", "rooted") and bool(self.facts.path)
        return self.facts.path if is_resolved else self.claim.path

    @property
    def line(self) -> int | None:
        """The cited line."""
        return self.claim.line

    @property
    def end_line(self) -> int | None:
        """The last cited line."""
        return self.claim.end_line

    @property
    def symbol(self) -> str:
        """The name next to the location."""
        return self.claim.name

    @property
    def code(self) -> str:
        """The quoted code."""
        return self.claim.code

    @property
    def section(self) -> str | None:
        """The section of the result."""
        return self.claim.segment.section

    @property
    def block(self) -> str | None:
        """The block of the result."""
        return self.claim.segment.block

    @property
    def row(self) -> int:
        """The line of its table row; 0 outside tables."""
        return self.claim.segment.row

    @property
    def commit(self) -> str | None:
        """The commit of a permalink."""
        return self.claim.commit

    @property
    def is_listed(self) -> bool:
        """Whether it is not the first reference of its list."""
        return "listed" in self.claim.notes

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is about another code base; it is not checked and supports nothing."""
        return self.facts.state == "elsewhere"

    @property
    def file(self) -> str:
        """The path of the file in the checkout."""
        return self.facts.path or self.claim.path

    @property
    def candidates(self) -> tuple[str, ...]:
        """Some of the files that may be meant."""
        return self.facts.candidates

    @property
    def opened(self) -> Seen | None:
        """Whether the agent read the file or the line; None without receipts."""
        return self.facts.seen

    @property
    def outcome(self) -> Outcome:
        """The outcome of the check."""
        return self.judgement.outcome

    @property
    def reason(self) -> str:
        """The stable word for the reason."""
        return self.judgement.reason

    @property
    def fails(self) -> bool:
        """Whether the claim counts as failed."""
        return self.judgement.fails

    @property
    def found(self) -> Location | None:
        """Where it was found, or the nearest likely location."""
        return self.judgement.found

    @property
    def found_end(self) -> int | None:
        """The last line of what was found."""
        return self.judgement.found_end

    @property
    def then(self) -> Then | None:
        """When it held."""
        return self.facts.then

    @property
    def match(self) -> QuoteMatching | None:
        """How a quote compares with the file."""
        return self.facts.code.match if self.facts.code is not None else None

    @property
    def similarity(self) -> float | None:
        """The similarity of a quote to the lines that were found."""
        return self.facts.code.similarity if self.facts.code is not None else None

    @property
    def difference(self) -> Difference | None:
        """The first line of a quote that differs."""
        return self.facts.code.difference if self.facts.code is not None else None


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


#: What was run: one of these checks, or any command.
Check = Literal["test", "build", "lint", "types", "command"]
Act = Literal["created", "changed", "deleted", "committed", "pushed"]


class WorkStatement(msgspec.Struct, frozen=True, gc=False):
    """What a text states that was done: a run as it was printed, or a sentence of the closed set."""

    #: The whole sentence, row or printed line.
    text: str
    #: Its line in the text.
    at: int
    #: Whether it is a printed run or a row, and not a sentence.
    is_shown: bool = False
    #: Of a run: what ran, and whether it succeeded.
    check: Check | None = None
    passed: bool = True
    #: Of a run: the number of tests that passed and that failed, if it states them.
    count: int | None = None
    failed: int | None = None
    #: Of a run: the command line that is shown or named; empty: only an output or a check is.
    command: str = ""
    #: Of a sentence: the word for the part that was tested or built.
    only: str = ""
    #: Of a change, a commit or a push: what was done, and to which file.
    act: Act | None = None
    path: str = ""
    #: Of a sentence: what follows in the text, which may state a failure openly.
    rest: str = ""


#: Why a statement has its outcome, as a stable word.
StatementReason = Literal[
    "",
    "run-unseen",
    "run-failed",
    "run-passed",
    "run-pending",
    "run-hidden",
    "run-unclear",
    "run-part",
    "run-stale",
    "count-differs",
    "refused",
    "no-receipts",
]


class CheckedStatement(msgspec.Struct, frozen=True, gc=False):
    """A statement, and what the record of the tool calls shows of it."""

    statement: WorkStatement
    #: `verified`, `contradicted`, `unseen` or `unchecked`.
    outcome: Outcome
    reason: StatementReason = ""
    #: The sentence for people, without a full stop; empty if the record shows what is stated.
    why: str = ""
    #: The proof: the command, and the line of its output.
    command: str = ""
    line: str = ""
    #: The number of the call that shows it, from 1; 0: none.
    call: int = 0

    @property
    def fails(self) -> bool:
        """Whether the record contradicts the statement, or has nothing of a run that is shown as one."""
        return self.outcome in ("contradicted", "unseen")


class Evidence(msgspec.Struct):
    """The checked claims of one result."""

    #: Places, paths, names, quotes, commands and tests, in document order.
    checked: list[Checked] = []
    changes: list[ChangeClaim] = []
    #: What the text states that was done, judged against the tool calls.
    statements: list[CheckedStatement] = []
    supported: float | None = None
    #: The number of tool calls; None: there are no receipts.
    tool_calls: int | None = None
    #: Why the receipts that were given cannot be used.
    receipts_problem: str = ""
    executed: bool = False
    has_repository: bool = False
    has_snapshot: bool = False
    text: TextKind = "report"
    #: What the history cannot show: a shallow clone, or a limit was reached.
    history_problem: str = ""

    @property
    def references(self) -> list[Checked]:
        """The locations that the text cites."""
        return [claim for claim in self.checked if claim.claim.kind in REFERENCES]

    @property
    def quotes(self) -> list[Checked]:
        """The code that the text quotes."""
        return [claim for claim in self.checked if claim.claim.kind == "quote"]

    @property
    def has_receipts(self) -> bool:
        """Whether there are receipts of the agent's tool calls."""
        return self.tool_calls is not None


def format_location(location: Location, last: int | None = None) -> str:
    """Return `path:line`, or `path:line-last`, or the path alone if there is no line."""
    if not location.line:
        return location.path
    return f"{location.path}:{location.line}" + (f"-{last}" if last is not None else "")
