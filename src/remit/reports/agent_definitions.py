"""Definitions and briefs as text and in their JSON shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from remit.registry.definition import Brief, Definition, Plugin, Rejected, Skipped
from remit.registry.lookup import Registry
from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control, wrap_text

_LABEL = 11


class DefinitionShape(msgspec.Struct):
    """A definition; `tools` is null if it has no list, `withheld` are the listed names that are not tools."""

    name: str
    plugin: str
    path: str
    tools: Sequence[str] | None
    withheld: Sequence[str]
    digest: str


class AgentsShape(msgspec.Struct):
    """The JSON output of `remit agents list` and `remit agents check`."""

    definitions: list[DefinitionShape]
    rejected: Sequence[Rejected]
    skipped: Sequence[Skipped]
    warnings: Sequence[str]
    schema: Literal["remit.agents/1"] = "remit.agents/1"


def agents_shape(plugins: Iterable[Plugin], warnings: Sequence[str]) -> AgentsShape:
    """Return plugins in the JSON shape. The warnings of a definition start with its file."""
    loaded = list(plugins)
    definitions = [definition for plugin in loaded for definition in plugin.definitions]
    definition_warnings = [
        f"{definition.path!r}: {warning}" for definition in definitions for warning in definition.warnings
    ]
    return AgentsShape(
        definitions=[
            DefinitionShape(
                definition.name,
                definition.plugin,
                definition.path,
                definition.tools,
                definition.unknown_tools,
                definition.digest,
            )
            for definition in definitions
        ],
        rejected=[msgspec.structs.replace(file, name="") for plugin in loaded for file in plugin.rejected],
        skipped=[file for plugin in loaded for file in plugin.skipped],
        warnings=[*warnings, *definition_warnings],
    )


def list_lines(registry: Registry, columns: int) -> Iterator[Line]:
    """Yield the lines of all definitions, grouped by plugin."""
    width = max((display_width(cut_width(escape_control(definition.name), 40)) for definition in registry), default=0)
    for plugin in registry.plugins:
        version = f" {escape_control(plugin.version)}" if plugin.version else ""
        count = f"{len(plugin.definitions)} definition{'s' * (len(plugin.definitions) != 1)}"
        yield from _title(escape_control(plugin.name), f"{version}  {count}", columns)
        for definition in plugin.definitions:
            hidden = f"hidden by {_winner(registry, definition)!r}" if registry.is_hidden(definition) else ""
            yield from _definition_row(definition, columns, width, hidden)
        for file in plugin.rejected:
            yield from _labelled("rejected", "red", f"{file.path}: {file.reason}", columns)
    for warning in registry.warnings:
        yield from _labelled("warning", "yellow", warning, columns)
    yield [Piece("`remit agents explain NAME` shows the prompt, tools and limits", "dim")]


def _winner(registry: Registry, definition: Definition) -> str:
    """Return the definition that hides another one with the same name."""
    winner = registry.get(definition.name)
    return winner.qualified if winner is not None else ""


def _title(name: str, note: str, columns: int, style: str = "dim") -> Iterator[Line]:
    """Yield a name in bold and a note, on one line if they fit."""
    if display_width(name) + display_width(note) <= columns:
        yield [Piece(name, "bold"), Piece(note, style)]
        return
    yield from ([Piece(row, "bold")] for row in wrap_text(name, columns))
    yield from ([Piece(row, style)] for row in wrap_text(note, columns, 2))


def _definition_row(definition: Definition, columns: int, width: int, hidden: str) -> Iterator[Line]:
    name = cut_width(escape_control(definition.name), width)
    tools = "every tool" if definition.tools is None else ", ".join(definition.tools) or "no tools"
    yield [
        Piece(f"  {name}{' ' * (width + 2 - display_width(name))}", "dim" if hidden else ""),
        Piece(f"{definition.digest.removeprefix('sha256:')[:12]}  ", "dim"),
        Piece(_cut_list(escape_control(tools), columns - width - 18), "dim" if hidden else ""),
    ]
    for warning in (*([hidden] if hidden else []), *definition.warnings):
        yield from _labelled("warning", "yellow", warning, columns, indent=4)


def _cut_list(listed: str, width: int) -> str:
    """Cut a list of names after the last name that fits."""
    if display_width(listed) <= width:
        return listed
    return (cut_width(listed, max(width - 2, 0)).rpartition(", ")[0] + " …").lstrip()


def _labelled(label: str, style: str, text: str, columns: int, indent: int = 2) -> Iterator[Line]:
    """Yield a labelled sentence; its further lines are indented."""
    for number, row in enumerate(wrap_text(f"{label}: {escape_control(text)}", columns - 2, indent)):
        yield [Piece(row if number == 0 else f"  {row}", style)]


def show_lines(definition: Definition, columns: int) -> Iterator[Line]:
    """Yield the fields of a definition as Remit reads them, then its body."""
    yield from _title(escape_control(definition.name), f"  {escape_control(definition.qualified)}", columns)
    facts: list[tuple[str, str]] = [
        ("file", definition.path),
        ("digest", definition.digest),
        ("purpose", definition.description),
        ("tools", "all except Bash" if definition.tools is None else ", ".join(definition.tools) or "none"),
        ("denied", ", ".join(definition.denied)),
        ("withheld", ", ".join(definition.unknown_tools)),
        ("model", definition.model or ""),
        ("turns", str(definition.max_turns or "")),
        ("limits", _limits(definition.limits)),
        ("kind", definition.kind or ""),
        ("profile", definition.profile or ""),
        ("runner", definition.runner or ""),
        ("command", definition.command or ""),
        ("servers", ", ".join(definition.mcp_servers)),
        ("isolation", definition.isolation or ""),
        ("variables", ", ".join(definition.input_vars)),
        ("expertise", ", ".join(definition.expertise)),
        ("skills", ", ".join(definition.skills)),
        ("unused", ", ".join(definition.unused)),
    ]
    for label, fact in facts:
        if fact:
            yield from _fact(label, fact, columns)
    for warning in definition.warnings:
        yield from _labelled("warning", "yellow", warning, columns)
    yield []
    for line in definition.body.split("\n"):
        yield [Piece(escape_control(line))]


def _fact(label: str, fact: str, columns: int, style: str = "", note: str = "") -> Iterator[Line]:
    """Yield a labelled text with a note after it, or below it if there is no space."""
    rows = wrap_text(escape_control(fact), columns, _LABEL + 2)
    note = f"from the {note}" if note else ""
    fits = note and len(rows) == 1 and display_width(rows[0]) + display_width(note) + 2 <= columns
    for number, row in enumerate(rows):
        head = f"  {label:<{_LABEL}}" if number == 0 else ""
        text = row[_LABEL + 2 :] if number == 0 else row
        yield [Piece(head, "dim"), Piece(text, style), *([Piece(f"  {note}", "dim")] if fits else [])]
    if note and not fits:
        yield [Piece(f"{'':<{_LABEL + 2}}{note}", "dim")]


def _limits(limits: Any) -> str:
    values = {name: value for name, value in msgspec.to_builtins(limits).items() if value is not None}
    return ", ".join(_amount(name, value) for name, value in values.items())


def explain_lines(name: str | None, brief: Brief, columns: int) -> Iterator[Line]:
    """Yield the prompt, tools, model and limits of a brief with their sources. Its warnings are printed elsewhere."""
    source = brief.definition
    note = f"  {source.plugin}, {source.digest[:19]}" if source else "  no such definition: the defaults are used"
    if name is None:
        yield [Piece("a job without a definition", "bold")]
    else:
        yield from _title(
            escape_control(source.name if source else name), escape_control(note), columns, "dim" if source else "red"
        )
    first = next((line for line in brief.system.split("\n") if line.strip()), "")
    width = columns - _LABEL - 5
    start = first if display_width(first) <= width else _full_words(cut_width(first, width - 2)) + " …"
    yield from _fact("prompt", f'"{start}"' if first else "empty", columns)
    origin = {"job": "job", "definition": "definition", "configuration": "configuration", "default": "defaults"}
    yield [Piece(f"{'':<{_LABEL + 2}}{_count_words(brief.system)} from the {origin[brief.system_from]}", "dim")]
    result = f"kind {brief.kind}, profile {brief.profile}; {_count_words(brief.contract)} of instructions"
    yield from _fact("result", result, columns)
    if brief.runner == "command":
        yield from _fact("program", brief.command or "not set", columns)
    else:
        yield from _fact("tools", ", ".join(brief.tools) or "no tools", columns, "green", origin[brief.tools_from])
        if brief.withheld:
            yield from _fact("withheld", ", ".join(brief.withheld), columns, "bold red")
        yield from _fact("model", brief.model, columns, note=origin[brief.model_from])
        yield from _fact("turns", str(brief.max_turns), columns, note=origin[brief.max_turns_from])
    yield from _fact("limits", _limits_from(brief), columns)
    if brief.mcp_servers:
        yield from _fact("servers", ", ".join(brief.mcp_servers), columns)
    if brief.isolation:
        yield from _fact("isolation", brief.isolation, columns)


def _full_words(text: str) -> str:
    return text.rpartition(" ")[0] or text


def _count_words(text: str) -> str:
    count = len(text.split())
    return f"{count:,} word{'s' * (count != 1)}"


def _amount(name: str, value: float) -> str:
    return f"${value:,g}" if name == "cost" else f"{value:,g} {name}"


def _limits_from(brief: Brief) -> str:
    limits = [
        f"{_amount(name, value)} from the {brief.limits_from[name]}"
        for name, value in msgspec.to_builtins(brief.limits).items()
        if value is not None
    ]
    return ", ".join(limits) or "only turns"


def check_lines(plugins: Sequence[Plugin], warnings: Sequence[str], columns: int) -> Iterator[Line]:
    """Yield the problems of definitions by file, then a line with the totals."""
    definitions = [definition for plugin in plugins for definition in plugin.definitions]
    rejected = [file for plugin in plugins for file in plugin.rejected]
    skipped = [file for plugin in plugins for file in plugin.skipped]
    with_warnings = 0
    for file in rejected:
        yield from _labelled("rejected", "red", f"{file.path}: {file.reason}", columns, indent=0)
    for definition in definitions:
        with_warnings += bool(definition.warnings)
        for warning in definition.warnings:
            yield from _labelled("warning", "yellow", f"{definition.path}: {warning}", columns, indent=0)
    for warning in warnings:
        yield from _labelled("warning", "yellow", warning, columns, indent=0)
    for other in skipped:
        yield from _labelled("skipped", "dim", f"{other.path}: {other.reason}", columns, indent=0)
    counts = (
        f"{len(definitions)} loaded, {len(rejected)} rejected, {len(skipped)} skipped, {with_warnings} with warnings"
    )
    yield [Piece(counts, "bold red" if rejected else "bold")]
