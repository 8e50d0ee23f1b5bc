"""Plugins: each entry of the path becomes a plugin, or a warning; one bad file never costs another."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath

from remit.contract.kinds import slug
from remit.registry.fields import Origin, read_definition
from remit.registry.frontmatter import Malformed
from remit.registry.manifests import BUILT_IN, BadManifest, Manifest, definition_files, read_manifest
from remit.registry.model import Definition, Plugin, Rejected, Skipped
from remit.registry.places import MAX_FILE, Place, refused_entry
from remit.registry.tools import OFFERED, AllowList

#: Definitions of one plugin.
MAX_DEFINITIONS = 1_000


def load_plugins(entries: Iterable[str], allowed: AllowList) -> tuple[list[Plugin], list[str]]:
    """The plugins of a path from left to right, and why entries were not loaded."""
    plugins: list[Plugin] = []
    warnings: list[str] = []
    seen: dict[str, str] = {}
    for entry in entries:
        why = refused_entry(entry) or _no_folder(entry)
        place = Place(entry) if why is None else None
        if place is None:
            warnings.append(f"{entry[:300]!r} is not loaded: {why}")
        elif place.root in seen:
            warnings.append(f"{entry[:300]!r} is not loaded: it is the same folder as {seen[place.root]!r}")
        else:
            seen[place.root] = entry
            try:
                plugins.append(load_plugin(place, allowed))
            except BadManifest as error:
                warnings.append(f"{entry[:300]!r} is not loaded: {error}")
    return plugins, warnings


def _no_folder(entry: str) -> str | None:
    try:
        with os.scandir(entry):
            return None
    except OSError as error:
        return error.strerror.lower() if error.strerror else "it cannot be read"


def load_plugin(place: Place, allowed: AllowList, manifest: Manifest | None = None) -> Plugin:
    """One plugin. Raises BadManifest if it cannot be loaded as a whole."""
    manifest = manifest or read_manifest(place)
    files, warnings = definition_files(place, manifest)
    if len(files) > MAX_DEFINITIONS:
        warnings.append(f"{len(files)} files: only the first {MAX_DEFINITIONS} by path are read")
    reader = _PluginReader(place, manifest.name, allowed)
    for path in files[:MAX_DEFINITIONS]:
        reader.read(path)
    return Plugin(
        name=manifest.name,
        version=manifest.version,
        path=place.shown,
        definitions=tuple(reader.definitions.values()),
        rejected=tuple(reader.rejected),
        skipped=tuple(reader.skipped),
        warnings=(*manifest.warnings, *warnings, *reader.warnings),
    )


class _PluginReader:
    """Reads the files of one plugin; inside it, the first of a name wins."""

    def __init__(self, place: Place, plugin: str, allowed: AllowList) -> None:
        self.definitions: dict[str, Definition] = {}
        self.rejected: list[Rejected] = []
        self.skipped: list[Skipped] = []
        self.warnings: list[str] = []
        self._place = place
        self._plugin = plugin
        self._allowed = allowed

    def read(self, path: str) -> None:
        shown = self._place.name_of(path)
        try:
            data = self._place.read(path)
        except OSError as error:
            self.rejected.append(Rejected(shown, None, f"it cannot be read: {error.strerror}"))
            return
        if len(data) > MAX_FILE:
            self.rejected.append(Rejected(shown, None, f"larger than {MAX_FILE >> 10} KiB: shorten it"))
            return
        origin = Origin(self._plugin, shown, PurePosixPath(path).stem)
        try:
            definition = read_definition(data, origin, self._allowed)
        except Malformed as error:
            self.rejected.append(Rejected(shown, error.line, str(error)))
            return
        if definition is None:
            self.skipped.append(Skipped(shown, "it has no frontmatter, so it defines nothing"))
        else:
            self._take(definition)

    def _take(self, definition: Definition) -> None:
        first = self.definitions.setdefault(slug(definition.name), definition)
        if first is not definition:
            self.warnings.append(
                f"{definition.path!r} is not used: {first.path!r} already defines {definition.name!r} in this plugin"
            )


@cache
def built_in_team() -> Plugin:
    """The definitions that come with Remit."""
    place = Place(str(Path(__file__).with_name("team")))
    return load_plugin(place, AllowList(OFFERED), Manifest(BUILT_IN, None, (".",)))
