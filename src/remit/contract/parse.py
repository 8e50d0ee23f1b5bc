"""Parse a text into results. Parsing never raises: `Document.refusal` states why a text could not be read.

Limits: 1 MiB of text, 100,000 lines, 1,000 results, 100,000 table cells, JSON nested as deep as the schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import msgspec
from msgspec.inspect import ListType, StructType, Type, UnionType, VarTupleType, type_info

from remit.contract import outline, section_fields
from remit.contract.chunks import Chunk, split, whole
from remit.contract.escape import clean, unguard_heading
from remit.contract.findings import Finding, FindingDetail, details_of, findings_of
from remit.contract.lines import entries, lines_of
from remit.contract.render import free_text, render
from remit.contract.result_data import SCHEMA, STATUSES, Block, Extra, Result
from remit.contract.sections import Outline, Section, arrange
from remit.lazy import lazy_pattern

MAX_BYTES = 1 << 20
MAX_RESULTS = 1000
_TOO_MANY = f"it contains more than {MAX_RESULTS:,} results"
#: Members of a JSON result that the schema does not have, and characters of each, that are shown.
_MAX_UNKNOWN = 50
_MAX_VALUE = 500
_LOOK_AHEAD = 12
#: Longer lines are not searched for words.
_MAX_SEARCHED = 5_000
#: Bytes that are examined to recognise binary data.
_PROBED = 8192
_CHECKBOXES = ("[x]", "[X]", "[ ]")
_ITEM_MARKS = " \t>-*+0123456789.)"

_JSON_FENCE = lazy_pattern(r"\A\s*```json[ \t]*\n(.*)\n[ \t]*```\s*\Z", re.DOTALL)


class Document(msgspec.Struct, frozen=True, dict=True):
    """One parsed result, with its outline and the text it was read from."""

    result: Result
    outline: Outline
    text: str
    lines: list[str]
    first_line: int
    #: The other text of the file, which is only searched for claims.
    around: tuple[Chunk, ...] = ()
    #: Why the text could not be read ("it is not UTF-8 text"), or None.
    refusal: str | None = None

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings of the result."""
        return findings_of(self.result)

    @cached_property
    def details(self) -> list[FindingDetail]:
        """The entries of Issue Details."""
        return details_of(self.result)

    @property
    def has_text(self) -> bool:
        """Whether there is any text to check."""
        return self.refusal is None and bool(self.text.strip())

    @property
    def has_content(self) -> bool:
        """Whether any part of a result was recognised."""
        return self.outline.agent is not None or any(section.key for section in self.outline.sections)

    @property
    def title_line(self) -> int:
        """The line to report for a missing part."""
        return self.outline.title_line

    def locate(self, line: int, words: str) -> int:
        """Return the line, at or shortly after `line`, that contains the words; `line` itself if none does."""
        if len(self.line_text(line)) > _MAX_SEARCHED:
            return line
        return next((number for number in range(line, line + _LOOK_AHEAD) if words in self.line_text(number)), line)

    def line_text(self, line: int) -> str:
        """Return a line of the file, of the result or around it; an empty string for any other number."""
        if 0 <= line - self.first_line < len(self.lines) and self.text:
            return self.lines[line - self.first_line]
        for text, first, lines in self._lines_around:
            if first <= line < first + len(lines) and text:
                return lines[line - first]
        return ""

    @cached_property
    def _lines_around(self) -> tuple[tuple[str, int, list[str]], ...]:
        return tuple((chunk.text, chunk.first_line, chunk.text.split("\n")) for chunk in self.around)

    @property
    def line_runs(self) -> list[tuple[int, list[str]]]:
        """The lines of the file, of the result and around it: for each run its first line and its lines."""
        return sorted([(self.first_line, self.lines), *((first, lines) for _, first, lines in self._lines_around)])

    @property
    def whole_text(self) -> str:
        """The text of the result and the text around it."""
        return "\n".join([self.text, *(chunk.text for chunk in self.around)])

    @property
    def lines_outside(self) -> int:
        """The number of lines that have text and do not belong to the result."""
        return sum(bool(line.strip()) for _, _, lines in self._lines_around for line in lines)

    @property
    def has_brackets(self) -> bool:
        """Whether the text has a square bracket that does not begin a checkbox."""
        boxes = (line.lstrip(_ITEM_MARKS).startswith(_CHECKBOXES) for line in self.lines if "[" in line)
        return self.text.count("[") != sum(boxes)

    def section(self, key: str) -> Section | None:
        """Return the section as written, or None."""
        return self.outline.get(key)

    def line_of(self, key: str) -> int:
        """Return the line of a section, or of the title if the section is missing."""
        section = self.section(key)
        return section.line if section else self.title_line


def parse(source: str | bytes) -> list[Document]:
    """Return every result in a text; at least one document."""
    text, refusal = decode(source)
    if refusal:
        return [refused(refusal)]
    if text.lstrip()[:1] in ("{", "["):
        documents = _parse_json(text)
        if documents:
            return documents
    fenced = _JSON_FENCE.match(text)
    if fenced and (documents := _parse_json(fenced.group(1))):
        return documents
    if refusal := outline.unreadable_reason(text):
        return [refused(refusal)]
    chunks = split(text)
    return [_parse_chunk(chunk) for chunk in chunks] if len(chunks) <= MAX_RESULTS else [refused(_TOO_MANY)]


def parse_whole(source: str | bytes) -> list[Document]:
    """Return a text in any form as one document. Only results in JSON are parsed as results."""
    if isinstance(source, bytes) and b"\0" in source[:_PROBED]:
        return [refused("it is binary data, not text")]
    text, refusal = decode(source)
    if refusal:
        return [refused(refusal)]
    if text.lstrip()[:1] in ("{", "[") and SCHEMA in text:
        documents = [document for document in _parse_json(text) if document.refusal is None]
        if documents:
            return documents
    refusal = outline.unreadable_reason(text)
    return [refused(refusal)] if refusal else [_parse_chunk(whole(text), is_whole=True)]


def decode(source: str | bytes) -> tuple[str, str | None]:
    """Return the text with `\\n` line ends, and the reason why it cannot be read or None."""
    size = len(source)
    if size > MAX_BYTES:
        return "", f"it is larger than {MAX_BYTES // 1024:,} KiB"
    if isinstance(source, bytes):
        try:
            source = source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            return "", f"it is not UTF-8 text (byte {error.start})"
    elif not source.isascii():
        source = source.encode("utf-8", "replace").decode("utf-8").removeprefix("\ufeff")
    return _normalised(source), None


def _normalised(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", " ").replace("\0", "\ufffd")


def refused(reason: str) -> Document:
    """Return the document for a text that is not read, with the reason."""
    return Document(result=Result(), outline=Outline(None, 1, [], []), text="", lines=[], first_line=1, refusal=reason)


class _Tagged(Result, frozen=True, eq=False, kw_only=True):
    schema: Literal["remit.result/1"] = SCHEMA


def _parse_json(text: str) -> list[Document]:
    """Parse results in JSON through their Markdown form, so that both forms are checked alike."""
    try:
        loaded = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return (
            []
            if text.lstrip()[:1] != "{"
            else [refused("it starts like JSON but is not valid; check quotes and commas")]
        )
    members = loaded if isinstance(loaded, list) else [loaded]
    if not members or not all(isinstance(member, dict) for member in members):
        return []
    if len(members) > MAX_RESULTS:
        return [refused(_TOO_MANY)]
    return [_from_json(member) for member in members]


def _from_json(member: dict[str, Any]) -> Document:
    try:
        result = msgspec.convert(member, _Tagged, strict=False)
        markdown = _normalised(render(_untag(result)) + _unknown_members(member))
    except (msgspec.ValidationError, RecursionError) as error:
        return refused(f"it is JSON but not a result: {error}")
    refusal = outline.unreadable_reason(markdown)
    return refused(refusal) if refusal else _parse_chunk(Chunk(markdown, 1))


def _unknown_members(member: dict[str, Any]) -> str:
    """Return a section with the members that the schema does not have: what a reader sees is checked like the rest."""
    unknown = list(islice(_unknown(member, type_info(_Tagged), ""), _MAX_UNKNOWN))
    rows = [f"- {name}: {' '.join(str(value).split())[:_MAX_VALUE]}" for name, value in unknown]
    return "\n".join(["", "### Unknown Members", "", *rows, ""]) if rows else ""


def _unknown(value: Any, kind: Type, name: str) -> Iterator[tuple[str, Any]]:
    """Yield each member of a JSON value that its type does not have, with its path."""
    kinds = kind.types if isinstance(kind, UnionType) else (kind,)
    if isinstance(value, dict):
        structs = [struct for struct in kinds if isinstance(struct, StructType)]
        kind = next(
            (struct for struct in structs if struct.tag_field and value.get(struct.tag_field) == struct.tag), None
        ) or (structs[0] if structs else kind)
    elif isinstance(value, list):
        kind = next((container for container in kinds if isinstance(container, ListType | VarTupleType)), kind)
    if isinstance(kind, StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in kind.fields}
        for key, inner in value.items():
            path = f"{name}.{key}" if name else str(key)
            if key == kind.tag_field:
                continue
            if key in fields:
                yield from _unknown(inner, fields[key], path)
            else:
                yield path, inner
    elif isinstance(kind, ListType | VarTupleType) and isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unknown(inner, kind.item_type, f"{name}[{number}]")


def _untag(result: _Tagged) -> Result:
    return Result(**{name: getattr(result, name) for name in Result.__struct_fields__})


def _parse_chunk(chunk: Chunk, *, is_whole: bool = False) -> Document:
    arranged = arrange(outline.read_outline(chunk.text, chunk.first_line), chunk.first_line, is_whole=is_whole)
    return Document(
        result=_build(arranged),
        outline=arranged,
        text=chunk.text,
        lines=chunk.text.split("\n"),
        first_line=chunk.first_line,
        around=chunk.around,
    )


def _build(arranged: Outline) -> Result:
    values: dict[str, Any] = {}
    extra: list[Extra] = []
    for section in arranged.sections:
        if section.key is None:
            extra.append(
                Extra(heading=unguard_heading(section.heading), content=clean(section.content), line=section.line)
            )
        elif section.key == "findings":
            values["findings"] = tuple(
                Block(heading=unguard_heading(block.heading), content=clean(block.content), line=block.line)
                for block in section.blocks
            )
        elif section.content:
            values[section.key] = _READERS[section.key](section)
    return Result(agent=arranged.agent or "", extra=tuple(extra), line=arranged.title_line, **values)


def _status(section: Section) -> str:
    lines = [line.text for line in lines_of(section.content)]
    if not lines:
        return ""
    status, _ = section_fields.read_status(lines[0])
    others = {other for line in lines[1:] if (other := section_fields.read_status(line)[0]) in STATUSES}
    return " / ".join([status, *sorted(others - {status})])


def _text(section: Section) -> str:
    return free_text(clean(section.content))


def _list(section: Section) -> tuple[str, ...]:
    return tuple(entry.text for entry in entries(section.content))


_READERS: dict[str, Callable[[Section], Any]] = {
    "status": _status,
    "summary": _text,
    "references": lambda section: tuple(section_fields.read_references(section.content)),
    "confidence": lambda section: section_fields.read_confidence(section.content, section.line),
    "justification": lambda section: section_fields.read_justification(section.content, section.line),
    "uncertainty": _text,
    "checklist": lambda section: tuple(section_fields.read_checklist(section.content)),
    "issues": lambda section: tuple(section_fields.read_issues(section.content)),
    "blockers": lambda section: tuple(section_fields.read_blockers(section.content)),
    "error": lambda section: section_fields.read_error(section.content, section.line),
    "attempted_actions": _list,
    "root_cause": _text,
    "recovery_options": _list,
    "next_steps": _list,
    "tradeoffs": _list,
    "severity_summary": lambda section: tuple(section_fields.read_counts(section.content)),
    "insights": _list,
    "overrides": lambda section: tuple(section_fields.read_overrides(section.content)),
}
