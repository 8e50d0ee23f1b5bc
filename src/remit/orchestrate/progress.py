"""The progress file: where the work stands, what to do next, what went wrong. One writer, replaced as a whole.

It reads the files of earlier tools (`claude-progress.json`) as they are; keys it does not know survive.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remit.errors import UsageError

STATUSES = ("in_progress", "completed", "blocked")
MAX_FILE = 8 * 1024 * 1024
MAX_LOG = 500
_NEXT = "Read the plan and begin with its first phase"


def progress_path(data: Path) -> Path:
    """Where the progress file of a project is."""
    return data / "progress.json"


def find_progress(root: Path, data: Path) -> Path | None:
    """The project's progress file, else the newest one that an earlier tool left."""
    own = progress_path(data)
    if own.exists():
        return own
    older = sorted(
        (root / ".claude" / "workspaces").glob("*/claude-progress.json"), key=lambda path: path.stat().st_mtime
    )
    return older[-1] if older else None


def read_progress(file: Path) -> dict[str, Any]:
    """A progress file with what it must have filled in; unknown keys as they are."""
    try:
        data = file.read_bytes()
        found = json.loads(data) if len(data) <= MAX_FILE else None
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: not a progress file: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{file}: not a progress file: it must be a JSON object of at most {MAX_FILE >> 20} MiB")
    return filled(found)


def filled(progress: dict[str, Any]) -> dict[str, Any]:
    """The same progress with every key of the shape."""
    now = _now()
    context = progress.get("resumptionContext")
    context = dict(context) if isinstance(context, dict) else {}
    decisions = context.get("decisions") or context.get("recentDecisions")
    context = {
        **context,
        "position": str(context.get("position") or ""),
        "nextAction": str(context.get("nextAction") or "").strip() or _NEXT,
        "dependencies": _list(context.get("dependencies")),
        "blockers": _list(context.get("blockers")),
        "keyFiles": _list(context.get("keyFiles")),
        "decisions": _list(decisions),
    }
    status = progress.get("status")
    return {
        **progress,
        "workspaceId": str(progress.get("workspaceId") or ""),
        "project": str(progress.get("project") or ""),
        "started": progress.get("started") or now,
        "lastUpdated": progress.get("lastUpdated") or now,
        "status": status if status in STATUSES else "in_progress",
        "currentPhase": progress.get("currentPhase"),
        "currentTask": progress.get("currentTask"),
        "sessions": _list(progress.get("sessions")),
        "log": _list(progress.get("log")),
        "resumptionContext": context,
        "warnings": _list(progress.get("warnings")),
        "delegations": _list(progress.get("delegations")),
    }


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def update(file: Path, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Change the progress file: one writer at a time, the old file or the new one, never half of it."""
    with _one_writer(file):
        progress = _read_or_set_aside(file) if file.exists() else filled({})
        change(progress)
        progress = filled(progress)
        progress["lastUpdated"] = _now()
        for key in ("log", "warnings", "delegations"):
            progress[key] = progress[key][-MAX_LOG:]
        _replace(file, json.dumps(progress, indent=2, ensure_ascii=False) + "\n")
    return progress


def _read_or_set_aside(file: Path) -> dict[str, Any]:
    """The progress there is; a file that is none is kept under another name, and the work goes on."""
    try:
        return read_progress(file)
    except UsageError as error:
        aside = file.with_suffix(f".{datetime.now(UTC):%Y%m%d%H%M%S}.bad")
        with suppress(OSError):
            file.replace(aside)
        return filled({"warnings": [f"{error}; it was set aside as {aside.name}"]})


@contextmanager
def _one_writer(file: Path) -> Iterator[None]:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(file: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".progress-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        Path(name).replace(file)
    except OSError as error:
        with suppress(OSError):
            Path(name).unlink()
        raise UsageError(f"{file}: {error.strerror}") from error
