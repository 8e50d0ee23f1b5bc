"""A client of a language server: it starts the real process and speaks the protocol over its pipes."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

#: Seconds to wait for a message.
PATIENCE = 30.0
#: What the client announces, in every test.
CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "codeLens": {"refreshSupport": True},
    },
}


class LanguageClient:
    """An editor with `remit lsp`."""

    def __init__(self, root: Path, *, folders: list[Path] | None = None, command: list[str] | None = None) -> None:
        self.root = root
        self._folders = [root] if folders is None else folders
        self.process = subprocess.Popen(
            command or [sys.executable, "-m", "remit", "lsp"],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._ids = 0
        self._versions: dict[str, int] = {}
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.seen: list[dict[str, Any]] = []
        self.errors: list[bytes] = []
        self._threads = [threading.Thread(target=read, daemon=True) for read in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()
        self.capabilities: dict[str, Any] = {}

    def __enter__(self) -> Self:
        folders = [{"uri": folder.as_uri(), "name": folder.name} for folder in self._folders]
        asked = {"processId": None, "rootUri": None, "capabilities": CAPABILITIES, "workspaceFolders": folders or None}
        self.capabilities = self.ask("initialize", asked)["capabilities"]
        self.notify("initialized", {})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self.process.poll() is None and kind is None:
            self.ask("shutdown", None)
            self.notify("exit", None)
            self.process.wait(PATIENCE)
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def uri(self, path: str) -> str:
        """Return the address of a file of the checkout."""
        return (self.root / path).as_uri()

    def open(self, path: str, text: str | None = None, language: str = "markdown") -> list[dict[str, Any]]:
        """Open a document and return its first diagnostics."""
        self.notify_open(self.uri(path), (self.root / path).read_text() if text is None else text, language)
        return self.diagnostics(path)

    def notify_open(self, uri: str, text: str, language: str = "markdown") -> None:
        """Open any address."""
        self._versions[uri] = 1
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, path: str, text: str) -> int:
        """Replace the text of a document, without saving it. Return its version."""
        uri = self.uri(path)
        self._versions[uri] += 1
        about = {"uri": uri, "version": self._versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": about, "contentChanges": [{"text": text}]})
        return self._versions[uri]

    def save(self, path: str) -> None:
        """Tell the server that a document was saved."""
        self.notify("textDocument/didSave", {"textDocument": {"uri": self.uri(path)}})

    def at(self, path: str, line: int, character: int) -> dict[str, Any]:
        """Return the parameters of a question about a position."""
        position = {"line": line, "character": character}
        return {"textDocument": {"uri": self.uri(path)}, "position": position}

    def diagnostics(self, path: str, version: int | None = None) -> list[dict[str, Any]]:
        """Return the next diagnostics of a document, of a version of its text."""

        def is_wanted(message: dict[str, Any]) -> bool:
            about = message.get("params") or {}
            is_about = message.get("method") == "textDocument/publishDiagnostics" and about["uri"] == self.uri(path)
            return is_about and (version is None or about.get("version") == version)

        found: list[dict[str, Any]] = self.wait(is_wanted)["params"]["diagnostics"]
        return found

    def ask(self, method: str, params: Any) -> Any:
        """Return the answer to a request."""
        answer = self.ask_for_answer(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def ask_for_answer(self, method: str, params: Any) -> dict[str, Any]:
        """Return the whole answer to a request."""
        self._ids += 1
        number = self._ids
        self.send({"id": number, "method": method, **({"params": params} if params is not None else {})})
        return self.wait(lambda message: message.get("id") == number and "method" not in message)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send({"method": method, **({"params": params} if params is not None else {})})

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def send_bytes(self, data: bytes) -> None:
        """Send anything."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def wait(self, is_wanted: Any) -> dict[str, Any]:
        """Return the next message that is wanted. Requests of the server are answered."""
        end = time.monotonic() + PATIENCE
        while True:
            message = self._messages.get(timeout=max(0.01, end - time.monotonic()))
            assert message is not None, f"the server has ended: {b''.join(self.errors)[-2000:]!r}"
            self.seen.append(message)
            if "id" in message and "method" in message:
                self.send({"id": message["id"], "result": None})
            if is_wanted(message):
                return message

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while head := stream.readline():
            length = int(head.partition(b":")[2])
            while stream.readline().strip():
                pass
            self._messages.put(json.loads(stream.read(length)))
        self._messages.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors.extend(self.process.stderr)
