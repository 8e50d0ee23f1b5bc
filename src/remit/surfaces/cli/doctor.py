"""`remit doctor`."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import sys
from pathlib import Path

import click

from remit import __version__
from remit.clients.hooks.compiled import folder_of, project_of
from remit.clients.hooks.hook_events import unknown_notice
from remit.clients.known_clients import CLIENTS, client_facts
from remit.configuration import SETTINGS, Configuration, Value, find_file, load
from remit.dispatch.health import HealthFact, health_facts
from remit.dispatch.worker_settings import load_settings
from remit.registry.lookup import Registry
from remit.registry.resolution import quiet_registry
from remit.reports.formats import format_json
from remit.reports.health_text import health_lines, settings_lines
from remit.reports.layout import Line, Piece
from remit.state_folder import person_files
from remit.surfaces.cli.printing import SlowNotice, columns, form_option, print_lines, print_text

#: The password in the address of a database: after the user name, or as a parameter.
#: The address of a database. All between the first colon and the last @ may be the password.
_URL = re.compile(r"(\w+://)(?:([^:/?#@\s]*)(:.*)?@)?([^@?\s]*)(\?.*)?", re.DOTALL)
#: What is shown of the parameters of an address: `host=db1 user=remit`.
_PUBLIC = re.compile(r"\b(?:host|hostaddr|port|dbname|user|sslmode)=[^\s'\\&]+")
_MAX_FILES = 3


@click.command("doctor")
@click.option(
    "--all", "is_all", is_flag=True, help="Also show settings with default values, and describe each setting."
)
@form_option()
def doctor_command(form: str, *, is_all: bool) -> int:
    """Check the installation and show the effective settings with their sources.

    The exit code is 1 if a check is marked WRONG.

    \b
    Examples:
      remit doctor
      remit doctor --all
      REMIT_PROFILE=v1 remit doctor --format json
    """
    settings = load()
    with SlowNotice() as notice:
        facts = _facts(settings, notice)
    settings = _without_password(settings)
    code = 1 if any(fact.level == "bad" for fact in facts) else 0
    variables = {*(setting.variable for setting in SETTINGS), "REMIT_CONFIG", "REMIT_SERVER_TOKEN", "REMIT_STOP_AT"}
    unknown = sorted(name for name in os.environ if name.startswith("REMIT_") and name not in variables)
    if form == "json":
        rows = [{"key": key, "value": value.value, "source": value.source} for key, value in settings.values.items()]
        report = {"schema": "remit.doctor/1", "version": __version__, "python": platform.python_version()}
        fact_rows = [fact._asdict() for fact in facts]
        print_text(format_json({**report, "settings": rows, "unknown_variables": unknown, "facts": fact_rows}))
        return code
    about = f" · Python {platform.python_version()} · {sys.platform}"
    lines: list[Line] = [[Piece(f"remit {__version__}", "bold"), Piece(about, "dim")]]
    lines.extend(health_lines(facts, columns()))
    lines.append([])
    nearest = find_file(Path.cwd())
    files = list(dict.fromkeys([*map(Path, person_files()), *([nearest] if nearest else [])]))
    lines.extend(settings_lines(settings, files, unknown, columns(), is_all=is_all))
    print_lines(lines)
    return code


def _without_password(settings: Configuration) -> Configuration:
    """Return the settings without the password in the address of the database."""
    address, source = settings.values["database_url"]
    url = _URL.fullmatch(address)
    if url is None:
        shown = " ".join(_PUBLIC.findall(address)) or "***" * bool(address)
    else:
        scheme, user, password, place, query = url.groups("")
        rest = "&".join(_PUBLIC.findall(query))
        shown = f"{scheme}{user}{':***' * bool(password)}{'@' * bool(user or password)}{place}{'?' * bool(rest)}{rest}"
    return Configuration({**settings.values, "database_url": Value(shown, source)})


def _facts(settings: Configuration, notice: SlowNotice) -> list[HealthFact]:
    """Return the results of all checks; the notice names the one that runs."""
    notice.update("checking the definitions")
    facts = [_definitions(quiet_registry(settings))]

    async def check() -> None:
        facts.extend([fact async for fact in health_facts(settings, load_settings(settings))])

    notice.update("checking the database and the sandbox")
    asyncio.run(check())

    for name in CLIENTS:
        notice.update(f"checking whether {name} runs the hooks")
        facts.extend(client_facts(name))
    if unknown := unknown_notice(folder_of(project_of(str(Path.cwd())))):
        facts.append(HealthFact("hooks", "odd", unknown))
    return facts


def _definitions(registry: Registry) -> HealthFact:
    count, plugins = len(list(registry)), len(registry.plugins)
    words = f"{count} definition{'s' * (count != 1)} from {plugins} plugin{'s' * (plugins != 1)}"
    rejected = [file.path for plugin in registry.plugins for file in plugin.rejected]
    if rejected:
        more = f" and {len(rejected) - _MAX_FILES} more" if len(rejected) > _MAX_FILES else ""
        words += f"; rejected: {', '.join(map(repr, rejected[:_MAX_FILES]))}{more}"
    if registry.warnings:
        words += f"; {len(registry.warnings)} warning{'s' * (len(registry.warnings) != 1)}"
    if rejected or registry.warnings:
        words += "; `remit agents list` shows the reasons"
    return HealthFact("definitions", "bad" if rejected else "odd" if registry.warnings else "good", words)
