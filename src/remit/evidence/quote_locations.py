"""Find the quotes of a document, in fenced blocks and inline, and the location of each."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import msgspec

from remit.contract.parse import Document
from remit.evidence.fence_parts import FencePart, FenceText, before_and_after, fence_parts, marks_new_lines
from remit.evidence.file_names import is_placeholder, is_source
from remit.evidence.line_numbers import line_in_comment, names_only_code
from remit.evidence.model import Quote, Reference
from remit.evidence.proposal_words import CURRENT
from remit.evidence.proposals import Proposals
from remit.evidence.quote_text import is_before_fix, is_code, is_insert_point, is_listing, lists_calls, quote_readings
from remit.evidence.references import display_path
from remit.evidence.segments import Segment
from remit.evidence.written import WrittenReference
from remit.lazy import lazy_pattern
from remit.workspace.files import Workspace
from remit.workspace.languages import is_written_in

_CODE_MATCH = lazy_pattern(r"code match\**\s*[:：]\**\s*(`{1,3})(?!`)", re.IGNORECASE)
_LINKED = lazy_pattern(r"`*\s*(?:[(（@]|at\s|in\s|from\s|[-–—→]+\s)\s*[`*\[]{0,3}$", re.IGNORECASE)
#: Languages whose fences usually contain program output, and the endings of files in these languages.
_OUTPUT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("console", "output", "terminal", "shell-session"), ()),
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), (".sh", ".bash", ".zsh", ".ksh", ".bats", ".env")),
    **dict.fromkeys(("text", "txt"), (".txt", ".md", ".rst", ".cfg", ".ini", ".conf", ".env", ".log", ".csv")),
    "log": (".log",),
    **dict.fromkeys(("mermaid", "mmd"), (".mmd", ".mermaid")),
    **dict.fromkeys(("plantuml", "puml", "uml"), (".puml", ".plantuml", ".iuml")),
    **dict.fromkeys(("dot", "graphviz"), (".dot", ".gv")),
    **dict.fromkeys(("ascii", "diagram", "math", "latex"), ()),
    "http": (".http", ".rest"),
    **dict.fromkeys(("markdown", "md", "mdx"), (".md", ".mdx", ".markdown")),
}
#: A line that runs a program, and the files that have such lines.
_COMMAND = lazy_pattern(
    r"\s*+(?:[$%>]\s+\S|(?:sudo\s+)?(?:cargo|npm|npx|pnpm|yarn|bun|git|python3?|pip3?|uv|pytest|make|docker|kubectl|go|"
    r"dotnet|mvn|gradle|\./gradlew|bundle|rake|composer|php|ruby|node|deno|terraform|helm|curl|wget|cd|ls|cat|grep|rg|"
    r"bash|sh|ssh|brew|apt|apt-get)\s+(?![=(:.])[\w\-./~\"'$]|#\s)"
)
#: A frame of a stack trace: `at com.acme.Shop.open(Shop.java:12)`, `File "app.py", line 12, in open`.
_FRAME = lazy_pattern(r"\s*+(?:at\s[\w.$<>\[\] /]{1,200}\([^()\n]{1,300}\)\s*$|File \"[^\"\n]{1,300}\", line \d)")
_SCRIPTS = (*(".sh", ".bash", ".zsh", ".ksh", ".bats", ".fish", ".ps1", ".bat", ".cmd", ".mk"), ".yml", ".yaml", ".md")
_COMMAND_FILES = frozenset(("makefile", "gnumakefile", "justfile", "dockerfile", "containerfile", "package.json"))
_LISTS = (".md", ".mdx", ".markdown", ".txt", ".rst", ".yml", ".yaml")
_UNNAMED = frozenset(("", "console", "terminal", "shell-session"))
_MAX_COMMANDS = 200
_SHORT_LABEL = lazy_pattern(r"[*_]{0,2}[\w ]{1,30}[:：][*_]{0,2}\s*$")
_NO_LANGUAGE = frozenset(("", "text", "txt", "plain", "plaintext", "ascii", "pseudo", "pseudocode"))
#: "In the old version:", "the previous code".
_OTHER_VERSION = lazy_pattern(
    r"\b(?:old(?:er)?|previous|prior|earlier|former|original|other|new(?:er)?|next|fixed|last)\s"
    r"(?:version|code|release|implementation|commit|branch|state)\b",
    re.IGNORECASE,
)
_MAX_INTRODUCTION = 300
_SENTENCE_ENDS = lazy_pattern(r"[.!?]\)?\s+\S|。")
#: A label with a location, and a line that introduces code below it: `**Location**: x`, then `**Problem**:`.
_LOCATION_LINE = lazy_pattern(
    r"\s*+(?:#{1,6}\s|[>\-+*\s]*+[*_]{0,2}[^\W\d_][^\n:：*_`/.]{0,30}[*_]{0,2}\s?(?:：|:(?=[\s*_])))"
)
_INTRODUCES = lazy_pattern(r"[^\n]{0,300}[:：][*_]{0,2}\s*$")
_LABELLED_ENTRY = lazy_pattern(r"\s*+[-+*]\s++\*\*[^*\n]{1,60}\*\*")
#: A label of something else than the code at a location: `Data to be logged`, `Expected response`.
_OTHER_LABEL = lazy_pattern(
    r"\b(?:logged|log entry|output|requests?|responses?|payloads?|expected|data|(?-i:[Дд]анные))\b",
    re.IGNORECASE,
    ("log", "output", "request", "response", "payload", "expected", "data", "анные"),
)
_HEADING_OR_FENCE = lazy_pattern(r"\s*+(?:[>\-+*]\s*+)?(?:#{1,6}\s|```|~~~|\|)")
#: A location is at most this many lines with text above its code.
_MAX_BETWEEN = 4
_MAX_ABOVE = 10
#: At most this many references of the line above, the last ones, may be the location of a quote.
MAX_CANDIDATES = 8
#: At most this many blank lines at the start of a fence are skipped.
_MAX_BLANK = 20


class Fence:
    """A fenced block and its surroundings in the document."""

    def __init__(self, segment: Segment, document: Document) -> None:
        self.segment = segment
        self._document = document
        self.line = segment.line
        has_fence = self._text(self.line).lstrip(" \t>").startswith(("```", "~~~")) or bool(segment.info)
        self._is_indented = not has_fence
        first = self.line + has_fence
        while segment.text.strip() and first - self.line < _MAX_BLANK and not self._text(first).strip(" \t>"):
            first += 1
        #: The line at which the code begins.
        self.first = first
        below_blank = not self._text(self.line - 1).strip(" \t>")
        #: The line above, ignoring one blank line.
        self.above = self.line - 1 - below_blank
        self.is_adjacent = not below_blank
        self._is_new: bool | None = None

    def is_loose(self, reference: Reference) -> bool:
        """Return whether the fence may be no quote: the last sentence above has no location, or it shows a text.

        A few words with a colon do not count as a sentence: `See src/app.py:12. The code:`.
        """
        if self._language in _NO_LANGUAGE and not is_code(
            self.segment.text,
            is_indented=self._is_indented,
            has_lists=reference.path.lower().endswith(_LISTS),
        ):
            return True
        above = self._text(self.above)
        at = above.rfind(reference.text)
        ends = _SENTENCE_ENDS.search(above, at + len(reference.text)) if at >= 0 else None
        return ends is not None and not _SHORT_LABEL.match(above, ends.end() - 1)

    @property
    def is_diff(self) -> bool:
        """Whether its info string calls it a diff, in which a dash removes a line."""
        return self._language in ("diff", "patch")

    @property
    def _language(self) -> str:
        return self.segment.info.split(" ")[0].lower()

    def may_be_new(self, proposals: Proposals, quote: Quote, *, is_loose: bool) -> bool:
        """Return whether the code may be code that is to be written. `is_loose`: nothing states that it is a quote.

        Nor is it a quote if only a comment states its line, and it is not there.
        """
        if self._is_new is None:
            is_found = quote.outcome == "relocated"
            self._is_new = proposals.may_be_proposed(self.line, has_line=quote.line is not None, is_found=is_found)
            self._is_new |= marks_new_lines(self.segment.text.split("\n"), is_result=proposals.kind.is_result)
        return is_loose or self._is_new or quote.is_by_text

    def may_show(self, path: str) -> bool:
        """Return whether it is in the language of a file, or in none."""
        return self._language in _NO_LANGUAGE or is_written_in(path, self._language)

    @property
    def is_of_other_version(self) -> bool:
        """Whether the line above it calls the code that of another version."""
        return _OTHER_VERSION.search(self.introduction) is not None

    @property
    def introduction(self) -> str:
        """The end of the line above it."""
        return self._text(self.above)[-_MAX_INTRODUCTION:]

    def labelled_location(self, has_location: Callable[[int], bool]) -> int:
        """Return the line of a label or heading with a location above the line that introduces the code, or 0.

        `**Location**: src/app.py:12`, then `**Problem**:`, then the fence.
        """
        between: list[str] = []
        for number in range(self.above, max(0, self.above - _MAX_ABOVE), -1):
            text = self._text(number)
            if not text.strip(" \t>"):
                continue
            if has_location(number):
                is_own = bool(between) and bool(_LOCATION_LINE.match(text)) and not _shows_other(between)
                return number if is_own else 0
            between.append(text)
            is_end = len(between) > _MAX_BETWEEN or bool(_HEADING_OR_FENCE.match(text))
            if is_end or (len(between) == 1 and not _INTRODUCES.match(text)):
                return 0
        return 0

    def _text(self, line: int) -> str:
        return self._document.line_text(line)


def _shows_other(between: list[str]) -> bool:
    """Return whether other entries with labels are between a location and the label of some code, which is not of it.

    `- **Location:** src/app.py:12`, `- **Logged:** no`, `- **Data to be logged:**`; `- **Code:**` is of the location.
    """
    label, *others = between
    if not _LABELLED_ENTRY.match(label) or not any(map(_LABELLED_ENTRY.match, others)):
        return False
    return _OTHER_LABEL.search(label) is not None and not CURRENT.search(label)


class LocatedQuote(msgspec.Struct, frozen=True):
    """A quote, and the references that may be its location."""

    quote: Quote
    candidates: list[Reference]
    #: Whether it shows code as it was before a change; then it may be gone.
    is_past: bool = False
    #: Returns whether the code may be new: then it counts only if it is there. Called only if it is not.
    may_be_new: Callable[[], bool] = lambda: False
    #: Whether its location has no line and nothing calls it current: code that is not from the file is new.
    is_unplaced: bool = False
    #: Whether nothing states that it is an excerpt: it is a mismatch only if it is one with a few changed tokens.
    is_doubtful: bool = False
    #: Whether it may be a sketch: it is a mismatch only if one line of it is changed, or a few tokens.
    is_sketch: bool = False
    #: Returns the code that the text proposes below it instead of it, or an empty string. Called if it is not there.
    replacement: Callable[[], str] = lambda: ""


class FenceClaims(msgspec.Struct, frozen=True):
    """The quotes of a fence, and the references that are written inside it."""

    quotes: list[LocatedQuote]
    references: list[Reference]


def claims_of_fence(
    fence: Fence,
    above: list[Reference],
    finding: Reference | None,
    proposals: Proposals,
    workspace: Workspace | None,
    labelled: list[Reference] | None = None,
    file_above: str = "",
) -> FenceClaims:
    """Return the quotes in a fence; none if it is not a quote. Each comment that is a location starts a quote.

    `above` are the references of the line above, `finding` is the row with the ID that the details belong to,
    `labelled` are those of a label further above; `file_above` is the file of code that states only its line.
    """
    is_apart = bool(labelled) and len({one.path for one in labelled or ()}) == 1
    above = [one for one in labelled or () if one.line is not None] if is_apart else above
    found = FenceClaims([], [])
    for part, is_by_text in _parts(fence, above[-1].path if above else "", file_above, workspace):
        own = _reference(part.written, part.written_at, fence.segment, workspace) if part.written is not None else None
        others = [_reference(one, part.written_at, fence.segment, workspace) for one in part.others]
        candidates = [*others, own] if own is not None else _candidates(fence, above, finding)
        is_quote = bool(candidates) and bool(quote_readings("\n".join(part.lines)))
        is_quote &= own is None or own.line is not None or not _shows_commands(part.lines, own.path)
        if is_quote and not (proposals.kind.is_result or fence.is_diff) and is_source(candidates[-1].path):
            is_quote = not is_listing(part.lines)
        if is_quote and own is not None and own.line is None:
            # A reference with a line to the same file directly above is more precise than a path without a line.
            lined = [one for one in (*above, finding) if one and one.path == own.path and one.line is not None]
            candidates = lined[:1] or candidates
        has_line = any(one.line is not None for one in candidates)
        is_neutral = has_line and proposals.is_neutral(fence.line)
        is_proposed = bool(candidates) and not is_neutral and proposals.is_proposed(fence.line, has_line=has_line)
        is_proposed |= bool(candidates) and part.is_proposed
        is_past = part.is_old or (bool(candidates) and proposals.is_past(fence.line))
        is_past |= any(one.is_past for one in candidates) or (
            is_before_fix(part.lines) and proposals.may_be_before_fix(fence.line)
        )
        if own is not None:
            own.is_past = is_past
        if own is not None and (own.line is not None or not (is_proposed or _is_missing(own, workspace))):
            found.references.extend((own, *others))
        elif own is not None:
            continue  # code of a file that is to be written
        if is_quote and not is_proposed:
            last, text = candidates[-1], "\n".join(part.lines)
            quote = Quote(last.path, last.line, last.end_line, part.first, text, is_by_text=is_by_text)
            is_inside = part.is_beside or (own is not None and own.line is None and part.is_inside)
            is_loose = fence.is_loose(last) if own is None else is_inside
            may_be_no_code = lists_calls(text) or is_insert_point(fence.introduction)
            may_be_no_code &= not (proposals.kind.is_result or fence.is_diff or proposals.shows_existing(fence.line))
            is_loose |= may_be_no_code or (is_apart and own is None and proposals.shows_old(fence.line))
            is_new = partial(fence.may_be_new, proposals, quote, is_loose=is_loose)
            is_unplaced = last.line is None and not proposals.shows_existing(fence.line)
            is_doubtful = is_neutral or is_by_text or (own is None and is_apart)
            is_sketch = last.line is None and proposals.may_be_sketch(fence.line)
            found.quotes.append(LocatedQuote(quote, candidates, is_past, is_new, is_unplaced, is_doubtful, is_sketch))
    return found


def _parts(fence: Fence, cited: str, file_above: str, workspace: Workspace | None) -> Iterator[tuple[FencePart, bool]]:
    """Yield the parts of a fence, and whether only the text above names their file; `cited` is the one that it cites.

    Then a comment such as `# Line 12` may not call the code something else, and the fence may not be in the language
    of another type of file.
    """
    lines = fence.segment.text.split("\n")
    kept = before_and_after(lines)
    whole = FenceText(fence.segment.info, fence.line, fence.first, lines[:kept], cited or file_above)
    for part in fence_parts(whole, workspace):
        has_line = part.written is not None and line_in_comment(part.written.text) is not None
        is_by_text = has_line and bool(file_above) and not cited
        is_own = not is_by_text or (
            fence.may_show(file_above)
            and names_only_code(lines[part.written_at - fence.first])
            and not fence.is_of_other_version
        )
        if is_own:
            yield part, is_by_text


def _candidates(fence: Fence, above: list[Reference], finding: Reference | None) -> list[Reference]:
    """Return the references outside a fence that may be its location; those in its language after a source file."""
    if above:
        found = above[-MAX_CANDIDATES:] if _may_quote(fence, above[-1].path) else []
        return sorted(found, key=lambda one: fence.may_show(one.path)) if is_source(above[-1].path) else found
    return [finding] if finding is not None and _may_quote(fence, finding.path) else []


def _is_missing(reference: Reference, workspace: Workspace | None) -> bool:
    """Return whether no file of the checkout has this path, or one that ends with it."""
    if workspace is None or workspace.exists(reference.path):
        return False
    return not workspace.index.ending_with(reference.path.strip("/"))


def _reference(written: WrittenReference, at: int, segment: Segment, workspace: Workspace | None) -> Reference:
    return Reference(
        text=written.text,
        path=display_path(written.path, workspace),
        line=written.line,
        end_line=written.end_line,
        at=at,
        section=segment.section,
        block=segment.block,
        is_placeholder=is_placeholder(written.path),
    )


def _may_quote(fence: Fence, path: str) -> bool:
    """Return whether a fence that does not name a location may quote a file: it is not output."""
    language = fence.segment.info.split(" ")[0].lower()
    if fence.segment.block == "test_results" or (
        language in _UNNAMED and _shows_output(fence.segment.text.split("\n"), path)
    ):
        return False
    return language not in _OUTPUT or path.lower().endswith(_OUTPUT[language])


def _shows_output(code: list[str], path: str) -> bool:
    """Return whether code in no language is commands, or has a frame of a stack trace."""
    return _shows_commands(code, path) or any(_FRAME.match(line) for line in islice(code, _MAX_COMMANDS))


def _shows_commands(code: list[str], path: str) -> bool:
    """Return whether every line of code is a command, or a comment, and the file is not a script of commands."""
    is_script = path.lower().endswith(_SCRIPTS) or path.rpartition("/")[2].lower() in _COMMAND_FILES
    lines = [line for line in islice(code, _MAX_COMMANDS) if line.strip()]
    return not is_script and bool(lines) and all(_COMMAND.match(line) for line in lines)


def inline_quotes(segment: Segment, above: list[Reference], own: list[Reference]) -> list[LocatedQuote]:
    """Return the `Code match: ...` quotes of a line, each with the nearest reference on the line or above it."""
    found = []
    positions: list[int] | None = None
    for start, end, text in _code_matches(segment.text):
        if positions is None:
            positions = _positions(segment.text, own)
        reference = _on_same_line(segment.text, start, end, own, positions) or (above[-1] if above else None)
        if reference is not None and quote_readings(text):
            quote = Quote(reference.path, reference.line, reference.end_line, segment.line, text)
            found.append(LocatedQuote(quote, [reference]))
    return found


def _code_matches(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the quoted text of each `Code match: ...`."""
    mark = _CODE_MATCH.search(text)
    while mark:
        closing = text.find(mark[1], mark.end())
        if closing < 0:
            return
        yield mark.start(), closing + len(mark[1]), text[mark.end() : closing].strip()
        mark = _CODE_MATCH.search(text, closing + len(mark[1]))


def _positions(text: str, own: list[Reference]) -> list[int]:
    """Return where the references of a text begin, in their order; one that is not found, where the one before does."""
    positions: list[int] = []
    at = 0
    for reference in own:
        found = text.find(reference.text, at)
        at = found if found >= 0 else at
        positions.append(at)
    return positions


def _on_same_line(text: str, start: int, end: int, own: list[Reference], positions: list[int]) -> Reference | None:
    """Return the last reference before the quote on its line, or one that is linked to it: `... (a/b.py:12)`."""
    if before := bisect_left(positions, start):
        return own[before - 1]
    after = bisect_left(positions, end)
    is_linked = after < len(own) and _LINKED.match(text[end : positions[after]][:20])
    return own[after] if is_linked else None


def finding_rows(document: Document, references: list[Reference]) -> dict[int, Reference]:
    """Map each line of Issue Details that has an ID to the reference in the row with that ID."""
    by_row: dict[int, Reference] = {}
    for reference in references:
        if reference.block == "issues_detected" and reference.row:
            by_row.setdefault(reference.row, reference)
    by_id = {f.id.upper(): by_row[f.line] for f in document.findings if f.line in by_row and f.id}
    return {detail.line: by_id[detail.id.upper()] for detail in document.details if detail.id.upper() in by_id}
