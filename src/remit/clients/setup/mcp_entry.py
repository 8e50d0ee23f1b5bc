"""Remit's MCP server in the file of a client that lists MCP servers.

The file is edited as text, like the settings: an uninstall changes no byte that the install has not written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from remit.clients.setup.file_changes import MAX_BYTES, AddedServer, FileChange, InstallRecord, read_bytes, read_record
from remit.clients.setup.settings_file import insert, named, parts, read_settings, remove, root_of, style_of
from remit.clients.setup.target import ClientSetup, InstallTarget, McpFile
from remit.dispatch.health import HealthFact
from remit.errors import RemitError, UsageError
from remit.extras import need_of

NAME = "remit"
#: This installation, even if PATH has another `remit`, and nothing of the current folder.
COMMAND = (sys.executable, "-I", "-m", "remit", "mcp")
_SECONDS = 30.0
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "remit", "version": "1"}},
}


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
    before = _read(file)
    text = before if before is not None else file.empty
    present = _servers(text, file).get(NAME)
    shown = target.display_path(file.path)
    if present is not None and present != file.entry and (earlier is None or present != earlier.entry):
        return ServerChange(kept=(f"{shown}: you already have an MCP server {NAME!r}, so yours is used",))
    after, space, is_made = text, "", False
    if present != file.entry:
        rest = _without_server(text, file, earlier.space if earlier is not None else "", is_made=False)
        after, space, is_made = _with_server(rest, file)
    added = AddedServer(
        path=target.record_path(file.path),
        entry=dict(file.entry),
        is_new=earlier.is_new if earlier is not None else before is None,
        is_made=earlier.is_made if earlier is not None else is_made,
        space=earlier.space if earlier is not None and not (_is_toml(file) and space) else space,
    )
    change = FileChange(file.path, before.encode() if before is not None else None, after.encode(), is_shared=True)
    notes = [file.note.format(path=shown)] if earlier is None else []
    if need := _missing_extra():
        notes.append(f"the MCP server does not start yet: it needs {need}")
    return ServerChange(change if after != before else None, added, notes=tuple(filter(None, notes)))


def _missing_extra() -> str:
    """Return the extra that the server lacks, with the command that installs it; "" if it lacks none."""
    return need_of("mcp") if find_spec("mcp") is None else ""


def remove_server(target: InstallTarget, record: InstallRecord | None, kept: list[str]) -> FileChange | None:
    """Plan the removal of the server. If the record is lost, an entry that this installation would write is ours."""
    added = record.mcp if record is not None else None
    file = target.client.mcp_file(target)
    if isinstance(file, str) or (record is not None and added is None):
        return None
    try:
        text = _read(file)
    except UsageError:
        if added is None:
            return None  # it has nothing of this install
        raise
    if text is None:
        return None
    present = _servers(text, file).get(NAME)
    space, is_made = (added.space, added.is_made) if added is not None else ("", True)
    after = text
    if present is not None and present == (added.entry if added is not None else file.entry):
        after = _without_server(text, file, space, is_made=is_made)
    if after == text:
        if present is not None and added is not None:
            kept.append(f"{target.display_path(file.path)}: the MCP server {NAME!r} was changed since, so it stays")
        return None
    is_removed = (added is None or added.is_new) and after.strip() in ("{}", file.empty.strip())
    return FileChange(file.path, text.encode(), None if is_removed else after.encode(), is_shared=True)


def server_problem(target: InstallTarget, record: InstallRecord) -> str:
    """Describe why the server that an install added is not the one that the client starts; "" if it is."""
    file = target.client.mcp_file(target)
    if record.mcp is None or isinstance(file, str):
        return ""
    try:
        present = _servers(_read(file) or file.empty, file).get(NAME)
    except UsageError as error:
        return str(error)
    if present is None:
        return f"{target.display_path(file.path)} lacks the MCP server {NAME!r}"
    return (
        ""
        if present == file.entry or _is_earlier(present, file, record.mcp)
        else f"{target.display_path(file.path)} has another MCP server {NAME!r}"
    )


def _is_earlier(present: Mapping[str, Any], file: McpFile, added: AddedServer) -> bool:
    """Return whether an entry is the one that an earlier version added, which starts this installation."""
    return present == added.entry and all(present.get(key) == file.entry.get(key) for key in ("command", "args"))


def _is_toml(file: McpFile) -> bool:
    return file.path.suffix == ".toml"


def _read(file: McpFile) -> str | None:
    """Return the text of the file; None without a file. Raises UsageError if it is not valid."""
    if not _is_toml(file):
        return read_settings(file.path)
    data = read_bytes(file.path, MAX_BYTES)
    try:
        text = None if data is None else data.decode("utf-8")
        tomllib.loads(text or "")
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file.path} is not valid TOML ({error}); fix the file first, it was not changed") from error
    return text


def _servers(text: str, file: McpFile) -> Mapping[str, Any]:
    if _is_toml(file):
        servers = tomllib.loads(text).get(file.container, {})
    else:
        container = named(text, root_of(text), file.container)
        servers = container.value if container is not None else {}
    if not isinstance(servers, dict):
        raise UsageError(f"{file.path}: {file.container!r} must be an object; fix the file first, it was not changed")
    return servers


def _with_server(text: str, file: McpFile) -> tuple[str, str, bool]:
    """Return the text with the entry, what its removal must know of the text, and whether it made the container."""
    if _is_toml(file):
        added = _gap(text) + _toml_table(file)
        _check_toml(text + added, file)
        return text + added, added, False
    return _with_member(text, file), _space(text, file), named(text, root_of(text), file.container) is None


def _toml_table(file: McpFile) -> str:
    """Return the entry as a table. A string or list of JSON is one of TOML; a path has no character U+007F."""
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in file.entry.items()]
    return "\n".join([f"[{file.container}.{NAME}]", *lines]) + "\n"


def _gap(text: str) -> str:
    return "" if not text else "\n" if text.endswith("\n") else "\n\n"


def _check_toml(text: str, file: McpFile) -> None:
    """Raise UsageError unless the text with the added table is valid: the servers may have another form."""
    try:
        is_added = _servers(text, file).get(NAME) == file.entry
    except tomllib.TOMLDecodeError:
        is_added = False
    if not is_added:
        raise UsageError(f"the MCP server cannot be added to {file.path}; add the table {_toml_table(file)!r} yourself")


def _with_member(text: str, file: McpFile) -> str:
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
    if _is_toml(file):
        table = _toml_table(file)
        return next(
            (text.replace(part, "") for part in (space, f"\n{table}", table) if part and text.count(part) == 1), text
        )
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


def mcp_facts(client: ClientSetup) -> Iterator[HealthFact]:
    """Check the server of each install that added it; otherwise yield nothing."""
    for is_user in (False, True):
        target = client.find_target(None, is_user=is_user)
        try:
            record = read_record(target)
        except RemitError:
            continue  # the checks of the hooks report it
        if record is None or record.mcp is None:
            continue
        problem = server_problem(target, record)
        if problem:  # only then another install helps
            user = " --user" if is_user else ""
            problem = f"{problem}; run `remit install {client.name}{user} --mcp`"
        elif need := _missing_extra():
            problem = f"it needs {need}"
        else:
            problem = _start_problem()
        if problem:
            yield HealthFact(client.name, "bad", f"the MCP server does not work: {problem}")
        else:
            yield _listed(target)


def _start_problem() -> str:
    """Describe why the server does not answer; "" if it does."""
    try:
        done = subprocess.run(
            [*COMMAND], input=json.dumps(_HELLO) + "\n", capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        answer = json.loads(done.stdout.partition("\n")[0] or "{}")
    except (OSError, ValueError, RecursionError, subprocess.SubprocessError) as error:
        return f"it gave no answer ({str(error)[:200]})"
    if isinstance(answer, dict) and isinstance(answer.get("result"), dict):
        return ""
    return f"it gave no answer ({done.stderr.strip()[-200:]})"


def _listed(target: InstallTarget) -> HealthFact:
    """Ask the client which servers it knows here."""
    client = target.client
    works = "the MCP server works"
    program = shutil.which(client.program)
    if program is None:
        return HealthFact(client.name, "good", f"{works}; `{client.program}` is not on PATH, so it was not asked")
    try:
        done = subprocess.run(
            [program, "mcp", "list"],
            cwd=None if target.is_user else target.root,
            env={**os.environ, **client.offline},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return HealthFact(client.name, "odd", f"{works}; {client.name} did not list its servers ({str(error)[:200]})")
    if re.search(rf"(?<![\w/.-]){NAME}(?![\w/.-])", done.stdout):
        return HealthFact(client.name, "good", f"{works}, and {client.name} lists it")
    step = client.next_step(target)
    return HealthFact(
        client.name, "bad", f"{works}, but {client.name} does not list it" + (f"; {step}" if step else "")
    )
