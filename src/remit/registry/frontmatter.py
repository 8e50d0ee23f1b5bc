"""Read the frontmatter of a definition: YAML between two lines `---`.

Every plain value is kept as text (`on`, `1.10` and dates too); the reader of a field interprets it. No objects are
constructed: tags, anchors and aliases are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import yaml

from remit.registry.definition import Value

#: The maximum depth of nested values, and their maximum number.
MAX_DEPTH = 16
MAX_VALUES = 10_000
#: The maximum number of fields in a frontmatter that is repaired line by line.
MAX_REPAIRED = 1_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_ENTRY = re.compile(r"([A-Za-z][\w.-]{0,63})[ \t]*:(?:[ \t]+(.*))?$")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
#: The first characters of values that are not plain text.
_STRUCTURE = tuple("\"'[{|>&!")
#: Characters that JSON does not escape and YAML does not accept: control characters and further line ends.
_NOT_PLAIN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
#: Error of libyaml -> what to do.
_ADVICE = (
    ("mapping values are not allowed", "a colon in a plain value: put the value in quotes"),
    ("expected alphabetic or numeric", "a value that begins with * or &: put it in quotes"),
    ("cannot start any token", "a tab, @, ` or % where a value should begin: indent with spaces, quote the value"),
    ("unexpected end of stream", "a quote is opened and not closed"),
    ("expected ',' or ']'", "a list is opened with [ and not closed: write [one, two]"),
    ("expected ',' or '}'", "a mapping is opened with { and not closed"),
    (
        "expected key",
        "expected `field: value`: indent lines that belong to the field above, or put its value in quotes",
    ),
    (
        "could not find expected ':'",
        "expected `field: value`: indent lines that belong to the field above, or quote its value",
    ),
    ("expected <document start>", "more than one YAML document: keep one"),
)


class MalformedYaml(Exception):
    """An invalid definition; the message states what to write instead."""

    def __init__(self, line: int, reason: str, column: int | None = None) -> None:
        position = f"line {line}, column {column}" if column is not None else f"line {line}"
        super().__init__(f"{position}: {reason}")
        self.line = line


class RefusedYaml(MalformedYaml):
    """A definition with a feature of YAML that may be harmful. It is not repaired either."""


class YamlField(NamedTuple):
    """The value of a field, and its line."""

    value: Value
    line: int


class DefinitionDocument(NamedTuple):
    """The fields, the body and the warnings of a definition file."""

    fields: dict[str, YamlField]
    body: str
    warnings: tuple[str, ...] = ()


def read_document(text: str, honoured: Iterable[str]) -> DefinitionDocument | None:
    """Read a file with `\\n` line ends; None if it has no frontmatter.

    Fields that are not `honoured` may have any text as value.
    """
    span = head_span(text)
    if span is None:
        return None
    head, offset = text[span.start : span.end].split("\n")[:-1], span.line
    body = trim_body(text[span.after :])
    try:
        return DefinitionDocument(_mapping("\n".join(head) + "\n", offset), body)
    except RefusedYaml:
        raise
    except MalformedYaml:
        repaired, warnings = quoted_lines(head, offset, frozenset(honoured))
        if not warnings:
            raise
        return DefinitionDocument(_mapping("\n".join(repaired) + "\n", offset), body, tuple(warnings))


class HeadSpan(NamedTuple):
    """Where the fields start and end in a text, their first line, and where the body starts."""

    start: int
    end: int
    line: int
    after: int


def head_span(text: str) -> HeadSpan | None:
    """Find the frontmatter; None if a text has no frontmatter. Raise MalformedYaml if it is not closed."""
    begin = text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1
    line = text.count("\n", 0, begin) + 1
    opening = text[begin : begin + 40].partition("\n")[0].rstrip()
    if opening != "---":
        if re.match(r"---\w", opening):
            raise MalformedYaml(
                line, f"frontmatter marked {opening[:20]!r} is not read: use YAML between two lines ---"
            )
        return None
    start = text.find("\n", begin) + 1
    closing = _CLOSING.search(text, start) if start else None
    if closing is None:
        raise MalformedYaml(line, "the frontmatter is not closed: end it with a line ---")
    return HeadSpan(start, closing.start(), line + 1, closing.end())


def trim_body(text: str) -> str:
    """Remove blank lines at the start and the end of a text."""
    start = text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1
    end = text.find("\n", len(text.rstrip()))
    return text[start:end] if 0 <= start < end else text[start:] if end < 0 and text.strip() else ""


def _mapping(text: str, offset: int) -> dict[str, YamlField]:
    """Read the fields of a YAML text whose first line is line `offset` of its file."""
    try:
        return _Builder(offset).fields(_events(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or "not YAML"
        advice = next((text for part, text in _ADVICE if part in problem), problem)
        raise MalformedYaml(offset + (mark.line if mark else 0), advice, mark.column + 1 if mark else None) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position)
        raise MalformedYaml(offset + line, f"a control character (number {error.character}): remove it") from error


def _events(text: str) -> Iterator[yaml.Event]:
    loader = _LOADER(text)
    try:
        while not isinstance(event := loader.get_event(), yaml.StreamEndEvent):
            yield event
    finally:
        loader.dispose()


class _Builder:
    """Builds values from YAML events, within limits. The parser reads only as far as events are requested."""

    def __init__(self, offset: int) -> None:
        self._offset = offset
        self._values = 0

    def fields(self, events: Iterator[yaml.Event]) -> dict[str, YamlField]:
        for event in events:
            if isinstance(event, yaml.MappingStartEvent):
                fields = self._top(event, events)
                for after in events:  # the rest must be valid YAML too
                    if isinstance(after, yaml.DocumentStartEvent):
                        raise self._malformed(after, "more than one YAML document: keep one")
                return fields
            if isinstance(event, yaml.ScalarEvent) and not event.value and event.anchor is None:
                return {}
            if isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.AliasEvent):
                raise self._malformed(event, "the frontmatter must consist of fields, one `field: value` per line")
        return {}

    def _top(self, event: yaml.Event, events: Iterator[yaml.Event]) -> dict[str, YamlField]:
        self._check(event)
        return {key: YamlField(value, line) for key, line, value in self._pairs(events, 1)}

    def _pairs(self, events: Iterator[yaml.Event], depth: int) -> Iterator[tuple[str, int, Value]]:
        lines: dict[str, int] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            self._check(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise self._malformed(event, "a field's name must be plain text")
            line = self._line(event)
            if event.value in lines:
                first = lines[event.value]
                raise self._malformed(event, f"{event.value!r} occurs twice (also on line {first}): keep one")
            lines[event.value] = line
            yield event.value, line, self._value(next(events), events, depth)

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Value:
        self._check(event)
        if isinstance(event, yaml.ScalarEvent):
            return None if event.value in _NULL and event.style in (None, "") else event.value
        if depth >= MAX_DEPTH:
            raise self._refusal(event, f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(event, yaml.MappingStartEvent):
            return {key: value for key, _, value in self._pairs(events, depth + 1)}
        items: list[Value] = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(self._value(item, events, depth + 1))
        return items

    def _check(self, event: yaml.Event) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._refusal(event, f"more than {MAX_VALUES} values")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise self._refusal(
                event, "YAML anchors and aliases (& and *) are not read: write the value out, or quote it"
            )
        if getattr(event, "tag", None) is not None:
            raise self._refusal(event, "YAML tags (!) are not read: write the plain value, or quote it")

    def _line(self, event: yaml.Event) -> int:
        return self._offset + (event.start_mark.line if event.start_mark else 0)

    def _column(self, event: yaml.Event) -> int | None:
        return event.start_mark.column + 1 if event.start_mark else None

    def _refusal(self, event: yaml.Event, reason: str) -> RefusedYaml:
        return RefusedYaml(self._line(event), reason, self._column(event))

    def _malformed(self, event: yaml.Event, reason: str) -> MalformedYaml:
        return MalformedYaml(self._line(event), reason, self._column(event))


def quoted_lines(head: list[str], offset: int, honoured: frozenset[str]) -> tuple[list[str], list[str]]:
    """Quote each plain value that is not valid YAML.

    Return the lines and a warning for each quoted value. Both are empty if quoting does not help.
    """
    lines, warnings = list(head), []
    entries = list(_entries(head))
    for start, stop in entries if len(entries) <= MAX_REPAIRED else ():
        match = _ENTRY.match(head[start])
        if match is None or _is_yaml(head[start:stop]):
            continue
        name, value = match[1], (match[2] or "").strip()
        more = [line.strip() for line in head[start + 1 : stop]]
        if name in honoured and (value.startswith(_STRUCTURE) or (any(more) and name != "description")):
            return [], []
        text = trim_body("\n".join([value, *more]))
        lines[start:stop] = [f"{name}: {_quoted(text)}", *[""] * (stop - start - 1)]
        warnings.append(
            f"line {offset + start}: {name!r} is not valid YAML and is read as plain text: put it in quotes"
        )
    return lines, warnings


def _quoted(text: str) -> str:
    """Return a text in double quotes that has the same meaning in JSON and YAML."""
    return _NOT_PLAIN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _entries(head: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first line of each field, and the line after it. A line inside <example> is not a field."""
    start, in_example = 0, 0
    last_end = max((number for number, line in enumerate(head) if "</example>" in line), default=-1)
    for number, line in enumerate(head):
        if number > start and (not in_example or number > last_end) and _ENTRY.match(line):
            yield start, number
            start = number
        in_example = max(0, in_example + line.count("<example>") - line.count("</example>"))
    yield start, len(head)


def _is_yaml(lines: list[str]) -> bool:
    try:
        return bool(_mapping("\n".join(lines) + "\n", 1))
    except MalformedYaml:
        return False
