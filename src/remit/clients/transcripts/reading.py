"""Read receipts from the transcripts of clients: one JSON document on each line, recognised by its content.

This module reads the lines of Claude Code; `other_clients` reads those of other clients.

Lines that are invalid, unknown or longer than the limit are skipped; they never cause a failure. A file without any
line of a known client has an unknown format. Calls and results are paired by their id, in any order. Claude Code writes
no exit status: the result of a failed command begins with `Exit code N`. It keeps a long output in a file next to the
transcript, and a preview in the transcript (`<persisted-output>`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from remit.clients.transcripts.other_clients import CodexCalls, CopilotCalls, OpencodeCalls
from remit.clients.transcripts.tool_outputs import (
    exit_status,
    finished_task,
    grep_hits,
    listed_names,
    shell_hits,
    shown_ranges,
    started_task,
    task_state,
    tasks_read,
    whole_output,
)
from remit.errors import UsageError
from remit.evidence.receipts import Receipt, Transcript
from remit.evidence.runners import kept_log, kept_output

#: Longer lines are skipped, so that memory stays bounded.
MAX_LINE = 16 * 1024 * 1024
_MAX_OUTPUT = 2_000_000
#: Lines are often longer than the usual buffer.
_BUFFER = 256 * 1024


class _Message(msgspec.Struct):
    content: Any = None


class _Line(msgspec.Struct):
    type: str = ""
    message: _Message | None = None
    cwd: str | None = None
    timestamp: str | None = None
    #: The content of a line of Codex.
    payload: Any = None
    #: The content of a line of Copilot CLI, and the subagent that it belongs to.
    data: Any = None
    agentId: str | None = None  # noqa: N815 - the client's name
    #: A message of opencode.
    info: Any = None
    parts: Any = None


_decoder = msgspec.json.Decoder(_Line)


def read_transcript(path: str | os.PathLike[str], agent: str = "", *, name: str = "") -> Transcript:
    """Return every tool call of a transcript, or those of one agent, in order. `name` is its name in messages."""
    pairs = _Pairs(path)
    codex, copilot, opencode = CodexCalls(), CopilotCalls(agent), OpencodeCalls()
    roots: dict[str, None] = {}
    skipped, is_known = 0, False
    try:
        for raw in _lines(path):
            line = _decode(raw)
            if line is None:
                skipped += 1
                continue
            if line.payload is not None and codex.add(line.type, line.payload, line.timestamp):
                continue
            if line.data is not None and copilot.add(line.type, line.data, line.timestamp, line.agentId):
                continue
            if line.parts is not None and opencode.add(line.info, line.parts):
                continue
            if line.cwd:
                roots.setdefault(line.cwd)
            is_known = is_known or _is_message(line)
            for block in _blocks(line):
                pairs.add(block, line)
            if line.type == "user" and line.message is not None:
                pairs.finish_task(_text(line.message.content))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    return Transcript(
        name or os.fspath(path),
        receipts=(*pairs.receipts.values(), *codex.receipts, *copilot.receipts, *opencode.receipts),
        roots=(*roots, *codex.roots, *copilot.roots, *opencode.roots),
        skipped=skipped,
        is_known=is_known or codex.is_known or copilot.is_known or opencode.is_known,
    )


class _Pairs:
    """Calls and their results by id, in any order; duplicates count once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self.receipts: dict[str, Receipt] = {}
        self._open: set[str] = set()
        self._early: dict[str, tuple[str, bool]] = {}
        #: The calls whose commands run in the background, by the id of the task.
        self._tasks: dict[str, str] = {}

    def add(self, block: dict[str, Any], line: _Line) -> None:
        """Add a call, or the result of a call."""
        name = block.get("id") if block.get("type") == "tool_use" else block.get("tool_use_id")
        if not isinstance(name, str):
            return
        if block.get("type") == "tool_use" and name not in self.receipts:
            self.receipts[name] = _unanswered(block, line)
            self._open.add(name)
            if name in self._early:
                self._complete(name, *self._early.pop(name))
        elif block.get("type") == "tool_result":
            output, failed = _text(block.get("content"))[:_MAX_OUTPUT], bool(block.get("is_error"))
            if name in self._open:
                self._complete(name, output, failed)
            elif name not in self.receipts:
                self._early[name] = output, failed

    def _complete(self, name: str, output: str, failed: bool) -> None:  # noqa: FBT001 (an unpacked pair)
        self._open.discard(name)
        call = self.receipts[name]
        output = whole_output(output, self._path, _MAX_OUTPUT)
        receipt = _answered(call, output, failed=failed)
        if (task := started_task(output)) is not None:
            self._tasks[task] = name
            receipt = msgspec.structs.replace(receipt, exit=None, pending=True, output=None)
        self.receipts[name] = receipt
        if not failed and self._tasks:
            is_finished, status = task_state(output)
            for task in tasks_read(call) if is_finished else ():
                self._finish(task, status, output)

    def finish_task(self, text: str) -> None:
        """Record the end of a task that a notification announces."""
        found = finished_task(text) if self._tasks else None
        if found is not None:
            self._finish(*found)

    def _finish(self, task: str, status: int | None, output: str = "") -> None:
        name = self._tasks.get(task)
        if name is not None:
            known = self.receipts[name]
            status = known.exit if status is None else status
            shown = kept_output(known.command, output) if output else known.output
            self.receipts[name] = msgspec.structs.replace(known, exit=status, pending=False, output=shown)


def _is_message(line: _Line) -> bool:
    """Return whether a line is a message as this client writes it."""
    has_content = line.message is not None and isinstance(line.message.content, str | list)
    return line.type in ("assistant", "user") and has_content


def _lines(path: str | os.PathLike[str]) -> Iterator[bytes | None]:
    with open(path, "rb", buffering=_BUFFER) as file:
        while line := file.readline(MAX_LINE + 1):
            if len(line) <= MAX_LINE:
                if line.strip():
                    yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            yield None


def _decode(raw: bytes | None) -> _Line | None:
    if raw is None:
        return None
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError):
        return None


def _blocks(line: _Line) -> Iterator[dict[str, Any]]:
    if line.type not in ("assistant", "user") or line.message is None or not isinstance(line.message.content, list):
        return
    yield from (block for block in line.message.content if isinstance(block, dict))


def _unanswered(call: dict[str, Any], line: _Line) -> Receipt:
    """Return the receipt of a call without a result: it counts as failed until a result is found."""
    raw = call.get("input")
    arguments = raw if isinstance(raw, dict) else {}
    paths = (arguments.get(key) for key in ("file_path", "notebook_path"))
    return Receipt(
        tool=str(call.get("name", "")),
        arguments=arguments,
        path=next((path for path in paths if isinstance(path, str)), None),
        time=line.timestamp,
        cwd=line.cwd,
        failed=True,
    )


def _answered(call: Receipt, output: str, *, failed: bool) -> Receipt:
    details: dict[str, Any] = {}
    if call.tool in ("Bash", "PowerShell"):
        details |= {"exit": exit_status(output, failed=failed), "output": kept_output(call.command, output)}
    if not failed:
        match call.tool:
            case "Read":
                details |= {"ranges": shown_ranges(output), "output": kept_log(call.path or "", output)}
            case "Grep":
                details["hits"] = grep_hits(call.arguments, output)
            case "Glob":
                details["hits"] = dict.fromkeys(listed_names(output), ())
            case "Bash":
                details["hits"] = shell_hits(call.command, output)
    return msgspec.structs.replace(call, failed=failed, **details)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""
