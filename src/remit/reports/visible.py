"""Untrusted text made safe to show: control characters are seen, not obeyed."""

from __future__ import annotations

import unicodedata

_BIDI = "\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u061c"
_VISIBLE = (
    {code: chr(0x2400 + code) for code in range(0x20)}
    | {0x7F: "\u2421"}
    | {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
    | {ord(mark): f"\\u{ord(mark):04x}" for mark in _BIDI}
)


def visible(text: str) -> str:
    """One line of text without anything a terminal, a browser or XML would obey. Tabs become spaces."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\t", "    ").translate(_VISIBLE)
    return text.encode("utf-8", "replace").decode("utf-8")


def width(text: str) -> int:
    """How many columns a terminal needs for a text."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)
