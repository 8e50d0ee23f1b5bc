"""Run tests in processes that are forked after the collection.

Collecting takes 20 s of processor time. Here it happens once, and the processes share the memory of what was imported.
Each process takes the next unit, for example a module, until none is left.
"""

from __future__ import annotations

import atexit
import os
import pickle
import selectors
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

#: The number of a unit in the queue, and the length of a message.
_NUMBER = struct.Struct("!I")
#: A message about a test: its place in the list of all tests, and its reports.
Message = tuple[int, list[dict[str, Any]]]
#: The message that a process sends when it has run its last test.
_END: Message = (-1, [])


class ForkedTests:
    """The plugin that runs all tests. `unit` names the unit of a test; `before` starts what all processes share."""

    def __init__(
        self, processes: int, unit: Callable[[str], str], before: Callable[[pytest.Session], object] = bool
    ) -> None:
        self._processes = processes
        self._unit = unit
        self._before = before

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests, unless pytest would run none."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        units: dict[str, list[int]] = {}
        for place, item in enumerate(session.items):
            units.setdefault(self._unit(item.nodeid), []).append(place)
        run = _Run(session, list(units.values()))
        self._before(session)
        try:
            run.start(min(self._processes, len(units)))
            run.report()
        finally:
            run.end()
        return True


class _Run:
    """All processes of a run, in the process that has started them."""

    def __init__(self, session: pytest.Session, units: list[list[int]]) -> None:
        self._session = session
        self._units = units
        self._queue, numbers = os.pipe()
        # A process reads one number at a time: what was written at once stays in the pipe until then.
        os.write(numbers, b"".join(map(_NUMBER.pack, range(len(units)))))
        os.close(numbers)
        self._pids: list[int] = []
        self._streams = selectors.DefaultSelector()

    def start(self, processes: int) -> None:
        """Start the processes."""
        base = self._session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        for number in range(processes):
            reading, writing = os.pipe()
            sys.stdout.flush()
            pid = os.fork()
            if not pid:
                os.close(reading)
                _Worker(self._session, self._units, self._queue, writing).run(base / f"process-{number}")
            os.close(writing)
            self._pids.append(pid)
            self._streams.register(reading, selectors.EVENT_READ, _Messages(reading))

    def report(self) -> None:
        """Report each test that has ended, until all processes have ended; then those that a process did not run."""
        missing = set(range(len(self._session.items)))
        from_data = self._session.config.hook.pytest_report_from_serializable
        while self._streams.get_map():
            for key, _ in self._streams.select():
                for place, reports in key.data.read():
                    missing.discard(place)
                    shown = [from_data(config=self._session.config, data=report) for report in reports]
                    self._show(self._session.items[place], shown)
                if key.data.has_ended:
                    self._streams.unregister(key.fileobj)
                    os.close(key.fd)
        for place in sorted(missing):
            self._show(self._session.items[place], [_lost(self._session.items[place])])

    def _show(self, item: pytest.Item, reports: Sequence[pytest.TestReport]) -> None:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def end(self) -> None:
        """Wait for the processes; interrupt those that still run."""
        running = bool(self._streams.get_map())
        for key in self._streams.get_map().values():
            os.close(key.fd)
        self._streams.close()
        os.close(self._queue)
        for pid in self._pids:
            if running:
                os.kill(pid, signal.SIGINT)
            os.waitpid(pid, 0)


class _Worker:
    """One of the forked processes."""

    def __init__(self, session: pytest.Session, units: list[list[int]], queue: int, stream: int) -> None:
        self._session = session
        self._units = units
        self._queue = queue
        self._stream = stream
        self._reports: list[dict[str, Any]] = []

    def run(self, folder: Path) -> NoReturn:
        """Run units until none is left, and end this process."""
        code = 1
        atexit._clear()
        try:
            self._separate(folder)
            self._run_units()
            self._send(_END)
            code = 0
        except BaseException:  # noqa: BLE001 (nothing of the process that was forked may go on here)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._session._setupstate.teardown_exact(None)
        finally:
            atexit._run_exitfuncs()
            os._exit(code)

    def _separate(self, folder: Path) -> None:
        """Give this process its own captured output and temporary folder, and no terminal."""
        plugins = self._session.config.pluginmanager
        capture = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        plugins.unregister(plugins.getplugin("terminalreporter"))
        plugins.register(self)
        folder.mkdir(mode=0o700)
        self._session.config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]

    def _run_units(self) -> None:
        places = self._next_unit()
        while places:
            for number, place in enumerate(places, 1):
                # The set-up of a module ends with the last test before another module: the next unit must be known.
                following = [] if number < len(places) else self._next_unit()
                after = places[number] if number < len(places) else following[0] if following else None
                self._run_test(place, self._session.items[after] if after is not None else None)
            places = following

    def _run_test(self, place: int, following: pytest.Item | None) -> None:
        item = self._session.items[place]
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        self._send((place, self._reports))
        self._reports = []

    def _next_unit(self) -> list[int]:
        number = os.read(self._queue, _NUMBER.size)
        return self._units[_NUMBER.unpack(number)[0]] if number else []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a report until the test has ended."""
        config = self._session.config
        self._reports.append(config.hook.pytest_report_to_serializable(config=config, report=report))

    def _send(self, message: Message) -> None:
        data = pickle.dumps(message)
        data = _NUMBER.pack(len(data)) + data
        while data:
            data = data[os.write(self._stream, data) :]


class _Messages:
    """The messages of one process, read without waiting for the end of a message."""

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._data = b""
        self.has_ended = False

    def read(self) -> list[Message]:
        """Return the messages that have arrived."""
        data = os.read(self._stream, 1 << 20)
        self._data += data
        messages = list[Message]()
        while len(self._data) >= _NUMBER.size:
            end = _NUMBER.size + _NUMBER.unpack_from(self._data)[0]
            if len(self._data) < end:
                break
            messages.append(pickle.loads(self._data[_NUMBER.size : end]))
            self._data = self._data[end:]
        self.has_ended = not data or messages[-1:] == [_END]
        return messages[:-1] if messages[-1:] == [_END] else messages


def _lost(item: pytest.Item) -> pytest.TestReport:
    return pytest.TestReport(item.nodeid, item.location, {}, "failed", "the process of this test has ended", "call")
