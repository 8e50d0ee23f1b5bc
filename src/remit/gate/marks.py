"""Markdown, as far as it is only looks: what is left of a line when white space and marks are taken away."""

from __future__ import annotations

import re

_ITEM = re.compile(r"\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])(?:\s+|$)")
_BULLET = re.compile(r"[-*+](?:\s+|$)")
_HEADING = re.compile(r"#{1,6}(?:\s+|(?=[A-Za-z]))")
_CLOSING = re.compile(r"\s+#+\s*$")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_LEADING = re.compile(r"^([(\[{\"']*)(\*{1,3}|_{1,3}|`{1,3})(?=[^\W_]|[(\[{\"'*_`])")
_TRAILING = re.compile(r"(?<=[^\W_])(\*{1,3}|_{1,3}|`{1,3})([)\]}\"'.,;:!?]*)$")
_TRAILING_LATE = re.compile(r"(?<=[)\]}\"'.,;:!?%])(\*{1,3}|_{1,3}|`{1,3})$")


def is_item(line: str) -> bool:
    """Whether a line begins an item of a list; a rule made of dashes does not."""
    return _ITEM.match(line) is not None and not re.fullmatch(r"\s*(?:[-*_]\s*){3,}", line)


def tokens(line: str) -> list[str]:
    """The words and signs of a line that are more than looks, in order. An item's bullet stays, as a sign."""
    text = line.strip()
    while text.startswith(">"):
        text = text[1:].lstrip()
    if "-" in text and "|" in text and _RULE.fullmatch(text):
        return ["|-"] * text.strip("|").count("|")
    if re.fullmatch(r"(?:[-*_]\s*){3,}", text):
        return ["---"]
    start = ["\u2022"] if _BULLET.match(text) else []
    text = _BULLET.sub("", text, count=1) if start else text
    if _HEADING.match(text):
        text = _CLOSING.sub("", _HEADING.sub("", text, count=1))
    if text.startswith("|") or " | " in text:
        text = text.strip("|").replace("|", " | ")
    return start + _without_emphasis(text.split())


def _without_emphasis(words: list[str]) -> list[str]:
    """Marks at the edges of words go; a lone star or underscore stays, unless others close what it opens."""
    leading = [_LEADING.match(word) for word in words]
    trailing = [_TRAILING.search(word) or _TRAILING_LATE.search(word) for word in words]
    opened = [match[2] for match in leading if match]
    closed = [match[1] for match in trailing if match]
    plain = {mark for mark in ("*", "_", "__", "___") if opened.count(mark) != closed.count(mark)}
    done = []
    for word, first, last in zip(words, leading, trailing, strict=True):
        kept = word
        if last and last[1] not in plain:
            kept = kept[: last.start(1)] + kept[last.end(1) :]
        if first and first[2] not in plain:
            kept = kept[: first.start(2)] + kept[first.end(2) :]
        # Dunder names are names, not bold words.
        done.append(word if re.fullmatch(r"__\w+__\W*", word) else kept)
    return done


def in_block(lines: list[str], at: int) -> str:
    """`code` in a fenced block, `front` in the front matter, where white space has a meaning; else nothing."""
    if lines and lines[0].rstrip() == "---" and at > 0:
        end = next((number for number, line in enumerate(lines[1:200], 1) if line.rstrip() in ("---", "...")), 0)
        if at < end:
            return "front"
    fences = sum(1 for line in lines[:at] if _FENCE.match(line))
    return "code" if fences % 2 else ""
