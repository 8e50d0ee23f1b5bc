"""A client whose hooks are in a file of Remit: what its install consists of, and facts for `remit doctor`."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from remit.clients.setup.file_changes import MAX_BYTES, read_bytes
from remit.clients.setup.hook_process import denial_problem
from remit.clients.setup.target import ClientSetup, InstallTarget, state_problem
from remit.dispatch.health import HealthFact
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
_MAX_REQUEST_BYTES = 16 * 1024 * 1024
_MAX_SESSIONS = 1000


class ProbeCall(NamedTuple):
    """The tool that edits a file, the field for its path, and the other fields."""

    tool: str
    path: str
    others: Mapping[str, str]
    #: Whether hooks of the client survive its process group, and would write the state again after it was removed.
    has_own_groups: bool = False


class OwnFileSetup(ClientSetup):
    """An install that writes one file with the hooks, and the agents."""

    #: An event, and a payload that the hook process must deny.
    denied: tuple[str, Mapping[str, Any]]
    #: The call of the session that asks the client itself, and what the user must have done.
    probe: ProbeCall
    trust = ""

    @abstractmethod
    def hooks_text(self) -> str:
        """Return the content of the file with the hooks."""

    @abstractmethod
    def session(self, target: InstallTarget, url: str, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Return the arguments of the client for a session with a scripted model, and its variables."""

    def hook_files(self, target: InstallTarget) -> dict[Path, str]:
        """Return the file with the hooks."""
        return {target.settings: self.hooks_text()}

    def facts(self, project: Path | None = None) -> Iterator[HealthFact]:
        """Check the installs in this project and for all projects; without one, yield nothing."""
        for is_user in (False, True):
            target = self.find_target(None if is_user else project, is_user=is_user)
            content = read_bytes(target.settings, MAX_BYTES)
            if content is not None:
                yield from self._facts(target, content)

    def _facts(self, target: InstallTarget, content: bytes) -> Iterator[HealthFact]:
        name = self.name
        problem = state_problem(target)
        if content != self.hooks_text().encode():
            what = f"{target.settings} was changed, or belongs to another installation"
            user = " --user" if target.is_user else ""
            yield HealthFact(name, "bad", f"{what}; run `remit install {name}{user}` to use this one")
        elif problem:
            yield HealthFact(name, "bad", f"the hooks do not work in this project: {problem}")
        elif problem := denial_problem(name, *self.denied, ["edit-code"]):
            yield HealthFact(name, "bad", f"the hook process does not work: {problem}")
        else:
            yield HealthFact(name, "good", "the hook process works: it denied an edit of code in a test")
            yield self._session_fact(target)

    def _is_running(self, program: str, target: InstallTarget, folder: Path) -> bool:
        """Start a session in the project. Hooks of the user run in any folder, so that a scratch folder is enough."""
        project = folder / "project" if target.is_user else target.root
        client_folder = folder / "client"
        for path in (project, client_folder):
            path.mkdir(exist_ok=True)
        with scripted_model(project, self.probe) as model:
            arguments, variables = self.session(target, model.url, client_folder)
            # In other modes nothing is denied, which would show that the hooks run.
            return is_running_hooks(model, [program, *arguments], project, {**variables, "REMIT_GATE_MODE": "standard"})

    def _session_fact(self, target: InstallTarget) -> HealthFact:
        """Ask the client itself, in a session with a scripted model."""
        name = self.name
        program = shutil.which(name)
        if program is None:
            return HealthFact(
                name, "odd", f"`{name}` is not on PATH, so it is unknown if it runs the hooks; {self.trust}"
            )
        try:
            with tempfile.TemporaryDirectory(prefix="remit-doctor-", ignore_cleanup_errors=True) as folder:
                is_running = self._is_running(program, target, Path(folder).resolve())
        except OSError as error:
            return HealthFact(name, "odd", f"{name} could not be asked if it runs the hooks ({error}); {self.trust}")
        if is_running:
            return HealthFact(name, "good", f"{name} runs the hooks: it denied a call in a test session")
        return HealthFact(name, "bad", f"{name} does not run the hooks, so nothing is checked; {self.trust}")


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
        body = self.rfile.read(min(int(length) if length.isdecimal() else 0, _MAX_REQUEST_BYTES))
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
