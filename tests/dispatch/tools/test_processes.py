from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from toolboxes import alive

from remit.dispatch.tools.processes import ProcessResult, run_process

pytestmark = pytest.mark.process


def _ran(script: str, seconds: float, given: bytes = b"") -> ProcessResult:
    words = ["/bin/sh", "-c", script]
    environment = {"PATH": os.environ["PATH"]}
    return asyncio.run(
        run_process(words, environment=environment, folder=Path("/"), seconds=seconds, limit=1_000, stdin=given)
    )


def test_somebody_who_holds_the_pipe_open_does_not_hold_up_the_call() -> None:
    line = f"sleep 4{os.getpid()}"
    began = time.monotonic()
    try:
        assert _ran(f"setsid {line} & exit 0", 0.5).status is None
        assert time.monotonic() - began < 10
        assert alive(line)  # without the supervisor it is out of reach
    finally:
        for process in alive(line):
            os.kill(process, signal.SIGKILL)


def test_output_complaints_and_input_are_kept_apart() -> None:
    ran = _ran("cat; echo no >&2; exit 4", 20, b"given")
    assert ran == ProcessResult(4, b"given", 0, "no")


def test_a_program_that_does_not_read_its_input_is_no_fault() -> None:
    assert _ran("exit 0", 20, b"x" * 10_000_000).status == 0
