"""The four layouts of a plugin, and which files of it are definitions."""

from __future__ import annotations

from pathlib import PurePath, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from remit.registry.fields import check_name
from remit.registry.places import MAX_FILE, Place


class Layout(NamedTuple):
    """A kind of manifest."""

    file: str
    #: The field that names folders or files of definitions, and the folder where it is absent.
    field: str
    folder: str
    #: What `plugin_version` must be, if it is said; `is_locked`: it must be said.
    version: str | None = None
    is_locked: bool = False


LAYOUTS = (
    Layout("remit.plugin.json", "agents", "agents", "remit-plugin-v1"),
    Layout("gbrain.plugin.json", "subagents", "subagents", "gbrain-plugin-v1", is_locked=True),
    Layout(".claude-plugin/plugin.json", "agents", "agents"),
)
#: The built-in team's; no plugin may call itself so.
BUILT_IN = "built-in"


class Manifest(NamedTuple):
    """What a plugin says of itself."""

    name: str
    version: str | None
    #: Folders and files that hold definitions, as written.
    sources: tuple[str, ...]
    #: Whether those sources were named, so that a missing one is a mistake.
    is_explicit: bool = False
    warnings: tuple[str, ...] = ()


class BadManifest(Exception):
    """A plugin that is not loaded at all; the reason says why."""


def read_manifest(place: Place) -> Manifest:
    """The plugin's manifest; a folder without one is a plugin named after it."""
    for layout in LAYOUTS:
        try:
            data = place.read(layout.file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise BadManifest(f"{layout.file}: {error.strerror}") from error
        return _manifest(layout, data)
    name = PurePath(place.root).name or "root"
    if why := _bad_name(name):
        raise BadManifest(f"a folder without a manifest is named after itself, and {why}")
    return Manifest(name, None, (".",))


def _manifest(layout: Layout, data: bytes) -> Manifest:
    if len(data) > MAX_FILE:
        raise BadManifest(f"{layout.file} is larger than {MAX_FILE >> 10} KiB")
    try:
        fields = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise BadManifest(f"{layout.file} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise BadManifest(f"{layout.file} must be a JSON object")
    name, warnings = fields.get("name"), []
    if not isinstance(name, str) or not name.strip():
        raise BadManifest(f'{layout.file} has no name: add "name"')
    if why := _bad_name(name):
        raise BadManifest(f"{layout.file}: {why}")
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


def _check_version(layout: Layout, fields: dict[str, Any]) -> None:
    said = fields.get("plugin_version")
    if layout.version is None or (said is None and not layout.is_locked) or said == layout.version:
        return
    raise BadManifest(f"{layout.file}: plugin_version must be {layout.version!r}, not {str(said)[:64]!r}")


def _sources(layout: Layout, fields: dict[str, Any]) -> tuple[tuple[str, ...], list[str]]:
    said = fields.get(layout.field)
    if said is None:
        return (layout.folder,), []
    listed = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    sources = [one for one in listed if isinstance(one, str) and one.strip()]
    strange = len(listed) - len(sources) or not isinstance(said, str | list)
    return tuple(sources), [f"{layout.file}: {layout.field} must be a path or a list of paths"] if strange else []


class Found(NamedTuple):
    """Files that should be definitions, in order, and what was odd on the way."""

    files: list[str]
    warnings: list[str]


def definition_files(place: Place, manifest: Manifest) -> Found:
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
    return Found(sorted(files), warnings)
