"""Checking a plugin, a folder or a file of definitions, and mending what is mechanical."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from remit.errors import UsageError
from remit.registry.fields import HONOURED
from remit.registry.frontmatter import MalformedYaml, head_span, quoted_lines, read_document
from remit.registry.lookup import Registry
from remit.registry.model import Plugin
from remit.registry.plugin_root import MAX_FILE, PluginRoot
from remit.registry.plugins import InvalidManifest, Manifest, definition_files, load_plugin, read_manifest
from remit.registry.tools import AllowList, find_tool, split_names
from remit.workspace.atomic_write import permissions, replace_file

_TOOL_LINE = re.compile(
    r"((?:tools|allowed[_-]tools|disallowed(?:Tools|[_-]tools))[ \t]*:[ \t]*)([^\[\]{}\"'|>&!#*].*)$"
)


def check_path(path: Path, allowed: AllowList, *, fix: bool) -> tuple[list[Plugin], list[str], list[str]]:
    """The plugin at a path (none, if it cannot be one), what is odd about it, and what was mended."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    place = PluginRoot(str(path if path.is_dir() else path.parent))
    try:
        manifest = read_manifest(place) if path.is_dir() else Manifest(Path(place.root).name, None, (path.name,))
    except InvalidManifest as error:
        return [], [f"{str(path)!r} is not loaded: {error}"], []
    if path.is_file() and path.suffix.lower() != ".md":
        raise UsageError(f"{path}: a definition is a Markdown file (.md)")
    repairs = _mend_all(place, manifest) if fix else []
    plugin = load_plugin(place, allowed, manifest)
    return [plugin], list(Registry([plugin]).warnings), repairs


def _mend_all(place: PluginRoot, manifest: Manifest) -> list[str]:
    done: list[str] = []
    for path in definition_files(place, manifest).files:
        try:
            data = place.read(path)
        except OSError:
            continue  # checking it says why
        mended = fix_definition(data) if len(data) <= MAX_FILE else None
        if mended is not None and mended.repairs:
            _replace(Path(place.root) / path, mended.data)
            done += [f"{place.name_of(path)!r}: {words}" for words in mended.repairs]
    return done


def _replace(file: Path, data: bytes) -> None:
    """Write a file whole or not at all, where it really stands and with the rights it had."""
    target = file.resolve()
    try:
        replace_file(target, data, mode=permissions(target))
    except OSError as error:
        raise UsageError(f"{file}: it cannot be mended: {error.strerror}") from error


class FixedDefinition(NamedTuple):
    """A file as it should be, and what was done to it."""

    data: bytes
    repairs: tuple[str, ...]


def fix_definition(data: bytes) -> FixedDefinition:
    """Repair a file; one that is no UTF-8, has no frontmatter or is beyond repair stays as it is."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return FixedDefinition(data, ())
    repairs: list[str] = []
    if text.startswith("\ufeff"):
        text, repairs = text.removeprefix("\ufeff"), ["the byte order mark is gone"]
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        repairs.append("lines end with \\n")
    try:
        span = head_span(text)
        if span is None:
            return FixedDefinition(data, ())
        head = _head(text[span.start : span.end].split("\n")[:-1], span.line, repairs)
        mended = text[: span.start] + "".join(f"{line}\n" for line in head) + text[span.end :]
        read_document(mended, HONOURED)
    except MalformedYaml:
        return FixedDefinition(data, ())
    return FixedDefinition(mended.encode(), tuple(repairs)) if repairs else FixedDefinition(data, ())


def _head(head: list[str], offset: int, repairs: list[str]) -> list[str]:
    """The fields, each plain value that is not YAML quoted, tools by their own names."""
    quoted, warnings = quoted_lines(head, offset, HONOURED)
    if warnings and not _reads(head):
        repairs += [f"{words.partition(' is ')[0]}: its value is in quotes" for words in warnings]
        head = [line for line, old in zip(quoted, head, strict=True) if line or not old.strip()]
    for number, line in enumerate(head):
        match = _TOOL_LINE.match(line)
        if match and (named := _named(match[2])) != match[2].strip():
            repairs.append(f"{match[2].strip()!r} is {named!r}")
            head[number] = match[1] + named
    return head


def _reads(head: list[str]) -> bool:
    """Whether the fields are YAML as they stand."""
    try:
        document = read_document("\n".join(["---", *head, "---"]), HONOURED)
    except MalformedYaml:
        return False
    return document is not None and not document.warnings


def _named(written: str) -> str:
    """A list of tools with each known one under its own name; anything else as it was."""
    return ", ".join(str(find_tool(name) or name) for name in split_names(written))
