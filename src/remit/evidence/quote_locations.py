"""Find the quotes of a document, in fenced blocks and inline, and the location of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from remit.contract.parse import Document
from remit.evidence.file_names import Exists, has_known_ending, is_placeholder, looks_like_file
from remit.evidence.grammar import WrittenReference, cursor_reference, references_in
from remit.evidence.model import Quote, Reference
from remit.evidence.proposals import Proposals, before_and_after, marks_new_lines
from remit.evidence.quote_text import is_code, quote_readings
from remit.evidence.references import display_path
from remit.evidence.segments import Segment
from remit.lazy import lazy_pattern
from remit.workspace.files import SourceFile, Workspace

_COMMENT = lazy_pattern(
    r"\s*+(?://+|#(?![!#\d])|--+|;+|%+|/\*+|\{/\*|\(\*|\{-|\{#|<%#|<!--|\"\"\"|'''|'|\"|REM\b)\s*+"
    r"(?:(?:file|from|in|at|source|path|location|excerpt from|code from)(?:\s?:\s*+|\s++))?(.*)$",
    re.IGNORECASE,
)
_COMMENT_END = lazy_pattern(r"\s*(?:\*/\}?|-->|\*\)|-\}|#\}|%>|\"\"\"|''')?\s*$")
#: What may follow a path without a line in a location comment: the end, or a remark after a dash or bracket.
_REMARK = lazy_pattern(r"\s*(?:$|[-–—:(|,])")
_NOTHING = lazy_pattern(r"[\s`*:]*$")
#: What may come between words and a location at the end of a comment: `In login() - a/b.py:12`, `login (a/b.py:12)`.
_LOCATION_FOLLOWS = lazy_pattern(r"(?:\s[-–—]+\s|[:：]\s|[(（]\s?)[`*]{0,3}$")
_PROPOSED_REMARK = lazy_pattern(
    r"(?:[(\[（–—:,-]\s*(?:refactored|proposed|new|after(?=\s*[)\]:）]|$)|fixed|updated|modified|suggested|"
    r"simplified|improved|planned|examples?|to (?:add|create|change)|add|create|insert|change|replace)\b|"
    r"\b(?:after|before) line \d)",
    re.IGNORECASE,
)
_OLD_REMARK = lazy_pattern(r"\W{1,12}(?:old|previously|was)\b[^\w\n]", re.IGNORECASE)
_INSIDE_REMARK = lazy_pattern(r"\W{1,12}(?:in|inside|into)\s", re.IGNORECASE)
#: What precedes a location at the start of a comment.
_DIRECT = lazy_pattern(
    r"\W*+(?:(?:file|from|in|at|source|path|location|excerpt from|code from)(?:\s?:\s*|\s+))?\W?$", re.I
)
_DIFF_HEAD = lazy_pattern(r"(?:---|\+\+\+) [ab]/")
_CODE_MATCH = lazy_pattern(r"code match\**\s*[:：]\**\s*(`{1,3})(?!`)", re.IGNORECASE)
_LINKED = lazy_pattern(r"`*\s*(?:[(（@]|at\s|in\s|from\s|[-–—→]+\s)\s*[`*\[]{0,3}$", re.IGNORECASE)
#: Languages whose fences usually contain program output, and the endings of files in these languages.
_OUTPUT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("console", "output", "terminal", "shell-session"), ()),
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), (".sh", ".bash", ".zsh", ".ksh", ".bats", ".env")),
    **dict.fromkeys(("text", "txt"), (".txt", ".md", ".rst", ".cfg", ".ini", ".conf", ".env", ".log", ".csv")),
    "log": (".log",),
    **dict.fromkeys(("markdown", "md", "mdx"), (".md", ".mdx", ".markdown")),
}
#: A line that runs a program, and the files that have such lines.
_COMMAND = lazy_pattern(
    r"\s*+(?:[$%>]\s+\S|(?:sudo\s+)?(?:cargo|npm|npx|pnpm|yarn|bun|git|python3?|pip3?|uv|pytest|make|docker|kubectl|go|"
    r"dotnet|mvn|gradle|\./gradlew|bundle|rake|composer|php|ruby|node|deno|terraform|helm|curl|wget|cd|ls|cat|grep|rg|"
    r"bash|sh|ssh|brew|apt|apt-get)\s+(?![=(:.])[\w\-./~\"'$]|#\s)"
)
_SCRIPTS = (*(".sh", ".bash", ".zsh", ".ksh", ".bats", ".fish", ".ps1", ".bat", ".cmd", ".mk"), ".yml", ".yaml", ".md")
_COMMAND_FILES = frozenset(("makefile", "gnumakefile", "justfile", "dockerfile", "containerfile", "package.json"))
_UNNAMED = frozenset(("", "console", "terminal", "shell-session"))
_MAX_COMMANDS = 200
_SHORT_LABEL = lazy_pattern(r"[*_]{0,2}[\w ]{1,30}[:：][*_]{0,2}\s*$")
_NO_LANGUAGE = frozenset(("", "text", "txt", "plain", "plaintext", "ascii", "pseudo", "pseudocode"))
_SENTENCE_ENDS = lazy_pattern(r"[.!?]\)?\s+\S|。")
#: Fences in these languages show a text or a change as a whole; comments inside are part of it.
_SAMPLES = frozenset({"markdown", "md", "mdx", "diff", "patch"})
_LANGUAGE = lazy_pattern(r"[\w+#.\-]+$")
#: A longer first line is not a comment that names a location; at most this many blank lines are skipped.
_MAX_COMMENT = 2_000
_MAX_BLANK = 20
#: At most this many references of the line above, the last ones, may be the location of a quote.
MAX_CANDIDATES = 8
_ATTRIBUTE = lazy_pattern(r"\b(?:title|file|filename|path|name|src|location|source)=", re.IGNORECASE)


class Fence:
    """A fenced block and its surroundings in the document."""

    def __init__(self, segment: Segment, document: Document) -> None:
        self.segment = segment
        self._document = document
        self.line = segment.line
        has_fence = self._text(self.line).lstrip(" \t>").startswith(("```", "~~~")) or bool(segment.info)
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
        if self.segment.info.split(" ")[0].lower() in _NO_LANGUAGE and not is_code(self.segment.text):
            return True
        above = self._text(self.above)
        at = above.rfind(reference.text)
        ends = _SENTENCE_ENDS.search(above, at + len(reference.text)) if at >= 0 else None
        return ends is not None and not _SHORT_LABEL.match(above, ends.end() - 1)

    def may_be_new(self, proposals: Proposals, *, is_loose: bool) -> bool:
        """Return whether the code may be code that is to be written. `is_loose`: nothing states that it is a quote."""
        if self._is_new is None:
            self._is_new = proposals.may_be_proposed(self.line) or marks_new_lines(self.segment.text.split("\n"))
        return is_loose or self._is_new

    def _text(self, line: int) -> str:
        return self._document.line_text(line)


class LocatedQuote(NamedTuple):
    """A quote, and the references that may be its location."""

    quote: Quote
    candidates: list[Reference]
    #: Whether it shows code as it was before a change; then it may be gone.
    is_past: bool = False
    #: Returns whether the code may be new: then it counts only if it is there. Called only if it is not.
    may_be_new: Callable[[], bool] = lambda: False
    #: Whether only a path without a line above the fence is its location: code that is not from the file is new.
    is_unplaced: bool = False


class FenceClaims(NamedTuple):
    """The quotes of a fence, and the references that are written inside it."""

    quotes: list[LocatedQuote]
    references: list[Reference]


class _Part(NamedTuple):
    """Lines of a fence below a comment that is a location, or from its beginning."""

    written: WrittenReference | None
    written_at: int
    first: int
    lines: list[str]
    #: Whether the comment calls the code proposed: `# src/app.py (refactored)`.
    is_proposed: bool = False
    #: Whether the comment calls it old: `# OLD (broken) - src/app.py:12`.
    is_old: bool = False
    #: Whether the comment only states where the code belongs: `# In src/app.py`.
    is_inside: bool = False


def claims_of_fence(
    fence: Fence,
    above: list[Reference],
    finding: Reference | None,
    proposals: Proposals,
    workspace: Workspace | None,
) -> FenceClaims:
    """Return the quotes in a fence; none if it is not a quote. Each comment that is a location starts a quote.

    `above` are the references of the line above, `finding` is the row with the ID that the details belong to.
    """
    found = FenceClaims([], [])
    lines = fence.segment.text.split("\n")
    kept = before_and_after(lines)
    for part in _parts(fence, lines if kept is None else lines[:kept], workspace):
        own = _reference(part.written, part.written_at, fence.segment, workspace) if part.written is not None else None
        candidates = [own] if own is not None else _candidates(fence, above, finding)
        is_quote = bool(candidates) and bool(quote_readings("\n".join(part.lines)))
        if is_quote and own is not None and own.line is None:
            # A reference with a line to the same file directly above is more precise than a path without a line.
            lined = [one for one in (*above, finding) if one and one.path == own.path and one.line is not None]
            candidates = lined[:1] or candidates
        has_line = any(one.line is not None for one in candidates)
        is_proposed = bool(candidates) and (part.is_proposed or proposals.is_proposed(fence.line, has_line=has_line))
        is_past = part.is_old or (bool(candidates) and proposals.is_past(fence.line))
        is_past |= any(one.is_past for one in candidates)
        if own is not None:
            own.is_past = is_past
        if own is not None and (own.line is not None or not (is_proposed or _is_missing(own, workspace))):
            found.references.append(own)
        elif own is not None:
            continue  # code of a file that is to be written
        if is_quote and not is_proposed:
            last = candidates[-1]
            text = "\n".join(part.lines)
            quote = Quote(path=last.path, line=last.line, end_line=last.end_line, at=part.first, text=text)
            is_loose = fence.is_loose(last) if own is None else own.line is None and part.is_inside
            may_be_new = partial(fence.may_be_new, proposals, is_loose=is_loose)
            found.quotes.append(LocatedQuote(quote, candidates, is_past, may_be_new, own is None and last.line is None))
    return found


def _candidates(fence: Fence, above: list[Reference], finding: Reference | None) -> list[Reference]:
    """Return the references outside a fence that may be the location of its code."""
    if above:
        return above[-MAX_CANDIDATES:] if _may_quote(fence, above[-1].path) else []
    return [finding] if finding is not None and _may_quote(fence, finding.path) else []


def _is_missing(reference: Reference, workspace: Workspace | None) -> bool:
    """Return whether no file of the checkout has this path, or one that ends with it."""
    if workspace is None or workspace.exists(reference.path):
        return False
    return not workspace.index.ending_with(reference.path.strip("/"))


def _parts(fence: Fence, lines: list[str], workspace: Workspace | None) -> Iterator[_Part]:
    """Yield the parts of a fence: one for its beginning, and one for each comment that is a location."""
    exists: Exists = workspace.exists if workspace is not None else looks_like_file
    written, written_at, first = _in_info(fence.segment.info, exists), fence.line, 0
    if fence.segment.info.split(" ")[0].lower() in _SAMPLES:
        yield _Part(written, written_at, fence.first, lines)
        return
    body: list[str] = []
    is_proposed = is_old = is_inside = follows_words = False
    for at, line in enumerate(lines):
        is_first = not any(map(str.strip, lines[:at])) if at < 3 else False
        location = _in_comment(line, exists, is_first=is_first, may_follow=is_first or follows_words)
        if location is None or (at and _is_inside_comment(lines[at - 1], line, location)):
            body.append(line)
            continue
        if at and _is_own_comment(line, written, workspace):
            body.append(line)
            continue
        if any(map(str.strip, body)):
            yield _Part(written, written_at, fence.first + first, body, is_proposed, is_old, is_inside)
        elif written is not None:
            yield _Part(written, written_at, fence.first + first, [])
        written, written_at, first, body = location, fence.first + at, at + 1, []
        is_proposed = bool(_PROPOSED_REMARK.search(line, line.find(location.text) + len(location.text)))
        follows_words = not _DIRECT.match(line, 0, line.find(location.text))
        is_old, is_inside = bool(_OLD_REMARK.match(line)), bool(_INSIDE_REMARK.match(line))
    yield _Part(written, written_at, fence.first + first, body, is_proposed, is_old, is_inside)


def _is_inside_comment(above: str, line: str, location: WrittenReference) -> bool:
    """Return whether a comment continues the one above and goes on after the location: it only mentions it."""
    rest = line[line.find(location.text) + len(location.text) :]
    return any(map(str.isalpha, rest)) and bool(_COMMENT.match(above))


def _is_own_comment(line: str, written: WrittenReference | None, workspace: Workspace | None) -> bool:
    """Return whether a comment is part of the quoted file."""
    if workspace is None or written is None:
        return False
    paths = [written.path] if workspace.exists(written.path) else workspace.index.ending_with(written.path.strip("/"))
    files = (workspace.read(path) for path in paths[:MAX_CANDIDATES])
    return any(isinstance(file, SourceFile) and line.strip() in file.text for file in files)


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
    if fence.segment.block == "test_results" or (language in _UNNAMED and _shows_commands(fence, path)):
        return False
    return language not in _OUTPUT or path.lower().endswith(_OUTPUT[language])


def _shows_commands(fence: Fence, path: str) -> bool:
    """Return whether every line of a fence is a command, or a comment, and the file is not a script of commands."""
    is_script = path.lower().endswith(_SCRIPTS) or path.rpartition("/")[2].lower() in _COMMAND_FILES
    lines = [line for line in islice(fence.segment.text.split("\n"), _MAX_COMMANDS) if line.strip()]
    return not is_script and bool(lines) and all(_COMMAND.match(line) for line in lines)


def _in_info(info: str, exists: Exists) -> WrittenReference | None:
    """Parse a location in the info string: `python a/b.py:12`, `12:18:a/b.py`, `ts title="a/b.ts"`, `py:a/b.py`."""
    first, _, rest = info.partition(" ")
    if _LANGUAGE.match(first) and not exists(first) and not ("/" in first and looks_like_file(first)):
        info = rest
    for word in info.split():
        if cursor := cursor_reference(word):
            return cursor
    found = references_in(_ATTRIBUTE.sub(" ", info) if "=" in info else info, exists, bare=True)
    return found[0] if found else None


def _in_comment(line: str, exists: Exists, *, is_first: bool, may_follow: bool) -> WrittenReference | None:
    """Parse a location at the start of a comment; with `may_follow`, also at its end: `In login() - a/b.py:12`.

    Words after the location are ignored. Below the first line, a path without a line must be the whole comment.
    A sentence inside the quoted code may end with a path, too, so `may_follow` is set if the fence starts like that.
    """
    comment = _COMMENT.match(line) if len(line) < _MAX_COMMENT else None
    if comment is None:
        return None
    words = _COMMENT_END.sub("", comment.group(1))
    found = references_in(words, exists, bare=True)
    if not found:
        return None
    first, last = found[0], found[-1]
    if first.start <= 1 and first.line is not None:
        return first
    if (
        may_follow
        and last.line is not None
        and _LOCATION_FOLLOWS.search(words, 0, last.start)
        and not words[last.end :].strip(" )`*.")
    ):
        return last
    if first.start > 1:
        return None
    is_name = has_known_ending(first.path) or exists(first.path)
    follows = _REMARK if is_first else _NOTHING
    return first if is_name and follows.match(words, first.end) and not _DIFF_HEAD.match(line) else None


def inline_quotes(segment: Segment, above: list[Reference], own: list[Reference]) -> list[LocatedQuote]:
    """Return the `Code match: ...` quotes of a line, each with the nearest reference on the line or above it."""
    found = []
    for start, end, text in _code_matches(segment.text):
        reference = _on_same_line(segment.text, start, end, own) or (above[-1] if above else None)
        if reference is not None and quote_readings(text):
            line, end_line = reference.line, reference.end_line
            quote = Quote(path=reference.path, line=line, end_line=end_line, at=segment.line, text=text)
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


def _on_same_line(text: str, start: int, end: int, own: list[Reference]) -> Reference | None:
    """Return the last reference before the quote on its line, or one that is linked to it: `... (a/b.py:12)`."""
    positions = [(text.find(reference.text), reference) for reference in own]
    before = [reference for at, reference in positions if at < start]
    after = [reference for at, reference in positions if at >= end and _LINKED.match(text[end:at][:20])]
    return before[-1] if before else after[0] if after else None


def finding_rows(document: Document, references: list[Reference]) -> dict[int, Reference]:
    """Map each line of Issue Details that has an ID to the reference in the row with that ID."""
    by_row: dict[int, Reference] = {}
    for reference in references:
        if reference.block == "issues_detected" and reference.row:
            by_row.setdefault(reference.row, reference)
    by_id = {f.id.upper(): by_row[f.line] for f in document.findings if f.line in by_row and f.id}
    return {detail.line: by_id[detail.id.upper()] for detail in document.details if detail.id.upper() in by_id}
