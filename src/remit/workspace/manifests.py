"""The names of a project, as the manifests in the root of its checkout state them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from remit.lazy import lazy_pattern
from remit.workspace.files import SourceFile, Workspace

#: The tables of a manifest in TOML that state the name.
_TABLES = {"pyproject.toml": ("[project]", "[tool.poetry]"), "Cargo.toml": ("[package]",)}
_LONG_STRINGS = ('"""', "'''")
_NAME = lazy_pattern(r"\s*+name\s*+=\s*+[\"']([^\"'\n]{1,200})[\"']")
_MODULE = lazy_pattern(r"(?m)^module[ \t]++(\S{1,400})")
_VERSION = lazy_pattern(r"v\d+")
_MAX_MANIFEST = 200_000
#: Names that many folders have: they do not tell a project from a folder.
PLAIN_NAMES = frozenset(
    {
        *("src", "lib", "app", "apps", "package", "packages", "test", "tests", "docs", "web", "api", "core", "backend"),
        *("frontend", "client", "server", "service", "services", "ui", "main", "source", "code", "repo", "workspace"),
        *(
            "components",
            "scripts",
            "utils",
            "config",
            "models",
            "hooks",
            "pages",
            "common",
            "shared",
            "tools",
            "examples",
        ),
    }
)


class _Package(msgspec.Struct):
    name: str = ""


def project_names(workspace: Workspace) -> frozenset[str]:
    """Return the names that a project has, as `plain_name` writes them; without a manifest, that of its folder."""
    folder = workspace.folder.replace("\\", "/").rpartition("/")[2].removesuffix(".git")
    names = [name for name in _names(workspace) if name] or [folder]
    return frozenset(map(plain_name, names)) - PLAIN_NAMES


def plain_name(name: str) -> str:
    """Return a name in lower case with `_` for `-`: a package is often written in both ways."""
    return name.casefold().replace("-", "_")


def _names(workspace: Workspace) -> Iterator[str]:
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):  # another kind of file
        yield msgspec.json.decode(_text(workspace, "package.json"), type=_Package).name.rpartition("/")[2]
    for path, tables in _TABLES.items():
        is_inside = False
        for line in _text(workspace, path).split("\n"):
            if any(mark in line for mark in _LONG_STRINGS):
                break  # what follows may be text
            if line.lstrip().startswith("["):
                is_inside = "".join(line.partition("#")[0].split()) in tables
            elif is_inside and (match := _NAME.match(line)):
                is_inside = False
                yield match[1]
    if module := _MODULE.search(_text(workspace, "go.mod")):
        parts = [part for part in module[1].split("/") if part and not _VERSION.fullmatch(part)]
        yield parts[-1] if parts else ""


def _text(workspace: Workspace, path: str) -> str:
    """Return the text of a manifest; nothing if it is missing or too large."""
    file = workspace.read(path)
    text = file.text if isinstance(file, SourceFile) else ""
    return text.removeprefix("\ufeff") if len(text) <= _MAX_MANIFEST else ""
