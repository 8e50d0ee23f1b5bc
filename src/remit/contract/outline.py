"""The blocks of a Markdown text, each with its line.

pyromark finds headings, lists, tables and fences. Its input is a *skeleton* of the text: every character that only
matters inside a line is replaced by a letter, and every character outside ASCII by a question mark. Offsets into the
skeleton are therefore offsets into the text, and a text full of emphasis marks or brackets produces no more events
than plain prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyromark

from remit.contract.fences import unusual_fences
from remit.contract.result_data import Code, Item, Items, Row, Table, Text
from remit.lazy import lazy_pattern

#: Documents with more table cells or more lines than this are refused (see `unreadable_reason`).
MAX_CELLS = 100_000
MAX_LINES = 100_000
#: Quotes and lists that are nested deeper than this are read as plain text.
MAX_NESTING = 12

_TABLES = pyromark.Markdown(options=pyromark.Options.ENABLE_TABLES)

_CONTAINERS = lazy_pattern(rf"(?:[ \t]*(?:>|[-+*](?=[ \t]|$)|\d{{1,9}}[.)](?=[ \t]|$))){{0,{MAX_NESTING}}}[ \t]*")
_FENCE_OR_COMMENT = lazy_pattern(r"`{3}|~{3}|<!--")
_RULE = lazy_pattern(r"(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$")
_MARKERS = lazy_pattern(r">|[-+*]|\d{1,9}[.)]")
_LATER_MARKER = lazy_pattern(r"[-+*>]|\d{1,9}[.)]")
_INLINE = str.maketrans(dict.fromkeys("*_[]<&!`~", "x"))
_INLINE_AND_MARKERS = str.maketrans(dict.fromkeys("*_[]<&!`~-+>.)", "x"))
_LONE_BACKSLASH = lazy_pattern(r"\\(?![\\|])")
_DELIMITER_ROW = lazy_pattern(
    r"^[ \t>]*+\|?+(?>(?:[ \t]*+:?+-++:?+[ \t]*+\|)+)(?:[ \t]*+:?+-++:?+[ \t]*+)?$", re.MULTILINE
)
_BLANK_LINE = lazy_pattern(r"\n[ \t]*(?:\n|$)")
_QUOTE_MARK = lazy_pattern(r"^[ \t]*>[ \t]?")


class Head(msgspec.Struct, frozen=True):
    """A heading with its level."""

    level: int
    text: str
    line: int


Node = Head | Text | Table | Items | Code


def unreadable_reason(text: str) -> str | None:
    """Return the reason why a text is too expensive to read, or None.

    Every line and every cell has a cost, even an empty one. Short table rows are padded to the width of the header,
    so a wide header above many short lines costs far more than its size.
    """
    if text.count("\n") > MAX_LINES:
        return f"it has more than {MAX_LINES:,} lines"
    cells = 0
    for match in _DELIMITER_ROW.finditer(text):
        end = _BLANK_LINE.search(text, match.end())
        rows = text.count("\n", match.end(), end.start() if end else len(text)) + 2
        cells += rows * (match.group().count("|") + 1)
        if cells > MAX_CELLS:
            return f"its tables have more than {MAX_CELLS:,} cells"
    return None


def read_outline(text: str, first_line: int = 1) -> list[Node]:
    """Return the top-level blocks of a text, in order, without thematic breaks (`---`) and empty blocks."""
    return [node for node in _nodes(text, first_line) if not isinstance(node, Head | Text) or node.text]


def _nodes(text: str, first_line: int) -> Iterator[Node]:
    """Yield the blocks of a text. What follows a fence that is never closed is read separately."""
    rows = text.split("\n")
    skeleton = [_skeleton_line(row) for row in rows]
    start = 0
    if any("```" in row or "~~~" in row for row in skeleton):
        for span in unusual_fences(skeleton):
            for row in range(span.start + 1, span.end):
                skeleton[row] = skeleton[row].replace("`", "x").replace("~", "x")
            if not span.is_closed and span.end < len(rows):
                yield from _piece(rows[start : span.end], skeleton[start : span.end], first_line + start)
                start = span.end
    yield from _piece(rows[start:], skeleton[start:], first_line + start)


def _piece(rows: list[str], skeleton: list[str], first_line: int) -> Iterator[Node]:
    text = "\n".join(rows)
    events: Iterator[tuple[Any, Any]] = iter(_TABLES.events_with_range(_ascii("\n".join(skeleton))))
    line, counted = first_line, 0
    for event, span in events:
        if not isinstance(event, dict) or "Start" not in event:
            continue
        start, end, tag = span["start"], span["end"], event["Start"]
        line += text.count("\n", counted, start)
        counted = start
        raw = text[start:end]
        name = tag if isinstance(tag, str) else next(iter(tag))
        if name == "Table":
            yield _table(text, line, start, events)
            continue
        if name == "List":
            yield _list(text, line, start, events, ordered=tag["List"] is not None)
            continue
        _skip(events)
        if name == "Heading":
            level = int(tag["Heading"]["level"][1])
            yield Head(level, _heading_text(raw), line)
        elif name == "CodeBlock":
            indent = start - (text.rfind("\n", 0, start) + 1)
            yield _code(raw, tag["CodeBlock"], line, indent)
        elif name == "BlockQuote":
            yield _paragraph((_QUOTE_MARK.sub("", row) for row in raw.split("\n")), line)
        elif name != "Rule":
            yield _paragraph(raw.split("\n"), line)


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode("ascii")


def _skeleton_line(line: str) -> str:
    lead = _CONTAINERS.match(line)
    end = lead.end() if lead else 0
    rest = line[end:]
    if _FENCE_OR_COMMENT.match(rest) or _RULE.match(rest):
        return line
    table = _INLINE_AND_MARKERS if _LATER_MARKER.match(rest) and _is_deep(line[:end]) else _INLINE
    rest = rest.translate(table)
    return line[:end] + (_LONE_BACKSLASH.sub("x", rest) if "\\" in rest else rest)


def _is_deep(lead: str) -> bool:
    return len(lead) >= MAX_NESTING and len(_MARKERS.findall(lead)) >= MAX_NESTING


def _skip(events: Iterator[tuple[Any, Any]]) -> None:
    """Consume the events up to the end of the block whose start was just read."""
    depth = 1
    for event, _ in events:
        if isinstance(event, dict):
            depth += ("Start" in event) - ("End" in event)
            if depth == 0:
                return


def _heading_text(raw: str) -> str:
    raw = raw.strip()
    if "\n" in raw:
        return " ".join(map(str.strip, raw.split("\n")[:-1])).strip()  # underlined: the last line is the underline
    raw = raw.lstrip("#").strip()
    bare = raw.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else raw


def _paragraph(rows: Iterable[str], line: int) -> Text:
    return Text(text="\n".join(row for row in map(str.strip, rows) if row), line=line)


def _code(raw: str, kind: Any, line: int, indent: int) -> Code:
    lines = raw.rstrip().split("\n")
    if kind == "Indented":
        return Code(text="\n".join(_outdent(row, 4) for row in lines).strip("\n"), line=line)
    opening = lines[0].lstrip()
    fence = opening[: len(opening) - len(opening.lstrip(opening[0]))]
    body = lines[1:]
    if body and body[-1].strip().startswith(fence) and not body[-1].strip().strip(fence[0]):
        body.pop()
    body = [_outdent(row, indent) for row in body] if indent else body
    return Code(text="\n".join(body).strip("\n"), info=opening[len(fence) :].strip(), line=line)


def _outdent(row: str, width: int) -> str:
    """Remove up to `width` leading spaces."""
    return row[min(width, len(row) - len(row.lstrip(" "))) :]


def _table(text: str, line: int, start: int, events: Iterator[tuple[Any, Any]]) -> Table:
    rows: list[Row] = []
    cells: list[str] = []
    counted, row_line = start, line
    for event, span in events:
        if not isinstance(event, dict):
            continue
        if event.get("Start") == "TableCell":
            cells.append(text[span["start"] : span["end"]].strip())
        elif event.get("Start") in ("TableRow", "TableHead"):
            row_line += text.count("\n", counted, span["start"])
            counted, cells = span["start"], []
        elif event.get("End") in ("TableRow", "TableHead"):
            rows.append(Row(cells=tuple(cells), line=row_line))
        elif event.get("End") == "Table":
            break
    return Table(columns=rows[0].cells, rows=tuple(rows[1:]), line=line)


def _list(text: str, line: int, start: int, events: Iterator[tuple[Any, Any]], *, ordered: bool) -> Items:
    items: list[Item] = []
    counted, item_line, depth = start, line, 1
    for event, span in events:
        if not isinstance(event, dict):
            continue
        if "Start" in event:
            depth += 1
            if depth == 2:
                item_line += text.count("\n", counted, span["start"])
                counted = span["start"]
                items.append(Item(text=_item_text(text, span["start"], span["end"]), line=item_line))
        elif "End" in event:
            depth -= 1
            if depth == 0:
                break
    return Items(items=tuple(items), ordered=ordered, line=line)


_MARKER = lazy_pattern(r"(?:[-+*]|\d{1,9}[.)])(?:[ \t]{1,4}(?=\S)|[ \t]|$|(?=\n))")


def _item_text(text: str, start: int, end: int) -> str:
    """Return the lines of an item without the marker and the indentation below it."""
    line_start = text.rfind("\n", 0, start) + 1
    raw = text[start:end].rstrip()
    marker = _MARKER.match(raw)
    width = (start - line_start) + (marker.end() if marker else 0)
    lines = raw[marker.end() if marker else 0 :].split("\n")
    return "\n".join([lines[0].strip(), *(_outdent(line, width).rstrip() for line in lines[1:])]).strip()
