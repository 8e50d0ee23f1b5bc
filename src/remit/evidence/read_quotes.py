"""Read the quotes of a text: fenced code and inline code, each with its location.

The location of a fence is the first of: its info string, a comment that starts it, a reference in the line above, a
labelled location further above, the finding with the same ID. A fence without a location is not a quote. Code that the
text calls proposed is not a quote either.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from remit.contract.parse import Document
from remit.evidence.document import Headings, Segment, has_words, is_label, is_short, is_title, without_code, words
from remit.evidence.file_names import MAX_PATH, Exists, has_known_ending, is_placeholder, looks_like_file
from remit.evidence.grammar import WrittenReference, cursor_reference, references_in
from remit.evidence.line_ranges import MAX_COMMENT, line_in_comment
from remit.evidence.model import Claim, Note, Place
from remit.evidence.quote_text import quote_readings
from remit.evidence.read_places import display_path
from remit.lazy import lazy_pattern
from remit.workspace.files import Workspace

_CODE_MATCH = lazy_pattern(r"code match\**\s*[:：]\**\s*(`{1,3})(?!`)", re.IGNORECASE)
#: What joins a place with the code that it has: `` `a.py:12` contains `x = 1` ``, and code with the place after it.
_CODE_SPAN = r"(?P<mark>`{1,2})(?!`)(?P<code>[^`\n]{3,300})(?P=mark)(?!`)"
_CONTAINS = lazy_pattern(
    rf"`?\)?(?:\s(?:still\s)?(is|contains|reads|has|says)(?:\sthe\s(?:line|code|statement))?:?\s|[:：]\s|\s?[(（]|\s){_CODE_SPAN}"
)
_STANDS_AT = lazy_pattern(rf"{_CODE_SPAN}\s?(?:is\s)?(?:at\s|[(（])[`*]{{0,2}}\Z")
_SIGN_OF_CODE = lazy_pattern(r"[=(){}\[\];<>\"']|\s[-+*/%&|^!]+\s|^(?:return|import|from|raise|throw|await|yield)\s")
#: A call alone names a function, unless a verb states that the line has it.
_CALL = lazy_pattern(r"[\w$.:#>-]{1,200}\([^()]*\)")
_MAX_CODE = 320
#: A name or a string alone: a value may be written in another way in the code.
_ONLY_VALUE = lazy_pattern(r"[\w$.:#>/\\-]{1,200}(?:\(\))?|\"[^\"]*\"|'[^']*'")
#: What joins inline code with the location after it: `` `x = 1` (a/b.py:12) ``.
_LINKED = lazy_pattern(r"`*\s*(?:[(（@]|at\s|in\s|from\s|[-–—→]+\s)\s*[`*\[]{0,3}$", re.IGNORECASE)
#: Languages of fences that show programs at work, and the endings of files in these languages.
_SHELLS = ("bash", "sh", "shell", "zsh")
_OUTPUT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_SHELLS, (".sh", ".bash", ".zsh", ".bats", ".env")),
    **dict.fromkeys(("mermaid", "plantuml", "dot", "http"), (".mmd", ".mermaid", ".puml", ".dot", ".http")),
    **dict.fromkeys(("markdown", "md", "mdx"), (".md", ".mdx", ".markdown")),
    **dict.fromkeys(("console", "output", "terminal", "shell-session"), ()),
    **dict.fromkeys(("text", "txt", "log"), (".txt", ".md", ".rst", ".cfg", ".ini", ".conf", ".env", ".log", ".csv")),
}
#: The ones of them that may show code as well as output.
_PRINTED = frozenset({"console", "output", "terminal", "shell-session", "text", "txt", "log"})
#: What a line of a terminal starts with.
_PROMPTS = ("$ ", "❯ ", "PS>", ">>> ")
#: Fences in these languages show a text or a change as a whole; comments inside are part of it.
_SAMPLES = frozenset({"markdown", "md", "mdx", "diff", "patch"})
_LANGUAGE = lazy_pattern(r"[\w+#.\-]+$")
#: An attribute that a site shows above a block.
_DISPLAY = lazy_pattern(r"\b(?:title|filename|name)=", re.IGNORECASE)
_ATTRIBUTE = lazy_pattern(r"\b(?:title|file|filename|path|name|src|location|source)=", re.IGNORECASE)
#: A comment, with a word before the location: `// File: a/b.py:12`, `<!-- a/b.html -->`, `📄 a/b.py:12`.
_COMMENT = lazy_pattern(
    r"\s*+(?://+|#(?![!#\d])|--++(?!\s[ab]/)|;+|%+|/\*+|\{/\*|\(\*|\{-|\{#|<%#|<!--|\"\"\"|'''|'|[\U0001f300-\U0001faff]\ufe0f?)\s*+"
    r"(?:(?:file|from|in|at|source|path|location|excerpt from|code from)(?:\s?:\s*+|\s++))?(.*)$",
    re.IGNORECASE,
)
_COMMENT_STARTS = frozenset("/#-;%{(<\"'")
_COMMENT_ENDS = ("*/}", "*/", "-->", "*)", "-}", "#}", "%>", '"""', "'''")
#: What may follow a path without a line in a comment, and come before a location at the end of one.
_REMARK = lazy_pattern(r"[`*]{0,3}\s*(?:$|[-–—:(（|,])")
_LOCATION_FOLLOWS = lazy_pattern(r"(?:\s[-–—]+\s|[:：]\s|[(（]\s?)[`*]{0,3}$")
#: Code and a comment after it: `exit(1)  # a/b.py:12`.
_TRAILING = lazy_pattern(r"(\s*+[^\s/#][^\n]*?\S)\s++(?://+|#|--+)\s++([^\s][^\n]*+)$")
#: What may come between the locations of one comment.
_JOINED = lazy_pattern(r"[`*]{0,3}\s?(?:,|;|/|&|\+|and|or|と|和)\s?(?:and\s)?[`*]{0,3}$")
_HEADING_OR_FENCE = lazy_pattern(r"\s*+(?:[>\-+*]\s*+)?(?:#{1,6}\s|```|~~~|\|)")
#: A label between a location and its code: `**Severity:** high`, `- **Problem**: it fails`.
_LABELLED = lazy_pattern(r"[\s>\-+*]*+[*_]{0,2}[^\W\d_][^\n:：*`/]{0,40}[*_]{0,2}\s?(?:：|:(?=[\s*_]|$))")
#: A location is at most this many lines with text above its code.
_MAX_ABOVE = 16
#: At most this many references of the line above, the last ones, may be the location of a quote.
_MAX_CANDIDATES = 8
_MAX_BLANK = 20
_MAX_LABEL = 300
#: The ID of a finding: `SEC-001`, `H-3`.
_ID = lazy_pattern(r"(?<![\w-])[A-Z]{1,8}-\d{1,4}(?![\w-])")


class Surroundings(msgspec.Struct, frozen=True):
    """The text around its fences."""

    document: Document
    headings: Headings
    #: The places and paths outside fences, by the line of the document.
    places: dict[int, list[Claim]]
    workspace: Workspace | None
    #: Whether no word of the text excuses anything.
    is_strict: bool
    #: The references of the rows with the IDs of the findings, by the line of their details.
    findings: dict[int, Claim]
    #: The first place of each table row that starts with an ID, by the ID.
    by_id: dict[str, Claim] = {}

    def text(self, line: int) -> str:
        """Return a line of the document."""
        return self.document.line_text(line)


class _Part(msgspec.Struct, frozen=True):
    """Lines of a fence below a comment that is a location, or from its beginning."""

    locations: tuple[WrittenReference, ...]
    #: The line of the comment or info string with the location, and the first line of the code.
    located_at: int
    first: int
    lines: list[str]
    note: Note = "comment"


def fence_claims(fence: Segment, around: Surroundings, file_above: str = "") -> Iterator[Claim]:
    """Yield the quotes of a fence and the places inside it; nothing if it is not a quote.

    `file_above` is the file of code whose comment states only a line: `# Line 12`.
    """
    if fence.block == "test_results":
        return
    first, above = _lines_around(fence, around)
    label = _words_above(above, around)
    heading = around.headings.above(fence.line)[-1:]
    if is_title(label, words("proposed") + words("change")) and not has_words(label, words("before")):
        return
    if heading and is_title(heading[0].text, words("proposed")):
        return
    lines = _existing_part(fence.text.split("\n"))
    for part in _parts(fence, lines, first, file_above, around):
        places = [_place(written, part, fence, around.workspace) for written in part.locations]
        if is_placeholder(places[-1].path) if places else False:
            continue
        if places and places[-1].line is None:
            # A reference with a line to the same file directly above is more precise than a path without a line.
            lined = [place for place in around.places.get(above, ()) if place.path == places[-1].path and place.line]
            note: Note = "above" if lined else part.note
            candidates = lined[:1] or places
        else:
            note, candidates = (part.note, places) if places else _outside(fence, above, around)
        has_line = any(place.line is not None for place in candidates)
        if candidates and not has_line and _is_new_file(candidates[-1], around.workspace):
            continue  # it shows what to create
        yield from places
        code = "\n".join(part.lines)
        if candidates and quote_readings(code):
            yield _quote(code, part, fence, candidates, note)


def _quote(code: str, part: _Part, fence: Segment, candidates: list[Claim], note: Note) -> Claim:
    last = candidates[-1]
    others = tuple(Place(place.path, place.line, place.end_line) for place in reversed(candidates[:-1]))
    return Claim(
        kind="quote",
        text=last.text,
        at=part.first,
        segment=fence,
        path=last.path,
        line=last.line,
        end_line=last.end_line,
        code=code,
        notes=(last.notes & {"bare", "carried", "far", "estimate"}) | {note},
        others=others,
        commit=last.commit,
        located_at=last.at,
    )


def _lines_around(fence: Segment, around: Surroundings) -> tuple[int, int]:
    """Return the line at which the code begins, and the line above the fence, ignoring one blank line."""
    has_marks = around.text(fence.line).lstrip(" \t>-+*").startswith(("```", "~~~")) or bool(fence.info)
    first = fence.line + has_marks
    while fence.text.strip() and first - fence.line < _MAX_BLANK and not around.text(first).strip(" \t>"):
        first += 1
    is_apart = not around.text(fence.line - 1).strip(" \t>")
    return first, fence.line - 1 - is_apart


def _words_above(above: int, around: Surroundings) -> str:
    text = around.text(above)
    for place in around.places.get(above, ()):
        text = text.replace(place.text, " ")
    return without_code(text).strip()


def _outside(fence: Segment, above: int, around: Surroundings) -> tuple[Note, list[Claim]]:
    """Return how a location outside a fence is written, and the places that may be it."""
    places = around.places.get(above, [])
    is_adjacent = above == fence.line - 1
    places = [place for place in places if is_adjacent or not place.segment.row]
    if all(place.line is None for place in places) and not is_short(_words_above(above, around)):
        places = []  # a sentence that names a file does not say that the code below is in it
    if places:
        nearest = places[-_MAX_CANDIDATES:]
        return ("above", nearest) if _may_quote(fence, nearest[-1], around) else ("above", [])
    finding = around.findings.get(fence.line) or _finding_above(above, around)
    if finding is not None:
        return ("finding", [finding]) if _may_quote(fence, finding, around) else ("finding", [])
    labelled = _labelled_places(above, around)
    labelled = [place for place in labelled if place.line is not None] or labelled[-1:]
    is_one_file = len({place.path for place in labelled}) == 1
    may_quote = is_one_file and _may_quote(fence, labelled[-1], around)
    return "labelled", labelled[-_MAX_CANDIDATES:] if may_quote else []


def _finding_above(above: int, around: Surroundings) -> Claim | None:
    """Return the place in the row with the ID that the line or heading above a fence names: `**SEC-001: Lost**`."""
    heading = around.headings.above(above)[-1:]
    texts = [around.text(above), *(piece.text for piece in heading)] if around.by_id else []
    for text in texts:
        for written in _ID.findall(text[:_MAX_LABEL]):
            if (place := around.by_id.get(written.upper())) is not None:
                return place
    return None


def _labelled_places(above: int, around: Surroundings) -> list[Claim]:
    """Return the places of a label or heading above a fence, with only labelled lines and sentences in between.

    `**Location**: src/app.py:12`, `**Severity:** high`, `**Problem:** it fails`, then the fence.
    """
    seen = 0
    for number in range(above, 0, -1):
        text = around.text(number)
        if not text.strip(" \t>"):
            continue
        places = around.places.get(number, [])
        is_heading = text.lstrip(" >").startswith("#")
        if places:
            is_location = is_heading or is_label(text) or bool(_LABELLED.match(text))
            return places if is_location and not places[-1].segment.row else []
        seen += 1
        if is_heading or seen > _MAX_ABOVE or _HEADING_OR_FENCE.match(text):
            return []
    return []


def _may_quote(fence: Segment, place: Claim, around: Surroundings) -> bool:
    """Return whether a fence that does not name a location itself may quote a file: it is not output.

    In a strict text the name of a language excuses nothing below a location, that of another language nothing directly
    below it: output starts with a prompt there. Between a line that is only a location and code of a shell there may be
    a blank line.
    """
    language = _language(fence)
    endings = _OUTPUT.get(language)
    if endings is None or place.path.lower().endswith(endings):
        return True
    if not around.is_strict or place.line is None or fence.text.lstrip().startswith(_PROMPTS):
        return False
    above = _lines_around(fence, around)[1]
    label = _words_above(above, around)
    if language not in _PRINTED and place.at != fence.line - 1:
        is_only_location = is_label(label) or not any(map(str.isalnum, label))
        return language in _SHELLS and place.at == above and is_only_location
    return place.at != above or is_short(label)


def _language(fence: Segment) -> str:
    return fence.info.split(" ")[0].lower()


def _existing_part(lines: list[str]) -> list[str]:
    """Return the lines of a fence before a comment that introduces proposed code: `// After:`."""
    comments = [index for index, line in enumerate(lines) if _may_be_comment(line)]
    after = next((index for index in comments if _is_version(lines[index], "after")), None)
    return lines if after is None else lines[:after]


def _is_version(line: str, group: str) -> bool:
    """Return whether a comment is the label of a version of the code: `// After`, `# Fixed version:`.

    Other comments are part of the code: `// log in after the registration`.
    """
    text = _bare_comment(line).strip()
    is_label = text.endswith((":", "：")) or len(text.split()) == 1
    return is_label and is_title(text, words(group))


def _bare_comment(line: str) -> str:
    match = _COMMENT.match(line) if len(line) < MAX_COMMENT else None
    text = match[1].strip() if match else ""
    for end in _COMMENT_ENDS:
        text = text.removesuffix(end)
    return text


def _may_be_comment(line: str) -> bool:
    """Return whether a line begins like a comment. Most lines of code do not, and need no further test."""
    first = line.lstrip()[:1]
    return first in _COMMENT_STARTS or first > "\x7f"


def _parts(fence: Segment, lines: list[str], first: int, file_above: str, around: Surroundings) -> Iterator[_Part]:
    """Yield the parts of a fence: one for its beginning, and one for each comment that is a location."""
    workspace = around.workspace
    exists: Exists = workspace.exists if workspace is not None else looks_like_file
    info = _in_info(fence.info, exists, is_strict=around.is_strict)
    part = _Part((info,) if info is not None else (), fence.line, first, [], "info")
    if _language(fence) in _SAMPLES:
        yield replace(part, lines=lines)
        return
    if parts := _located_lines(lines, first, exists):
        yield from parts
        return
    for index, line in enumerate(lines):
        is_first = not any(map(str.strip, lines[:index])) if index < 3 else False
        locations = _in_comment(line, exists, is_first=is_first) if _may_be_comment(line) else []
        path = part.locations[-1].path if part.locations else file_above
        locations = locations or _line_of_file(line, path, workspace)
        if not locations or (index and _is_own_comment(line, path, workspace)):
            part.lines.append(line)
            continue
        if any(map(str.strip, part.lines)):
            yield part
        part = _Part(tuple(locations), first + index, first + index + 1, [])
    yield part


def _located_lines(lines: list[str], first: int, exists: Exists) -> list[_Part]:
    """Return a part for each line if every line ends with a comment that is its location: `exit(1)  # a/b.py:12`."""
    parts: list[_Part] = []
    for index, line in enumerate(lines):
        comment = _TRAILING.match(line) if len(line) < MAX_COMMENT else None
        remark = comment[2].strip() if comment else ""
        references = references_in(remark, exists) if remark else []
        if (
            comment
            and len(references) == 1
            and references[0].start <= 1
            and not remark[references[0].end :].strip(" `)")
        ):
            parts.append(_Part((references[0],), first + index, first + index, [comment[1]]))
        elif line.strip():
            return []
    return parts


def _line_of_file(line: str, path: str, workspace: Workspace | None) -> list[WrittenReference]:
    """Return the line of a file that a comment states without it: `// Line 15: the field`."""
    match = line_in_comment(line) if path and workspace is not None else None
    if match is None or not int(match[1]):
        return []
    text = match[0].strip()
    return [WrittenReference(0, len(text), text, path, int(match[1]), int(match[2]) if match[2] else None)]


def _is_own_comment(line: str, path: str, workspace: Workspace | None) -> bool:
    """Return whether a comment is part of the quoted file."""
    file = workspace.read(path) if path and workspace is not None else None
    return line.strip() in getattr(file, "bare_lines", ())


def _in_info(info: str, exists: Exists, *, is_strict: bool) -> WrittenReference | None:
    """Parse a location in the info string: `python a/b.py:12`, `12:18:a/b.py`, `ts title="a/b.ts"`, `py:a/b.py`."""
    first, _, rest = info.partition(" ")
    if _LANGUAGE.match(first) and not exists(first) and not ("/" in first and looks_like_file(first)):
        info = rest
    for word in info.split():
        if cursor := cursor_reference(word):
            return cursor
    references = references_in(_ATTRIBUTE.sub(" ", info) if "=" in info else info, exists, bare=True) if info else []
    if not references or is_strict:
        return references[0] if references else None
    # The reader's file is called so: `python title="server.py"`, `py {filename="app.py"}`.
    is_display = references[0].line is None and "/" not in references[0].path and _DISPLAY.search(info) is not None
    return references[0] if not is_display else None


def _in_comment(line: str, exists: Exists, *, is_first: bool) -> list[WrittenReference]:
    """Parse the locations of a comment: at its start, or at its end after words. Words after a location are ignored.

    A path without a line must be all of the comment, or a remark must follow it: in the first line, or after a file
    that exists.
    """
    comment = _COMMENT.match(line) if len(line) < MAX_COMMENT else None
    if comment is None:
        return []
    remark = comment[1].rstrip()
    end = next((end for end in _COMMENT_ENDS if remark.endswith(end)), "")
    remark = remark.removesuffix(end).rstrip()
    references = references_in(remark, exists, bare=True)
    if not references:
        return []
    first, last = references[0], references[-1]
    if first.start <= 1 and first.line is not None:
        joined = [first]
        for reference in references[1:]:
            is_next = reference.start == first.start or _JOINED.match(remark[joined[-1].end : reference.start])
            if reference.line is None or not is_next:
                break
            joined.append(reference)
        return joined
    if is_first and last.line is not None and _LOCATION_FOLLOWS.search(remark, 0, last.start):
        return [last] if not remark[last.end :].strip(" )）`*.") else []
    if first.start > 1 or first.line is not None or not (has_known_ending(first.path) or exists(first.path)):
        return []
    is_whole = not remark[first.end :].strip(" `*:")
    has_remark = bool(_REMARK.match(remark, first.end)) and (is_first or exists(first.path))
    return [first] if is_whole or has_remark else []


def _place(written: WrittenReference, part: _Part, fence: Segment, workspace: Workspace | None) -> Claim:
    return Claim(
        kind="path" if written.line is None else "place",
        text=written.text,
        at=part.located_at,
        segment=fence,
        path=display_path(written.path[:MAX_PATH], workspace),
        line=written.line,
        end_line=written.end_line,
        notes=frozenset({part.note} | ({"bare"} if "/" not in written.path else set())),
        label=written.text.replace("`", ""),
    )


def _is_new_file(place: Claim, workspace: Workspace | None) -> bool:
    """Return whether no file of the checkout has this path, or one that ends with it."""
    if workspace is None or workspace.exists(place.path):
        return False
    return not workspace.index.ending_with(place.path.strip("/"))


def inline_quotes(segment: Segment, above: list[Claim], places: list[Claim]) -> Iterator[Claim]:
    """Yield the quotes of a line: `Code match: ...` with the nearest reference, and the code after a place."""
    matched: set[str] = set()
    for start, end, text in _code_matches(segment.text):
        matched.add(text)
        before = [place for place in places if place.start < start]
        after = next((place for place in places if place.start >= end), None)
        is_linked = after is not None and bool(_LINKED.match(segment.text[end : after.start][:20]))
        place = before[-1] if before else after if is_linked else above[-1] if above else None
        if place is not None and quote_readings(text):
            yield _inline_quote(place, text, segment)
    for place, text in _contained(segment.text, places):
        if text not in matched and quote_readings(text):
            yield _inline_quote(place, text, segment)


def _inline_quote(place: Claim, text: str, segment: Segment) -> Claim:
    notes: frozenset[Note] = frozenset({"inline"})
    quote = replace(place, kind="quote", code=text, name="", notes=notes, label="")
    return replace(quote, at=segment.line, located_at=place.at)


def _contained(text: str, places: list[Claim]) -> Iterator[tuple[Claim, str]]:
    """Yield each place with the code that the text states it has: `` `a.py:12` contains `x = 1` ``.

    A name or a string alone is not a quote.
    """
    for place in places if "`" in text else ():
        if place.line is None:
            continue
        after = _CONTAINS.match(text, place.end)
        before = _STANDS_AT.search(text, max(0, place.start - _MAX_CODE), place.start)
        written = [(after["code"], after[1]) if after else ("", ""), (before["code"], "") if before else ("", "")]
        for code, verb in written:
            code = code.strip()  # noqa: PLW2901
            is_code = _SIGN_OF_CODE.search(code) is not None and not _ONLY_VALUE.fullmatch(code)
            if is_code and (verb or not _CALL.fullmatch(code)):
                yield place, code


def _code_matches(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the quoted text of each `Code match: ...`."""
    mark = _CODE_MATCH.search(text)
    while mark:
        closing = text.find(mark[1], mark.end())
        if closing < 0:
            return
        yield mark.start(), closing + len(mark[1]), text[mark.end() : closing].strip()
        mark = _CODE_MATCH.search(text, closing + len(mark[1]))


def places_by_id(rows: Iterable[tuple[Segment, ...]], places: dict[int, list[Claim]]) -> dict[str, Claim]:
    """Return the first place of each table row whose first cell is an ID, by the ID."""
    by_id: dict[str, Claim] = {}
    for row in rows:
        written = _ID.fullmatch(row[0].text.strip("`*_ "))
        cited = places.get(row[0].line) if written else None
        if written and cited:
            by_id.setdefault(written[0].upper(), cited[0])
    return by_id


def finding_places(document: Document, places: list[Claim], fences: list[Segment]) -> dict[int, Claim]:
    """Map each fence of Issue Details to the reference in the row with the ID of its details."""
    by_row: dict[int, Claim] = {}
    for place in places:
        if place.segment.block == "issues_detected" and place.segment.row:
            by_row.setdefault(place.segment.row, place)
    by_id = {
        finding.id.upper(): by_row[finding.line]
        for finding in document.findings
        if finding.id and finding.line in by_row
    }
    details = (
        sorted((detail.line, by_id[detail.id.upper()]) for detail in document.details if detail.id.upper() in by_id)
        if by_id
        else []
    )
    starts = [line for line, _ in details]
    by_fence: dict[int, Claim] = {}
    for fence in fences:
        if fence.block == "issue_details" and (index := bisect_right(starts, fence.line)):
            by_fence[fence.line] = details[index - 1][1]
    return by_fence
