"""Processes of remit that start at once: forked from one that has imported everything.

A test of crashes starts and kills dozens of workers, and importing is most of what a start costs. What runs is
`remit`'s own entry, with arguments, environment, folder and output of its own; nothing is shared but memory pages.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

_MODULES = (
    *("remit.surfaces.cli.group", "remit.surfaces.cli.run", "remit.surfaces.cli.worker", "remit.surfaces.cli.jobs"),
    *("remit.dispatch.worker", "remit.dispatch.conversation", "remit.dispatch.toolset", "remit.dispatch.tools.toolbox"),
    *("remit.checking", "remit.registry.api", "remit.reports.jobs", "remit.dispatch.submit"),
)


class Process:
    """One process of remit."""

    def __init__(self, source: Source, pid: int, output: Path) -> None:
        self._source = source
        self._output = output
        self._ended = os.pidfd_open(pid)
        self._code: int | None = None
        self.pid = pid

    @property
    def said(self) -> str:
        """All that it printed so far."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    @property
    def lives(self) -> bool:
        return not select.select([self._ended], [], [], 0)[0]

    def wait(self, seconds: float = 30) -> int:
        """Its exit code when it has ended; minus the number of the signal that ended it."""
        if self._code is None:
            ended, _, _ = select.select([self._ended], [], [], seconds)
            assert ended, f"process {self.pid} still runs after {seconds} s:\n{self.said}"
            self._code = int(self._source.ask({"wait": self.pid}))
        return self._code

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._ended, number)

    def kill(self) -> None:
        """End it at once, whatever it does."""
        self.signal(signal.SIGKILL)
        self.wait()


class Source:
    """Where processes come from."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._turn = threading.Lock()

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, output: Path) -> Process:
        """Start `remit` with these arguments."""
        output.touch()
        order = {"arguments": list(arguments), "environment": dict(environment)}
        pid = self.ask({**order, "folder": str(folder), "output": str(output)})
        return Process(self, int(pid), output)

    def ask(self, order: Mapping[str, Any]) -> Any:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        with self._turn:
            self._parent.stdin.write(json.dumps(order) + "\n")
            self._parent.stdin.flush()
            return json.loads(self._parent.stdout.readline())

    def close(self) -> None:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.wait()
        self._parent.stdout.close()


@contextlib.contextmanager
def process_source() -> Iterator[Source]:
    source = Source()
    try:
        yield source
    finally:
        source.close()


def _serve() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork() or _become(order)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _become(order: Mapping[str, Any]) -> NoReturn:
    code = 70
    try:
        output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, source in enumerate((nothing, output, output)):
            os.dup2(source, number)
        os.environ.clear()
        os.environ.update(order["environment"])
        os.chdir(order["folder"])
        sys.argv = ["remit", *order["arguments"]]
        importlib.reload(failpoints)  # it reads its variable when it is imported
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    import gc
    import importlib

    for name in _MODULES:
        importlib.import_module(name)
    from remit.dispatch import failpoints
    from remit.dispatch.models import build_model, model_prices
    from remit.surfaces.cli import main

    os.environ["ANTHROPIC_API_KEY"] = "for-loading-only"
    build_model("anthropic:claude-opus-5")
    build_model.cache_clear()
    model_prices("anthropic:claude-opus-5")
    gc.freeze()  # what all have in common stays shared
    _serve()
