"""`remit agents`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from remit.configuration import load
from remit.errors import UsageError
from remit.registry import api
from remit.registry.lookup import Registry
from remit.registry.tools import AllowList, split_names
from remit.surfaces.cli.printing import columns, print_lines, print_text

_FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
_PLUGINS = click.option("--plugin-path", metavar="PATH", help="Load these folders instead, separated as in PATH.")
_ALLOW = click.option("--allow-tools", metavar="NAMES", help="The worker's tools, separated by commas.")


@click.group("agents", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> int | None:
    """Show the subagents that are defined: what each is told and may do.

    \b
    Examples:
      remit agents                                     what is there
      remit agents explain security-auditor            what one will be told and may do, and why
      remit agents check .claude/agents                is anything wrong with these files?
    """
    if ctx.invoked_subcommand is None:
        code: int = ctx.invoke(list_command)
        return code
    return None


@command.command("list")
@_PLUGINS
@_FORMAT
def list_command(plugin_path: str | None = None, form: str = "text") -> int:
    """List every definition with its plugin, tools and digest.

    \b
    Examples:
      remit agents list
      REMIT_PLUGIN_PATH=/srv/plugins/house remit agents list --format json
    """
    from remit.reports.agents import agents_shape, list_lines

    registry = _registry(plugin_path, None, tell_faults=False)
    if form == "json":
        _print_json(agents_shape(registry.plugins, registry.warnings))
    else:
        print_lines(list_lines(registry, columns()))
    return 0


@command.command("show")
@click.argument("name")
@_PLUGINS
@_FORMAT
def show(name: str, plugin_path: str | None, form: str) -> int:
    """Show one definition: its fields as they are understood, and its body.

    \b
    Examples:
      remit agents show code-explorer
      remit agents show built-in:code-explorer --format json
    """
    from remit.reports.agents import show_lines

    registry = _registry(plugin_path, None)
    definition = registry.get(name)
    if definition is None:
        raise UsageError(
            f"there is no definition {name!r}{registry.why_missing(name) or '; `remit agents` lists them'}"
        )
    if form == "json":
        import msgspec

        _print_json({"schema": "remit.definition/1", **msgspec.to_builtins(definition)})
    else:
        print_lines(show_lines(definition, columns()))
    return 0


@command.command("explain")
@click.argument("name", required=False)
@click.option("--system", help="A system prompt of the job's own.")
@click.option("--allowed-tools", metavar="NAMES", help="Tools of the job's own, separated by commas.")
@click.option("--model", help="A model of the job's own.")
@click.option("--max-turns", type=int, help="A number of turns of the job's own.")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="A value for a variable of the body.")
@click.option("--policy", type=click.Choice(["open", "strict"]), help="What unknown names do: warn, or refuse.")
@_PLUGINS
@_ALLOW
@_FORMAT
def explain(name: str | None, **given: Any) -> int:
    """Explain what a job for NAME would be told and may do, and where each part comes from; without NAME, any job.

    \b
    Examples:
      remit agents explain security-auditor
      remit agents explain security-auditor --allowed-tools Read,Grep --model opus
      remit agents explain my-agent --plugin-path /srv/plugins/house --policy strict --format json
    """
    configured = load()
    names = split_names(given["allow_tools"]) if given["allow_tools"] is not None else None
    registry = _registry(given["plugin_path"], names)
    request = {
        "subagent_def": name,
        "system": given["system"],
        "allowed_tools": given["allowed_tools"],
        "model": given["model"],
        "max_turns": given["max_turns"],
        "input_vars": dict(map(_variable, given["variables"])),
    }
    brief = api.resolve(request, registry=registry, policy=given["policy"] or configured["policy"], allow_tools=names)
    if given["form"] == "json":
        _print_json(brief)
    else:
        from remit.reports.agents import explain_lines

        print_lines(explain_lines(name, brief, columns()))
    return 0


@command.command("check")
@click.argument("path", type=click.Path(path_type=Path))
@_ALLOW
@click.option("--fix", is_flag=True, help="Mend what is mechanical, in place.")
@_FORMAT
def check(path: Path, allow_tools: str | None, form: str, *, fix: bool) -> int:
    """Check a plugin, a folder of definitions or one file. Exit code 1 if a definition is rejected.

    \b
    Examples:
      remit agents check .claude/agents
      remit agents check my-plugin --allow-tools Read,Grep,brain_search
      remit agents check .claude/agents --fix
    """
    from remit.registry.check import check_path
    from remit.reports.agents import agents_shape, check_lines

    allowed = _allowed(split_names(allow_tools) if allow_tools is not None else None)
    plugins, warnings, repairs = check_path(path, allowed, fix=fix)
    for words in repairs:
        api.print_notice(words, "fixed")
    if form == "json":
        _print_json(agents_shape(plugins, warnings))
    else:
        print_lines(check_lines(plugins, warnings, columns()))
    return 1 if not plugins or any(plugin.rejected for plugin in plugins) else 0


def _registry(plugin_path: str | None, names: list[str] | None, *, tell_faults: bool = True) -> Registry:
    path = plugin_path if plugin_path is not None else load()["plugin_path"]
    return api.open_registry(path, _allowed(names), tell_faults=tell_faults)


def _allowed(names: list[str] | None) -> AllowList:
    return api.allow_list(load(), names)


def _variable(written: str) -> tuple[str, str]:
    name, equals, value = written.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--var {written!r}: write NAME=VALUE")
    return name.strip(), value


def _print_json(value: Any) -> None:
    from remit.reports.formats import format_json

    print_text(format_json(value))
