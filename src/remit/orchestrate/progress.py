"""The progress file: the current position, the next action and the warnings of a project.

One process writes at a time, and the file is replaced atomically. Files of earlier tools (`claude-progress.json`) are
read as they are. Unknown keys are kept.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remit.errors import UsageError
from remit.store.plans import Delegation
from remit.workspace.atomic_write import file_lock, replace_file

STATUSES = ("in_progress", "completed", "blocked")
MAX_FILE = 8 * 1024 * 1024
MAX_LOG = 500
_NEXT = "Read the plan and begin with its first phase"


def progress_path(data: Path) -> Path:
    """Return the path of a project's progress file."""
    return data / "progress.json"


def find_progress(root: Path, data: Path) -> Path | None:
    """Return the project's progress file, else the newest file of an earlier tool."""
    own = progress_path(data)
    if own.exists():
        return own
    older = sorted(
        (root / ".claude" / "workspaces").glob("*/claude-progress.json"), key=lambda path: path.stat().st_mtime
    )
    return older[-1] if older else None


def read_progress(file: Path) -> dict[str, Any]:
    """Read a progress file, and fill in missing keys."""
    try:
        data = file.read_bytes()
        progress = json.loads(data) if len(data) <= MAX_FILE else None
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: not a progress file: {error}") from error
    if not isinstance(progress, dict):
        raise UsageError(f"{file}: not a progress file: it must be a JSON object of at most {MAX_FILE >> 20} MiB")
    return fill_defaults(progress)


def fill_defaults(progress: dict[str, Any]) -> dict[str, Any]:
    """Return the progress with every key of the format."""
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


def update_progress(file: Path, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Change the progress file under its lock, and replace it atomically."""
    with _one_writer(file):
        progress = _read_or_rename(file) if file.exists() else fill_defaults({})
        change(progress)
        progress = fill_defaults(progress)
        progress["lastUpdated"] = _now()
        for key in ("log", "warnings", "delegations"):
            progress[key] = progress[key][-MAX_LOG:]
        _replace(file, json.dumps(progress, indent=2, ensure_ascii=False) + "\n")
    return progress


def _read_or_rename(file: Path) -> dict[str, Any]:
    """Read the progress file. A corrupt file is renamed, and a new progress with a warning is returned."""
    try:
        return read_progress(file)
    except UsageError as error:
        renamed = file.with_suffix(f".{datetime.now(UTC):%Y%m%d%H%M%S}.bad")
        with suppress(OSError):
            file.replace(renamed)
        return fill_defaults({"warnings": [f"{error}; it was renamed to {renamed.name}"]})


@contextmanager
def _one_writer(file: Path) -> Iterator[None]:
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = file_lock(str(file.with_suffix(".lock")))
    try:
        yield
    finally:
        os.close(lock)


def _replace(file: Path, text: str) -> None:
    try:
        replace_file(file, text.encode("utf-8"), mode=0o600)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error


class ProgressRecorder:
    """Updates the progress file of a project while a plan runs."""

    def __init__(self, data: Path, workspace: Path, plan: int, name: str) -> None:
        self._file = progress_path(data)
        self._workspace = workspace
        self._plan = plan
        self._name = name

    async def _write(self, action: str, result: str, /, **fields: Any) -> None:
        entry = {"timestamp": datetime.now(UTC).isoformat(timespec="seconds"), "action": action, "status": result}

        def change(progress: dict[str, Any]) -> None:
            progress["workspaceId"] = progress["workspaceId"] or f"plan-{self._plan}"
            progress["project"] = progress["project"] or self._workspace.name
            progress["log"].append(entry)
            context = progress["resumptionContext"]
            for key, value in fields.items():
                if key in ("position", "nextAction"):
                    context[key] = value
                elif key == "warning":
                    progress["warnings"] = [
                        *progress["warnings"],
                        *([value] if value not in progress["warnings"] else []),
                    ]
                elif key == "delegations":
                    updated = [_key(one) for one in value]
                    kept = [one for one in progress["delegations"] if _key(one) not in updated]
                    progress["delegations"] = kept + value
                else:
                    progress[key] = value

        await asyncio.to_thread(update_progress, self._file, change)

    async def phase(self, name: str) -> None:
        """Record that a phase begins."""
        await self._write(
            f"phase {name}",
            "started",
            status="in_progress",
            currentPhase=name,
            currentTask=f"{self._name}: {name}",
            position=f"phase {name} of {self._name}",
            nextAction=f"Run `remit plan --resume {self._plan}` to continue {name}",
        )

    async def merged(self, name: str, decision: str, delegations: Sequence[Delegation]) -> None:
        """Record the decision and the delegations of a finished phase."""
        entries = [
            {"plan": self._plan, "phase": name, "name": one.name, "agent": one.agent}
            | {"state": one.state, "verdict": one.verdict, "job": one.job}
            for one in delegations
        ]
        await self._write(
            f"phase {name}",
            decision,
            delegations=entries,
            position=f"phase {name} of {self._name} is finished",
            nextAction=f"Read the merged results of {name}, then `remit plan --resume {self._plan}`",
        )

    async def warn(self, warning: str) -> None:
        """Record a failure."""
        await self._write("failure", "warning", warning=warning)

    async def stopped(self, state: str, phase: str) -> None:
        """Record that the plan waits for a person, or is cancelled."""
        next_action = (
            f"Answer the questions of plan {self._plan}: `remit escalations`, then `remit answer ID …`"
            if state == "waiting"
            else f"Plan {self._plan} was cancelled: decide what to do instead"
        )
        await self._write(f"phase {phase}", state, status="blocked", nextAction=next_action)

    async def finished(self, outcome: str) -> None:
        """Record that the plan is finished."""
        await self._write(
            self._name, outcome, status="completed", nextAction=f"Nothing is open; the last decision was {outcome}"
        )


def _key(one: Any) -> Any:
    """Return what identifies the delegation of an entry."""
    return [one.get(name) for name in ("plan", "phase", "name")] if isinstance(one, dict) else one
