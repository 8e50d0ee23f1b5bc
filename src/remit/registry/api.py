"""The public functions: `resolve`, `get_definition` and the registry of this process."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from remit.configuration import Configuration, load, split_path
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


def resolve(
    request: JobRequest | Mapping[str, Any],
    *,
    plugin_path: str | Iterable[str] | None = None,
    registry: Registry | None = None,
    policy: str | None = None,
    allow_tools: Iterable[str] | None = None,
) -> Brief:
    """What a subagent would be told and may do: the brief of a job.

    `plugin_path` is read anew; without it the registry of this process is used, see `get_definition`. What is
    not as asked for is in the brief's `warnings` and on standard error. Under the policy `strict` it is an error.
    """
    configured = load()
    allowed = allow_list(configured, allow_tools)
    chosen = check_policy(policy or configured["policy"])
    if registry is None:
        registry = _current(configured) if plugin_path is None else open_registry(plugin_path, allowed)
    job, strange = as_request(request)
    if strange and chosen == "strict":
        raise RequestRefused("; ".join(strange))
    defaults = configured_defaults(configured, is_listed=allow_tools is not None)
    brief = resolve_request(job, registry, policy=chosen, allowed=allowed, defaults=defaults)
    if strange:
        brief = msgspec.structs.replace(brief, warnings=(*strange, *brief.warnings))
    for words in brief.warnings:
        print_notice(words, "resolve")
    return brief


def get_definition(name: str) -> Definition | None:
    """The definition that a name or `plugin:name` means, or None.

    The plugins are read once for the life of the process; `reload_registry` reads them again.
    """
    return _current(load()).get(name)


_held: list[Registry] = []


def _current(configured: Configuration) -> Registry:
    if not _held:
        _held.append(open_registry(configured["plugin_path"], allow_list(configured, None)))
    return _held[0]


def reload_registry() -> Registry:
    """Read the plugins again. The new registry takes the old one's place in one step, and only if it was read."""
    configured = load()
    _held[:] = [open_registry(configured["plugin_path"], allow_list(configured, None))]
    return _held[0]


def open_registry(plugin_path: str | Iterable[str], allowed: AllowList, *, tell_faults: bool = True) -> Registry:
    """The registry of a path, told on standard error plugin by plugin, with what is wrong unless a report says it."""
    entries = split_path(plugin_path) if isinstance(plugin_path, str) else list(plugin_path)
    registry = load_registry(entries, allowed)
    for plugin in (one for one in registry.plugins if one.name != BUILT_IN):
        print_notice(loaded_line(plugin))
        for file in plugin.rejected if tell_faults else ():
            print_notice(f"rejected {file.path!r}: {file.reason}")
    for words in registry.warnings if tell_faults else ():
        print_notice(words)
    return registry


def loaded_line(plugin: Plugin) -> str:
    """One line for a plugin."""
    version = f" v{plugin.version}" if plugin.version else ""
    return f"loaded {plugin.name!r}{version} ({len(plugin.definitions)} subagents)"


def print_notice(words: str, who: str = "plugins") -> None:
    """Say something on standard error. Names and paths in it are quoted, so that nothing in them is obeyed."""
    sys.stderr.write(f"[{who}] {words}\n")


def allow_list(configured: Configuration, given: Iterable[str] | None) -> AllowList:
    """What the worker lets subagents use."""
    names = split_names(given) if isinstance(given, str) else given
    servers = [f"mcp__{name}" for name in configured["mcp_servers"]]
    allowed = AllowList(names if names is not None else configured["allow_tools"] or (EVERY_TOOL, *servers))
    for name in sorted(allowed.own):
        _tell_near(name)
    return allowed


@cache
def _tell_near(name: str) -> None:
    """Say once that a tool of the worker's own is nearly one of the catalogue's."""
    if near := nearest_tool(name):
        print_notice(f"allow_tools: {name!r} is taken for a tool of the worker's own{near}")


def check_policy(policy: str) -> Policy:
    """A policy by its name."""
    for known in POLICIES:
        if policy == known:
            return known
    near = did_you_mean(policy, POLICIES) or f"; known are {', '.join(POLICIES)}"
    raise UsageError(f"there is no policy {policy!r}{near}")


def configured_defaults(configured: Configuration, *, is_listed: bool = False) -> ResolveDefaults:
    """What the configuration says where a job and its definition do not. `is_listed`: the caller gave the tools."""
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
    """Refuse what a brief cannot be made with, by the setting's name."""
    chosen: list[tuple[str, str, Collection[str]]] = [("profile", configured["profile"], PROFILES)]
    chosen += [("agents.kinds", kind, KINDS) for kind in configured["agents.kinds"].values()]
    for key, value, values in chosen:
        if value not in values:
            near = did_you_mean(value, values) or f"; known are {', '.join(values)}"
            raise ConfigurationError(f"{key}: there is no {value!r}{near}")
    if not 1 <= configured["max_turns"] <= MAX_TURNS:
        raise ConfigurationError(f"max_turns must be from 1 to {MAX_TURNS}, not {configured['max_turns']:g}")


def _origin(configured: Configuration, key: str) -> Origin:
    return "default" if configured.values[key].source == "default" else "configuration"
