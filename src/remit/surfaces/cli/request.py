"""The options of commands that submit a job, and the request that they result in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from remit.configuration import load, split_path
from remit.dispatch.submit import Queueing, Resolving
from remit.errors import UsageError
from remit.registry import api
from remit.registry.lookup import load_registry
from remit.registry.tools import split_names
from remit.surfaces.cli.files import read_file

_OPTIONS = (
    click.option("--repo", type=click.Path(path_type=Path), help="The folder to work in; default: the current one."),
    click.option("--model", help="The model, as provider:model or a short name."),
    click.option("--system", help="A system prompt instead of the definition's."),
    click.option("--allowed-tools", metavar="NAMES", help="Tools instead of the definition's, separated by commas."),
    click.option("--kind", help="The kind of the result; default: that of the definition, or by the agent's name."),
    click.option("--profile", help="The profile that the result is checked with; default: the definition's."),
    click.option(
        "--no-contract", is_flag=True, help="Append no instructions on how to answer, and check only the claims."
    ),
    click.option("--max-turns", type=int, help="The maximum number of model calls."),
    click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="A value for a variable."),
    click.option("--max-tokens", type=int, help="The maximum number of tokens."),
    click.option("--max-cost", type=float, help="The maximum cost in dollars."),
    click.option("--max-seconds", type=float, help="The maximum duration in seconds."),
    click.option("--isolation", type=click.Choice(["worktree"]), help="Work in a separate git worktree."),
    click.option("--policy", type=click.Choice(["open", "strict"]), help="Warn about unknown names, or refuse them."),
    click.option("--plugin-path", metavar="PATH", help="Folders of definitions, separated as in PATH."),
    click.option("--allow-tools", metavar="NAMES", help="The worker's tools, separated by commas."),
    click.option("--queue", default="default", show_default=True, help="The queue of the job."),
    click.option("--priority", type=int, default=0, show_default=True, help="Higher comes first."),
    click.option("--key", help="An idempotency key: at most one job has it, until that job fails."),
    click.option("--parent", type=int, help="The parent job."),
)
_TREE = (
    click.option("--tree-max-tokens", type=int, help="The maximum number of tokens of this job and its children."),
    click.option("--tree-max-cost", type=float, help="The maximum cost in dollars of this job and its children."),
    click.option("--tree-max-turns", type=int, help="The maximum number of model calls of this job and its children."),
    click.option(
        "--tree-max-seconds", type=float, help="The maximum duration in seconds of this job and its children."
    ),
)


def request_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a request to a command."""
    return _add_options((*_OPTIONS, *_TREE), command)


def tree_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the limits of a tree of jobs to a command."""
    return _add_options(_TREE, command)


def _add_options(options: Iterable[Callable[..., Any]], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(tuple(options)):
        command = option(command)
    return command


def limits_from(options: dict[str, Any], *names: str) -> dict[str, Any] | None:
    """Return the limits of a job that are set, or None."""
    limits = {name: options[f"max_{name}"] for name in names if options[f"max_{name}"] is not None}
    return limits or None


def agent_and_task(words: tuple[str, ...], plugin_path: str | None) -> tuple[str | None, str]:
    """Return the agent and the task of `[AGENT] TASK`; None for a job without a definition."""
    if len(words) == 1:
        configured = load()
        path = plugin_path if plugin_path is not None else configured["plugin_path"]
        entries = split_path(path) if isinstance(path, str) else path
        registry = load_registry(entries, api.allow_list(configured, None))
        if registry.get(words[0]) is not None:
            raise UsageError(f"{words[0]!r} is the name of a definition; add the task: {words[0]} TASK")
        return None, task_text(words[0])
    if len(words) != 2:
        raise UsageError("pass [AGENT] TASK; quote a task of several words")
    return words[0].strip() or None, task_text(words[1])


def request_from(agent: str | None, task: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the request of a job."""
    return {
        "prompt": task,
        "subagent_def": agent,
        "system": options["system"],
        "allowed_tools": options["allowed_tools"],
        "model": options["model"],
        "kind": options["kind"],
        "profile": options["profile"],
        "contract": "none" if options["no_contract"] else None,
        "max_turns": options["max_turns"],
        "input_vars": dict(map(_variable, options["variables"])),
        "isolation": options["isolation"],
        "limits": limits_from(options, "tokens", "cost", "seconds"),
    }


def resolving_from(options: dict[str, Any]) -> Resolving:
    """Return how to resolve the request."""
    allowed = split_names(options["allow_tools"]) if options["allow_tools"] is not None else None
    return Resolving(plugin_path=options["plugin_path"], policy=options["policy"], allow_tools=allowed)


def queueing_from(options: dict[str, Any]) -> Queueing:
    """Return how to queue the job."""
    return Queueing(
        queue=options["queue"],
        priority=options["priority"],
        key=options["key"],
        delay=options.get("delay") or 0,
        parent=options["parent"],
        tree_max_tokens=options["tree_max_tokens"],
        tree_max_cost=options["tree_max_cost"],
        tree_max_turns=options["tree_max_turns"],
        tree_max_seconds=options["tree_max_seconds"],
    )


def task_text(task: str) -> str:
    """Return the task; for `-`, the text of standard input."""
    if task != "-":
        return task

    return read_file(None).decode("utf-8", "replace")


def _variable(written: str) -> tuple[str, str]:
    name, equals, value = written.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--var {written!r}: write NAME=VALUE")
    return name.strip(), value
