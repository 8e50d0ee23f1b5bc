"""What `remit doctor` has found, for people: what works first, then the settings that somebody has set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from remit.configuration import SETTINGS, Configuration, Setting, Value
from remit.dispatch.health import HealthFact
from remit.reports.layout import Line, Piece, display_width, escape_control, wrap_text

#: Level -> how it is marked, and in which style.
_MARKS = {"good": ("ok", "green"), "odd": ("note", "yellow"), "bad": ("WRONG", "bold red")}
_MARK_ROOM = 6
_WHAT_ROOM = 12
_KEY_ROOM = max(len(setting.key) for setting in SETTINGS) + 1


def health_lines(facts: Sequence[HealthFact], columns: int) -> Iterator[Line]:
    """One mark for each thing that was looked at, and at the end what is wrong."""
    indent = _MARK_ROOM + _WHAT_ROOM
    for fact in facts:
        mark, style = _MARKS[fact.level]
        for number, row in enumerate(wrap_text(escape_control(fact.words), columns, indent)):
            head = [Piece(f"{mark:<{_MARK_ROOM}}", style), Piece(f"{fact.what:<{_WHAT_ROOM}}", "bold")]
            yield [*head, Piece(row[indent:])] if number == 0 else [Piece(row)]
    wrong = list(dict.fromkeys(fact.what for fact in facts if fact.level == "bad"))
    yield [Piece(f"wrong: {', '.join(wrong)}", "bold red")] if wrong else [Piece("nothing is wrong", "green")]


def settings_lines(
    configured: Configuration, file: Path | None, unknown: Sequence[str], columns: int, *, is_all: bool
) -> Iterator[Line]:
    """The settings that are not left at their default, or all with what each means."""
    yield from _paragraph(f"configuration file: {file or 'none found'}", columns, 2)
    for setting in SETTINGS:
        value = configured.values[setting.key]
        if is_all or value.source != "default":
            yield from _setting_lines(setting, value, file, columns)
        if is_all:
            variable = f"; variable {setting.variable}" if setting.variable else ""
            yield from _paragraph(setting.meaning + variable, columns, _KEY_ROOM, "dim")
    for name in unknown:
        yield from _paragraph(f"unknown variable {name}: remit does not read it", columns, 2, "yellow")
    untouched = sum(value.source == "default" for value in configured.values.values())
    if not is_all:
        yield from _paragraph(f"{untouched} settings have their default: `remit doctor --all`", columns, 2, "dim")


def _setting_lines(setting: Setting, value: Value, file: Path | None, columns: int) -> Iterator[Line]:
    """The key, its value, and where that came from: in one line where there is room."""
    source = value.source.replace(str(file), file.name) if file is not None else value.source
    origin = escape_control(f"from {source}")
    rows = [
        row[_KEY_ROOM:] for text in _words(value.value) for row in wrap_text(escape_control(text), columns, _KEY_ROOM)
    ]
    key = f"{setting.key:<{_KEY_ROOM}}"
    if len(rows) == 1 and _KEY_ROOM + max(display_width(rows[0]), 12) + 1 + display_width(origin) <= columns:
        yield [Piece(key, "bold"), Piece(f"{rows[0]}{' ' * (12 - display_width(rows[0]))} "), Piece(origin, "dim")]
        return
    for number, row in enumerate(rows):
        yield [Piece(key if number == 0 else " " * _KEY_ROOM, "bold"), Piece(row)]
    yield from _paragraph(origin, columns, _KEY_ROOM, "dim")


def _words(value: Any) -> list[str]:
    """A value in lines: a table has one for each of its names."""
    if value in ("", [], {}):
        return ["(none)"]
    if isinstance(value, Mapping):
        return [f"{name} = {', '.join(map(str, own)) if isinstance(own, list) else own}" for name, own in value.items()]
    if isinstance(value, list) and all(isinstance(own, Mapping) for own in value):
        return ["; ".join(_words(own)) for own in value]
    if isinstance(value, list):
        return [", ".join(value)]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


def _paragraph(text: str, columns: int, indent: int, style: str = "") -> Iterator[Line]:
    """Text in lines; those after the first, or all where the text is indented far, begin further right."""
    first = 0 if indent == 2 else indent
    for number, row in enumerate(wrap_text(escape_control(text), columns, indent)):
        yield [Piece(row[indent - first :] if number == 0 else row, style)]
