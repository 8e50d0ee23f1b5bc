"""Definitions and briefs for people, and in the fixed JSON shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from remit.registry.lookup import Registry
from remit.registry.model import Brief, Definition, Plugin, Rejected, Skipped
from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control, wrap_text

_LABEL = 11


class DefinitionShape(msgspec.Struct):
    """A definition; `tools` is null where it does not say, `withheld` are names it lists that are no tool."""

    name: str
    plugin: str
    path: str
    tools: Sequence[str] | None
    withheld: Sequence[str]
    digest: str


class AgentsShape(msgspec.Struct):
    """What `remit agents list` and `remit agents check` print as JSON."""

    definitions: list[DefinitionShape]
    rejected: Sequence[Rejected]
    skipped: Sequence[Skipped]
    warnings: Sequence[str]
    schema: Literal["remit.agents/1"] = "remit.agents/1"


def agents_shape(plugins: Iterable[Plugin], warnings: Sequence[str]) -> AgentsShape:
    """Plugins in the fixed shape; a definition's own warnings say which file they are of."""
    loaded = list(plugins)
    definitions = [definition for plugin in loaded for definition in plugin.definitions]
    own = [f"{one.path!r}: {words}" for one in definitions for words in one.warnings]
    return AgentsShape(
        definitions=[
            DefinitionShape(one.name, one.plugin, one.path, one.tools, one.unknown_tools, one.digest)
            for one in definitions
        ],
        rejected=[file for plugin in loaded for file in plugin.rejected],
        skipped=[file for plugin in loaded for file in plugin.skipped],
        warnings=[*warnings, *own],
    )


def list_lines(registry: Registry, columns: int) -> Iterator[Line]:
    """Every definition, plugin by plugin."""
    room = max((display_width(cut_width(escape_control(one.name), 40)) for one in registry), default=0)
    for plugin in registry.plugins:
        version = f" {escape_control(plugin.version)}" if plugin.version else ""
        count = f"{len(plugin.definitions)} definition{'s' * (len(plugin.definitions) != 1)}"
        yield from _title(escape_control(plugin.name), f"{version}  {count}", columns)
        for definition in plugin.definitions:
            hidden = f"hidden by {_winner(registry, definition)!r}" if registry.is_hidden(definition) else ""
            yield from _definition_row(definition, columns, room, hidden)
        for file in plugin.rejected:
            yield from _complaint("rejected", "red", f"{file.path}: {file.reason}", columns)
    for words in registry.warnings:
        yield from _complaint("warning", "yellow", words, columns)
    yield [Piece("`remit agents explain NAME` shows what one is told and may do", "dim")]


def _winner(registry: Registry, definition: Definition) -> str:
    """The definition that a hidden one's bare name means."""
    found = registry.get(definition.name)
    return found.qualified if found is not None else ""


def _title(name: str, note: str, columns: int, style: str = "dim") -> Iterator[Line]:
    """A name in bold and a note after it, on lines of their own where they do not fit on one."""
    if display_width(name) + display_width(note) <= columns:
        yield [Piece(name, "bold"), Piece(note, style)]
        return
    yield from ([Piece(row, "bold")] for row in wrap_text(name, columns))
    yield from ([Piece(row, style)] for row in wrap_text(note, columns, 2))


def _definition_row(definition: Definition, columns: int, room: int, hidden: str) -> Iterator[Line]:
    name = cut_width(escape_control(definition.name), room)
    tools = "every tool" if definition.tools is None else ", ".join(definition.tools) or "no tools"
    yield [
        Piece(f"  {name}{' ' * (room + 2 - display_width(name))}", "dim" if hidden else ""),
        Piece(f"{definition.digest.removeprefix('sha256:')[:12]}  ", "dim"),
        Piece(_as_many(escape_control(tools), columns - room - 18), "dim" if hidden else ""),
    ]
    for words in (*([hidden] if hidden else []), *definition.warnings):
        yield from _complaint("warning", "yellow", words, columns, indent=4)


def _as_many(listed: str, room: int) -> str:
    """As many names of a list as fit."""
    if display_width(listed) <= room:
        return listed
    return (cut_width(listed, max(room - 2, 0)).rpartition(", ")[0] + " …").lstrip()


def _complaint(label: str, style: str, words: str, columns: int, indent: int = 2) -> Iterator[Line]:
    """A labelled sentence; further lines of it stand a little to the right."""
    for number, row in enumerate(wrap_text(f"{label}: {escape_control(words)}", columns - 2, indent)):
        yield [Piece(row if number == 0 else f"  {row}", style)]


def _listed(tools: tuple[str, ...] | None) -> str:
    return "those of the worker, without Bash" if tools is None else ", ".join(tools) or "none"


def show_lines(definition: Definition, columns: int) -> Iterator[Line]:
    """A definition: its fields as they are understood, then its body."""
    yield from _title(escape_control(definition.name), f"  {escape_control(definition.qualified)}", columns)
    facts: list[tuple[str, str]] = [
        ("file", definition.path),
        ("digest", definition.digest),
        ("for", definition.description),
        (
            "tools",
            "the tools of the worker, without Bash"
            if definition.tools is None
            else ", ".join(definition.tools) or "none",
        ),
        ("without", ", ".join(definition.denied)),
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
    for label, words in facts:
        if words:
            yield from _fact(label, words, columns)
    for words in definition.warnings:
        yield from _complaint("warning", "yellow", words, columns)
    yield []
    for line in definition.body.split("\n"):
        yield [Piece(escape_control(line))]


def _fact(label: str, words: str, columns: int, style: str = "", note: str = "") -> Iterator[Line]:
    """A labelled text; the note stands after it where there is room, else below."""
    rows = wrap_text(escape_control(words), columns, _LABEL + 2)
    note = f"from the {note}" if note else ""
    fits = note and len(rows) == 1 and display_width(rows[0]) + display_width(note) + 2 <= columns
    for number, row in enumerate(rows):
        head = f"  {label:<{_LABEL}}" if number == 0 else ""
        text = row[_LABEL + 2 :] if number == 0 else row
        yield [Piece(head, "dim"), Piece(text, style), *([Piece(f"  {note}", "dim")] if fits else [])]
    if note and not fits:
        yield [Piece(f"{'':<{_LABEL + 2}}{note}", "dim")]


def _limits(limits: Any) -> str:
    said = {name: value for name, value in msgspec.to_builtins(limits).items() if value is not None}
    return ", ".join(_amount(name, value) for name, value in said.items())


def explain_lines(name: str | None, brief: Brief, columns: int) -> Iterator[Line]:
    """What a subagent will be told and may do, and why, in about ten lines. Its warnings are told elsewhere."""
    source = brief.definition
    known = f"  {source.plugin}, {source.digest[:19]}" if source else "  no such definition: the defaults"
    if name is None:
        yield [Piece("a job without a definition", "bold")]
    else:
        yield from _title(
            escape_control(source.name if source else name), escape_control(known), columns, "dim" if source else "red"
        )
    first = next((line for line in brief.system.split("\n") if line.strip()), "")
    room = columns - _LABEL - 5
    start = first if display_width(first) <= room else _whole_words(cut_width(first, room - 2)) + " …"
    told = f'"{start}"' if first else "nothing"
    yield from _fact("told", told, columns)
    origin = {"job": "job", "definition": "definition", "configuration": "configuration", "default": "defaults"}
    words = _words(brief.system)
    yield [Piece(f"{'':<{_LABEL + 2}}{words} from the {origin[brief.system_from]}", "dim")]
    how = f"with a result of kind {brief.kind}, profile {brief.profile}; {_words(brief.contract)} say how"
    yield from _fact("answers", how, columns)
    if brief.runner in ("command", "sarif"):
        yield from _fact("runs as", f"the program {brief.command or '(none is named)'}, {brief.runner}", columns)
    else:
        yield from _fact("may use", ", ".join(brief.tools) or "no tools", columns, "green", origin[brief.tools_from])
        if brief.withheld:
            yield from _fact("withheld", ", ".join(brief.withheld), columns, "bold red")
        yield from _fact("model", brief.model, columns, note=origin[brief.model_from])
        yield from _fact("turns", str(brief.max_turns), columns, note=origin[brief.max_turns_from])
    yield from _fact("limits", _limits_from(brief), columns)
    if brief.mcp_servers:
        yield from _fact("servers", ", ".join(brief.mcp_servers), columns)
    if brief.isolation:
        yield from _fact("works in", f"a {brief.isolation} of its own", columns)


def _whole_words(text: str) -> str:
    return text.rpartition(" ")[0] or text


def _words(text: str) -> str:
    count = len(text.split())
    return f"{count:,} word{'s' * (count != 1)}"


def _amount(name: str, value: float) -> str:
    return f"${value:,g}" if name == "cost" else f"{value:,g} {name}"


def _limits_from(brief: Brief) -> str:
    said = [
        f"{_amount(name, value)} from the {brief.limits_from[name]}"
        for name, value in msgspec.to_builtins(brief.limits).items()
        if value is not None
    ]
    return ", ".join(said) or "none beside the turns"


def check_lines(plugins: Sequence[Plugin], warnings: Sequence[str], columns: int) -> Iterator[Line]:
    """What is wrong with the definitions of a folder, file by file, and a last line with the sum."""
    definitions = [definition for plugin in plugins for definition in plugin.definitions]
    rejected = [file for plugin in plugins for file in plugin.rejected]
    skipped = [file for plugin in plugins for file in plugin.skipped]
    odd = 0
    for file in rejected:
        yield from _complaint("rejected", "red", f"{file.path}: {file.reason}", columns, indent=0)
    for definition in definitions:
        odd += bool(definition.warnings)
        for words in definition.warnings:
            yield from _complaint("warning", "yellow", f"{definition.path}: {words}", columns, indent=0)
    for words in warnings:
        yield from _complaint("warning", "yellow", words, columns, indent=0)
    for other in skipped:
        yield from _complaint("skipped", "dim", f"{other.path}: {other.reason}", columns, indent=0)
    counts = f"{len(definitions)} loaded, {len(rejected)} rejected, {len(skipped)} skipped, {odd} with warnings"
    yield [Piece(counts, "bold red" if rejected else "bold")]
