"""A worker freezes between recording a tool call and running it; another takes over the job."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conversation import BUILDER, SCRIPT, effects, workspace
from support.fixtures import MakeFleet
from support.fleet import Fleet, submitted
from support.model_process import RemoteServer

from remit import testing
from remit.dispatch.submit import Queueing

Model = Callable[[dict[str, Any]], RemoteServer]
#: A worker that stops itself at a failpoint instead of being killed.
_FREEZING = """
import signal, sys
from remit.dispatch import failpoints
from remit.surfaces.cli import main
failpoints.signal = type("signals", (), {"SIGKILL": signal.SIGSTOP})
sys.argv = ["remit", "worker"]
main()
"""


class Frozen:
    """A worker that is stopped at a failpoint until it is woken."""

    def __init__(self, team: Fleet, point: str) -> None:
        self._output = team.folder / "frozen"
        environment = {**team.environment, "REMIT_STOP_AT": point}
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _FREEZING], env=environment, cwd=team.project, stdout=output, stderr=output
            )

    @property
    def output(self) -> str:
        return self._output.read_text(encoding="utf-8", errors="replace")

    @property
    def is_stopped(self) -> bool:
        status = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        return status.rpartition(")")[2].split()[0] == "T"

    def wake(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@contextmanager
def frozen_at(team: Fleet, point: str) -> Iterator[Frozen]:
    worker = Frozen(team, point)
    try:
        yield worker
    finally:
        worker.process.kill()
        worker.process.wait()


@pytest.mark.parametrize(("call", "commands"), [(1, ["two"]), (2, ["one", "two"])], ids=["a-command", "writing-a-file"])
def test_a_call_of_a_frozen_worker_has_no_effect_when_it_wakes_up(
    call: int, commands: list[str], fleet: MakeFleet, model: Model
) -> None:
    team = fleet(model(SCRIPT))
    place = workspace(team.folder / "go")
    wanted = [("go", place, Queueing())]
    [job] = asyncio.run(submitted(team.store.address, testing.registry(BUILDER), wanted))
    with frozen_at(team, f"tool-begun:{call}") as frozen:
        team.until(lambda: frozen.is_stopped)
        [begun] = [one for one in team.store.calls(job) if one["state"] == "pending"]
        assert begun["name"] == ("Bash", "Write")[call - 1]
        team.worker()
        team.until(lambda: team.store.is_finished(job))
        assert (team.store.job(job)["outcome"], team.store.job(job)["attempt"]) == ("completed", 2)
        assert (place / "a.txt").read_text(encoding="utf-8") == "beta\n"
        assert effects(place) == commands

        frozen.wake()
        team.until(lambda: "is no longer owned by attempt 1" in frozen.output)

        assert (place / "a.txt").read_text(encoding="utf-8") == "beta\n"
        assert effects(place) == commands
        assert frozen.process.poll() is None
