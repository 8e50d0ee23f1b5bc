from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from support.waiting import PATIENCE
from toolboxes import alive

from remit.dispatch.tools.processes import ProcessResult, run_process

pytestmark = pytest.mark.process


def _ran(script: str, seconds: float, given: bytes = b"") -> ProcessResult:
    words = ["/bin/sh", "-c", script]
    environment = {"PATH": os.environ["PATH"]}
    return asyncio.run(
        run_process(words, environment=environment, folder=Path("/"), seconds=seconds, limit=1_000, stdin=given)
    )


def test_a_process_that_keeps_the_pipe_open_does_not_block_the_call() -> None:
    line = f"sleep 4{os.getpid()}"
    began = time.monotonic()
    try:
        assert _ran(f"setsid {line} & exit 0", 0.5).status is None
        assert time.monotonic() - began < PATIENCE
        assert alive(line)  # only the supervisor could end it
    finally:
        for process in alive(line):
            os.kill(process, signal.SIGKILL)


def test_output_errors_and_input_are_separate() -> None:
    ran = _ran("cat; echo no >&2; exit 4", 20, b"given")
    assert ran == ProcessResult(4, b"given", 0, "no")


def test_a_program_may_ignore_its_input() -> None:
    assert _ran("exit 0", 20, b"x" * 10_000_000).status == 0
