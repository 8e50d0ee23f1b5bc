"""Where a private key ends in a text: its lines may stand behind line numbers, file names or the marks of a diff."""

from __future__ import annotations

import re

BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_EDGE = re.compile(r"-----(?:BEGIN |(?P<end>END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)|END )")
#: The longest key that is looked for, with all that stands before its lines.
MAX_KEY = 32_768
_BREAK = re.compile(r"\n|\\n")
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
_AFTER = frozenset("\r\t \"',;)")
#: What stands before the lines ends with one of these.
_BEFORE = ("", *"-+:|>→\"'")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ")
#: A shorter line is one of a key only as its last one: four characters at a time, behind as much as the others.
_WHOLE_LINE = 20
_QUARTET = 4
#: Headers and empty lines; in the quotes of a program each line is two.
_MAX_BETWEEN = 12


def end_of_key(text: str, begun: int) -> int:
    """Where the key ends whose first line ends at `begun`; it may break off, for output is cut and files read in part.

    Linear in all: nothing is looked at beyond the next line that begins or ends a key.
    """
    limit = min(len(text), begun + MAX_KEY)
    edge = _EDGE.search(text, begun, limit)
    if edge is not None and edge["end"]:
        return edge.end()
    return _end_of_lines(text, begun, edge.start() if edge else limit)


def _end_of_lines(text: str, begun: int, limit: int) -> int:
    """Where the lines end that look like those of a key; headers and empty lines count if such lines follow."""
    end = start = begun
    before = between = 0
    while start < limit:
        found = _BREAK.search(text, start, limit)
        stop = found.start() if found else limit
        first, last = _data(text, start, stop)
        if last - first >= _WHOLE_LINE:
            end, before, between = stop, first - start, -1
        elif last > first and (last - first) % _QUARTET == 0 and end > begun and abs(first - start - before) <= 1:
            return stop
        elif between > _MAX_BETWEEN or not _may_stand_between(text[start:stop]):
            return end
        between += 1
        start = found.end() if found else limit
    return end


def _data(text: str, start: int, stop: int) -> tuple[int, int]:
    """The characters of a key's alphabet that a line ends with, quotes and marks after them aside."""
    while stop > start and text[stop - 1] in _AFTER:
        stop -= 1
    first = stop
    while first > start and text[first - 1] in _BASE64:
        first -= 1
    return first, stop


def _may_stand_between(line: str) -> bool:
    """Whether a line is a header, or empty but for what stands before all of them."""
    last = line.rstrip()[-1:]
    return bool(_HEADER.search(line)) or last in _BEFORE or last.isdigit()
