"""Plugins: each entry of the path becomes a plugin, or a warning; one bad file never costs another."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from remit.contract.kinds import slug
from remit.registry.fields import Origin, check_name, read_definition
from remit.registry.frontmatter import MalformedYaml
from remit.registry.model import Definition, Plugin, Rejected, Skipped
from remit.registry.plugin_root import MAX_FILE, PluginRoot, entry_problem
from remit.registry.tools import OFFERED, AllowList

#: Definitions of one plugin.
MAX_DEFINITIONS = 1_000
#: The built-in team's; no plugin may call itself so.
BUILT_IN = "built-in"


def load_plugins(entries: Iterable[str], allowed: AllowList) -> tuple[list[Plugin], list[str]]:
    """The plugins of a path from left to right, and why entries were not loaded."""
    plugins: list[Plugin] = []
    warnings: list[str] = []
    seen: dict[str, str] = {}
    for entry in entries:
        why = entry_problem(entry) or _no_folder(entry)
        place = PluginRoot(entry) if why is None else None
        if place is None:
            warnings.append(f"{entry[:300]!r} is not loaded: {why}")
        elif place.root in seen:
            warnings.append(f"{entry[:300]!r} is not loaded: it is the same folder as {seen[place.root]!r}")
        else:
            seen[place.root] = entry
            try:
                plugins.append(load_plugin(place, allowed))
            except InvalidManifest as error:
                warnings.append(f"{entry[:300]!r} is not loaded: {error}")
    return plugins, warnings


def _no_folder(entry: str) -> str | None:
    try:
        with os.scandir(entry):
            return None
    except OSError as error:
        return error.strerror.lower() if error.strerror else "it cannot be read"


def load_plugin(place: PluginRoot, allowed: AllowList, manifest: Manifest | None = None) -> Plugin:
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

    def __init__(self, place: PluginRoot, plugin: str, allowed: AllowList) -> None:
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
        except MalformedYaml as error:
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
    place = PluginRoot(str(Path(__file__).with_name("team")))
    return load_plugin(place, AllowList(OFFERED), Manifest(BUILT_IN, None, (".",)))


class PluginLayout(NamedTuple):
    """A kind of manifest."""

    file: str
    #: The field that names folders or files of definitions, and the folder where it is absent.
    field: str
    folder: str
    #: What `plugin_version` must be, if it is said; `is_locked`: it must be said.
    version: str | None = None
    is_locked: bool = False


LAYOUTS = (
    PluginLayout("remit.plugin.json", "agents", "agents", "remit-plugin-v1"),
    PluginLayout("gbrain.plugin.json", "subagents", "subagents", "gbrain-plugin-v1", is_locked=True),
    PluginLayout(".claude-plugin/plugin.json", "agents", "agents"),
)


class Manifest(NamedTuple):
    """What a plugin says of itself."""

    name: str
    version: str | None
    #: Folders and files that hold definitions, as written.
    sources: tuple[str, ...]
    #: Whether those sources were named, so that a missing one is a mistake.
    is_explicit: bool = False
    warnings: tuple[str, ...] = ()


class InvalidManifest(Exception):
    """A plugin that is not loaded at all; the reason says why."""


def read_manifest(place: PluginRoot) -> Manifest:
    """The plugin's manifest; a folder without one is a plugin named after it."""
    for layout in LAYOUTS:
        try:
            data = place.read(layout.file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InvalidManifest(f"{layout.file}: {error.strerror}") from error
        return _manifest(layout, data)
    name = PurePath(place.root).name or "root"
    if why := _bad_name(name):
        raise InvalidManifest(f"a folder without a manifest is named after itself, and {why}")
    return Manifest(name, None, (".",))


def _manifest(layout: PluginLayout, data: bytes) -> Manifest:
    if len(data) > MAX_FILE:
        raise InvalidManifest(f"{layout.file} is larger than {MAX_FILE >> 10} KiB")
    try:
        fields = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise InvalidManifest(f"{layout.file} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise InvalidManifest(f"{layout.file} must be a JSON object")
    name, warnings = fields.get("name"), []
    if not isinstance(name, str) or not name.strip():
        raise InvalidManifest(f'{layout.file} has no name: add "name"')
    if why := _bad_name(name):
        raise InvalidManifest(f"{layout.file}: {why}")
    _check_version(layout, fields)
    version = fields.get("version")
    if not isinstance(version, str) or not version.strip() or not version.isprintable():
        warnings.append(f'{layout.file} has no version: add "version": "1.0.0"')
        version = None
    sources, more = _sources(layout, fields)
    is_explicit = fields.get(layout.field) is not None
    return Manifest(name.strip(), version and version[:64], sources, is_explicit, (*warnings, *more))


def _bad_name(name: str) -> str | None:
    if name.strip().lower() == BUILT_IN:
        return f"the name {BUILT_IN!r} is the built-in team's: choose another"
    if ":" in name:
        return f"the name {name[:64]!r} holds a colon, which separates plugin and agent"
    return check_name(name)


def _check_version(layout: PluginLayout, fields: dict[str, Any]) -> None:
    said = fields.get("plugin_version")
    if layout.version is None or (said is None and not layout.is_locked) or said == layout.version:
        return
    raise InvalidManifest(f"{layout.file}: plugin_version must be {layout.version!r}, not {str(said)[:64]!r}")


def _sources(layout: PluginLayout, fields: dict[str, Any]) -> tuple[tuple[str, ...], list[str]]:
    said = fields.get(layout.field)
    if said is None:
        return (layout.folder,), []
    listed = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    sources = [one for one in listed if isinstance(one, str) and one.strip()]
    strange = len(listed) - len(sources) or not isinstance(said, str | list)
    return tuple(sources), [f"{layout.file}: {layout.field} must be a path or a list of paths"] if strange else []


class FoundFiles(NamedTuple):
    """Files that should be definitions, in order, and what was odd on the way."""

    files: list[str]
    warnings: list[str]


def definition_files(place: PluginRoot, manifest: Manifest) -> FoundFiles:
    """The definition files of a plugin: listed folders and files, sorted by path; order in the manifest is none."""
    files: dict[str, None] = {}
    warnings: list[str] = []
    for source in manifest.sources:
        inside = place.inside(source)
        if inside is None:
            warnings.append(f"{source[:200]!r} leads out of the plugin and is not read")
        elif place.is_folder(inside):
            try:
                found, odd = place.markdown(inside)
                files.update(dict.fromkeys(found))
                warnings += odd
            except OSError as error:
                warnings.append(f"{source[:200]!r} cannot be read: {error.strerror}")
        elif PurePosixPath(inside).suffix.lower() == ".md":
            files[inside] = None
        elif manifest.is_explicit:
            warnings.append(f"{source[:200]!r} is neither a folder nor a Markdown file of the plugin")
    return FoundFiles(sorted(files), warnings)
