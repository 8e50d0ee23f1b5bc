"""The registry: all definitions by name. It is immutable; a reload creates a new one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rapidfuzz.distance import OSA

from remit.contract.kinds import slug
from remit.errors import did_you_mean
from remit.registry.definition import Definition, Plugin, Rejected
from remit.registry.plugins import BUILT_IN, CheckoutAgents, built_in_team, load_plugins
from remit.registry.tools import AllowList

#: A name that differs from a known one in at most this many letters is a typo, if it is long enough.
_LETTERS = 2
_MIN_LENGTH = 5


class Registry:
    """Definitions of plugins, in the order of the path. A name finds the first definition, `plugin:name` finds each."""

    def __init__(self, plugins: Iterable[Plugin], warnings: Iterable[str] = ()) -> None:
        self.plugins = tuple(plugins)
        self._first: dict[str, Definition] = {}
        self._qualified: dict[str, Definition] = {}
        #: Name -> the first file with it that was rejected; and the same with the plugin.
        self._rejected: dict[str, Rejected] = {}
        collisions: list[str] = []
        for plugin in self.plugins:
            for definition in plugin.definitions:
                name = slug(definition.name)
                self._qualified.setdefault(_qualified(definition.plugin, definition.name), definition)
                if name in self._rejected:
                    continue
                first = self._first.setdefault(name, definition)
                if first is definition:
                    continue
                if definition.plugin == BUILT_IN and first.body.strip() == definition.body.strip():
                    self._first[name] = definition  # `remit install` copies the team into the project, without tools
                else:
                    collisions.append(_collision(first, definition))
            for file in plugin.rejected:
                if slug(file.name) not in self._first:
                    self._rejected.setdefault(slug(file.name), file)
                if _qualified(plugin.name, file.name) not in self._qualified:
                    self._rejected.setdefault(_qualified(plugin.name, file.name), file)
        of_plugins = (f"plugin {plugin.name!r}: {warning}" for plugin in self.plugins for warning in plugin.warnings)
        self.warnings = (*warnings, *of_plugins, *_same_names(self.plugins), *collisions)

    def __iter__(self) -> Iterator[Definition]:
        """Iterate over all definitions, including those that are hidden by another with the same name."""
        return (definition for plugin in self.plugins for definition in plugin.definitions)

    def get(self, name: str) -> Definition | None:
        """Return the definition with a name or `plugin:name`, or None."""
        plugin, colon, agent = name.partition(":")
        qualified = self._qualified.get(_qualified(plugin, agent)) if colon else None
        return qualified or self._first.get(slug(name))

    def rejected(self, name: str) -> Rejected | None:
        """Return the rejected file that keeps a name or `plugin:name`; None if another definition has it."""
        if self.get(name) is not None:
            return None
        plugin, colon, agent = name.partition(":")
        return self._rejected.get(_qualified(plugin, agent) if colon else slug(name))

    def is_copy_of_team(self, plugin: Plugin) -> bool:
        """Return whether a folder has only copies of the built-in team, which `remit install` has made."""
        bodies = {
            slug(definition.name): definition.body.strip() for definition in self if definition.plugin == BUILT_IN
        }
        return (
            plugin.name != BUILT_IN
            and all(bodies.get(slug(definition.name)) == definition.body.strip() for definition in plugin.definitions)
            and bool(plugin.definitions)
        )

    def is_hidden(self, definition: Definition) -> bool:
        """Return whether the name without the plugin finds another definition."""
        return self._first.get(slug(definition.name)) is not definition

    def why_missing(self, name: str) -> str:
        """Return the reason why a name is missing: its file was rejected, or a similar name exists; else empty."""
        if (file := self.rejected(name)) is not None:
            return f" ({file.path!r} was rejected: {file.reason})"
        return did_you_mean(slug(name[:100]), (*self._first, *self._qualified))


def misspelt(name: str, registry: Registry) -> str | None:
    """Return the name of the definition that an unknown name misses by one or two letters, or None."""
    wanted = slug(name)
    if registry.get(name) is not None or len(wanted) < _MIN_LENGTH:
        return None
    distances = (
        (OSA.distance(wanted, slug(definition.name), score_cutoff=_LETTERS), definition.name) for definition in registry
    )
    distance, near = min(distances, default=(_LETTERS + 1, ""))
    return near if distance <= _LETTERS else None


def load_registry(
    entries: Iterable[str], allowed: AllowList, checkout: CheckoutAgents | None = None, *, with_team: bool = True
) -> Registry:
    """Load the registry of a plugin path and a checkout, followed by the built-in team."""
    plugins, warnings = load_plugins(entries, allowed, checkout)
    return Registry([*plugins, *([built_in_team()] if with_team else [])], warnings)


def _qualified(plugin: str, name: str) -> str:
    return f"{slug(plugin)}:{slug(name)}"


def _collision(first: Definition, other: Definition) -> str:
    if other.plugin == BUILT_IN:
        return f"{first.path!r} (plugin {first.plugin!r}) replaces the built-in {other.name!r}"
    return (
        f"{other.name!r} of plugin {other.plugin!r} ({other.path!r}) is hidden by plugin {first.plugin!r} "
        f"({first.path!r}), which comes first; use {other.qualified!r}"
    )


def _same_names(plugins: tuple[Plugin, ...]) -> Iterator[str]:
    first: dict[str, Plugin] = {}
    for plugin in plugins:
        earlier = first.setdefault(slug(plugin.name), plugin)
        if earlier is not plugin:
            paths = f"{earlier.path!r} and {plugin.path!r}"
            yield f"two plugins have the name {plugin.name!r}: {paths}; the first one is used"
