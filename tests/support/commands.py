"""Processes of remit for tests: forked from one that has imported everything, or started as a user does."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from support import fork_client
from support.waiting import PATIENCE, until

KEYS = {"ANTHROPIC_API_KEY": "ant-key-of-this-test-7f3a", "OPENAI_API_KEY": "oai-key-of-this-test-91bc"}
ANTHROPIC = "anthropic:claude-sonnet-5"
#: Whether processes can be forked and waited for by file descriptor. Elsewhere each command starts from scratch.
CAN_FORK = hasattr(os, "pidfd_open")
#: Variables that a command must not inherit from the process of the tests.
_FOREIGN = ("REMIT_", "ANTHROPIC_", "OPENAI_", "GBRAIN_", "PG")
#: Pauses between two requests to a model that tests can wait for.
_PAUSES = {f"remit.dispatch.{module}.PAUSES": (0.01, 0.01, 0.01) for module in ("model_client", "conversation")}
#: The command with the same pauses, for a process that imports what it needs.
_PROGRAM = f"""
import importlib, sys
for name, value in {_PAUSES!r}.items():
    module, _, attribute = name.rpartition(".")
    setattr(importlib.import_module(module), attribute, value)
from remit.surfaces.cli import main
sys.argv[0] = "remit"
main()
"""


class ForkServer:
    """The process that all others are forked from. It starts while tests run that do not need it."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="remit-")
        self._socket = Path(self._folder, "socket")
        program = Path(__file__).with_name("fork_server.py")
        self._process = subprocess.Popen(
            [sys.executable, program, self._socket],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C ends the tests, and they end it
        )

    @property
    def address(self) -> str:
        """Return the path of its socket as soon as it accepts orders."""
        until(self._socket.exists, lambda: "the fork server did not start")
        return str(self._socket)

    def start(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        streams: tuple[int, int, int],
        **options: Any,
    ) -> Process:
        """Start `remit` with standard input, output and error."""
        pid = fork_client.start(self.address, words, environment, str(folder), streams, **options)
        return Process(self.address, pid)

    def close(self) -> None:
        """End the server and every process that it has started."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


@functools.cache
def fork_server() -> ForkServer:
    """Return the fork server of the tests."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def write_program(path: Path) -> None:
    """Write a program that runs `remit` for a shell, through the fork server if there is one."""
    command = "-c \"import sys; sys.argv[0] = 'remit'; from remit.surfaces.cli import main; main()\""
    if CAN_FORK:
        command = f'-I -S "{Path(__file__).with_name("fork_client.py")}" "{fork_server().address}"'
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


class Process:
    """A process of remit; methods and attributes are those of `subprocess.Popen`."""

    def __init__(self, address: str, pid: int) -> None:
        self._address = address
        self._end: int | None = os.pidfd_open(pid)
        self.pid = pid
        self.returncode: int | None = None
        self._output: tuple[IO[bytes] | None, IO[bytes] | None] = (None, None)

    @property
    def output(self) -> str:
        """What it has written to standard output so far."""
        return _text(self._output[0])

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.poll() is None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._waited(0)

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for its end and return the exit code; minus the number of the signal that ended it."""
        code = self._waited(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout, *map(_text, self._output))
        return code

    def _waited(self, timeout: float) -> int | None:
        """Return the exit code once it has ended, or None after `timeout` seconds."""
        if self._end is not None:
            end = select.poll()  # `select.select` reads no descriptor above 1,023
            end.register(self._end, select.POLLIN)
            if end.poll(1000 * timeout):
                os.close(self._end)
                self._end = None
                self.returncode = fork_client.exit_code(self._address, self.pid)
        return self.returncode

    def communicate(self, timeout: float = PATIENCE) -> tuple[str, str]:
        """Wait for its end and return what it has written to standard output and standard error."""
        self.wait(timeout)
        out, err = (_text(stream) for stream in self._output)
        return out, err

    def keep(self, out: IO[bytes] | None, err: IO[bytes] | None) -> Self:
        """Keep the files that `communicate` reads."""
        self._output = (out, err)
        return self

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self._end is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._end, number)

    def kill(self) -> None:
        """End it at once and wait for that."""
        self.send_signal(signal.SIGKILL)
        self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is not None:
            self.send_signal(signal.SIGKILL)
        self.wait()
        self.close()

    def close(self) -> None:
        """Close the files of its output."""
        for stream in self._output:
            if stream is not None:
                stream.close()


def _text(stream: IO[bytes] | None) -> str:
    if stream is None:
        return ""
    return os.pread(stream.fileno(), os.fstat(stream.fileno()).st_size, 0).decode("utf-8")


class Ran(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def words(self) -> str:
        return " ".join(self.out.split())

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class CommandLine:
    """The `remit` command as separate processes in one project."""

    def __init__(self, project: Path, environment: Mapping[str, str]) -> None:
        self.project = project
        #: Whether each process imports what it needs, as on a user's machine: slow, and the subject of some tests.
        self.is_fresh = not CAN_FORK
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)},
            "COLUMNS": "80",
            "TZ": "UTC",
            **environment,
        }

    def start(
        self,
        *words: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        env: Mapping[str, str] | None = None,
        start_new_session: bool = False,
    ) -> Process | subprocess.Popen[str]:
        """Start a command; the options are those of `subprocess.Popen`."""
        environment = {**self.environment, **(env or {})}
        if self.is_fresh:
            return subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *words],
                cwd=self.project,
                env=environment,
                encoding="utf-8",
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=start_new_session,
            )
        options = {"is_new_session": start_new_session, "attributes": _PAUSES}
        out, err = (_output_file(one) for one in (stdout, stderr))
        with contextlib.ExitStack() as stack:
            streams = (
                _descriptor(stdin, None, stack),
                _descriptor(stdout, out, stack),
                _descriptor(stderr, err, stack),
            )
            return fork_server().start(words, environment, self.project, streams, **options).keep(out, err)

    def __call__(self, *words: str, **options: Any) -> Ran:
        """Run a command to its end."""
        with self.start(*words, **options) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE)
            except BaseException:
                process.kill()
                raise
        return Ran(process.returncode or 0, out or "", err or "")


def run_exactly(project: Path, environment: Mapping[str, str], *words: str) -> Ran:
    """Run a command with these environment variables and no others."""
    command = CommandLine(project, {})
    command.environment = dict(environment)
    return command(*words)


class Commands(CommandLine):
    """The `remit` command with a database, a model server and the keys of the providers."""

    def __init__(self, address: str, project: Path, data: Path, url: str) -> None:
        environment = {
            **KEYS,
            "ANTHROPIC_BASE_URL": url,
            "OPENAI_BASE_URL": f"{url}/v1",
            "REMIT_STATE": str(data),
            "REMIT_MODEL": ANTHROPIC,
        }
        super().__init__(project, {**environment, **({"REMIT_DATABASE_URL": address} if address else {})})


def _output_file(stream: int) -> IO[bytes] | None:
    return tempfile.TemporaryFile() if stream == subprocess.PIPE else None


def _descriptor(stream: int, file: IO[bytes] | None, stack: contextlib.ExitStack) -> int:
    if file is not None:
        return file.fileno()
    if stream == subprocess.DEVNULL:
        return stack.enter_context(Path(os.devnull).open("r+b")).fileno()
    return stream
