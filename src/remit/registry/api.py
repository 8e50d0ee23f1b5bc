"""The public functions of the registry: `resolve`, `get_definition`, and the registry of this process."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from remit.configuration import Configuration, load, split_path
from remit.contract.feedback import strip_control_characters
from remit.contract.kinds import KINDS
from remit.contract.profiles import PROFILES
from remit.errors import ConfigurationError, UsageError, did_you_mean
from remit.registry.fields import MAX_TURNS
from remit.registry.lookup import Registry, load_registry
from remit.registry.model import POLICIES, Brief, Definition, JobRequest, Limits, Origin, Plugin, Policy, as_request
from remit.registry.plugins import BUILT_IN
from remit.registry.resolve import RequestRefused, ResolveDefaults, resolve_request
from remit.registry.tools import EVERY_TOOL, AllowList, nearest_tool, split_names

_LIMITS = Limits.__struct_fields__
#: The registry of this process, once it is loaded.
_loaded: list[Registry] = []


def resolve(
    request: JobRequest | Mapping[str, Any],
    *,
    plugin_path: str | Iterable[str] | None = None,
    registry: Registry | None = None,
    policy: str | None = None,
    allow_tools: Iterable[str] | None = None,
    is_submission: bool = False,
    print_warnings: bool = True,
) -> Brief:
    """Return the brief of a job: the prompt, tools, model and limits of the subagent.

    `plugin_path` is read again on each call. Without it the registry of this process is used, see `get_definition`.
    Deviations from the request are printed on standard error and are in the brief's `warnings`. With the policy
    `strict` they are an error. `is_submission`: the worker of the job looks up a definition that is unknown here.
    """
    configured = load()
    allowed = allow_list(configured, allow_tools)
    chosen = check_policy(policy or configured["policy"])
    if registry is None:
        registry = _current(configured) if plugin_path is None else open_registry(plugin_path, allowed)
    job, unknown_fields = as_request(request)
    if unknown_fields and chosen == "strict":
        raise RequestRefused("; ".join(unknown_fields))
    defaults = configured_defaults(configured, is_listed=allow_tools is not None)
    brief = resolve_request(
        job, registry, policy=chosen, allowed=allowed, defaults=defaults, is_submission=is_submission
    )
    if unknown_fields:
        brief = msgspec.structs.replace(brief, warnings=(*unknown_fields, *brief.warnings))
    for warning in brief.warnings if print_warnings else ():
        print_notice(warning, "resolve")
    return brief


def get_definition(name: str) -> Definition | None:
    """Return the definition with a name or `plugin:name`, or None.

    The plugins are read once per process; `reload_registry` reads them again.
    """
    return _current(load()).get(name)


def _current(configured: Configuration) -> Registry:
    if not _loaded:
        _loaded.append(open_registry(configured["plugin_path"], allow_list(configured, None)))
    return _loaded[0]


def current_registry() -> Registry:
    """Return the registry of this process. The plugins are read once."""
    return _current(load())


def reload_registry() -> Registry:
    """Read the plugins again, and replace the registry of this process if that succeeds."""
    configured = load()
    _loaded[:] = [open_registry(configured["plugin_path"], allow_list(configured, None))]
    return _loaded[0]


def open_registry(plugin_path: str | Iterable[str], allowed: AllowList, *, print_problems: bool = True) -> Registry:
    """Load the registry of a path. Print the plugins and, with `print_problems`, their problems on standard error."""
    entries = split_path(plugin_path) if isinstance(plugin_path, str) else list(plugin_path)
    registry = load_registry(entries, allowed)
    for plugin in (one for one in registry.plugins if one.name != BUILT_IN):
        if not registry.is_copy_of_team(plugin):
            print_notice(_loaded_line(plugin))
        for file in plugin.rejected if print_problems else ():
            print_notice(f"rejected {file.path!r}: {file.reason}")
    for warning in registry.warnings if print_problems else ():
        print_notice(warning)
    return registry


def _loaded_line(plugin: Plugin) -> str:
    version = f" v{plugin.version}" if plugin.version else ""
    return f"loaded {plugin.name!r}{version} ({len(plugin.definitions)} subagents)"


def print_notice(text: str, topic: str = "plugins") -> None:
    """Print a notice on standard error. What cannot be seen in it is escaped or removed."""
    shown = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    sys.stderr.write(f"[{topic}] {strip_control_characters(shown)}\n")


def allow_list(configured: Configuration, allow_tools: Iterable[str] | None) -> AllowList:
    """Return the tools that subagents may use: those in `allow_tools`, or the configured ones."""
    names = split_names(allow_tools) if isinstance(allow_tools, str) else allow_tools
    servers = [f"mcp__{name}" for name in configured["mcp_servers"]]
    allowed = AllowList(names if names is not None else configured["allow_tools"] or (EVERY_TOOL, *servers))
    for name in sorted(allowed.own):
        _warn_about_typo(name)
    return allowed


@cache
def _warn_about_typo(name: str) -> None:
    """Print once that a custom tool of the worker has almost the name of a tool of the catalogue."""
    if near := nearest_tool(name):
        print_notice(f"allow_tools: {name!r} is treated as a custom tool of the worker{near}")


def check_policy(policy: str) -> Policy:
    """Return the policy with a name. Raise UsageError if there is no such policy."""
    for one in POLICIES:
        if policy == one:
            return one
    near = did_you_mean(policy, POLICIES) or f"; choose from {', '.join(POLICIES)}"
    raise UsageError(f"there is no policy {policy!r}{near}")


def configured_defaults(configured: Configuration, *, is_listed: bool = False) -> ResolveDefaults:
    """Return the configured defaults of a job. `is_listed`: the caller passed the allowed tools."""
    limits = {name: configured[f"budget.{name}"] or None for name in _LIMITS}
    _check_settings(configured)
    if limits["tokens"] is not None:
        limits["tokens"] = int(limits["tokens"])
    return ResolveDefaults(
        model=configured["model"],
        model_from=_origin(configured, "model"),
        max_turns=int(configured["max_turns"]),
        max_turns_from=_origin(configured, "max_turns"),
        profile=configured["profile"],
        limits=Limits(**limits),
        limits_from={name: _origin(configured, f"budget.{name}") for name in _LIMITS},
        models=configured["models"],
        kinds=configured["agents.kinds"],
        tools_from="configuration" if is_listed else _origin(configured, "allow_tools"),
    )


def _check_settings(configured: Configuration) -> None:
    """Raise ConfigurationError for settings that no brief can use."""
    chosen: list[tuple[str, str, Collection[str]]] = [("profile", configured["profile"], PROFILES)]
    chosen += [("agents.kinds", kind, KINDS) for kind in configured["agents.kinds"].values()]
    for key, value, values in chosen:
        if value not in values:
            near = did_you_mean(value, values) or f"; choose from {', '.join(values)}"
            raise ConfigurationError(f"{key}: there is no {value!r}{near}")
    if not 1 <= configured["max_turns"] <= MAX_TURNS:
        raise ConfigurationError(f"max_turns must be from 1 to {MAX_TURNS}, not {configured['max_turns']:g}")


def _origin(configured: Configuration, key: str) -> Origin:
    return "default" if configured.values[key].source == "default" else "configuration"
