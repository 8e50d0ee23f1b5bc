"""`remit doctor`."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remit.configuration import SETTINGS, Configuration, Value, find_file, load
from remit.reports.layout import Line, Piece
from remit.surfaces.cli.printing import columns, print_lines, print_text

if TYPE_CHECKING:
    from remit.dispatch.health import HealthFact
    from remit.registry.lookup import Registry

#: In the address of a database: after the user's name, or as a value of its own, or as a word of another form.
_PASSWORD = re.compile(r"(//[^/@:\s]*:|\bpassword\s*=\s*)[^@&\s]+")
_MOST_FILES = 3


@click.command("doctor")
@click.option("--all", "is_all", is_flag=True, help="Show also the settings that have their default, and all meanings.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(form: str, *, is_all: bool) -> int:
    """Show whether all works that is needed, and the settings in force with where each value came from.

    Exit code 1 if something is marked WRONG.

    \b
    Examples:
      remit doctor
      remit doctor --all
      REMIT_PROFILE=v1 remit doctor --format json
    """
    from remit import __version__

    settings = load()
    found = _facts(settings)
    settings = _without_password(settings)
    code = 1 if any(fact.level == "bad" for fact in found) else 0
    known = {*(setting.variable for setting in SETTINGS), "REMIT_STOP_AT"}
    unknown = sorted(name for name in os.environ if name.startswith("REMIT_") and name not in known)
    if form == "json":
        from remit.reports.formats import format_json

        rows = [{"key": key, "value": value.value, "source": value.source} for key, value in settings.values.items()]
        report = {"schema": "remit.doctor/1", "version": __version__, "python": platform.python_version()}
        looked_at = [fact._asdict() for fact in found]
        print_text(format_json({**report, "settings": rows, "unknown_variables": unknown, "facts": looked_at}))
        return code
    from remit.reports.doctor import health_lines, settings_lines

    about = f" · Python {platform.python_version()} · {sys.platform}"
    lines: list[Line] = [[Piece(f"remit {__version__}", "bold"), Piece(about, "dim")]]
    lines.extend(health_lines(found, columns()))
    lines.append([])
    lines.extend(settings_lines(settings, find_file(Path.cwd()), unknown, columns(), is_all=is_all))
    print_lines(lines)
    return code


def _without_password(settings: Configuration) -> Configuration:
    """What may be shown: not the password in the address of a database."""
    address, source = settings.values["database_url"]
    address = _PASSWORD.sub(r"\1***", address)
    return Configuration({**settings.values, "database_url": Value(address, source)})


def _facts(settings: Configuration) -> list[HealthFact]:
    """What jobs need, looked at; and how many definitions there are."""
    from remit.dispatch.health import health_facts
    from remit.dispatch.settings import load_settings
    from remit.registry.api import allow_list
    from remit.registry.lookup import load_registry

    found = [_definitions(load_registry(settings["plugin_path"], allow_list(settings, None)))]

    async def look() -> None:
        found.extend([fact async for fact in health_facts(settings, load_settings(settings))])

    asyncio.run(look())
    from remit.clients.claude_code.setup.health import client_facts

    found.extend(client_facts())
    return found


def _definitions(registry: Registry) -> HealthFact:
    from remit.dispatch.health import HealthFact

    count, plugins = len(list(registry)), len(registry.plugins)
    words = f"{count} definition{'s' * (count != 1)} from {plugins} plugin{'s' * (plugins != 1)}"
    rejected = [file.path for plugin in registry.plugins for file in plugin.rejected]
    if rejected:
        more = f" and {len(rejected) - _MOST_FILES} more" if len(rejected) > _MOST_FILES else ""
        words += f"; rejected: {', '.join(map(repr, rejected[:_MOST_FILES]))}{more}"
    if registry.warnings:
        words += f"; {len(registry.warnings)} warning{'s' * (len(registry.warnings) != 1)}"
    if rejected or registry.warnings:
        words += "; `remit agents list` says why"
    return HealthFact("definitions", "bad" if rejected else "odd" if registry.warnings else "good", words)
