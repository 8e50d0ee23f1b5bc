"""Check a plugin, a folder or a file of definitions, and fix simple mistakes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.errors import UsageError
from remit.registry.definition import Definition, Plugin
from remit.registry.fields import HONOURED
from remit.registry.frontmatter import MalformedYaml, head_span, quoted_lines, read_document
from remit.registry.lookup import Registry
from remit.registry.plugin_root import MAX_FILE, PluginRoot
from remit.registry.plugins import InvalidManifest, Manifest, definition_files, load_plugin, plugins_in, read_manifest
from remit.registry.tools import AllowList, find_tool, split_names
from remit.workspace.atomic_write import permissions, replace_file

_TOOL_LINE = re.compile(
    r"((?:tools|allowed[_-]tools|disallowed(?:Tools|[_-]tools))[ \t]*:[ \t]*)([^\[\]{}\"'|>&!#*].*)$"
)


def check_path(path: Path, allowed: AllowList, *, fix: bool) -> tuple[list[Plugin], list[str], list[str]]:
    """Return the plugins at a path (an empty list if none can be loaded), their warnings, and the repairs."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    root = PluginRoot(str(path if path.is_dir() else path.parent))
    single = Manifest(Path(root.root).name, None, (path.name,))
    plugins: list[Plugin] = []
    warnings: list[str] = []
    repairs: list[str] = []
    for folder, known_manifest in plugins_in(root) if path.is_dir() else [(root, single)]:
        try:
            manifest = known_manifest or read_manifest(folder)
        except InvalidManifest as error:
            warnings.append(f"{folder.path!r} is not loaded: {error}")
            continue
        if path.is_file() and path.suffix.lower() != ".md":
            raise UsageError(f"{path}: a definition is a Markdown file (.md)")
        repairs += _fix_all(folder, manifest) if fix else []
        plugins.append(_with_granted_tools(load_plugin(folder, allowed, manifest), allowed))
    return plugins, [*warnings, *Registry(plugins).warnings], repairs


def _with_granted_tools(plugin: Plugin, allowed: AllowList) -> Plugin:
    """Return a plugin with only the tools that the worker allows, and a warning for each other tool."""
    return msgspec.structs.replace(
        plugin, definitions=tuple(_granted(definition, allowed) for definition in plugin.definitions)
    )


def _granted(definition: Definition, allowed: AllowList) -> Definition:
    tools = [tool for tool in (find_tool(name, allowed.own) for name in definition.tools or ()) if tool is not None]
    withheld = [str(tool) for tool in tools if not allowed.granted(tool)]
    if not withheld:
        return definition
    return msgspec.structs.replace(
        definition,
        tools=tuple(str(tool) for tool in tools if str(tool) not in withheld),
        unknown_tools=(*definition.unknown_tools, *withheld),
        warnings=(
            *definition.warnings,
            *(f"the tool {name!r} is not allowed by this worker; it is withheld" for name in withheld),
        ),
    )


def _fix_all(root: PluginRoot, manifest: Manifest) -> list[str]:
    repairs: list[str] = []
    for path in definition_files(root, manifest).files:
        try:
            data = root.read(path)
        except OSError:
            continue  # the check reports the reason
        fixed = fix_definition(data) if len(data) <= MAX_FILE else None
        if fixed is not None and fixed.repairs:
            _replace(Path(root.root) / path, fixed.data)
            repairs += [f"{root.name_of(path)!r}: {repair}" for repair in fixed.repairs]
    return repairs


def _replace(file: Path, data: bytes) -> None:
    """Replace a file atomically. Links are followed, and the permissions are kept."""
    target = file.resolve()
    try:
        replace_file(target, data, mode=permissions(target))
    except OSError as error:
        raise UsageError(f"{file}: it cannot be fixed: {error.strerror}") from error


class FixedDefinition(NamedTuple):
    """The fixed content of a file, and the repairs."""

    data: bytes
    repairs: tuple[str, ...]


def fix_definition(data: bytes) -> FixedDefinition:
    """Fix simple mistakes in a definition file.

    A file that is not UTF-8, has no frontmatter or cannot be fixed is returned unchanged.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return FixedDefinition(data, ())
    repairs: list[str] = []
    if text.startswith("\ufeff"):
        text, repairs = text.removeprefix("\ufeff"), ["removed the byte order mark"]
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        repairs.append("changed line ends to \\n")
    try:
        span = head_span(text)
        if span is None:
            return FixedDefinition(data, ())
        head = _fix_head(text[span.start : span.end].split("\n")[:-1], span.line, repairs)
        fixed = text[: span.start] + "".join(f"{line}\n" for line in head) + text[span.end :]
        read_document(fixed, HONOURED)
    except MalformedYaml:
        return FixedDefinition(data, ())
    return FixedDefinition(fixed.encode(), tuple(repairs)) if repairs else FixedDefinition(data, ())


def _fix_head(head: list[str], offset: int, repairs: list[str]) -> list[str]:
    """Quote plain values that are not valid YAML, and write tools with their canonical names."""
    quoted, warnings = quoted_lines(head, offset, HONOURED)
    if warnings and not _is_valid(head):
        repairs += [f"{warning.partition(' is ')[0]}: put the value in quotes" for warning in warnings]
        head = [line for line, old in zip(quoted, head, strict=True) if line or not old.strip()]
    for number, line in enumerate(head):
        match = _TOOL_LINE.match(line)
        if match and (names := _canonical_names(match[2])) != match[2].strip():
            repairs.append(f"changed {match[2].strip()!r} to {names!r}")
            head[number] = match[1] + names
    return head


def _is_valid(head: list[str]) -> bool:
    """Return whether the fields are valid YAML."""
    try:
        document = read_document("\n".join(["---", *head, "---"]), HONOURED)
    except MalformedYaml:
        return False
    return document is not None and not document.warnings


def _canonical_names(text: str) -> str:
    """Return a list of tools with the canonical name of each tool; unknown names are kept."""
    return ", ".join(str(find_tool(name) or name) for name in split_names(text))
