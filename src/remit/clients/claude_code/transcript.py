"""Read the calls in a transcript of Claude Code: messages whose content has blocks for calls and for their results.

Calls and results are paired by their id, in any order. The client writes no exit status: the result of a failed command
begins with `Exit code N`. It answers a call that starts a command in the background at once, with the id of a task. The
task's output is read later with a tool (`TaskOutput`, `BashOutput`), from a file (`tasks/ID.output`), or announced in a
`<task-notification>`. A long output is saved next to the transcript, which contains a preview (`<persisted-output>`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from remit.clients.transcripts.calls import (
    MAX_OUTPUT,
    AgentCalls,
    TranscriptLine,
    kept_lines,
    refusal,
    table_of,
    what_it_showed,
)
from remit.evidence.receipts import Receipt
from remit.lazy import lazy_pattern

_EXIT = lazy_pattern(r"^(?:Error: )?Exit code (-?\d{1,5})")
_STARTED = lazy_pattern(
    r"Command (?:running in background with ID: ([\w\-]{1,64})|"
    r"[^\n]{0,200}moved to the background \(ID: ([\w\-]{1,64})\))"
)
_TASK_FILE = lazy_pattern(r"tasks[/\\]([\w\-]{1,64})\.output")
_TASK_ID = lazy_pattern(r"<task-?_?id>\s*([\w\-]{1,64})\s*</task-?_?id>")
_STATUS = lazy_pattern(r"<status>\s*(\w{1,20})\s*</status>")
_TASK_EXIT = lazy_pattern(r"<exit_?code>\s*(-?\d{1,5})\s*</exit_?code>|exit(?:ed with)?(?: with)? code:? (-?\d{1,5})")
_PERSISTED = lazy_pattern(r"<persisted-output>\s*[^\n]{0,200}?saved to:? ([^\n]{1,1000})\n")
_PREVIEW = lazy_pattern(r"Preview[^\n]{0,40}:\n")
_PERSISTED_END = "\n</persisted-output>"
_IDS = ("task_id", "bash_id", "shell_id", "taskId")
_OWN_TOOLS = frozenset({"Bash", "BashOutput", "Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "Glob", "Grep"})
_UNFINISHED = ("running", "pending", "killed", "stopped")
#: Longer texts are not searched for the state of a task; it is at their beginning.
_MAX_STATE = 4_000


class ClaudeCodeCalls(AgentCalls):
    """Calls and their results by id, in any order; duplicates count once."""

    def __init__(self, path: str = "", agent: str = "") -> None:
        super().__init__(path, agent)
        self._open: set[str] = set()
        self._early: dict[str, tuple[str, bool]] = {}
        #: The calls whose commands run in the background, by the id of the task.
        self._tasks: dict[str, str] = {}

    def add(self, line: TranscriptLine) -> bool:
        """Add a line, which no other reader has taken."""
        self._add_root(line.cwd)
        if line.type not in ("assistant", "user") or line.message is None:
            return False
        content = line.message.content
        self.is_known = self.is_known or isinstance(content, str | list)
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                self._add_block(block, line.timestamp, line.cwd)
        if line.type == "user":
            self._finish_task(_text(content))
        return True

    def _add_block(self, block: dict[str, Any], time: str | None, cwd: str | None) -> None:
        """Add a call, or the result of a call."""
        name = block.get("id") if block.get("type") == "tool_use" else block.get("tool_use_id")
        if not isinstance(name, str):
            return
        if block.get("type") == "tool_use" and name not in self._calls:
            self._calls[name] = _unanswered(block, time, cwd)
            self._open.add(name)
            if name in self._early:
                self._complete(name, *self._early.pop(name))
        elif block.get("type") == "tool_result":
            output, failed = _text(block.get("content"))[:MAX_OUTPUT], bool(block.get("is_error"))
            if name in self._open:
                self._complete(name, output, failed)
            elif name not in self._calls:
                self._early[name] = output, failed

    def _complete(self, name: str, output: str, failed: bool) -> None:  # noqa: FBT001 (an unpacked pair)
        self._open.discard(name)
        call = self._calls[name]
        output, is_cut = _whole_output(output, self._path, MAX_OUTPUT)
        receipt = msgspec.structs.replace(_answered(call, output, failed=failed), is_cut=is_cut)
        if (task := _started_task(output)) is not None:
            self._tasks[task] = name
            receipt = msgspec.structs.replace(receipt, exit=None, pending=True, output=None)
        self._calls[name] = receipt
        if not failed and self._tasks:
            is_finished, status = _task_state(output)
            for task in _tasks_read(call) if is_finished else ():
                self._finish(task, status, output)

    def _finish_task(self, text: str) -> None:
        """Record the end of a task that a notification announces."""
        ended = _finished_task(text) if self._tasks else None
        if ended is not None:
            self._finish(*ended)

    def _finish(self, task: str, status: int | None, output: str = "") -> None:
        name = self._tasks.get(task)
        if name is not None:
            known = self._calls[name]
            status = known.exit if status is None else status
            shown = kept_lines(known, output) if output else known.output
            if known.pending or shown != known.output:
                self.ended_later.append(name)
            self._calls[name] = msgspec.structs.replace(known, exit=status, pending=False, output=shown)


def _unanswered(call: dict[str, Any], time: str | None, cwd: str | None) -> Receipt:
    """Return the receipt of a call without a result: it counts as failed until a result is found."""
    arguments = table_of(call.get("input"))
    paths = (arguments.get(key) for key in ("file_path", "notebook_path"))
    name = str(call.get("name", ""))
    # An editor may offer the tools of the client as those of a server: `mcp__acp__Bash`.
    bare_name = name.rpartition("__")[2] if name.startswith("mcp__") else name
    return Receipt(
        tool=bare_name if bare_name in _OWN_TOOLS else name,
        arguments=arguments,
        path=next((path for path in paths if isinstance(path, str)), None),
        time=time,
        cwd=cwd,
        failed=True,
    )


def _answered(call: Receipt, output: str, *, failed: bool) -> Receipt:
    details: dict[str, Any] = {"output": kept_lines(call, output)}
    if call.tool in ("Bash", "PowerShell"):
        details["exit"] = _exit_status(output, failed=failed)
    if not failed:
        details |= what_it_showed(call, output)
    elif call.action == "edit":
        details["output"] = refusal(output)
    return msgspec.structs.replace(call, failed=failed, **details)


def _started_task(output: str) -> str | None:
    """Return the id of the task that a call started in the background, or None."""
    match = _STARTED.match(output)
    return (match[1] or match[2]) if match else None


def _tasks_read(call: Receipt) -> Iterator[str]:
    """Yield the ids of the tasks whose output a call asks for."""
    for key in _IDS:
        if isinstance(name := call.arguments.get(key), str):
            yield name
    for text in (call.path or "", call.command[:_MAX_STATE]):
        yield from _TASK_FILE.findall(text)


def _finished_task(text: str) -> tuple[str, int | None] | None:
    """Return the id and the exit status of the task that a notification announces, or None."""
    if "<task-notification>" not in text[:_MAX_STATE]:
        return None
    name = _TASK_ID.search(text, 0, _MAX_STATE)
    is_finished, status = _task_state(text)
    return (name[1], status) if name and is_finished else None


def _task_state(output: str) -> tuple[bool, int | None]:
    """Return whether an output shows the end of a task, and its exit status if the output states it."""
    status, code = _STATUS.search(output, 0, _MAX_STATE), _TASK_EXIT.search(output, 0, _MAX_STATE)
    if status and status[1].lower() in _UNFINISHED:
        return False, None
    if status is None:
        return True, None  # the content of its file, which does not state the exit status
    if code:
        return True, int(code[1] or code[2])
    return True, 0 if status[1].lower() == "completed" else None


def _whole_output(output: str, transcript: str, limit: int) -> tuple[str, bool]:
    """Return an output that the client saved next to the transcript, else its preview, else the output itself.

    The second value is whether it is only a preview.
    """
    saved = _PERSISTED.match(output)
    if saved is None:
        return output, False
    # The path is the agent's: only its name counts, in the folders where the client keeps such files.
    name = saved[1].strip().replace("\\", "/").rsplit("/", 1)[-1]
    own_path = Path(transcript)
    for folder in (own_path.with_suffix(""), own_path.parent, own_path.parent.parent):
        text = _read_saved(folder / "tool-results" / name, limit) if name not in ("", ".", "..") else None
        if text is not None:
            return text, False
    preview = _PREVIEW.search(output, saved.end())
    end = output.rfind(_PERSISTED_END)
    return output[preview.end() if preview else saved.end() : end if end >= 0 else len(output)], True


def _read_saved(path: Path, limit: int) -> str | None:
    try:
        if not path.is_file() or path.is_symlink():
            return None
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _exit_status(output: str, *, failed: bool) -> int | None:
    """Return the exit status of a command, or None if its output does not state it."""
    if not failed:
        return 0
    match = _EXIT.match(output)
    return int(match.group(1)) if match else None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


CALLS = ClaudeCodeCalls
