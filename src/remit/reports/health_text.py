"""The text output of `remit doctor`: the checks first, then the settings that are not at their default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from remit.configuration import SETTINGS, Configuration, Setting, Value
from remit.dispatch.health import HealthFact
from remit.reports.layout import Line, Piece, display_width, escape_control, wrap_text

#: Level -> its mark and its style.
_MARKS = {"good": ("ok", "green"), "odd": ("note", "yellow"), "bad": ("WRONG", "bold red")}
_MARK_WIDTH = 6
_NAME_WIDTH = 12
_KEY_WIDTH = max(len(setting.key) for setting in SETTINGS) + 1


def health_lines(facts: Sequence[HealthFact], columns: int) -> Iterator[Line]:
    """Yield a line for each check, then a summary of the problems."""
    indent = _MARK_WIDTH + _NAME_WIDTH
    for fact in facts:
        mark, style = _MARKS[fact.level]
        for number, row in enumerate(wrap_text(escape_control(fact.words), columns, indent)):
            head = [Piece(f"{mark:<{_MARK_WIDTH}}", style), Piece(f"{fact.what:<{_NAME_WIDTH}}", "bold")]
            yield [*head, Piece(row[indent:])] if number == 0 else [Piece(row)]
    wrong = list(dict.fromkeys(fact.what for fact in facts if fact.level == "bad"))
    yield [Piece(f"problems: {', '.join(wrong)}", "bold red")] if wrong else [Piece("no problems found", "green")]


def settings_lines(
    configured: Configuration, files: Sequence[Path], unknown: Sequence[str], columns: int, *, is_all: bool
) -> Iterator[Line]:
    """Yield the settings that are not at their default, or all settings with their meaning."""
    for file in files or ("none found",):
        yield from _paragraph(f"configuration file: {file}", columns, 2)
    for setting in SETTINGS:
        value = configured.values[setting.key]
        if is_all or value.source != "default":
            yield from _setting_lines(setting, value, files, columns)
        if is_all:
            variable = f"; variable {setting.variable}"
            yield from _paragraph(setting.meaning + variable, columns, _KEY_WIDTH, "dim")
    for name in unknown:
        yield from _paragraph(f"unknown environment variable {name}: it has no effect", columns, 2, "yellow")
    defaults = sum(value.source == "default" for value in configured.values.values())
    if not is_all:
        yield from _paragraph(f"{defaults} settings have their default; see `remit doctor --all`", columns, 2, "dim")


def _setting_lines(setting: Setting, value: Value, files: Sequence[Path], columns: int) -> Iterator[Line]:
    """Yield the key, the value and its source, on one line if they fit."""
    source = value.source
    for file in files if len({file.name for file in files}) == len(files) else ():
        source = source.replace(str(file), file.name)
    origin = escape_control(f"from {source}")
    rows = [
        row[_KEY_WIDTH:]
        for text in _value_lines(value.value)
        for row in wrap_text(escape_control(text), columns, _KEY_WIDTH)
    ]
    key = f"{setting.key:<{_KEY_WIDTH}}"
    if len(rows) == 1 and _KEY_WIDTH + max(display_width(rows[0]), 12) + 1 + display_width(origin) <= columns:
        yield [Piece(key, "bold"), Piece(f"{rows[0]}{' ' * (12 - display_width(rows[0]))} "), Piece(origin, "dim")]
        return
    for number, row in enumerate(rows):
        yield [Piece(key if number == 0 else " " * _KEY_WIDTH, "bold"), Piece(row)]
    yield from _paragraph(origin, columns, _KEY_WIDTH, "dim")


def _value_lines(value: Any) -> list[str]:
    """Return the lines of a value; a table has one line for each name."""
    if value in ("", [], {}):
        return ["(none)"]
    if isinstance(value, Mapping):
        return [
            f"{name} = {', '.join(map(str, item)) if isinstance(item, list) else item}" for name, item in value.items()
        ]
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return ["; ".join(_value_lines(item)) for item in value]
    if isinstance(value, list):
        return [", ".join(value)]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


def _paragraph(text: str, columns: int, indent: int, style: str = "") -> Iterator[Line]:
    """Yield the lines of a text; further lines are indented, or all lines if the indent is not 2."""
    first = 0 if indent == 2 else indent
    for number, row in enumerate(wrap_text(escape_control(text), columns, indent)):
        yield [Piece(row[indent - first :] if number == 0 else row, style)]
