"""Mechanical repairs of a definition file: what can be put right without knowing what its author meant."""

from __future__ import annotations

import re
from typing import NamedTuple

from remit.registry.fields import HONOURED
from remit.registry.frontmatter import Malformed, head_span, quoted_lines, read_document
from remit.registry.tools import known, split_names

_TOOL_LINE = re.compile(
    r"((?:tools|allowed[_-]tools|disallowed(?:Tools|[_-]tools))[ \t]*:[ \t]*)([^\[\]{}\"'|>&!#*].*)$"
)


class Mended(NamedTuple):
    """A file as it should be, and what was done to it."""

    data: bytes
    repairs: tuple[str, ...]


def mend(data: bytes) -> Mended:
    """Repair a file; one that is no UTF-8, has no frontmatter or is beyond repair stays as it is."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Mended(data, ())
    repairs: list[str] = []
    if text.startswith("\ufeff"):
        text, repairs = text.removeprefix("\ufeff"), ["the byte order mark is gone"]
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        repairs.append("lines end with \\n")
    try:
        span = head_span(text)
        if span is None:
            return Mended(data, ())
        head = _head(text[span.start : span.end].split("\n")[:-1], span.line, repairs)
        mended = text[: span.start] + "".join(f"{line}\n" for line in head) + text[span.end :]
        read_document(mended, HONOURED)
    except Malformed:
        return Mended(data, ())
    return Mended(mended.encode(), tuple(repairs)) if repairs else Mended(data, ())


def _head(head: list[str], offset: int, repairs: list[str]) -> list[str]:
    """The fields, each plain value that is not YAML quoted, tools by their own names."""
    quoted, warnings = quoted_lines(head, offset, HONOURED)
    if warnings and not _reads(head):
        repairs += [f"{words.partition(' is ')[0]}: its value is in quotes" for words in warnings]
        head = [line for line, old in zip(quoted, head, strict=True) if line or not old.strip()]
    for number, line in enumerate(head):
        match = _TOOL_LINE.match(line)
        if match and (named := _named(match[2])) != match[2].strip():
            repairs.append(f"{match[2].strip()!r} is {named!r}")
            head[number] = match[1] + named
    return head


def _reads(head: list[str]) -> bool:
    """Whether the fields are YAML as they stand."""
    try:
        document = read_document("\n".join(["---", *head, "---"]), HONOURED)
    except Malformed:
        return False
    return document is not None and not document.warnings


def _named(written: str) -> str:
    """A list of tools with each known one under its own name; anything else as it was."""
    return ", ".join(str(known(name) or name) for name in split_names(written))
