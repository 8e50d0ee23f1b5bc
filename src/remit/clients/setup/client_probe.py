"""Ask a client whether it runs the hooks, for `remit doctor`: a session with a scripted model on loopback.

The model calls one tool, to edit a file of the gate that does not exist. Without hooks, the client reports that the
file is missing; with hooks, the call is denied. Then the client is ended, or ends by itself if its hooks would
outlive it, and the session's state is removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from remit.errors import RemitError
from remit.gate.session_store import recorded_sessions, remove_session

#: The prompt of the session; adapters do not record a prompt that begins like this.
PROMPT = "remit: doctor tests whether hooks run"
#: A denial of the gate contains this.
_DENIED = "guarded-state"
_SECONDS = 60.0
#: How long a client may take to end by itself.
_ENDING_SECONDS = 15.0
#: How long killed processes may take to end.
_KILLED_SECONDS = 5.0
_MAX_BYTES = 16 * 1024 * 1024
_MAX_SESSIONS = 1000


class ProbeCall(NamedTuple):
    """The tool that edits a file, the field for its path, and the other fields."""

    tool: str
    path: str
    others: Mapping[str, str]
    #: Whether hooks of the client survive its process group, and would write the state again after it was removed.
    has_own_groups: bool = False


class _Model(ThreadingHTTPServer):
    """A model that calls the tool once, and keeps its result."""

    daemon_threads = True

    def __init__(self, call: ProbeCall, file: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.call = {"name": call.tool, "input": {call.path: str(file), **call.others}}
        self.has_own_groups = call.has_own_groups
        self.result = ""
        self.answered = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: _Model

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        body = self.rfile.read(min(int(length) if length.isdecimal() else 0, _MAX_BYTES))
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = {}
        results = [block for block in _blocks(asked) if block.get("type") == "tool_result"]
        if results:
            self.server.result = json.dumps(results[-1].get("content"))
            self.server.answered.set()
        is_call = bool(asked.get("tools")) and not results
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        with contextlib.suppress(OSError):
            for event in _events(self.server.call if is_call else None):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _blocks(asked: Any) -> Iterator[dict[str, Any]]:
    for message in asked.get("messages", []) if isinstance(asked, dict) else []:
        content = message.get("content") if isinstance(message, dict) else None
        yield from (block for block in content or [] if isinstance(block, dict))


def _events(call: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield the events of an answer: a call of the tool, or a short text."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [], "usage": usage}
    yield {"type": "message_start", "message": about}
    if call is not None:
        block = {"type": "tool_use", "id": "toolu_1", "name": call["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call["input"])}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "end_turn" if call is None else "tool_use", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}


@contextlib.contextmanager
def scripted_model(project: Path, call: ProbeCall) -> Iterator[_Model]:
    """Run the model, and remove the state of the session that was recorded for it in the project."""
    token = secrets.token_hex(8)
    folder = project / ".remit/gate"
    model = _Model(call, folder / f"doctor-{token}.json")
    threading.Thread(target=model.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        model.shutdown()
        model.server_close()
        _remove_session(folder, token)


def is_running_hooks(model: _Model, command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> bool:
    """Start the client and return whether its hooks denied the call. Raises OSError if it does not get there."""
    with subprocess.Popen(
        [*command],
        cwd=folder,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        ending = threading.Thread(target=_wait_for_end, args=(process, model), daemon=True)
        ending.start()
        model.answered.wait(_SECONDS)
        ending.join(_ENDING_SECONDS if model.has_own_groups else 0.0)
        _end_group(process.pid)
    if not model.result:
        raise OSError("it ended before it called a tool" if model.answered.is_set() else f"no answer in {_SECONDS:g} s")
    return _DENIED in model.result


def _wait_for_end(process: subprocess.Popen[bytes], model: _Model) -> None:
    process.wait()
    model.answered.set()


def _end_group(group: int) -> None:
    """Kill the processes of a group and wait until they are gone.

    A killed process finishes its system call first. On a slow disk, that may be the one that saves a session's state.
    """
    deadline = time.monotonic() + _KILLED_SECONDS
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(group, signal.SIGKILL)
            time.sleep(0.02)


def _remove_session(folder: Path, token: str) -> None:
    """Remove the state of the session that names the file of this test."""
    with contextlib.suppress(RemitError):
        for session in recorded_sessions([str(folder)])[:_MAX_SESSIONS]:
            if any(token in path for entry in session.state.decisions for path in entry.paths):
                remove_session(str(folder), session.name)
