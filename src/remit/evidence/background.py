"""Commands that an agent started in the background: their result comes later, or never.

The client answers such a call at once, with the id of a task. The task's output is read later with a tool
(`TaskOutput`, `BashOutput`), from a file (`tasks/ID.output`), or announced in a `<task-notification>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from remit.evidence.receipts import Receipt
from remit.lazy import lazy_pattern

_STARTED = lazy_pattern(
    r"Command (?:running in background with ID: ([\w\-]{1,64})|"
    r"[^\n]{0,200}moved to the background \(ID: ([\w\-]{1,64})\))"
)
_TASK_FILE = lazy_pattern(r"tasks[/\\]([\w\-]{1,64})\.output")
_TASK_ID = lazy_pattern(r"<task-?_?id>\s*([\w\-]{1,64})\s*</task-?_?id>")
_STATUS = lazy_pattern(r"<status>\s*(\w{1,20})\s*</status>")
_EXIT = lazy_pattern(r"<exit_?code>\s*(-?\d{1,5})\s*</exit_?code>|exit(?:ed with)?(?: with)? code:? (-?\d{1,5})")
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


def text_of(content: Any) -> str:
    """Return the text of the content of a message or a tool result."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""
