"""The names of a project: its folder, the manifests in its root, and the title of its README."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from remit.lazy import lazy_pattern
from remit.workspace.files import SourceFile, Workspace

_MODULE = lazy_pattern(r"(?m)^module[ \t]++(\S{1,400})")
_VERSION = lazy_pattern(r"v\d+")
#: A title of several words. One word may be the name of any folder.
_TITLE = lazy_pattern(r"\s*+#[ \t]++((?:[A-Za-z0-9]{1,40}[ _-]){1,8}[A-Za-z0-9]{1,40})[ \t]*+(?:\r?\n|$)")
_SEPARATOR = lazy_pattern(r"[ _-]")
_TABLES = {"pyproject.toml": (("project",), ("tool", "poetry")), "Cargo.toml": (("package",),)}
_MAX_MANIFEST = 200_000


def project_names(workspace: Workspace) -> frozenset[str]:
    """Return the names that the project of a checkout has, as `plain_name` writes them."""
    return frozenset(map(plain_name, filter(None, _names(workspace))))


def plain_name(name: str) -> str:
    """Return a name in lower case with `_` for `-`: a package is often written in both ways."""
    return name.casefold().replace("-", "_")


def _names(workspace: Workspace) -> Iterator[str]:
    yield workspace.folder.replace("\\", "/").rpartition("/")[2]
    yield _top_name(_json(_text(workspace, "package.json"))).rpartition("/")[2]
    for path, tables in _TABLES.items():
        manifest = _toml(_text(workspace, path))
        for table in tables:
            found = manifest
            for key in table:
                found = found.get(key, {}) if isinstance(found, dict) else {}
            yield _top_name(found)
    if module := _MODULE.search(_text(workspace, "go.mod")):
        parts = [part for part in module[1].split("/") if part and not _VERSION.fullmatch(part)]
        yield parts[-1] if parts else ""
    if title := _TITLE.match(_text(workspace, "README.md")):
        yield _SEPARATOR.sub("_", title[1])


def _text(workspace: Workspace, path: str) -> str:
    file = workspace.read(path)
    return file.text if isinstance(file, SourceFile) and len(file.text) <= _MAX_MANIFEST else ""


def _top_name(manifest: Any) -> str:
    name = manifest.get("name") if isinstance(manifest, dict) else None
    return name if isinstance(name, str) else ""


def _json(text: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}


def _toml(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
