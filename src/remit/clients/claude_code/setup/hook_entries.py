"""The entries in the client's settings: which events, how the process starts, and which entries are ours."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from remit.errors import UsageError

#: Event -> seconds after which the client gives up on us. A report is checked in the longer ones.
EVENTS: dict[str, int] = {
    "SessionStart": 30,
    "UserPromptSubmit": 15,
    "PreToolUse": 15,
    "PostToolUse": 60,
    "PostToolUseFailure": 15,
    "PermissionDenied": 15,
    "SubagentStart": 15,
    "SubagentStop": 60,
    "Stop": 15,
    "StopFailure": 15,
    "PreCompact": 15,
    "SessionEnd": 15,
}
#: The end of the path of the process that answers.
ENTRY = "remit/surfaces/hooks/entry.py"
#: Where a server of ours takes hooks.
HTTP_PATH = "/hooks/claude-code"
#: What is said of hooks over HTTP, as long as nothing of ours answers them.
NO_SERVER = "a later version of remit brings the server for that"


def entry_file() -> Path:
    """The file that the client starts."""
    return Path(__file__).resolve().parents[3] / "surfaces" / "hooks" / "entry.py"


def hook_entries(http: str | None = None, *, is_closed: bool = False) -> dict[str, dict[str, Any]]:
    """Event -> entry. `is_closed`: a call that we could not look at is refused by the client itself."""
    url = is_loopback(http) + HTTP_PATH if http else None
    return {event: _entry(event, seconds, url, is_closed=is_closed) for event, seconds in EVENTS.items()}


def _entry(event: str, seconds: int, url: str | None, *, is_closed: bool) -> dict[str, Any]:
    """A program and its arguments, not a shell's line: no path needs quoting."""
    entry: dict[str, Any] = {"type": "http", "url": url}
    if url is None:
        # Isolated and without site: nothing of the project or the environment is imported, and it starts at once.
        entry = {"type": "command", "command": sys.executable, "args": ["-I", "-S", str(entry_file()), event]}
    entry["timeout"] = seconds
    if is_closed and event == "PreToolUse":
        entry["onFailure"] = "block"
    return entry


def hook_command(hook: dict[str, Any]) -> str:
    """What an entry calls, as a person reads it, whatever its event."""
    if hook.get("type") == "http":
        return str(hook.get("url", ""))
    return " ".join([str(hook.get("command", "")), *map(str, hook.get("args", ())[:-1]), "EVENT"])


def is_ours(hook: object) -> bool:
    """Whether an entry is one of ours, also one of an earlier install at another place."""
    if not isinstance(hook, dict):
        return False
    if hook.get("type") == "http":
        url = hook.get("url")
        return isinstance(url, str) and url.split("?")[0].rstrip("/").endswith(HTTP_PATH)
    arguments = hook.get("args")
    return isinstance(arguments, list) and any(
        isinstance(one, str) and one.replace("\\", "/").endswith(ENTRY) for one in arguments
    )


def is_this_install(event: str, hook: dict[str, Any]) -> bool:
    """Whether an entry is one that this install would write. Settings may come with a clone: nothing else is run."""
    if hook.get("type") == "http":
        try:
            return bool(hook["url"] == is_loopback(str(hook["url"]).removesuffix(HTTP_PATH)) + HTTP_PATH)
        except UsageError:
            return False
    wanted = _entry(event, 0, None, is_closed=False)
    return all(hook.get(key) == wanted[key] for key in ("type", "command", "args"))


def is_loopback(url: str) -> str:
    """An address on this machine, without a slash at its end; what is said to hooks goes nowhere else."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"--http {url!r}: {error}") from error
    if parts.scheme != "http" or not _is_loopback(host):
        raise UsageError(f"--http {url!r}: hooks go to this machine alone, so give http://127.0.0.1:PORT")
    if parts.username is not None or parts.query or parts.fragment or parts.path not in ("", "/"):
        raise UsageError(f"--http {url!r}: give the address alone, http://127.0.0.1:PORT")
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}" if port else f"http://{shown}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
