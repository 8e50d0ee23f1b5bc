"""A recorded model: a server on loopback that answers the requests of Remit in Anthropic's protocol from files."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

#: The name of the recorded model. It has no price.
MODEL = "anthropic:recorded"
_HOST = "127.0.0.1"
#: About as many characters are one token.
_TOKEN = 4
#: A longer request is not one of a recorded job.
_MAX_REQUEST = 8 * 1024 * 1024


class RecordedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call of the model."""

    tool: str
    input: dict[str, Any]


class RecordedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of the model: a text, tool calls, or both."""

    text: str = ""
    calls: tuple[RecordedCall, ...] = ()


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A conversation: the agent, a part of the task that it answers, and the turns in their order."""

    agent: str
    task: str
    turns: tuple[RecordedTurn, ...]


def read_recordings(folder: Path) -> tuple[Recording, ...]:
    """Read the recordings of a folder, one from each TOML file."""
    return tuple(msgspec.toml.decode(file.read_bytes(), type=Recording) for file in sorted(folder.glob("*.toml")))


@contextmanager
def recorded_model(recordings: Iterable[Recording]) -> Iterator[None]:
    """Serve the recordings, and let the provider's client of this process talk to that server."""
    server = _Server((_HOST, 0), _Handler)
    server.recordings = tuple(recordings)
    thread = threading.Thread(target=server.serve_forever, name="recorded model", daemon=True)
    thread.start()
    address = f"http://{_HOST}:{server.server_port}"
    # A proxy of the environment is not for this server.
    direct = ",".join(filter(None, (os.environ.get("NO_PROXY") or os.environ.get("no_proxy"), _HOST)))
    variables = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "recorded"}
    try:
        with _environment(variables | {"NO_PROXY": direct, "no_proxy": direct}):
            yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    recordings: tuple[Recording, ...] = ()


class _Handler(BaseHTTPRequestHandler):
    """Answers `POST /v1/messages`; every answer is a stream, because Remit asks for nothing else."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if not self.path.startswith("/v1/messages") or not 0 < length <= _MAX_REQUEST:
            self._send(404, "application/json", _error(f"there is no {self.path} here"))
            return
        body = self.rfile.read(length)
        request = json.loads(body)
        turn = find_turn(self.server.recordings, request)
        if turn is None:
            self._send(400, "application/json", _error("the recording has no answer to this request"))
            return
        events = _events(turn, str(request.get("model", "")), len(request["messages"]), len(body))
        frames = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(200, "text/event-stream", "".join(frames).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing: standard error is that of the command."""


def find_turn(recordings: Iterable[Recording], request: Mapping[str, Any]) -> RecordedTurn | None:
    """Return the turn that answers a request: that of the conversation whose task its first message contains.

    A model that is asked more often than was recorded repeats its last answer.
    """
    messages = request.get("messages") or []
    task = next((_text(message["content"]) for message in messages if message.get("role") == "user"), "")
    number = sum(message.get("role") == "assistant" for message in messages)
    turns = next((recording.turns for recording in recordings if recording.task in task), ())
    return turns[min(number, len(turns) - 1)] if turns else None


def _text(content: Any) -> str:
    parts = [{"text": content}] if isinstance(content, str) else content
    return "\n".join(str(part.get("text", "")) for part in parts)


def _error(message: str) -> bytes:
    error = {"type": "invalid_request_error", "message": message}
    return json.dumps({"type": "error", "error": error}).encode()


def _events(turn: RecordedTurn, model: str, number: int, received: int) -> Iterator[dict[str, Any]]:
    """Yield the events of a turn. Its tokens are estimated from the characters of the request and of the answer."""
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = []
    if turn.text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text.strip("\n")}))
    for position, call in enumerate(turn.calls):
        used = {"type": "tool_use", "id": f"toolu_{number:02}_{position:02}", "name": call.tool, "input": {}}
        blocks.append((used, {"type": "input_json_delta", "partial_json": json.dumps(call.input)}))
    sent = len(turn.text) + sum(len(json.dumps(call.input)) for call in turn.calls)
    usage = {"input_tokens": received // _TOKEN, "output_tokens": sent // _TOKEN}
    message = {"id": f"msg_{number:02}", "type": "message", "role": "assistant", "model": model, "content": []}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if turn.calls else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}
