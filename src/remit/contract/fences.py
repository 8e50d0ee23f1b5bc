"""Where the fenced blocks of a text begin and end.

CommonMark closes a fence at the first bare fence of its length. Agents write fences of the same length inside each
other, and forget to close one; then CommonMark takes prose for code up to the end of the text. Here a fence with a
language inside a fence opens a nested one if the fences of the text balance that way, and a fence that is never closed
ends at the next heading.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter

import msgspec

from remit.lazy import lazy_pattern

#: The mark at the start or the end of a fence.
FENCE_MARK = lazy_pattern(r"((?>(?:[ \t]*+(?:[-*+]|\d{1,9}+[.)])(?=[ \t]))*))[ \t]*+(`{3,}+(?=[^`]*$)|~{3,}+)(.*)$")
#: A heading below a blank line. `# word` may be a comment in the code.
_HEADING = lazy_pattern(r" {0,3}#{2,6}[ \t]+\S")


class FenceSpan(msgspec.Struct, frozen=True, order=True):
    """The lines of a fence: where it opens, and the line that closes it or, if nothing does, the line after it."""

    start: int
    end: int
    is_closed: bool = True


class _Mark(msgspec.Struct, frozen=True):
    line: int
    marks: str
    #: Whether it can only open a fence: it has a language, or starts an entry of a list.
    opens: bool


def read_fences(lines: list[str]) -> list[FenceSpan]:
    """Return the outermost fences of a text, in order."""
    marks = _marks(lines)
    return _spans(marks, lines) if marks else []


def unusual_fences(lines: list[str]) -> list[FenceSpan]:
    """Return the outermost fences at the margin of a text, or none if CommonMark reads all its fences as intended.

    A fence inside a list ends with its entry, as in CommonMark.
    """
    marks = _marks(lines)
    _, short = _long_fences(marks)
    if _usual_fences(short, _plain_ends(short), _nested_ends(short)) is not None:
        return []
    return _spans(
        [mark for mark in marks if lines[mark.line].lstrip().startswith(mark.marks) and _indent(lines[mark.line]) < 2],
        lines,
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _spans(marks: list[_Mark], lines: list[str]) -> list[FenceSpan]:
    spans, short = _long_fences(marks)
    return sorted([*spans, *_short_fences(short, lines)]) if short else spans


def _marks(lines: list[str]) -> list[_Mark]:
    return [
        _Mark(number, match[2], bool(match[1]) or bool(match[3].strip()))
        for number, line in enumerate(lines)
        if ("```" in line or "~~~" in line) and (match := FENCE_MARK.match(line))
    ]


def _long_fences(marks: list[_Mark]) -> tuple[list[FenceSpan], list[_Mark]]:
    """Return the closed fences of more than three backticks or of tildes, and the marks outside them."""
    spans: list[FenceSpan] = []
    rest: list[_Mark] = []
    #: The bare marks that close a fence of each kind, the last first.
    closing: dict[str, list[int]] = {}
    for index in range(len(marks) - 1, -1, -1):
        if not marks[index].opens:
            closing.setdefault(marks[index].marks, []).append(index)
    index = 0
    while index < len(marks):
        closers = closing.get(marks[index].marks, []) if marks[index].marks != "```" else []
        while closers and closers[-1] <= index:
            closers.pop()
        if closers:
            spans.append(FenceSpan(marks[index].line, marks[closers[-1]].line))
            index = closers[-1] + 1
        else:
            rest.append(marks[index])
            index += 1
    return spans, rest


def _short_fences(marks: list[_Mark], lines: list[str]) -> list[FenceSpan]:
    """Return the fences in the reading in which the fewest are not closed by their own mark."""
    plain, nested = _plain_ends(marks), _nested_ends(marks)
    usual = _usual_fences(marks, plain, nested)
    if usual is not None:
        return usual
    count, starts, headings = len(marks), [mark.line for mark in marks], _headings(marks[0].line, lines)
    #: For each mark that opens a fence: the number of such fences from here on, the next mark, and the fence.
    best: list[tuple[int, int, FenceSpan]] = [(0, count, FenceSpan(0, 0))] * (count + 1)
    for index in range(count - 1, -1, -1):
        line, near, far = starts[index], plain[index], nested[index]
        options: list[tuple[int, int, FenceSpan]] = []
        if near is None or near != far:
            heading = bisect_right(headings, line)
            cut = headings[heading] if heading < len(headings) else len(lines)
            if near is None or cut < starts[index + 1]:
                following = bisect_right(starts, cut)
                options.append((1 + best[following][0], following, FenceSpan(line, cut, is_closed=False)))
            if near is not None:
                options.append((1 + best[near + 1][0], near + 1, FenceSpan(line, starts[near])))
        if far is not None:
            options.append((best[far + 1][0], far + 1, FenceSpan(line, starts[far])))
        best[index] = min(options, key=itemgetter(0))
    spans: list[FenceSpan] = []
    index = 0
    while index < count:
        _, index, span = best[index]
        spans.append(span)
    return spans


def _usual_fences(marks: list[_Mark], plain: list[int | None], nested: list[int | None]) -> list[FenceSpan] | None:
    """Return the fences if each is closed and none is inside another one; else None."""
    spans: list[FenceSpan] = []
    index = 0
    while index < len(marks):
        end = plain[index]
        if end is None or end != nested[index]:
            return None
        spans.append(FenceSpan(marks[index].line, marks[end].line))
        index = end + 1
    return spans


def _headings(first: int, lines: list[str]) -> list[int]:
    """Return the lines of headings below a blank line."""
    return [
        number
        for number in range(first + 2, len(lines))
        if "##" in lines[number] and not lines[number - 1].strip() and _HEADING.match(lines[number])
    ]


def _plain_ends(marks: list[_Mark]) -> list[int | None]:
    """Return the first bare mark after each one, which closes it in CommonMark."""
    ends: list[int | None] = [None] * len(marks)
    bare: int | None = None
    for index in range(len(marks) - 1, -1, -1):
        ends[index] = bare
        if not marks[index].opens:
            bare = index
    return ends


def _nested_ends(marks: list[_Mark]) -> list[int | None]:
    """Return the mark that closes each one if each mark with a language between them opens a nested fence."""
    ends: list[int | None] = [None] * len(marks)
    depth = 0
    #: The next mark after which the depth has a value, relative to the end of the text.
    after: dict[int, int] = {}
    for index in range(len(marks) - 1, -1, -1):
        ends[index] = after.get(depth - 1)
        after[depth] = index
        depth -= 1 if marks[index].opens else -1
    return ends
