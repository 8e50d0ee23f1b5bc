"""The command `remit agents`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from remit.clients.known_clients import CLIENTS
from remit.clients.setup.file_changes import MAX_BYTES, read_bytes, write_bytes
from remit.configuration import load
from remit.errors import UsageError
from remit.registry import resolution
from remit.registry.definition import Definition
from remit.registry.lookup import Registry
from remit.registry.plugin_check import check_path
from remit.registry.tools import AllowList, split_names
from remit.reports.agent_definitions import agents_shape, check_lines, explain_lines, list_lines, show_lines
from remit.reports.layout import escape_control
from remit.surfaces.cli.printing import ListFirst, columns, form_option, print_answer

_PLUGINS = click.option(
    "--plugin-path",
    metavar="PATH",
    help="Folders of definitions, separated as in PATH, instead of the configured ones.",
)
_ALLOW = click.option(
    "--worker-tools", "allow_tools", metavar="NAMES", help="The tools that a worker allows, separated by commas."
)


@click.group("agents", cls=ListFirst)
def command() -> None:
    """Show and check subagent definitions.

    \b
    Examples:
      remit agents                                     list the definitions
      remit agents explain security-auditor            show the prompt and tools
      remit agents check .claude/agents                check the files of a folder
      remit agents export --to codex                   write them for a client
    """


@command.command("list")
@_PLUGINS
@form_option()
def list_command(plugin_path: str | None, form: str) -> int:
    """List every definition with its plugin, tools and digest.

    \b
    Examples:
      remit agents list
      REMIT_PLUGIN_PATH=/srv/plugins/acme remit agents list --format json
    """
    registry = _registry(plugin_path, None, print_problems=False)
    print_answer(form, agents_shape(registry.plugins, registry.warnings), list_lines(registry, columns()))
    return 0


@command.command("show")
@click.argument("name")
@_PLUGINS
@form_option()
def show(name: str, plugin_path: str | None, form: str) -> int:
    """Show a definition: its fields as Remit reads them, and its body.

    \b
    Examples:
      remit agents show code-explorer
      remit agents show built-in:code-explorer --format json
    """
    registry = _registry(plugin_path, None)
    definition = _definition(registry, name)
    print_answer(
        form, {"schema": "remit.definition/1", **msgspec.to_builtins(definition)}, show_lines(definition, columns())
    )
    return 0


@command.command("explain")
@click.argument("name", required=False)
@click.option("--system", help="The job's system prompt.")
@click.option("--tools", "allowed_tools", metavar="NAMES", help="The job's tools, separated by commas.")
@click.option("--model", help="The job's model.")
@click.option("--max-turns", type=int, help="The job's turn limit.")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="The value of a variable in the body.")
@click.option(
    "--policy",
    type=click.Choice(["open", "strict"]),
    help="How to handle unknown names: warn (open) or refuse (strict).",
)
@_PLUGINS
@_ALLOW
@form_option()
def explain(name: str | None, **options: Any) -> int:
    """Show the prompt, tools and limits of a job, and their sources.

    NAME is the definition of the job. Without NAME, show a job without a definition.

    \b
    Examples:
      remit agents explain security-auditor
      remit agents explain security-auditor --tools Read,Grep --model opus
      remit agents explain my-agent --plugin-path /srv/plugins/acme --policy strict --format json
    """
    configured = load()
    names = split_names(options["allow_tools"]) if options["allow_tools"] is not None else None
    registry = _registry(options["plugin_path"], names)
    request = {
        "subagent_def": name,
        "system": options["system"],
        "allowed_tools": options["allowed_tools"],
        "model": options["model"],
        "max_turns": options["max_turns"],
        "input_vars": dict(map(_variable, options["variables"])),
    }
    brief = resolution.resolve(
        request, registry=registry, policy=options["policy"] or configured["policy"], allow_tools=names
    )
    print_answer(options["form"], brief, explain_lines(name, brief, columns()))
    return 0


@command.command("check")
@click.argument("path", type=click.Path(path_type=Path))
@_ALLOW
@click.option("--fix", is_flag=True, help="Fix simple mistakes in the files.")
@form_option()
def check(path: Path, allow_tools: str | None, form: str, *, fix: bool) -> int:
    """Check a plugin, a folder of definitions or one file.

    The exit code is 1 if a definition is rejected.

    \b
    Examples:
      remit agents check .claude/agents
      remit agents check my-plugin --worker-tools Read,Grep,brain_search
      remit agents check .claude/agents --fix
    """
    allowed = _allowed(split_names(allow_tools) if allow_tools is not None else None)
    plugins, warnings, repairs = check_path(path, allowed, fix=fix)
    for repair in repairs:
        resolution.print_notice(repair, "fixed")
    print_answer(form, agents_shape(plugins, warnings), check_lines(plugins, warnings, columns()))
    return 1 if not plugins or any(plugin.rejected for plugin in plugins) else 0


def _registry(plugin_path: str | None, names: list[str] | None, *, print_problems: bool = True) -> Registry:
    if plugin_path is None:
        return resolution.configured_registry(load(), _allowed(names), print_problems=print_problems)
    return resolution.open_registry(plugin_path, _allowed(names), print_problems=print_problems)


def _allowed(names: list[str] | None) -> AllowList:
    return resolution.allow_list(load(), names)


def _variable(option: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--var takes NAME=VALUE, not {option!r}")
    return name.strip(), value


@command.command("export")
@click.argument("names", nargs=-1)
@click.option("--to", "client", type=click.Choice(list(CLIENTS)), required=True, help="The client.")
@click.option("--out", type=click.Path(path_type=Path), help="The folder; default: that of the client in this project.")
@click.option("--force", "is_forced", is_flag=True, help="Replace files that differ.")
@_PLUGINS
@form_option()
def export_command(
    names: tuple[str, ...], client: str, out: Path | None, plugin_path: str | None, form: str, *, is_forced: bool
) -> int:
    """Write definitions in the format of a client: all of them, or those with these NAMES.

    A file that exists and differs stays, unless --force is given. The exit code is 1 if one stays.

    \b
    Examples:
      remit agents export --to codex
      remit agents export code-explorer --to opencode --out /tmp/agents
    """
    setup = CLIENTS[client]
    registry = _registry(plugin_path, None)
    visible = [one for one in registry if not registry.is_hidden(one)]
    chosen = [_definition(registry, name) for name in names] or [
        one for one in visible if one.name not in setup.own_agents
    ]
    if out is None:
        target = setup.find_target(None, is_user=False)
        out = target.folder / setup.agents
    rows: list[dict[str, str]] = []
    for one in chosen:
        path = out / f"{one.name}{setup.ending}"  # a name contains no slash
        rows.append({"path": str(path), "outcome": _export(path, setup.definition_text(one), is_forced=is_forced)})
    print_answer(
        form,
        {"schema": "remit.export/1", "client": client, "files": rows},
        "\n".join(escape_control(f"{row['outcome']} {row['path']}") for row in rows),
    )
    return 1 if any(row["outcome"] == "kept" for row in rows) else 0


def _definition(registry: Registry, name: str) -> Definition:
    definition = registry.get(name)
    if definition is None:
        raise UsageError(f"there is no definition {name!r}{registry.why_missing(name) or '; see `remit agents`'}")
    return definition


def _export(path: Path, text: str, *, is_forced: bool) -> str:
    """Write a file and return what was done: written, unchanged, or kept because it differs."""
    before = read_bytes(path, MAX_BYTES)
    if before == text.encode():
        return "unchanged"
    if before is not None and not is_forced:
        return "kept"
    write_bytes(path, text.encode())
    return "written"
