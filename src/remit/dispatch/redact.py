"""What looks like a secret is not stored: it is replaced before a tool's output is written down or sent on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from remit.dispatch.models import KEYS

_TOKEN = r"[A-Za-z0-9_-]"  # noqa: S105 (an alphabet)
#: What stands for a password where none is: `{password}`, `${TOKEN}`, `$TOKEN`, `<password>`, `%s`, `***`.
_PLACEHOLDER = (
    r"(?:\$?\{[^\s/:@]{0,100}\}|\$\([^\s/:@]{0,100}\)|\$[A-Z_][A-Z0-9_]{0,100}|<[^\s/:@]{1,100}>"
    r"|%s|%\([^\s/:@]{1,100}\)s|\*{1,100}|\.{3}|…)"
)
#: What a pattern cannot do without: most texts have none of it.
_NEEDED = {"private key": "PRIVATE KEY", "JSON web token": "eyJ"}
#: A long text is looked through in pieces, so that other threads get on meanwhile; a secret may reach into the next.
_PIECE = 1 << 18
_LONGEST = 1 << 16
#: A shorter value of a provider's variable may be an everyday word.
_LEAST_KEY = 8
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


def _word(literal: str) -> str:
    """A literal that no word goes on into. It comes first: a search for one is fast."""
    return rf"{literal}(?<![A-Za-z0-9_]{literal})"


#: What it is -> how it looks; what is replaced is the first group, where there is one.
#: Each is linear on any text: whatever is repeated cannot be begun again inside of itself, or is short.
PATTERNS: dict[str, re.Pattern[str]] = {
    # Its end is looked for by `private_keys`.
    "private key": BEGIN,
    "Anthropic key": re.compile(rf"{_word('sk-')}ant-{_TOKEN}{{20,200}}"),
    # Mixed, or without a break: names of CSS classes begin like this, too.
    "OpenAI key": re.compile(
        rf"{_word('sk-')}(?:proj-)?(?:(?=[a-z_-]{{0,31}}+[A-Z0-9]){_TOKEN}{{32,200}}|[a-z]{{32,200}})"
    ),
    "Groq key": re.compile(rf"{_word('gsk_')}[A-Za-z0-9]{{32,200}}"),
    "xAI key": re.compile(rf"{_word('xai-')}[A-Za-z0-9]{{32,200}}"),
    "GitHub token": re.compile(rf"{_word('g')}(?:h[pousr]_[A-Za-z0-9]{{36,255}}|ithub_pat_[A-Za-z0-9_]{{40,255}})"),
    "AWS key": re.compile(rf"{_word('A')}(?:KIA|SIA)[A-Z0-9]{{16}}\b"),
    "Google key": re.compile(rf"{_word('AIza')}{_TOKEN}{{35}}(?![A-Za-z0-9_])"),
    "Slack token": re.compile(rf"{_word('xox')}[abprs]-[A-Za-z0-9-]{{10,250}}"),
    # Of a run of characters only the first `eyJ` counts: to try each of them would take a step for every pair.
    "JSON web token": re.compile(
        rf"(?<!{_TOKEN})(?>{_TOKEN}*?(?=eyJ))(eyJ{_TOKEN}{{10,}}+\.eyJ{_TOKEN}{{10,}}+\.{_TOKEN}{{10,}}+)"
    ),
    "password in a URL": re.compile(rf"://([^\s/:@]{{0,100}}+:(?!{_PLACEHOLDER}@)[^\s/:@]{{3,200}}+)(?=@)"),
}


def redact(text: str) -> str:
    """The text with each secret replaced by what it was. For long texts call it in a thread."""
    for variable, value in _own_keys():
        text = text.replace(value, f"[{variable} removed]")
    for name, pattern in PATTERNS.items():
        if _NEEDED.get(name, "") in text:
            text = _without(text, name, pattern)
    return text


def _own_keys() -> Iterator[tuple[str, str]]:
    """The keys of providers that this process has, longest first; a provider may repeat one that it does not like."""
    variables = [variable for names in KEYS.values() for variable in names]
    found = [(variable, os.environ.get(variable, "").strip()) for variable in variables]
    yield from sorted((pair for pair in found if len(pair[1]) >= _LEAST_KEY), key=lambda pair: -len(pair[1]))


def _without(text: str, name: str, pattern: re.Pattern[str]) -> str:
    kept: list[str] = []
    position = 0
    for start, end in _places(text, pattern):
        kept += text[position:start], f"[{name} removed]"
        position = end
    return "".join((*kept, text[position:])) if kept else text


def _places(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where a pattern is found, piece by piece; one that begins in a piece is read to its end."""
    position = 0
    while position < len(text):
        edge = position + _PIECE
        while position < edge and (found := pattern.search(text, position, edge + _LONGEST)):
            if found.start() >= edge:
                break
            start, end = found.span(pattern.groups)
            if pattern is BEGIN:
                end = end_of_key(text, end)
            yield start, end
            position = max(end, start + 1)
        position = max(position, edge)


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
