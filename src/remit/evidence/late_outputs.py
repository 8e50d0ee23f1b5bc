"""Outputs that are not in the result of their call: those of commands in the background, and saved ones.

The client answers a call that starts a command in the background at once, with the id of a task. The task's output is
read later with a tool (`TaskOutput`, `BashOutput`), from a file (`tasks/ID.output`), or announced in a
`<task-notification>`. A long output is saved next to the transcript, which contains a preview (`<persisted-output>`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from remit.evidence.receipts import Receipt
from remit.lazy import lazy_pattern

if TYPE_CHECKING:
    from pathlib import Path

_STARTED = lazy_pattern(
    r"Command (?:running in background with ID: ([\w\-]{1,64})|"
    r"[^\n]{0,200}moved to the background \(ID: ([\w\-]{1,64})\))"
)
_TASK_FILE = lazy_pattern(r"tasks[/\\]([\w\-]{1,64})\.output")
_TASK_ID = lazy_pattern(r"<task-?_?id>\s*([\w\-]{1,64})\s*</task-?_?id>")
_STATUS = lazy_pattern(r"<status>\s*(\w{1,20})\s*</status>")
_EXIT = lazy_pattern(r"<exit_?code>\s*(-?\d{1,5})\s*</exit_?code>|exit(?:ed with)?(?: with)? code:? (-?\d{1,5})")
_PERSISTED = lazy_pattern(r"<persisted-output>\s*[^\n]{0,200}?saved to:? ([^\n]{1,1000})\n")
_PREVIEW = lazy_pattern(r"Preview[^\n]{0,40}:\n")
_PERSISTED_END = "\n</persisted-output>"
_IDS = ("task_id", "bash_id", "shell_id", "taskId")
_UNFINISHED = ("running", "pending", "killed", "stopped")
#: Longer texts are not searched for the state of a task; it is at their beginning.
_MAX_STATE = 4_000


def started_task(output: str) -> str | None:
    """Return the id of the task that a call started in the background, or None."""
    found = _STARTED.match(output)
    return (found[1] or found[2]) if found else None


def tasks_read(call: Receipt) -> Iterator[str]:
    """Yield the ids of the tasks whose output a call asks for."""
    for key in _IDS:
        if isinstance(name := call.arguments.get(key), str):
            yield name
    for text in (call.path or "", call.command[:_MAX_STATE]):
        yield from _TASK_FILE.findall(text)


def finished_task(text: str) -> tuple[str, int | None] | None:
    """Return the id and the exit status of the task that a notification announces, or None."""
    if "<task-notification>" not in text[:_MAX_STATE]:
        return None
    name = _TASK_ID.search(text, 0, _MAX_STATE)
    is_finished, status = task_state(text)
    return (name[1], status) if name and is_finished else None


def task_state(output: str) -> tuple[bool, int | None]:
    """Return whether an output shows the end of a task, and its exit status if the output states it."""
    status, code = _STATUS.search(output, 0, _MAX_STATE), _EXIT.search(output, 0, _MAX_STATE)
    if status and status[1].lower() in _UNFINISHED:
        return False, None
    if status is None:
        return True, None  # the content of its file, which does not state the exit status
    if code:
        return True, int(code[1] or code[2])
    return True, 0 if status[1].lower() == "completed" else None


def whole_output(output: str, transcript: str, limit: int) -> str:
    """Return an output that the client saved next to the transcript, else its preview, else the output itself."""
    saved = _PERSISTED.match(output)
    if saved is None:
        return output
    from pathlib import Path  # late import: slow to load, and few outputs are saved

    # The path is the agent's: only its name counts, in the folders where the client keeps such files.
    name = saved[1].strip().replace("\\", "/").rsplit("/", 1)[-1]
    own = Path(transcript)
    for folder in (own.with_suffix(""), own.parent, own.parent.parent):
        text = _read_saved(folder / "tool-results" / name, limit) if name not in ("", ".", "..") else None
        if text is not None:
            return text
    preview = _PREVIEW.search(output, saved.end())
    end = output.rfind(_PERSISTED_END)
    return output[preview.end() if preview else saved.end() : end if end >= 0 else len(output)]


def _read_saved(path: Path, limit: int) -> str | None:
    try:
        if not path.is_file() or path.is_symlink():
            return None
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
