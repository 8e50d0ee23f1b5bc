"""The model server as a separate process, for tests that kill its clients."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from support.commands import CAN_FORK, Process, fork_server
from support.waiting import PATIENCE

_PROGRAM = Path(__file__).with_name("model_server.py")


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """A model server in another process."""

    url: str
    pid: int

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests received so far."""
        found: list[dict[str, Any]] = self._ask("GET", "/_requests")
        return found

    def open(self, gate: str) -> None:
        """Open a gate permanently."""
        self._ask("POST", f"/_open/{quote(gate)}")

    def release(self) -> None:
        """Continue stalled answers, now and later."""
        self._ask("POST", "/_release")

    def wait(self, gate: str, *, waiting: int = 1, arrived: int = 1, timeout: float = PATIENCE) -> None:
        """Return when `waiting` requests wait at a gate and `arrived` have reached it since the start."""
        self._ask("GET", f"/_wait/{quote(gate)}?waiting={waiting}&arrived={arrived}", timeout)

    def _ask(self, method: str, path: str, timeout: float = PATIENCE) -> Any:
        request = urllib.request.Request(self.url + path, method=method)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)


@contextlib.contextmanager
def model_process(script: Mapping[str, Any], folder: Path) -> Iterator[RemoteServer]:
    """Serve the script, which is written into the folder, until the block is left."""
    path = folder / "model-script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    reader, writer = os.pipe()
    with os.fdopen(reader, encoding="ascii") as ports, _started(path, writer) as process:
        try:
            os.close(writer)
            port = ports.readline().strip()
            assert port, "the model server did not start"
            yield RemoteServer(f"http://127.0.0.1:{port}", process.pid)
        finally:
            process.kill()


def _started(script: Path, output: int) -> Process | subprocess.Popen[bytes]:
    """Start the server; it prints its port."""
    if not CAN_FORK:
        return subprocess.Popen([sys.executable, _PROGRAM, script], stdout=output)
    with Path(os.devnull).open("r+b") as nothing:
        streams = (nothing.fileno(), output, 2)
        return fork_server().start([str(script)], os.environ, script.parent, streams, is_model_server=True)
