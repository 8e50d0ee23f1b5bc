"""Load plugins: each entry of the plugin path becomes a plugin or a warning. An invalid file does not affect others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from remit.contract.kinds import slug
from remit.registry.definition import Definition, Plugin, Rejected, Skipped
from remit.registry.fields import DefinitionFile, check_name, from_toml, read_definition
from remit.registry.frontmatter import MalformedYaml
from remit.registry.plugin_root import MAX_FILE, PluginRoot, entry_problem
from remit.registry.tools import DESCRIBED, OFFERED, AllowList, KnownTool, find_tool

#: The maximum number of definitions of one plugin.
MAX_DEFINITIONS = 1_000
_NAME = re.compile(r"^name:[ \t]*['\"]?([^'\"\r\n#]+)", re.MULTILINE)
#: The name of the built-in team, which no other plugin may have.
BUILT_IN = "built-in"


class PluginLayout(NamedTuple):
    """A format of manifests."""

    file: str
    #: The field with the folders or files of definitions, and the default folder.
    field: str
    folder: str
    #: The only accepted value of `plugin_version`; `is_locked`: the field is required.
    version: str | None = None
    is_locked: bool = False


LAYOUTS = (
    PluginLayout("remit.plugin.json", "agents", "agents", "remit-plugin-v1"),
    PluginLayout("gbrain.plugin.json", "subagents", "subagents", "gbrain-plugin-v1", is_locked=True),
    PluginLayout(".claude-plugin/plugin.json", "agents", "agents"),
)


class Manifest(NamedTuple):
    """The manifest of a plugin."""

    name: str
    version: str | None
    #: The folders and files of definitions, as written.
    sources: tuple[str, ...]
    #: Whether the manifest names the sources, so that a missing one is a mistake.
    is_explicit: bool = False
    warnings: tuple[str, ...] = ()


class InvalidManifest(Exception):
    """A plugin that is not loaded; the message is the reason."""


class CheckoutAgents(NamedTuple):
    """The definitions of a checkout: their folder, and the tools that the person grants by name."""

    folder: str
    granted: AllowList


class FoundFiles(NamedTuple):
    """The definition files of a plugin in their order, and warnings."""

    files: list[str]
    warnings: list[str]


def load_plugins(
    entries: Iterable[str], allowed: AllowList, checkout: CheckoutAgents | None = None
) -> tuple[list[Plugin], list[str]]:
    """Load the plugins of a path in its order, then the definitions of a checkout, which only describe.

    Return them, and a warning for each entry that was not loaded.
    """
    plugins: list[Plugin] = []
    warnings: list[str] = []
    loaded: dict[str, str] = {}
    for entry in (*entries, *([checkout.folder] if checkout is not None else [])):
        why = entry_problem(entry) or _folder_problem(entry)
        if why is not None:
            warnings.append(f"{entry[:300]!r} is not loaded: {why}")
            continue
        found_plugins = plugins_in(PluginRoot(entry))
        for root, manifest in found_plugins:
            name = entry if len(found_plugins) == 1 else root.path
            if root.root in loaded:
                warnings.append(f"{name[:300]!r} is not loaded: it is the same folder as {loaded[root.root]!r}")
                continue
            loaded[root.root] = name
            try:
                plugins.append(load_plugin(root, allowed, manifest))
            except InvalidManifest as error:
                warnings.append(f"{name[:300]!r} is not loaded: {error}")
    if checkout is not None:
        own = loaded.get(os.path.realpath(checkout.folder))
        plugins = [
            _describing(plugin, allowed, checkout) if plugin.path == own == checkout.folder else plugin
            for plugin in plugins
        ]
    return plugins, warnings


def _describing(plugin: Plugin, allowed: AllowList, checkout: CheckoutAgents) -> Plugin:
    """Return a plugin of a checkout without what only a person grants."""
    definitions = tuple(_without_grants(one, allowed, checkout.granted) for one in plugin.definitions)
    return msgspec.structs.replace(plugin, definitions=definitions)


def _without_grants(definition: Definition, allowed: AllowList, granted: AllowList) -> Definition:
    own = AllowList((*DESCRIBED, *map(str, granted)))
    named = definition.tools if definition.tools is not None else tuple(map(str, allowed.default))
    tools = tuple(name for name in named if (tool := find_tool(name, allowed.own)) is not None and own.granted(tool))
    withheld = [] if definition.tools is None else [name for name in named if name not in tools]
    warnings = [f"{name} is withheld from a definition of a checkout; add it to `allow_tools`" for name in withheld]
    if definition.runner not in (None, "model"):
        warnings.append(f"the runner {definition.runner!r} is not taken from a checkout")
    servers = tuple(name for name in definition.mcp_servers if granted.granted(KnownTool(f"mcp__{name}")))
    warnings += [f"the MCP server {name!r} is withheld" for name in definition.mcp_servers if name not in servers]
    return msgspec.structs.replace(
        definition,
        tools=tools,
        runner=None,
        command=None,
        mcp_servers=servers,
        is_of_checkout=True,
        warnings=(*definition.warnings, *warnings),
    )


def plugins_in(root: PluginRoot) -> list[tuple[PluginRoot, Manifest | None]]:
    """Return the plugins of a folder, sorted by path: the folder itself, or those that it contains.

    A folder without a manifest whose subfolders have manifests contains that many plugins. Its other definitions are
    one more plugin with the name of the folder.
    """
    if _has_manifest(root):
        return [(root, None)]
    try:
        names = root.names()
    except OSError:
        return [(root, None)]
    inner = {name: PluginRoot(f"{root.path.rstrip('/')}/{name}") for name in names if root.is_folder(name)}
    inner = {name: folder for name, folder in inner.items() if _has_manifest(folder)}
    if not inner:
        return [(root, None)]
    others = tuple(
        name for name in names if name not in inner and (name.lower().endswith(".md") or root.is_folder(name))
    )
    manifest = Manifest(PurePath(root.root).name or "root", None, others)
    has_own = any(_has_frontmatter(root, path) for path in definition_files(root, manifest).files[:MAX_DEFINITIONS])
    return [*((folder, None) for folder in inner.values()), *([(root, manifest)] if has_own else [])]


def _has_frontmatter(root: PluginRoot, path: str) -> bool:
    try:
        return root.read(path).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"---")
    except OSError:
        return False


def _has_manifest(root: PluginRoot) -> bool:
    for layout in LAYOUTS:
        try:
            root.read(layout.file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True  # loading it reports the reason
        return True
    return False


def _folder_problem(entry: str) -> str | None:
    try:
        with os.scandir(entry):
            return None
    except OSError as error:
        return error.strerror.lower() if error.strerror else "it cannot be read"


@cache
def built_in_team() -> Plugin:
    """Return the definitions that come with Remit."""
    root = PluginRoot(str(Path(__file__).with_name("team")))
    return load_plugin(root, AllowList(OFFERED), Manifest(BUILT_IN, None, (".",)))


def load_plugin(root: PluginRoot, allowed: AllowList, manifest: Manifest | None = None) -> Plugin:
    """Load one plugin. Raise InvalidManifest if it cannot be loaded."""
    manifest = manifest or read_manifest(root)
    files, warnings = definition_files(root, manifest)
    if len(files) > MAX_DEFINITIONS:
        warnings.append(f"{len(files)} files: only the first {MAX_DEFINITIONS} by path are read")
    reader = _PluginReader(root, manifest.name, allowed)
    for path in files[:MAX_DEFINITIONS]:
        reader.read(path)
    if not reader.definitions and not reader.rejected and not warnings:
        folders = ", ".join(repr(root.name_of(source)) for source in manifest.sources[:3])
        warnings.append(f"it has no definitions: no Markdown file with frontmatter in {folders}")
    return Plugin(
        name=manifest.name,
        version=manifest.version,
        path=root.path,
        definitions=tuple(reader.definitions.values()),
        rejected=tuple(reader.rejected),
        skipped=tuple(reader.skipped),
        warnings=(*manifest.warnings, *warnings, *reader.warnings),
    )


class _PluginReader:
    """Reads the files of one plugin. The first definition with a name is used."""

    def __init__(self, root: PluginRoot, plugin: str, allowed: AllowList) -> None:
        self.definitions: dict[str, Definition] = {}
        self.rejected: list[Rejected] = []
        self.skipped: list[Skipped] = []
        self.warnings: list[str] = []
        self._root = root
        self._plugin = plugin
        self._allowed = allowed

    def read(self, path: str) -> None:
        name = self._root.name_of(path)
        try:
            data = self._root.read(path)
        except OSError as error:
            self.rejected.append(Rejected(name, None, f"it cannot be read: {error.strerror}", _stem(path)))
            return
        if len(data) > MAX_FILE:
            self.rejected.append(Rejected(name, None, f"larger than {MAX_FILE >> 10} KiB: shorten it", _stem(path)))
            return
        file = DefinitionFile(self._plugin, name, _stem(path))
        try:
            data = from_toml(data) if path.endswith(".toml") else data
            definition = read_definition(data, file, self._allowed)
        except MalformedYaml as error:
            self.rejected.append(Rejected(name, error.line, str(error), _stated_name(data) or _stem(path)))
            return
        if definition is None:
            self.skipped.append(Skipped(name, "it has no frontmatter, so it is not a definition"))
        else:
            self._add(definition)

    def _add(self, definition: Definition) -> None:
        first = self.definitions.setdefault(slug(definition.name), definition)
        if first is not definition:
            self.warnings.append(
                f"{definition.path!r} is not used: {first.path!r} already defines {definition.name!r} in this plugin"
            )


def _stem(path: str) -> str:
    return PurePosixPath(path).stem.removesuffix(".agent")


def _stated_name(data: bytes) -> str:
    """Return the name that an invalid definition states."""
    found = _NAME.search(data[:MAX_FILE].decode("utf-8", "replace"))
    return found[1].strip() if found is not None and slug(found[1]) else ""


def read_manifest(root: PluginRoot) -> Manifest:
    """Read the manifest of a plugin. A folder without a manifest is a plugin with the name of the folder."""
    for layout in LAYOUTS:
        try:
            data = root.read(layout.file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InvalidManifest(f"{layout.file}: {error.strerror}") from error
        return _parse_manifest(layout, data)
    name = PurePath(root.root).name or "root"
    if why := _name_problem(name):
        raise InvalidManifest(f"a plugin without a manifest has the name of its folder, and {why}")
    return Manifest(name, None, (".",))


def _parse_manifest(layout: PluginLayout, data: bytes) -> Manifest:
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
    if why := _name_problem(name):
        raise InvalidManifest(f"{layout.file}: {why}")
    _check_version(layout, fields)
    version = fields.get("version")
    if not isinstance(version, str) or not version.strip() or not version.isprintable():
        warnings.append(f'{layout.file} has no version: add "version": "1.0.0"')
        version = None
    sources, more = _sources(layout, fields)
    is_explicit = fields.get(layout.field) is not None
    return Manifest(name.strip(), version and version[:64], sources, is_explicit, (*warnings, *more))


def _name_problem(name: str) -> str | None:
    if slug(name) == BUILT_IN:
        return f"the name {BUILT_IN!r} is reserved for the built-in team: choose another"
    if ":" in name:
        return f"the name {name[:64]!r} contains a colon, which separates plugin and agent"
    return check_name(name)


def _check_version(layout: PluginLayout, fields: dict[str, Any]) -> None:
    version = fields.get("plugin_version")
    if layout.version is None or (version is None and not layout.is_locked) or version == layout.version:
        return
    raise InvalidManifest(f"{layout.file}: plugin_version must be {layout.version!r}, not {str(version)[:64]!r}")


def _sources(layout: PluginLayout, fields: dict[str, Any]) -> tuple[tuple[str, ...], list[str]]:
    value = fields.get(layout.field)
    if value is None:
        return (layout.folder,), []
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    sources = [source for source in listed if isinstance(source, str) and source.strip()]
    is_invalid = len(sources) < len(listed) or not isinstance(value, str | list)
    return tuple(sources), [f"{layout.file}: {layout.field} must be a path or a list of paths"] if is_invalid else []


def definition_files(root: PluginRoot, manifest: Manifest) -> FoundFiles:
    """Find the definition files of a plugin in its folders and files, sorted by path."""
    files: dict[str, None] = {}
    warnings: list[str] = []
    for source in manifest.sources:
        path = root.inside(source)
        if path is None:
            warnings.append(f"{source[:200]!r} leads out of the plugin and is not read")
        elif root.is_folder(path):
            try:
                paths, more = root.markdown(path)
                files.update(dict.fromkeys(paths))
                warnings += more
            except OSError as error:
                warnings.append(f"{source[:200]!r} cannot be read: {error.strerror}")
        elif PurePosixPath(path).suffix.lower() == ".md":
            files[path] = None
        elif manifest.is_explicit:
            warnings.append(f"{source[:200]!r} is neither a folder nor a Markdown file of the plugin")
    return FoundFiles(sorted(files), warnings)
