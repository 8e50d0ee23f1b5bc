"""Replace secrets in text before it is stored or sent to a model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from remit.dispatch.models import KEYS

_TOKEN = r"[A-Za-z0-9_-]"  # noqa: S105 (an alphabet)
#: Placeholders of a password: `{password}`, `${TOKEN}`, `$TOKEN`, `<password>`, `%s`, `***`.
_PLACEHOLDER = (
    r"(?:\$?\{[^\s/:@]{0,100}\}|\$\([^\s/:@]{0,100}\)|\$[A-Z_][A-Z0-9_]{0,100}|<[^\s/:@]{1,100}>"
    r"|%s|%\([^\s/:@]{1,100}\)s|\*{1,100}|\.{3}|…)"
)
#: A substring of every match of a pattern. Most texts do not contain it, which saves the search.
_REQUIRED = {"private key": "PRIVATE KEY", "JSON web token": "eyJ"}
#: A long text is searched in pieces, so that other threads can run; a secret may extend into the next piece.
_PIECE = 1 << 18
_MAX_SECRET = 1 << 16
#: A shorter value of a provider's variable may be an ordinary word.
_MIN_KEY = 8
BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_EDGE = re.compile(r"-----(?:BEGIN |(?P<end>END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)|END )")
#: The longest private key, including the prefixes of its lines.
MAX_KEY = 32_768
_BREAK = re.compile(r"\n|\\n")
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
_AFTER = frozenset("\r\t \"',;)")
#: The prefix of a line ends with one of these.
_PREFIX_ENDS = ("", *"-+:|>→\"'")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ")
#: A shorter line belongs to a key only as its last line: a multiple of four characters, with the same prefix.
_FULL_LINE = 20
_QUARTET = 4
#: Headers and empty lines between the lines of a key; inside a string literal each line counts twice.
_MAX_BETWEEN = 12


def _word(literal: str) -> str:
    """Return a pattern for a literal at the start of a word. The literal comes first, because that search is fast."""
    return rf"{literal}(?<![A-Za-z0-9_]{literal})"


#: Kind of secret -> pattern. The first group is replaced, or else the whole match.
#: Each pattern takes linear time on any text: a repetition cannot start again inside itself, or is short.
PATTERNS: dict[str, re.Pattern[str]] = {
    # `end_of_key` finds its end.
    "private key": BEGIN,
    "Anthropic key": re.compile(rf"{_word('sk-')}ant-{_TOKEN}{{20,200}}"),
    # With capitals or digits, or without a separator: the names of CSS classes also start like this.
    "OpenAI key": re.compile(
        rf"{_word('sk-')}(?:proj-)?(?:(?=[a-z_-]{{0,31}}+[A-Z0-9]){_TOKEN}{{32,200}}|[a-z]{{32,200}})"
    ),
    "Groq key": re.compile(rf"{_word('gsk_')}[A-Za-z0-9]{{32,200}}"),
    "xAI key": re.compile(rf"{_word('xai-')}[A-Za-z0-9]{{32,200}}"),
    "GitHub token": re.compile(rf"{_word('g')}(?:h[pousr]_[A-Za-z0-9]{{36,255}}|ithub_pat_[A-Za-z0-9_]{{40,255}})"),
    "AWS key": re.compile(rf"{_word('A')}(?:KIA|SIA)[A-Z0-9]{{16}}\b"),
    "Google key": re.compile(rf"{_word('AIza')}{_TOKEN}{{35}}(?![A-Za-z0-9_])"),
    "Slack token": re.compile(rf"{_word('xox')}[abprs]-[A-Za-z0-9-]{{10,250}}"),
    # Only the first `eyJ` in a run of characters counts: trying each of them would take quadratic time.
    "JSON web token": re.compile(
        rf"(?<!{_TOKEN})(?>{_TOKEN}*?(?=eyJ))(eyJ{_TOKEN}{{10,}}+\.eyJ{_TOKEN}{{10,}}+\.{_TOKEN}{{10,}}+)"
    ),
    "password in a URL": re.compile(rf"://([^\s/:@]{{0,100}}+:(?!{_PLACEHOLDER}@)[^\s/:@]{{3,200}}+)(?=@)"),
}


def redact(text: str) -> str:
    """Return a text with each secret replaced by its kind. For long texts, call it in a thread."""
    for variable, value in _own_keys():
        text = text.replace(value, f"[{variable} removed]")
    for name, pattern in PATTERNS.items():
        if _REQUIRED.get(name, "") in text:
            text = _replace_matches(text, name, pattern)
    return text


def _own_keys() -> Iterator[tuple[str, str]]:
    """Yield the provider keys of this process, longest first: a provider may repeat an invalid key in an error."""
    variables = [variable for names in KEYS.values() for variable in names]
    pairs = [(variable, os.environ.get(variable, "").strip()) for variable in variables]
    yield from sorted((pair for pair in pairs if len(pair[1]) >= _MIN_KEY), key=lambda pair: -len(pair[1]))


def _replace_matches(text: str, name: str, pattern: re.Pattern[str]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in _matches(text, pattern):
        parts += text[position:start], f"[{name} removed]"
        position = end
    return "".join((*parts, text[position:])) if parts else text


def _matches(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of a pattern, searching piece by piece. A match that starts in a piece is read to its end."""
    position = 0
    while position < len(text):
        edge = position + _PIECE
        while position < edge and (found := pattern.search(text, position, edge + _MAX_SECRET)):
            if found.start() >= edge:
                break
            start, end = found.span(pattern.groups)
            if pattern is BEGIN:
                end = end_of_key(text, end)
            yield start, end
            position = max(end, start + 1)
        position = max(position, edge)


def end_of_key(text: str, begun: int) -> int:
    """Return the end of the key whose first line ends at `begun`. Its last line may be missing: output may be cut.

    This takes linear time in total: nothing beyond the next line that starts or ends a key is searched.
    """
    limit = min(len(text), begun + MAX_KEY)
    edge = _EDGE.search(text, begun, limit)
    if edge is not None and edge["end"]:
        return edge.end()
    return _end_of_lines(text, begun, edge.start() if edge else limit)


def _end_of_lines(text: str, begun: int, limit: int) -> int:
    """Return the end of the lines that look like those of a key. Headers and empty lines count if such lines follow."""
    end = start = begun
    before = between = 0
    while start < limit:
        found = _BREAK.search(text, start, limit)
        stop = found.start() if found else limit
        first, last = _data(text, start, stop)
        if last - first >= _FULL_LINE:
            end, before, between = stop, first - start, -1
        elif last > first and (last - first) % _QUARTET == 0 and end > begun and abs(first - start - before) <= 1:
            return stop
        elif between > _MAX_BETWEEN or not _is_header_or_empty(text[start:stop]):
            return end
        between += 1
        start = found.end() if found else limit
    return end


def _data(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return the span of base64 characters at the end of a line, without the quotes and marks after them."""
    while stop > start and text[stop - 1] in _AFTER:
        stop -= 1
    first = stop
    while first > start and text[first - 1] in _BASE64:
        first -= 1
    return first, stop


def _is_header_or_empty(line: str) -> bool:
    """Return whether a line is a header, or empty apart from the prefix that all lines have."""
    last = line.rstrip()[-1:]
    return bool(_HEADER.search(line)) or last in _PREFIX_ENDS or last.isdigit()
