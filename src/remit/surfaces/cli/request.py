"""Options that commands share which submit a job, and the request they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remit.errors import UsageError
from remit.registry.tools import split_names

if TYPE_CHECKING:
    from remit.dispatch.submit import Queueing, Resolving

_OPTIONS = (
    click.option("--repo", type=click.Path(path_type=Path), help="The folder to work in; default: the current one."),
    click.option("--model", help="The model, as provider:model or a short name."),
    click.option("--system", help="A system prompt instead of the definition's."),
    click.option("--allowed-tools", metavar="NAMES", help="Tools instead of the definition's, separated by commas."),
    click.option("--max-turns", type=int, help="How often the model may be called."),
    click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="A value for a variable."),
    click.option("--max-tokens", type=int, help="Tokens the job may use."),
    click.option("--max-cost", type=float, help="Dollars the job may cost."),
    click.option("--max-seconds", type=float, help="Seconds the job may take."),
    click.option("--isolation", type=click.Choice(["worktree"]), help="Work in a git worktree of the job's own."),
    click.option("--policy", type=click.Choice(["open", "strict"]), help="What unknown names do: warn, or refuse."),
    click.option("--plugin-path", metavar="PATH", help="Folders of definitions, separated as in PATH."),
    click.option("--allow-tools", metavar="NAMES", help="The worker's tools, separated by commas."),
    click.option("--queue", default="default", show_default=True, help="The queue it waits in."),
    click.option("--priority", type=int, default=0, show_default=True, help="Higher comes first."),
    click.option("--key", help="An idempotency key: one job for it, until that job fails."),
    click.option("--parent", type=int, help="The job that this one is a part of."),
)
_TREE = (
    click.option("--tree-max-tokens", type=int, help="Tokens this job and its children may use together."),
    click.option("--tree-max-cost", type=float, help="Dollars this job and its children may cost together."),
    click.option("--tree-max-turns", type=int, help="How often models may be called for this job and its children."),
    click.option("--tree-max-seconds", type=float, help="Seconds this job and its children may take together."),
)


def request_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a request to a command."""
    return _with((*_OPTIONS, *_TREE), command)


def tree_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the limits of a tree of jobs to a command."""
    return _with(_TREE, command)


def _with(options: Iterable[Callable[..., Any]], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(tuple(options)):
        command = option(command)
    return command


def limits_from(given: dict[str, Any], *names: str) -> dict[str, Any] | None:
    """What a job may use, as far as it is said."""
    said = {name: given[f"max_{name}"] for name in names if given[f"max_{name}"] is not None}
    return said or None


def request_from(agent: str, task: str, given: dict[str, Any]) -> dict[str, Any]:
    """The request in the fields' own names."""
    return {
        "prompt": task,
        "subagent_def": agent,
        "system": given["system"],
        "allowed_tools": given["allowed_tools"],
        "model": given["model"],
        "max_turns": given["max_turns"],
        "input_vars": dict(map(_variable, given["variables"])),
        "isolation": given["isolation"],
        "limits": limits_from(given, "tokens", "cost", "seconds"),
    }


def resolving_from(given: dict[str, Any]) -> Resolving:
    """How the request is to be resolved."""
    from remit.dispatch.submit import Resolving

    allowed = split_names(given["allow_tools"]) if given["allow_tools"] is not None else None
    return Resolving(plugin_path=given["plugin_path"], policy=given["policy"], allow_tools=allowed)


def queueing_from(given: dict[str, Any]) -> Queueing:
    """How the job is to be queued."""
    from remit.dispatch.submit import Queueing

    return Queueing(
        queue=given["queue"],
        priority=given["priority"],
        key=given["key"],
        delay=given.get("delay") or 0,
        parent=given["parent"],
        tree_max_tokens=given["tree_max_tokens"],
        tree_max_cost=given["tree_max_cost"],
        tree_max_turns=given["tree_max_turns"],
        tree_max_seconds=given["tree_max_seconds"],
    )


def task_text(task: str) -> str:
    """The task; `-` stands for standard input."""
    if task != "-":
        return task
    from remit.surfaces.cli.files import read_file

    return read_file(None).decode("utf-8", "replace")


def _variable(written: str) -> tuple[str, str]:
    name, equals, value = written.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--var {written!r}: write NAME=VALUE")
    return name.strip(), value
