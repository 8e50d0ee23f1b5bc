"""The registry: every definition under its name. It never changes; a new one takes its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from remit.contract.kinds import slug
from remit.errors import did_you_mean
from remit.registry.model import Definition, Plugin
from remit.registry.plugins import BUILT_IN, built_in_team, load_plugins
from remit.registry.tools import AllowList


class Registry:
    """Definitions from left to right: the first of a name is found by it, each by `plugin:name`."""

    def __init__(self, plugins: Iterable[Plugin], warnings: Iterable[str] = ()) -> None:
        self.plugins = tuple(plugins)
        self._first: dict[str, Definition] = {}
        self._qualified: dict[str, Definition] = {}
        collisions: list[str] = []
        for definition in self:
            first = self._first.setdefault(slug(definition.name), definition)
            if first is not definition:
                collisions.append(_collision(first, definition))
            self._qualified.setdefault(_qualified(definition.plugin, definition.name), definition)
        own = (f"plugin {plugin.name!r}: {words}" for plugin in self.plugins for words in plugin.warnings)
        self.warnings = (*warnings, *own, *_same_names(self.plugins), *collisions)

    def __iter__(self) -> Iterator[Definition]:
        """Every definition, also those that another of the same name hides."""
        return (definition for plugin in self.plugins for definition in plugin.definitions)

    def get(self, name: str) -> Definition | None:
        """The definition that a name or `plugin:name` means."""
        plugin, colon, agent = name.partition(":")
        found = self._qualified.get(_qualified(plugin, agent)) if colon else None
        return found or self._first.get(slug(name))

    def is_hidden(self, definition: Definition) -> bool:
        """Whether its bare name means another definition."""
        return self._first[slug(definition.name)] is not definition

    def why_missing(self, name: str) -> str:
        """What to say after a name that is not there: that its file was rejected, or what was perhaps meant."""
        wanted = slug(name.rpartition(":")[2])
        for plugin in self.plugins:
            for file in plugin.rejected:
                if slug(PurePosixPath(file.path).stem) == wanted:
                    return f" ({file.path!r} was rejected: {file.reason})"
        return did_you_mean(slug(name[:100]), (*self._first, *self._qualified))


def load_registry(entries: Iterable[str], allowed: AllowList, *, with_team: bool = True) -> Registry:
    """The registry of a plugin path, the built-in team behind it."""
    plugins, warnings = load_plugins(entries, allowed)
    return Registry([*plugins, *([built_in_team()] if with_team else [])], warnings)


def _qualified(plugin: str, name: str) -> str:
    return f"{slug(plugin)}:{slug(name)}"


def _collision(first: Definition, other: Definition) -> str:
    if other.plugin == BUILT_IN:
        return f"{first.path!r} (plugin {first.plugin!r}) replaces the built-in {other.name!r}"
    return (
        f"{other.name!r} of plugin {other.plugin!r} ({other.path!r}) is hidden by plugin {first.plugin!r} "
        f"({first.path!r}), which stands further left; {other.qualified!r} names it"
    )


def _same_names(plugins: tuple[Plugin, ...]) -> Iterator[str]:
    first: dict[str, Plugin] = {}
    for plugin in plugins:
        earlier = first.setdefault(slug(plugin.name), plugin)
        if earlier is not plugin:
            yield f"two plugins are called {plugin.name!r}: {earlier.path!r} and {plugin.path!r}; the left one is meant"
