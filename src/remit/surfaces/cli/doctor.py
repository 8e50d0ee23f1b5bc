"""`remit doctor`."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import click

from remit.configuration import SETTINGS, find_file, load
from remit.reports.layout import Line, Piece
from remit.reports.visible import visible
from remit.surfaces.cli.printing import print_lines, print_text


@click.command("doctor")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(form: str) -> int:
    """Show the settings in force, and where each value came from.

    \b
    Examples:
      remit doctor
      REMIT_PROFILE=v1 remit doctor --format json
    """
    from remit import __version__

    settings = load()
    file = find_file(Path.cwd())
    known = {setting.variable for setting in SETTINGS}
    unknown = sorted(name for name in os.environ if name.startswith("REMIT_") and name not in known)
    if form == "json":
        from remit.reports.json import pretty

        rows = [{"key": key, "value": value.value, "source": value.source} for key, value in settings.values.items()]
        report = {"schema": "remit.doctor/1", "version": __version__, "python": platform.python_version()}
        print_text(pretty({**report, "settings": rows, "unknown_variables": unknown}))
        return 0
    lines: list[Line] = [
        [
            Piece(f"remit {__version__}", "bold"),
            Piece(f" · Python {platform.python_version()} · {sys.platform}", "dim"),
        ],
        [Piece("configuration file: "), Piece(visible(str(file)) if file else "none found")],
        [],
    ]
    for setting in SETTINGS:
        value = settings.values[setting.key]
        shown = visible(str(value.value)) if value.value not in ("", [], {}) else "(none)"
        lines.append(
            [
                Piece(f"{setting.key:<16}", "bold"),
                Piece(f" {shown:<12} "),
                Piece(f"from {visible(value.source)}", "dim"),
            ]
        )
        variable = f"; variable {setting.variable}" if setting.variable else ""
        lines.append([Piece(f"{'':<16} {setting.meaning}{variable}", "dim")])
    lines.extend([Piece(f"unknown variable {visible(name)}: remit does not read it", "yellow")] for name in unknown)
    print_lines(lines)
    return 0
