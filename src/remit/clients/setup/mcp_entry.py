"""Remit's MCP server in the file of a client that lists MCP servers.

The file is edited as text, like the settings: an uninstall changes no byte that the install has not written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from remit.clients.setup.plan import AddedServer, FileChange, InstallRecord
from remit.clients.setup.settings_file import insert, named, parts, read_settings, remove, root_of, style_of
from remit.clients.setup.target import InstallTarget, McpFile
from remit.errors import UsageError

NAME = "remit"
#: This installation, even if PATH has another `remit`, and nothing of the current folder.
COMMAND = (sys.executable, "-I", "-m", "remit", "mcp")


class ServerChange(NamedTuple):
    """The change of the file, what the record keeps of it, and what the user should know."""

    change: FileChange | None = None
    added: AddedServer | None = None
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def add_server(target: InstallTarget, earlier: AddedServer | None, *, is_wanted: bool) -> ServerChange:
    """Plan the entry of the server. Raises UsageError if the client or the file cannot have it."""
    if not is_wanted and earlier is None:
        return ServerChange()
    file = target.client.mcp_file(target)
    if isinstance(file, str):
        raise UsageError(file)
    target.refuse_links(file.path)
    before = read_settings(file.path)
    text = "{}\n" if before is None else before
    found = _servers(text, file)
    present = found.get(NAME)
    shown = target.display_path(file.path)
    if present is not None and present != file.entry and (earlier is None or present != earlier.entry):
        return ServerChange(kept=(f"{shown}: you already have an MCP server {NAME!r}, so yours is used",))
    after = text if present == file.entry else _with_server(_without_server(text, file, is_made=False), file)
    added = AddedServer(
        path=target.record_path(file.path),
        entry=dict(file.entry),
        is_new=earlier.is_new if earlier is not None else before is None,
        is_made=earlier.is_made if earlier is not None else named(text, root_of(text), file.container) is None,
        space=earlier.space if earlier is not None else _space(text, file),
    )
    change = FileChange(file.path, before.encode() if before is not None else None, after.encode(), is_shared=True)
    notes = (file.note.format(path=shown),) if earlier is None else ()
    return ServerChange(change if after != before else None, added, notes=notes)


def remove_server(target: InstallTarget, record: InstallRecord | None, kept: list[str]) -> FileChange | None:
    """Plan the removal of the server. If the record is lost, an entry that this installation would write is ours."""
    added = record.mcp if record is not None else None
    file = target.client.mcp_file(target)
    if isinstance(file, str) or (record is not None and added is None):
        return None
    try:
        text = read_settings(file.path)
    except UsageError:
        if added is None:
            return None  # it has nothing of this install
        raise
    if text is None:
        return None
    present = _servers(text, file).get(NAME)
    if present is None or present != (added.entry if added is not None else file.entry):
        if present is not None and added is not None:
            kept.append(f"{target.display_path(file.path)}: the MCP server {NAME!r} was changed since, so it stays")
        return None
    after = _without_server(
        text, file, added.space if added is not None else "", is_made=added is None or added.is_made
    )
    is_removed = (added is None or added.is_new) and after.strip() == "{}"
    return FileChange(file.path, text.encode(), None if is_removed else after.encode(), is_shared=True)


def _servers(text: str, file: McpFile) -> Mapping[str, Any]:
    container = named(text, root_of(text), file.container)
    if container is not None and not isinstance(container.value, dict):
        raise UsageError(f"{file.path}: {file.container!r} must be an object; fix the file first, it was not changed")
    return container.value if container is not None else {}


def _with_server(text: str, file: McpFile) -> str:
    style = style_of(text)
    colon = ": " if style.newline else ":"
    separators = (", ", ": ") if style.newline else (",", ":")
    server = f'"{NAME}"{colon}{json.dumps(file.entry, ensure_ascii=False, separators=separators)}'
    container = named(text, root_of(text), file.container)
    if container is None:
        piece = f'"{file.container}"{colon}{{{style.line(2)}{server}{style.line(1)}}}'
        return insert(text, root_of(text), piece, style, 1)
    return insert(text, container.at, server, style, 2)


def _space(text: str, file: McpFile) -> str:
    """Return the white space of the object that the entry is added to, if that object is empty."""
    container = named(text, root_of(text), file.container)
    start = container.at if container is not None else root_of(text)
    return "" if parts(text, start) else text[start + 1 : text.index("}", start)]


def _without_server(text: str, file: McpFile, space: str = "", *, is_made: bool) -> str:
    container = named(text, root_of(text), file.container)
    server = named(text, container.at, NAME) if container is not None else None
    if container is None or server is None:
        return text
    start, part = container.at, server
    if is_made and len(container.value) == 1:
        start, part = root_of(text), container
    is_last = len(parts(text, start)) == 1
    rest = remove(text, start, part)
    return f"{rest[: start + 1]}{space}{rest[start + 1 :]}" if is_last else rest


def json_server_file(path: Path, note: str) -> McpFile:
    """Return a file with the key `mcpServers`, which several clients read."""
    return McpFile(path, "mcpServers", {"command": COMMAND[0], "args": list(COMMAND[1:])}, note)
