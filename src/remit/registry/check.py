"""Checking a plugin, a folder or a file of definitions, and mending what is mechanical."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from remit.errors import UsageError
from remit.registry.lookup import Registry
from remit.registry.manifests import BadManifest, Manifest, definition_files, read_manifest
from remit.registry.mend import mend
from remit.registry.model import Plugin
from remit.registry.places import MAX_FILE, Place
from remit.registry.plugins import load_plugin
from remit.registry.tools import AllowList


def check_path(path: Path, allowed: AllowList, *, fix: bool) -> tuple[list[Plugin], list[str], list[str]]:
    """The plugin at a path (none, if it cannot be one), what is odd about it, and what was mended."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    place = Place(str(path if path.is_dir() else path.parent))
    try:
        manifest = read_manifest(place) if path.is_dir() else Manifest(Path(place.root).name, None, (path.name,))
    except BadManifest as error:
        return [], [f"{str(path)!r} is not loaded: {error}"], []
    if path.is_file() and path.suffix.lower() != ".md":
        raise UsageError(f"{path}: a definition is a Markdown file (.md)")
    repairs = _mend_all(place, manifest) if fix else []
    plugin = load_plugin(place, allowed, manifest)
    return [plugin], list(Registry([plugin]).warnings), repairs


def _mend_all(place: Place, manifest: Manifest) -> list[str]:
    done: list[str] = []
    for path in definition_files(place, manifest).files:
        try:
            data = place.read(path)
        except OSError:
            continue  # checking it says why
        mended = mend(data) if len(data) <= MAX_FILE else None
        if mended is not None and mended.repairs:
            _replace(Path(place.root) / path, mended.data)
            done += [f"{place.name_of(path)!r}: {words}" for words in mended.repairs]
    return done


def _replace(file: Path, data: bytes) -> None:
    """Write a file whole or not at all, where it really stands and with the rights it had."""
    target = file.resolve()
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".remit-")
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(data)
        Path(name).chmod(target.stat().st_mode & 0o7777)
        Path(name).replace(target)
    except OSError as error:
        with suppress(OSError):
            Path(name).unlink()
        raise UsageError(f"{file}: it cannot be mended: {error.strerror}") from error
