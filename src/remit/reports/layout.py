"""Lines of styled text: one layout for a terminal (coloured by rich) and a pipe (plain)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from remit.contract.feedback import FILLERS
from remit.lazy import lazy_pattern

#: Characters that change how others are displayed; they are shown as their codes.
_INVISIBLE = (
    *(0x061C, 0x200B, 0x200E, 0x200F, 0xFEFF, 0xFFFE, 0xFFFF),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
)
#: Characters that are left out: emoji often have one, and they have no shape.
_FILLER = lazy_pattern(f"[{FILLERS}]")
_OBEYED = lazy_pattern(rf"[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb{FILLERS}]")

#: A word with more characters for each column is split; a character with more marks is not a word.
_MAX_COMBINED = 8
#: A path of at most this many characters can be kept whole, even if it is wider than the screen.
_MAX_PATH = 300


class Piece(msgspec.Struct, frozen=True):
    """Text in one rich style; an empty style means no style."""

    text: str
    style: str = ""


Line = list[Piece]


def plain_lines(lines: Iterable[Line]) -> str:
    """Return the lines as plain text."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines)


@cache
def _visible() -> dict[int, str]:
    """Return what is shown instead of each control character and invisible one."""
    return (
        {code: chr(0x2400 + code) for code in range(0x20)}
        | {0x7F: "\u2421"}
        | {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
        | {code: f"\\u{code:04x}" for code in _INVISIBLE}
    )


def escape_control(text: str) -> str:
    """Return one line of text with control characters made visible. Tabs become spaces."""
    if text.isascii() and text.isprintable():
        return text
    text = _FILLER.sub("", text.replace("\t", "    ").translate(_visible()))
    return text.encode("utf-8", "replace").decode("utf-8")


def escape_json(text: str) -> str:
    """Return JSON for a terminal: what a terminal obeys or hides is written as an escape, so the value is the same."""
    return text if text.isascii() else _OBEYED.sub(lambda match: _json_escape(ord(match[0])), text)


def _json_escape(code: int) -> str:
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def display_width(text: str) -> int:
    """Return the columns that a terminal needs for a text."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def cut_width(text: str, columns: int) -> str:
    """Cut a text to a number of columns."""
    if text.isascii():
        return text[:columns]
    used = 0
    for index, character in enumerate(text):
        used += display_width(character)
        if used > columns:
            return text[:index]
    return text


def shorten_text(text: str, columns: int) -> str:
    """Cut a text to a number of columns; an ellipsis shows that something is left out."""
    return text if display_width(text) <= columns else cut_width(text, max(columns - 1, 0)) + "…"


def _split_width(word: str, columns: int) -> list[str]:
    """Split a word into parts of at most a number of columns, in linear time."""
    if word.isascii():
        return [word[start : start + columns] for start in range(0, len(word), columns)] or [""]
    parts, start, used = [], 0, 0
    for index, character in enumerate(word):
        width = display_width(character)
        if used + width > columns:
            parts.append(word[start:index])
            start, used = index, 0
        used += width
    return [*parts, word[start:]]


def wrap_text(text: str, columns: int, indent: int = 0, *, keeps_paths: bool = False) -> list[str]:
    """Wrap a text at spaces to a number of columns; with `keeps_paths`, a path that is wider has its own row."""
    room, margin = max(columns - indent, 20), " " * indent
    rows: list[str] = []
    row = ""
    for word in text.split():
        longer = f"{row} {word}" if row else word
        # The first test is quick for a very long word: every base character needs a column.
        if len(word) <= _MAX_COMBINED * room and display_width(longer) <= room:
            row = longer
            continue
        if row:
            rows.append(row)
        is_path = keeps_paths and "/" in word and len(word) <= _MAX_PATH
        *full, row = [word] if is_path else _split_width(word, room)
        rows += full
    return [margin + line for line in ([*rows, row] if row or not rows else rows)]


def format_count(number: int, word: str) -> str:
    """Return a number with its noun: `1 finding`, `2 findings`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def schema_of(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a shape, with its dialect."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(shape)}
