"""The lines of a section in any block: plain text, list entries, `Name: value`, and the value after a pipe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from remit.contract.escape import UNGUARDED_PIPE, unguard_cell, unguard_heading, unguard_lines
from remit.contract.headings import fold, is_label
from remit.contract.result_data import Code, Content, Heading, Items, Row, Table
from remit.lazy import lazy_pattern

_EMPHASIS = lazy_pattern(r"\*\*|__|`|(?<!\w)\*|\*(?!\w)")
#: Text between stars, which are not inside a word.
_STARS = lazy_pattern(r"(?<![A-Za-z0-9*])(\*{1,3})(?=[^\s*])([^*\n]++)(?<=\S)\1(?![A-Za-z0-9*])")
_LABEL = lazy_pattern(r"\s*+(?>(?:[-*+][ \t]++)?)([*_`]{0,3})([^:|]{1,60}?)([*_`]{0,3})[ \t]*+:")
#: The same for a text with a wide colon, in five times the time to compile.
_WIDE_LABEL = lazy_pattern(r"\s*+(?>(?:[-*+][ \t]++)?)([*_`]{0,3})([^:：|]{1,60}?)([*_`]{0,3})[ \t]*+[:：]")
_MARKS = str.maketrans("", "", "*_`")
_NOTHING = frozenset(
    {
        "none",
        "n/a",
        "na",
        "nothing",
        "no issues",
        "no blockers",
        "none found",
        "nothing found",
        "nothing was found",
        "no issues found",
        "no issues were found",
        "なし",
        "該当なし",
        "无",
        "没有",
        "-",
        "",
    }
)
#: A text that begins with one of these letters reports something.
_OTHER_INITIALS = frozenset("abcdefghijklmopqrstuvwxyzABCDEFGHIJKLMOPQRSTUVWXYZ")


class Line(NamedTuple):
    """A line of a section, from any kind of block."""

    text: str
    line: int


def is_none_text(text: str) -> bool:
    """Return whether an entry only states that there is nothing to report, such as "None" or "n/a"."""
    if text[:1] in _OTHER_INITIALS or text.isdigit() or text.lstrip("`*_ ")[:1] in _OTHER_INITIALS:
        return False
    return fold(text).rstrip(".。") in _NOTHING


def plain_text(text: str) -> str:
    """Return the text without emphasis marks."""
    if "*" not in text and "`" not in text and "__" not in text:
        return text.strip()
    bare = text.replace("**", "").replace("`", "")
    if "*" not in bare and "__" not in bare:  # the usual case: no other marks
        return bare.strip()
    for _ in range(4):  # nested marks
        bare = _EMPHASIS.sub("", text)
        if bare == text or ("*" not in bare and "`" not in bare and "__" not in bare):
            return bare.strip()
        text = bare
    return text.translate(_MARKS).strip()


def bare_text(text: str) -> str:
    """Return a text without code marks and marks of emphasis. Other text stays: `2 * 3`, `__init__`."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return _STARS.sub(r"\2", "".join(pieces)).strip()
    pieces[::2] = [_STARS.sub(r"\2", piece) for piece in pieces[::2]]
    return "".join(pieces).strip()


def lines_of(content: Iterable[Content]) -> Iterator[Line]:
    """Yield every line of a section; a table row becomes `name: value`."""
    for part in content:
        if isinstance(part, Items):
            for item in part.items:
                yield from _lines(unguard_lines(item.text), item.line)
        elif isinstance(part, Table):
            for row in (Row(cells=part.columns, line=part.line), *part.rows):
                name, *values = map(unguard_cell, row.cells)
                yield Line(f"{name}: {': '.join(filter(None, values))}".strip() if values else name, row.line)
        elif isinstance(part, Heading):
            yield Line(unguard_heading(part.text), part.line)
        elif not isinstance(part, Code):
            yield from _lines(unguard_lines(part.text), part.line)


def _lines(text: str, first: int) -> Iterator[Line]:
    return (Line(row.strip(), first + offset) for offset, row in enumerate(text.split("\n")) if row.strip())


def entries(content: Iterable[Content]) -> Iterator[Line]:
    """Return the entries of a list section: its items, or whole paragraphs if the agent did not write a list."""
    return (entry for entry in _entries(content) if entry.text)


def _entries(content: Iterable[Content]) -> Iterator[Line]:
    for part in content:
        if isinstance(part, Items):
            yield from (Line(unguard_lines(item.text), item.line) for item in part.items)
        elif isinstance(part, Table):
            yield from (Line(" | ".join(map(unguard_cell, row.cells)).strip(), row.line) for row in part.rows)
        elif isinstance(part, Heading):
            yield Line(unguard_heading(part.text), part.line)
        elif isinstance(part, Code):
            yield Line("\n".join(map(str.rstrip, part.text.split("\n"))).strip(), part.line)
        else:
            yield Line(unguard_lines(part.text), part.line)


def label_and_value(text: str) -> tuple[str, str] | None:
    """Split `Name: value` into a pair, with or without emphasis marks; None if the line has another form."""
    match = (_WIDE_LABEL if "：" in text else _LABEL).match(text)
    return (match.group(2), _value(match)) if match else None


def _value(label: re.Match[str], end: int | None = None) -> str:
    opened, _, closed = label.groups()
    value = label.string[label.end() : end].strip()
    if opened and not closed:
        value = value.removeprefix(opened) if value.startswith(opened) else value.removesuffix(opened)
    return value.strip()


def labelled_values(lines: Iterable[Line], keys: tuple[str, ...]) -> dict[str, str]:
    """Return the values of `Name: value` lines by key; a line without a name continues the value above it."""
    values: dict[str, list[str]] = {}
    current: list[str] | None = None
    for text, _ in lines:
        match = label_and_value(text)
        key = next((key for key in keys if match and is_label(match[0], key)), None)
        if match and key is not None:
            current = [match[1]]
            current = values.setdefault(key, current)
        elif current is not None and match is None:
            current.append(text)
    return {key: " ".join(filter(None, rows)) for key, rows in values.items()}


def split_tail(text: str, label: str) -> tuple[str, str | None]:
    """Split `words | Label: value`. The label may also start a separate line. The value is None without the label."""
    for pipe in reversed(list(UNGUARDED_PIPE.finditer(text))):
        named = (_WIDE_LABEL if "：" in text else _LABEL).match(text, pipe.end())
        if named and is_label(named.group(2), label):
            end = end_of_line(text, named.end())
            return (text[: pipe.start()].rstrip() + text[end:]).strip(), _value(named, end)
    head, *rows = text.split("\n")
    for index, row in enumerate(rows):
        match = label_and_value(row.strip())
        if match and is_label(match[0], label):
            others = [*rows[:index], *rows[index + 1 :]]
            return "\n".join([head, *others]).strip(), match[1]
    return text, None


def end_of_line(text: str, position: int) -> int:
    """Return the end of the line that contains a position."""
    end = text.find("\n", position)
    return end if end >= 0 else len(text)
