"""Read the calls in a rollout of Codex.

A line is `{"type": "event_msg", "payload": {"type": "item_completed", "item": …}}`: one item for each call, also for
the calls inside a code-mode script. An item has everything that a receipt needs. Older versions wrote none: there, a
call is a pair of response items with one `call_id`: `function_call` (or `custom_tool_call` for a patch) and its output.

A command that is still running has a session, whose output a later `write_stdin` reads. A script that is still running
has a cell, whose output a later `wait` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from remit.clients.codex.code_mode import script_calls
from remit.clients.transcripts.calls import (
    MAX_CALLS,
    MAX_OUTPUT,
    AgentCalls,
    TranscriptLine,
    kept_lines,
    shell_hits,
    table_of,
    text_of,
)
from remit.evidence.receipts import SCRIPT, Receipt
from remit.lazy import lazy_pattern

_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "world_state", "compacted"})
_SHELLS = frozenset({"shell", "shell_command", "exec_command", "container.exec", "local_shell"})
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_STATUS = lazy_pattern(r"(?:Process exited with code|Exit code:) (-?\d{1,5})\b")
_RUNNING = lazy_pattern(r"Process running with session ID (\d{1,20})\b")
_SCRIPT_STATE = lazy_pattern(r"Script (completed|failed|running with cell ID (\w{1,40}))\b")
#: What a script prints of a result besides its output: `SESSION_ID=50820`.
_SESSION = lazy_pattern(r"\W*session[_ ]?id\W{1,4}(\d{1,20})\W*", re.IGNORECASE)
_EXIT = lazy_pattern(r"\W*exit[_ ]?(?:code|status)\W{1,4}(\d{1,5})\W*", re.IGNORECASE)
_BODY = "Output:\n"
#: The status of a command is at the beginning of its output.
_MAX_HEAD = 1_000
_PATCHED = lazy_pattern(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,1000})$", 8)
_PATCH = "*** Begin Patch"
_MAX_PATCHED = 1_000
_MAX_SOURCE = 2_000


class _Poll(NamedTuple):
    """A call that reads what a command printed since the last one."""

    session: str
    #: Whether it typed something, so that what follows is an answer to it.
    is_typing: bool = False


class CodexCalls(AgentCalls):
    """The calls of a rollout of Codex."""

    def __init__(self, path: str = "", agent: str = "") -> None:
        super().__init__(path, agent)
        #: The calls whose commands run, by their sessions, and the calls that read more of their output.
        self._sessions: dict[str, str] = {}
        self._polls: dict[str, _Poll] = {}
        #: The scripts, those that run by their cells, and the calls that wait for them.
        self._scripts: set[str] = set()
        self._cells: dict[str, str] = {}
        self._waits: dict[str, str] = {}
        self._last_script = ""
        #: The calls of the last script that may have an item, by their commands, the first one last.
        self._without_item: dict[str, list[str]] = {}
        #: The scripts that were left running.
        self._left: set[str] = set()
        #: The scripts whose output is not that of their only command.
        self._unshown: set[str] = set()

    def add(self, line: TranscriptLine) -> bool:
        """Add a line; False if it is not one of this client."""
        kind, payload, time = line.type, line.payload, line.timestamp
        if kind not in _LINES or not isinstance(payload, dict):
            return False
        if kind in ("session_meta", "turn_context"):
            self.is_known = True
            self._add_root(payload.get("cwd"))
        item, form = payload.get("item"), payload.get("type")
        if form == "item_completed" and isinstance(item, dict):
            self._put_item(text_of(item.get("id")), self._item(item, time))
        elif form == "function_call" and str(payload.get("name", "")).endswith("spawn_agent"):
            self._append(_launch(payload, time))
        elif form in _CALLS:
            self._start(text_of(payload.get("call_id")), payload, time)
        elif form in _OUTPUTS:
            self._answer(text_of(payload.get("call_id")), payload.get("output"))
        return True

    def _start(self, name: str, payload: dict[str, Any], time: str | None) -> None:
        """Add the call of a response item."""
        tool, folder = payload.get("name"), next(iter(self.roots), None)
        if tool == "write_stdin":
            self._polls[name] = _poll(_arguments(payload))
        elif tool == "wait" and (script := self._cells.get(str(_arguments(payload).get("cell_id")))):
            self._waits[name] = script
        elif tool == "exec" and payload.get("type") == "custom_tool_call":
            self._scripts.add(name)
            self._last_script = name
            receipts = self._of_script(name, text_of(payload.get("input")), time, folder)
            self._without_item = {}
            for number in reversed(range(len(receipts))):
                self._without_item.setdefault(receipts[number].command, []).append(f"{name}#{number}")
            self._put(name, receipts)
        else:
            self._put(name, _started(payload, time, folder))

    def _answer(self, name: str, value: object) -> None:
        """Add the output of a response item."""
        if (script := self._waits.get(name, name)) in self._scripts:
            self._end_script(script, value)
        elif name in self._polls:
            self._continue(self._polls[name], _output_of(value))
        else:
            self._end(name, _output_of(value))

    def _of_script(self, name: str, source: str, time: str | None, folder: str | None) -> list[Receipt]:
        """Return the receipts of the calls that a script makes; they wait for its output."""
        calls = script_calls(source[:MAX_OUTPUT])
        if calls is None:
            return [Receipt(SCRIPT, {"source": source[:_MAX_SOURCE]}, time=time)]
        receipts: list[Receipt] = []
        for call in calls:
            arguments = table_of(call.argument)
            if call.tool == "write_stdin" and len(calls) == 1:
                self._polls[name] = _poll(arguments)
            elif call.tool.endswith("spawn_agent"):
                receipts.append(Receipt("Agent", {"subagent_type": text_of(arguments.get("agent_type")) or "default"}))
            elif call.tool.startswith("mcp__"):
                receipts.append(Receipt(call.tool, arguments, time=time))
            else:
                argument = {"input": call.argument} if isinstance(call.argument, str) else {}
                payload = {"name": call.tool, "arguments": call.argument, **argument}
                receipts += _started(payload, time, folder)
            if not call.is_shown or len(calls) > 1:
                self._unshown.add(name)
        return receipts

    def _end_script(self, name: str, value: object) -> None:
        """Complete the receipts of a script with its output."""
        parts = _parts_of(value)
        head = parts[0] if parts else ""
        state = _SCRIPT_STATE.match(head)
        if state and state[2]:
            self._cells[state[2]] = name
            self._left.add(name)
        result = _Result.of([head.partition(_BODY)[2] if state else head, *parts[1:]])
        if name in self._polls:
            self._continue_by_script(self._polls[name], result, is_running=bool(state and state[2]))
            return
        number = 0
        while (known := self._calls.get(key := f"{name}#{number}")) is not None:
            number += 1
            if not known.pending:
                continue
            if known.tool == "Edit":
                ended = msgspec.structs.replace(known, failed=not (state and state[1] == "completed"), pending=False)
            else:
                ended = self._end_command(name, known, result, state)
                if ended.pending and result.session:
                    self._sessions[result.session] = key
            self._calls[key] = ended
            if name in self._left and not ended.pending:
                self.ended_later.append(key)

    def _end_command(self, name: str, call: Receipt, result: _Result, state: re.Match[str] | None) -> Receipt:
        """Return a command with what its script printed. It is pending if it or the script still runs."""
        if state and state[2]:
            return call
        failed = state is None or state[1] == "failed"
        if name in self._unshown:
            return msgspec.structs.replace(call, failed=failed, pending=False)
        return msgspec.structs.replace(
            call,
            exit=result.status,
            failed=failed,
            pending=bool(result.session),
            output=kept_lines(call, result.output),
        )

    def _continue(self, poll: _Poll, output: str) -> None:
        """Add what a command printed after it was left running."""
        key = self._sessions.get(poll.session)
        known = self._calls.get(key) if key is not None else None
        if key is None or known is None or not known.pending:
            return
        ended = _ended(known, output)
        if ended.failed:  # the session is not known
            return
        self._put_more(key, known, ended, poll)

    def _continue_by_script(self, poll: _Poll, result: _Result, *, is_running: bool) -> None:
        key = self._sessions.get(poll.session)
        call = self._calls.get(key) if key is not None else None
        if key is None or call is None or not call.pending or is_running:
            return
        output = kept_lines(call, result.output)
        ended = msgspec.structs.replace(call, exit=result.status, pending=bool(result.session), output=output)
        self._put_more(key, call, ended, poll)

    def _put_more(self, key: str, call: Receipt, ended: Receipt, poll: _Poll) -> None:
        """Replace a command by what it is after more output; the last output decides."""
        before = "" if poll.is_typing else call.output
        output = "\n".join(filter(None, (before, ended.output)))
        self._calls[key] = msgspec.structs.replace(ended, output=kept_lines(call, output))
        if not ended.pending:
            self.ended_later.append(key)

    def _put_item(self, name: str, receipts: list[Receipt]) -> None:
        """Add the receipts of an item. Its call may be one of a script, which was read from the script."""
        if not receipts:  # a message, or a plan
            return
        if self._last_script and f"{name}#0" not in self._calls:
            first = self._calls.get(key := f"{self._last_script}#0")
            if first is not None and first.tool == SCRIPT:  # the items show what it did
                self._calls[key] = msgspec.structs.replace(first, failed=True)
            keys = self._without_item.get(receipts[0].command, []) if receipts[0].command else []
            while keys:
                known = self._calls.get(key := keys.pop())
                if known is not None and known.pending:
                    self._calls[key] = receipts[0]
                    self.ended_later.append(key)
                    return
        self._put(name, receipts)

    def _put(self, name: str, receipts: Iterable[Receipt]) -> None:
        """Add the receipts of a call by its id; those of its item replace those of its response item."""
        if not name:
            self._append(receipts)
            return
        for number, receipt in enumerate(receipts):
            key = f"{name}#{number}"
            if key in self._calls:  # the call was known before it ended
                self.ended_later.append(key)
            if key in self._calls or len(self._calls) < MAX_CALLS:
                self._calls[key] = receipt

    def _end(self, name: str, output: str) -> None:
        """Complete the receipts of a response item with its output."""
        number = 0
        while (known := self._calls.get(key := f"{name}#{number}")) is not None:
            if known.pending:
                self._calls[key] = ended = _ended(known, output)
                if ended.pending and (session := _RUNNING.search(output, 0, _MAX_HEAD)):
                    self._sessions[session[1]] = key
            number += 1

    def _item(self, item: dict[str, Any], time: str | None) -> list[Receipt]:
        if item.get("type") == "CommandExecution":
            return [_command(item, time)]
        changes = item.get("changes")
        if item.get("type") != "FileChange" or not isinstance(changes, dict):
            return []
        failed = item.get("status") != "completed"
        names: list[str] = []
        for path, change in changes.items():
            names += [path, *filter(None, [text_of(table_of(change).get("move_path"))])]
        return [Receipt("Edit", {"file_path": name}, path=name, time=time, failed=failed) for name in names]


class _Result(NamedTuple):
    """What a script printed: the output of a command, and perhaps its session and its status."""

    output: str
    session: str = ""
    status: int | None = None

    @classmethod
    def of(cls, parts: list[str]) -> _Result:
        """Return it from the parts of an output. A part is one thing that the script printed."""
        session, status, output = "", None, [*parts]
        while output:
            if label := _SESSION.fullmatch(output[-1]):
                session = label[1]
            elif label := _EXIT.fullmatch(output[-1]):
                status = int(label[1])
            else:
                break
            output.pop()
        text = "\n".join(output)
        result = _json(text) if text.lstrip().startswith("{") else {}
        if isinstance(result.get("output"), str):
            exit_code = result.get("exit_code")
            status = exit_code if isinstance(exit_code, int) else status
            session = str(result.get("session_id") or session)
            text = result["output"]
        return cls(text[:MAX_OUTPUT], session, status)


def _poll(arguments: dict[str, Any]) -> _Poll:
    return _Poll(str(arguments.get("session_id")), bool(text_of(arguments.get("chars"))))


def _started(payload: dict[str, Any], time: str | None, folder: str | None) -> list[Receipt]:
    """Return the receipts of a response item: a command, or the files of a patch. They wait for the output."""
    arguments = _arguments(payload)
    command_value = arguments.get("command", arguments.get("cmd"))
    words = command_value if isinstance(command_value, list) else [command_value]
    command = text_of(words[-1]) if words else ""
    patch = text_of(payload.get("input")) if payload.get("name") == "apply_patch" else ""
    if not patch and _PATCH in command and "apply_patch" in "".join(map(str, words)):
        patch = command
    if patch:
        names = _PATCHED.findall(patch)[:_MAX_PATCHED]
        return [
            Receipt("Edit", {"file_path": name}, name.strip(), time=time, cwd=folder, pending=True) for name in names
        ]
    if payload.get("type") != "local_shell_call" and payload.get("name") not in _SHELLS:
        return []
    cwd = text_of(arguments.get("workdir")) or text_of(arguments.get("working_directory")) or folder
    return [Receipt("Bash", {"command": command}, time=time, cwd=cwd, pending=True)]


def _arguments(payload: dict[str, Any]) -> dict[str, Any]:
    if payload.get("type") == "local_shell_call":
        return table_of(payload.get("action"))
    if isinstance(payload.get("arguments"), dict):  # those of a call in a script
        return table_of(payload.get("arguments"))
    return _json(payload.get("arguments"))


def _json(text: object) -> dict[str, Any]:
    try:
        return table_of(msgspec.json.decode(text_of(text).encode("utf-8", "replace")))
    except (msgspec.DecodeError, RecursionError):
        return {}


def _output_of(value: object) -> str:
    """Return the text of an output, which has been written in several forms."""
    if isinstance(value, list):
        return "\n".join(_parts_of(value))[:MAX_OUTPUT]
    if isinstance(value, dict):
        return text_of(value.get("content"))[:MAX_OUTPUT]
    return text_of(value)[:MAX_OUTPUT]


def _parts_of(value: object) -> list[str]:
    """Return the texts that an output consists of."""
    return [text_of(table_of(part).get("text")) for part in value] if isinstance(value, list) else [_output_of(value)]


def _ended(call: Receipt, output: str) -> Receipt:
    """Return a receipt with its output. An output without a status is that of a call that did not run."""
    stored = _json(output) if output.startswith("{") else {}
    details = table_of(stored.get("metadata"))
    match = _STATUS.search(output, 0, _MAX_HEAD)
    status = details.get("exit_code") if "exit_code" in details else int(match[1]) if match else None
    is_running = match is None and not details and "Process running" in output[:_MAX_HEAD]
    shown = text_of(stored.get("output")) if stored else output.partition(_BODY)[2] if _BODY in output else output
    exit_status = status if isinstance(status, int) and not isinstance(status, bool) else None
    failed = exit_status is None and not is_running
    if call.tool == "Edit":
        return msgspec.structs.replace(
            call, failed=exit_status not in (0, None) or "Success" not in shown, pending=False
        )
    return msgspec.structs.replace(
        call,
        exit=exit_status,
        failed=failed,
        pending=is_running,
        output=kept_lines(call, shown),
        hits=shell_hits(call.command, shown) if exit_status == 0 else {},
    )


def _command(item: dict[str, Any], time: str | None) -> Receipt:
    words = item.get("command")
    command = words[-1] if isinstance(words, list) and words and isinstance(words[-1], str) else ""
    output = text_of(item.get("aggregated_output"))[:MAX_OUTPUT]
    status = item.get("exit_code")
    cwd = text_of(item.get("cwd"))
    # A command whose session was still open when the item was written has no status.
    receipt = Receipt(
        "Bash",
        {"command": command},
        exit=status if isinstance(status, int) and not isinstance(status, bool) else None,
        time=time,
        cwd=unquote(cwd.removeprefix("file://")) or None,
        failed=item.get("status") == "declined",
        pending=item.get("status") == "in_progress",
    )
    receipt = msgspec.structs.replace(receipt, output=kept_lines(receipt, output))
    if receipt.failed or status:
        return receipt
    return msgspec.structs.replace(receipt, hits=shell_hits(command, output))


def _launch(payload: dict[str, Any], time: str | None) -> list[Receipt]:
    try:
        arguments = msgspec.json.decode(text_of(payload.get("arguments")).encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return []
    agent = text_of(table_of(arguments).get("agent_type"))
    return [Receipt("Agent", {"subagent_type": agent or "default"}, time=time)]


CALLS = CodexCalls
