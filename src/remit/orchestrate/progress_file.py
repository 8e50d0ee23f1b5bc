"""The format of the progress file: the position, the next action, open questions and warnings of a project.

One process writes at a time, and the file is replaced atomically. Files of earlier tools (`claude-progress.json`) are
read as they are. Unknown keys are kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remit.errors import UsageError
from remit.workspace.atomic_write import file_lock, replace_file

STATUSES = ("in_progress", "completed", "blocked")
MAX_FILE = 8 * 1024 * 1024
MAX_LOG = 500
#: Plans and orchestrators that the file lists.
MAX_WORK = 50
#: Key files, decisions and blockers that the file lists.
MAX_FACTS = 30
_NEXT = "Read the plan and begin with its first phase"


def progress_path(data: Path) -> Path:
    """Return the path of a project's progress file."""
    return data / "progress.json"


def find_progress(root: Path, data: Path) -> Path | None:
    """Return the project's progress file, else the newest file of an earlier tool."""
    current = progress_path(data)
    if current.exists():
        return current
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
        line = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"{file}: not a progress file: it is not valid JSON{line}") from error
    if not isinstance(progress, dict):
        raise UsageError(f"{file}: not a progress file: it must be a JSON object of at most {MAX_FILE >> 20} MiB")
    return fill_defaults(progress)


def fill_defaults(progress: dict[str, Any]) -> dict[str, Any]:
    """Return the progress with every key of the format."""
    now = now_text()
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


def now_text() -> str:
    """Return the current time in the form of the file."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def update_progress(file: Path, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Change the progress file under its lock, and replace it atomically."""
    with _one_writer(file):
        progress = _read_or_rename(file) if file.exists() else fill_defaults({})
        change(progress)
        progress = fill_defaults(progress)
        progress["lastUpdated"] = now_text()
        for key in ("log", "warnings", "delegations"):
            progress[key] = progress[key][-MAX_LOG:]
        _replace(file, json.dumps(progress, indent=2, ensure_ascii=False) + "\n")
    return progress


def record_event(
    file: Path,
    event: Mapping[str, Any],
    *changes: Callable[[dict[str, Any]], None],
    workspace: str = "",
    project: str = "",
) -> None:
    """Add an event to the log of the progress file, now, and apply the changes that belong to it."""

    def write(progress: dict[str, Any]) -> None:
        progress["workspaceId"] = progress["workspaceId"] or workspace
        progress["project"] = progress["project"] or project
        progress["log"].append({"timestamp": now_text(), **event})
        for change in changes:
            change(progress)

    update_progress(file, write)


def set_delegations(progress: dict[str, Any], entries: list[dict[str, Any]], *, keys: Sequence[str]) -> None:
    """Set the entries of delegations; those with the same values of `keys` are replaced."""

    def key_of(entry: Any) -> Any:
        return [entry.get(key) for key in keys] if isinstance(entry, dict) else entry

    replaced = [key_of(entry) for entry in entries]
    progress["delegations"] = [entry for entry in progress["delegations"] if key_of(entry) not in replaced] + entries


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


def set_work(progress: dict[str, Any], key: str, **fields: Any) -> dict[str, Any]:
    """Change the entry of one piece of work (`plan 3`, `job 5`), and derive what the file states as a whole.

    The entries are under `work`, so that several plans and orchestrators do not overwrite each other.
    """
    entry = next((work for work in _entries(progress) if work.get("key") == key), None)
    if entry is None:
        entry = {"key": key, "name": "", "status": "in_progress", "position": "", "nextAction": "", "questions": []}
    entry.update(fields)
    entries = [*(work for work in _entries(progress) if work.get("key") != key), entry]
    finished = [work for work in entries if work.get("status") not in ("blocked", "in_progress")]
    surplus = finished[: max(0, len(entries) - MAX_WORK)]
    progress["work"] = [work for work in entries if work not in surplus][-MAX_WORK:]
    summarize(progress)
    return entry


def set_blockers(progress: dict[str, Any], key: str, phase: str, blockers: Iterable[str]) -> None:
    """Set what the results of a phase report as blockers. Those of other phases remain until a person resolves them."""
    entry = set_work(progress, key)
    by_phase = entry.get("phaseBlockers")
    by_phase = dict(by_phase) if isinstance(by_phase, dict) else {}
    by_phase[phase] = list(dict.fromkeys(blockers))
    entry["phaseBlockers"] = by_phase
    entry["blockers"] = list(dict.fromkeys(text for texts in by_phase.values() for text in _list(texts)))
    summarize(progress)


def resolve_blocker(progress: dict[str, Any], text: str) -> list[str]:
    """Remove the blockers that results report and that contain a text, and return them."""
    resolved: list[str] = []
    for entry in _entries(progress):
        resolved += [blocker for blocker in _list(entry.get("blockers")) if text in str(blocker)]
        entry["blockers"] = [blocker for blocker in _list(entry.get("blockers")) if text not in str(blocker)]
        by_phase = entry.get("phaseBlockers")
        phases = by_phase.items() if isinstance(by_phase, dict) else ()
        entry["phaseBlockers"] = {
            name: [blocker for blocker in _list(texts) if text not in str(blocker)] for name, texts in phases
        }
    summarize(progress)
    return list(dict.fromkeys(map(str, resolved)))


def summarize(progress: dict[str, Any]) -> None:
    """Set status, position, next action and blockers from the entries: what waits for a person comes first."""
    entries = _entries(progress)
    if not entries:
        return
    by_status = {status: [entry for entry in entries if entry.get("status") == status] for status in STATUSES}
    first = (by_status["blocked"] or by_status["in_progress"] or entries)[-1]
    status = first.get("status")
    progress["status"] = status if status in STATUSES else "completed"
    context = progress["resumptionContext"]
    context["position"] = str(first.get("position") or context["position"])
    context["nextAction"] = str(first.get("nextAction") or context["nextAction"])
    questions = [_question_text(question) for question in open_questions(progress)]
    reported = [blocker for entry in entries for blocker in _list(entry.get("blockers"))]
    context["blockers"] = list(dict.fromkeys([*questions, *reported]))[-MAX_FACTS:]


def open_questions(progress: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the questions that wait for a person; each has the key of its work."""
    return [
        {**question, "work": entry.get("key")}
        for entry in _entries(progress)
        for question in _list(entry.get("questions"))
        if isinstance(question, dict)
    ]


def open_work(progress: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of unfinished work: what waits for a person comes first."""
    entries = _entries(progress)
    return [entry for status in ("blocked", "in_progress") for entry in entries if entry.get("status") == status]


def next_actions(progress: dict[str, Any]) -> list[str]:
    """Return the next action of each unfinished work, or else of the project."""
    actions = [str(work["nextAction"]) for work in open_work(progress) if work.get("nextAction")]
    return list(dict.fromkeys(actions)) or [progress["resumptionContext"]["nextAction"]]


def close_question(progress: dict[str, Any], question: int, next_action: str) -> None:
    """Remove an answered question. Work without another open question is no longer blocked."""
    for entry in _entries(progress):
        questions = _list(entry.get("questions"))
        left = [asked for asked in questions if not (isinstance(asked, dict) and asked.get("id") == question)]
        if len(left) < len(questions):
            entry["questions"] = left
            if not left:
                entry.update(status="in_progress", nextAction=next_action)
    summarize(progress)


def replace_warning(progress: dict[str, Any], agent: str, where: str, note: str) -> None:
    """Add a warning about an agent's failure, instead of an earlier one about the same place."""
    mark = f" ({where}): "
    earlier = f"Agent {agent} failed, "
    kept = [
        warning
        for warning in progress["warnings"]
        if not (isinstance(warning, str) and warning.startswith(earlier) and mark in warning)
    ]
    progress["warnings"] = [*kept, note]


def add_facts(progress: dict[str, Any], name: str, facts: Iterable[str]) -> None:
    """Add key files or decisions to the context for a resumption, the newest last."""
    context = progress["resumptionContext"]
    new = list(dict.fromkeys(facts))
    context[name] = [*(fact for fact in context[name] if fact not in new), *new][-MAX_FACTS:]


def _entries(progress: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in _list(progress.get("work")) if isinstance(entry, dict)]


def _question_text(question: dict[str, Any]) -> str:
    return f"question {question.get('id')} ({question.get('work')}): {question.get('reason')}"
