"""`remit doctor`."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remit.configuration import SETTINGS, Configuration, find_file, load
from remit.reports.layout import Line, Piece
from remit.reports.visible import visible, wrapped
from remit.surfaces.cli.printing import columns, print_lines, print_text

if TYPE_CHECKING:
    from remit.dispatch.health import Fact

_STYLES = {"good": "green", "odd": "yellow", "bad": "bold red"}


@click.command("doctor")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(form: str) -> int:
    """Show the settings in force and where each value came from, and whether jobs have what they need.

    Exit code 1 if something that jobs need does not work.

    \b
    Examples:
      remit doctor
      REMIT_PROFILE=v1 remit doctor --format json
    """
    from remit import __version__

    settings = load()
    found = _facts(settings)
    code = 1 if any(fact.level == "bad" for fact in found) else 0
    file = find_file(Path.cwd())
    known = {*(setting.variable for setting in SETTINGS), "REMIT_STOP_AT"}
    unknown = sorted(name for name in os.environ if name.startswith("REMIT_") and name not in known)
    if form == "json":
        from remit.reports.json import pretty

        rows = [{"key": key, "value": value.value, "source": value.source} for key, value in settings.values.items()]
        report = {"schema": "remit.doctor/1", "version": __version__, "python": platform.python_version()}
        looked_at = [fact._asdict() for fact in found]
        print_text(pretty({**report, "settings": rows, "unknown_variables": unknown, "facts": looked_at}))
        return code
    lines: list[Line] = [
        [
            Piece(f"remit {__version__}", "bold"),
            Piece(f" · Python {platform.python_version()} · {sys.platform}", "dim"),
        ],
        [Piece("configuration file: "), Piece(visible(str(file)) if file else "none found")],
        [],
    ]
    wide = max(len(setting.key) for setting in SETTINGS)
    for setting in SETTINGS:
        value = settings.values[setting.key]
        shown = visible(str(value.value)) if value.value not in ("", [], {}) else "(none)"
        lines.append(
            [
                Piece(f"{setting.key:<{wide}}", "bold"),
                Piece(f" {shown:<12} "),
                Piece(f"from {visible(value.source)}", "dim"),
            ]
        )
        variable = f"; variable {setting.variable}" if setting.variable else ""
        lines.append([Piece(f"{'':<{wide}} {setting.meaning}{variable}", "dim")])
    lines.extend([Piece(f"unknown variable {visible(name)}: remit does not read it", "yellow")] for name in unknown)
    lines.append([])
    for fact in found:
        for number, row in enumerate(wrapped(visible(fact.words), columns(), 17)):
            head = f"{fact.what:<16} " if number == 0 else ""
            lines.append([Piece(head, "bold"), Piece(row[17:] if number == 0 else row, _STYLES[fact.level])])
    print_lines(lines)
    return code


def _facts(settings: Configuration) -> list[Fact]:
    """What jobs need, looked at; and how many definitions there are."""
    from remit.dispatch.health import Fact, facts
    from remit.dispatch.settings import load_settings
    from remit.registry.api import allow_list
    from remit.registry.lookup import load_registry

    registry = load_registry(settings["plugin_path"], allow_list(settings, None))
    rejected = sum(len(plugin.rejected) for plugin in registry.plugins)
    odd = f"; {rejected} rejected, {len(registry.warnings)} warnings" if rejected or registry.warnings else ""
    count = len(list(registry))
    found = [
        Fact(
            "definitions",
            "bad" if rejected else "odd" if odd else "good",
            f"{count} from {len(registry.plugins)} plugins{odd}",
        )
    ]

    async def look() -> None:
        found.extend([fact async for fact in facts(settings, load_settings(settings))])

    asyncio.run(look())
    from remit.clients.claude_code.setup.health import client_facts

    found.extend(client_facts())
    return found
