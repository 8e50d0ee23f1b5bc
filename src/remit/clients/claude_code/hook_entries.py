"""The hook entries in the client's settings: events, commands, and which entries are Remit's."""

from __future__ import annotations

import ipaddress
import sys
from typing import Any
from urllib.parse import quote, urlsplit

from remit.clients.setup.hook_process import ENTRY, entry_file
from remit.errors import UsageError

#: Event -> the client's timeout in seconds. Events that check a report have a longer one.
EVENTS: dict[str, int] = {
    "SessionStart": 30,
    "UserPromptSubmit": 15,
    "PreToolUse": 15,
    "PostToolUse": 60,
    "PostToolUseFailure": 15,
    "PermissionDenied": 15,
    "SubagentStart": 15,
    "SubagentStop": 60,
    "Stop": 60,
    "StopFailure": 15,
    "TeammateIdle": 60,
    "TaskCompleted": 60,
    "PreCompact": 15,
    "SessionEnd": 15,
}
#: The header with the folder of the install whose secret a hook sends: the secret is checked before the payload.
PROJECT_HEADER = b"x-remit-project"
#: The path of hooks on a server.
HTTP_PATH = "/hooks/claude-code"
#: The event that a process answers in any case: it reports that the server of the other hooks does not answer.
_ALWAYS_PROCESS = "SessionStart"


def hook_entries(
    http: str | None = None, *, secret: str | None = None, folder: str = "", is_closed: bool = False
) -> dict[str, dict[str, Any]]:
    """Return the entry of each event. With `is_closed`, the client denies a call if the hook fails.

    Any process of this machine can call a loopback address: hooks over HTTP send a secret, which the server requires,
    and the `folder` of the install, so that the server checks the secret before it reads the payload.
    """
    url = loopback_address(http) + HTTP_PATH if http else None
    entries = {event: _entry(event, seconds, url, is_closed=is_closed) for event, seconds in EVENTS.items()}
    if url is not None:
        entries[_ALWAYS_PROCESS] = _entry(_ALWAYS_PROCESS, EVENTS[_ALWAYS_PROCESS], None, is_closed=is_closed)
        entries[_ALWAYS_PROCESS]["args"].append(url.removesuffix(HTTP_PATH))
    if url is not None and secret:
        for entry in entries.values():
            if entry["type"] == "http":
                entry["headers"] = {"Authorization": f"Bearer {secret}"}
                if folder:
                    entry["headers"][PROJECT_HEADER.decode().title()] = quote(folder)
    return entries


def _entry(event: str, seconds: int, url: str | None, *, is_closed: bool) -> dict[str, Any]:
    """Return an entry: a program with its arguments, not a shell command, so paths need no quoting."""
    entry: dict[str, Any] = {"type": "http", "url": url}
    if url is None:
        # Isolated and without site: it imports nothing of the project or the environment, and it starts fast.
        entry = {"type": "command", "command": sys.executable, "args": ["-I", "-S", str(entry_file()), event]}
    entry["timeout"] = seconds
    if is_closed and event == "PreToolUse":
        entry["onFailure"] = "block"
    return entry


def hook_command(hook: dict[str, Any]) -> str:
    """Return what an entry calls, for a message, with EVENT for the event."""
    if hook.get("type") == "http":
        return str(hook.get("url", ""))
    return " ".join([str(hook.get("command", "")), *map(str, hook.get("args", ())[:3]), "EVENT"])


def hook_commands(http: str | None = None) -> str:
    """Return what the entries of an install call, for a message."""
    entries = hook_entries(http)
    program = hook_command(entries[_ALWAYS_PROCESS])
    if http is None:
        return program
    return f"{hook_command(entries['PreToolUse'])}, except {_ALWAYS_PROCESS}, which calls {program}"


def is_ours(hook: object) -> bool:
    """Whether an entry is Remit's, including one of another installation."""
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "http":
        url = hook.get("url")
        return isinstance(url, str) and url.split("?")[0].rstrip("/").endswith(HTTP_PATH)
    arguments = hook.get("args")
    return isinstance(arguments, list) and any(
        isinstance(argument, str) and argument.replace("\\", "/").endswith(ENTRY) for argument in arguments
    )


def is_this_install(event: str, hook: dict[str, Any]) -> bool:
    """Whether this installation would write this entry. Others are not run: settings may come with a clone."""
    if hook.get("type") == "http":
        try:
            return bool(hook["url"] == loopback_address(str(hook["url"]).removesuffix(HTTP_PATH)) + HTTP_PATH)
        except UsageError:
            return False
    wanted = _entry(event, 0, None, is_closed=False)
    arguments = hook.get("args")
    if event == _ALWAYS_PROCESS and isinstance(arguments, list) and len(arguments) == len(wanted["args"]) + 1:
        try:
            wanted["args"] = [*wanted["args"], loopback_address(str(arguments[-1]))]
        except UsageError:
            return False
    return all(hook.get(key) == wanted[key] for key in ("type", "command", "args"))


def loopback_address(url: str) -> str:
    """Return a URL of this machine without a trailing slash. Raises UsageError for any other: payloads stay here."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"--http {url!r}: {error}") from error
    if parts.scheme != "http" or not _is_loopback(host):
        raise UsageError(f"--http {url!r}: hooks may only call this machine; use http://127.0.0.1:PORT")
    if parts.username is not None or parts.query or parts.fragment or parts.path not in ("", "/"):
        raise UsageError(f"--http {url!r}: use only the address, http://127.0.0.1:PORT")
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}" if port else f"http://{name}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
