"""Find the results in a text.

Agents wrap a result in a fence, indent it, add text before and after it, or send several at once.
A chunk is the lines of one result without any of that.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from remit.contract.fences import FENCE_MARK
from remit.contract.headings import SECTIONS, TITLE_WORDS, block_key, section_key
from remit.contract.kinds import is_known_agent
from remit.contract.result_data import STATUSES
from remit.lazy import either, lazy_pattern

_HEADING = lazy_pattern(r"^([ \t]*)(#{1,6})[ \t]+(\S.*)$")
_TITLE_MARKS = either(r"\s:#*", "：")
_TITLE_END = lazy_pattern(
    rf"(?:{'|'.join(sorted(TITLE_WORDS, key=len, reverse=True))})(?>{_TITLE_MARKS}*)$", re.IGNORECASE
)
_NAMES = "|".join(SECTIONS["status"])
_STATUS_MARKS = either(r"\s*_:", "：")
#: A heading `Status`, and a label `Status:` with one of the words that a status can have.
_STATUS_HEADING = lazy_pattern(
    rf"#{{1,6}}[ \t]+[\d.)\s]*+[*_]{{0,3}}(?:{_NAMES})(?>{_STATUS_MARKS}*)(?:$|\W*\b\w)", re.IGNORECASE
)
_STATUS_LABEL = lazy_pattern(
    rf"(?:[-*+][ \t]+)?[*_]{{0,3}}(?:{_NAMES})[*_]{{0,3}}[ \t]*[:：][\s*_`]*+(?:{'|'.join(STATUSES)})\b",
    re.IGNORECASE,
)
_WRAP_INFO = frozenset({"", "md", "markdown", "text", "txt"})
_MAX_HEADING = 300


class Chunk(msgspec.Struct, frozen=True):
    """The lines of one result, and the line of the file at which they begin.

    `around` has the other text of the file that is nearest to this result, before and after it.
    """

    text: str
    first_line: int
    around: tuple[Chunk, ...] = ()


def title_agent(heading: str) -> str | None:
    """Return the agent that a title names ("" if it does not name one), or None if the heading is not a title."""
    heading = heading.strip().strip("*_ ")
    if len(heading) > _MAX_HEADING or section_key(heading) or block_key(heading):
        return None
    match = _TITLE_END.search(heading)
    return _bare_name(heading[: match.start()]) if match else None


def _bare_name(name: str) -> str:
    while (bare := name.strip().strip("*_`").rstrip(":：—–-")) != name:
        name = bare
    return name


def is_self_contained(text: str) -> bool:
    """Return whether a text can be part of a result: no heading ends the result, and no fence stays open."""
    fence: str | None = None
    for line in text.split("\n"):
        mark, heading = FENCE_MARK.match(line), _heading(line)
        if fence is not None:
            fence = None if mark and _closes(mark, fence) else fence
        elif mark:
            fence = mark.group(2)
        elif heading and (_is_title(heading) or _ends(heading, 2)):
            return False
    return fence is None


def split(text: str) -> list[Chunk]:
    """Return every result in a text, or the whole text if there is no title."""
    lines = text.split("\n")
    spans = list(_Splitter(lines).spans())
    if not spans:
        whole, end = _chunk(lines, 0, len(lines))
        return [replace(whole, around=_rest(lines, end, len(lines)))]
    chunks: list[Chunk] = []
    done = 0
    for number, (outer, start, end, outer_end) in enumerate(spans):
        chunk, own_end = _chunk(lines, start, end)
        before = _rest(lines, done, outer) if number == 0 else ()
        done = own_end if own_end < end else outer_end
        following = spans[number + 1][0] if number + 1 < len(spans) else len(lines)
        chunks.append(replace(chunk, around=(*before, *_rest(lines, done, following))))
        done = following
    return chunks


def _rest(lines: list[str], start: int, end: int) -> tuple[Chunk, ...]:
    """Return lines that do not belong to a result; none if they are blank."""
    rest = lines[start:end]
    return (Chunk("\n".join(rest), start + 1),) if any(map(str.strip, rest)) else ()


def _is_status(line: str) -> bool:
    line = line.lstrip(" \t>")
    return bool(_STATUS_HEADING.match(line) if line.startswith("#") else _STATUS_LABEL.match(line))


class _Splitter:
    """One pass over the lines of a text that finds the results in it."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._headings = {index: heading for index, line in enumerate(lines) if (heading := _heading(line))}
        self._titles = self._find_titles()

    def _find_titles(self) -> frozenset[int]:
        """Return the lines of titles: those that name a known agent, and those that a status follows."""
        named = [index for index, heading in self._headings.items() if _is_title(heading)]
        if not named:
            return frozenset()
        states = [index for index, line in enumerate(self._lines) if _is_status(line[:_MAX_HEADING])]
        titles = set()
        for index, following in zip(named, [*named[1:], len(self._lines)], strict=True):
            following_status = bisect_right(states, index)
            has_status = following_status < len(states) and states[following_status] < following
            if has_status or is_known_agent(title_agent(self._headings[index][1]) or ""):
                titles.add(index)
        return frozenset(titles)

    def spans(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the lines of each result: where its fence starts, where it starts and ends, and its fence ends."""
        lines = self._lines
        title_at: int | None = None
        level = opened = index = 0
        fence: str | None = None
        wrap_from: int | None = None  # the line after an opening fence, while only blank lines followed it
        while index < len(lines):
            line, heading, is_title = lines[index], self._headings.get(index), index in self._titles
            mark = FENCE_MARK.match(line)
            if fence is not None:
                if wrap_from is not None and title_at is None and is_title:
                    end = _wrap_end(lines, index, fence, self._titles)
                    yield opened, index, end, end + 1
                    index, fence = end, None
                elif mark and _closes(mark, fence):
                    fence = None
                elif line.strip():
                    wrap_from = None
            elif mark:
                fence, opened = mark.group(2), index
                info = mark.group(3).strip().lower()
                wrap_from = index + 1 if info in _WRAP_INFO else None
            elif heading and (is_title or (title_at is not None and _ends(heading, level))):
                if title_at is not None:
                    yield title_at, title_at, index, index
                title_at, level = (index, heading[0]) if is_title else (None, 0)
            index += 1
        if title_at is not None:
            yield title_at, title_at, len(lines), len(lines)


def whole(text: str) -> Chunk:
    """Return a whole text as one chunk, without a Markdown fence or an indentation around all of it."""
    lines = text.split("\n")
    inner = [index for index, line in enumerate(lines) if line.strip()]
    start = inner[0] if inner else 0
    opening = FENCE_MARK.match(lines[start])
    if opening and opening.group(3).strip().lower() in ("md", "markdown") and not opening.group(1):
        closing = FENCE_MARK.match(lines[inner[-1]])
        if closing and _closes(closing, opening.group(2)):
            return Chunk("\n".join(lines[start + 1 : inner[-1]]), start + 2)
    indent = min((len(lines[index]) - len(lines[index].lstrip(" ")) for index in inner), default=0)
    return Chunk("\n".join(line[indent:] for line in lines) if indent else text, 1)


def _heading(line: str) -> tuple[int, str] | None:
    if "#" not in line[:80]:
        return None
    match = _HEADING.match(line[: _MAX_HEADING + 80])
    return (len(match.group(2)), match.group(3)) if match else None


def _is_title(heading: tuple[int, str]) -> bool:
    return heading[0] <= 2 and title_agent(heading[1]) is not None


def _ends(heading: tuple[int, str], level: int) -> bool:
    """Return whether a heading that is not a title ends the result above it."""
    name = re.split("[:：]", heading[1], maxsplit=1)[0]
    return heading[0] <= level and section_key(name) is None and block_key(name) is None


def _closes(mark: re.Match[str], fence: str) -> bool:
    marker, marks, info = mark.groups()
    return not marker and marks[0] == fence[0] and len(marks) >= len(fence) and not info.strip()


def _wrap_end(lines: list[str], start: int, fence: str, titles: frozenset[int]) -> int:
    """Return the index of the line that closes a fence around a whole result.

    Agents write inner fences of the same length, so CommonMark would close the outer fence too early. A bare fence
    closes it only after the last heading that the contract defines; before that heading it opens an example.
    """
    stop = next((i for i in range(start + 1, len(lines)) if i in titles), len(lines))
    named = [i for i in range(start, stop) if (h := _heading(lines[i])) and (section_key(h[1]) or block_key(h[1]))]
    last_named = named[-1] if named else start
    bare = [i for i in range(last_named, stop) if (m := FENCE_MARK.match(lines[i])) and _closes(m, fence)]
    inner: str | None = None
    for index in range(start, stop):
        mark = FENCE_MARK.match(lines[index])
        if not mark:
            continue
        if inner is not None:
            inner = None if _closes(mark, inner) else inner
        elif not _closes(mark, fence) or index < last_named or _opens_example(lines, index, bare):
            inner = mark.group(2)
        else:
            return index
    return stop


def _opens_example(lines: list[str], index: int, bare: list[int]) -> bool:
    """Return whether a bare fence after the last heading opens an example: text follows, and a fence closes it."""
    following = lines[index + 1] if index + 1 < len(lines) else ""
    return bool(following.strip()) and not _heading(following) and len(bare) >= 2 and bare[-2] > index


def _chunk(lines: list[str], start: int, end: int) -> tuple[Chunk, int]:
    """Return lines as a chunk, without the indentation that a client added to every line, and the end of the chunk."""
    indent = len(lines[start]) - len(lines[start].lstrip(" ")) if start < len(lines) else 0
    rows = lines[start:end]
    if indent:
        frame = " " * indent
        outside = next((i for i, line in enumerate(rows) if line.strip() and not line.startswith(frame)), len(rows))
        framed = outside > 1 and any(line.strip() for line in rows[1:outside])
        rows = [line[indent:] for line in rows[:outside]] if framed else [rows[0].lstrip(), *rows[1:]]
    return Chunk("\n".join(rows), start + 1), start + len(rows)
