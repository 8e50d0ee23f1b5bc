"""A full disk: the model gets an error, or the job waits for free space."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conversation import BUILDER, TURNS, effects, workspace
from support.fixtures import MakeFleet
from support.fleet import program, submitted
from support.model_process import RemoteServer
from support.postgres import Postgres
from test_two_workers import gated

from remit import testing
from remit.dispatch.submit import Queueing

Model = Callable[[dict[str, Any]], RemoteServer]
Mount = Callable[[str], Path]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Mount]:
    """Return a function that mounts a disk of a given size."""
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        folder = tmp_path / f"disk-{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False) if os.getuid() == 0 else None
        if done is None or done.returncode:
            pytest.skip(f"a small disk cannot be mounted: {done.stderr.strip() if done else 'this needs root'}")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Fill a disk completely."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue
    return ballast


def begun(address: str, place: Path) -> int:
    return asyncio.run(submitted(address, testing.registry(BUILDER), [("go", place, Queueing())]))[0]


def test_a_full_workspace_is_reported_to_the_model_and_the_job_continues(
    small: Mount, fleet: MakeFleet, model: Model
) -> None:
    large = {"name": "Write", "input": {"file_path": "large.txt", "content": "x" * 300_000}}
    less = {"name": "Write", "input": {"file_path": "small.txt", "content": "fits\n"}}
    server = model({"conversations": {"": [{"tools": [large]}, {"tools": [less]}, {"text": "Done."}]}})
    team = fleet(server)
    place = small("128k")
    job = begun(team.store.address, place)
    team.worker()
    team.until(lambda: team.store.is_finished(job))

    first, second = team.store.calls(job)
    assert first["is_failed"]
    assert "the disk is full" in first["output"]
    assert not second["is_failed"]
    assert sorted(path.name for path in place.iterdir()) == ["small.txt"], "no partial file is left"
    assert team.store.job(job)["outcome"] == "completed"


def test_a_job_waits_while_the_disk_of_the_database_is_full(small: Mount, fleet: MakeFleet, model: Model) -> None:
    disk = small("160m")
    own = Postgres(disk / "postgres", is_safe=True)
    try:
        script = gated(2)
        script["conversations"][""][2]["text"] = os.urandom(300_000).hex()  # needs new pages
        server = model(script)
        team = fleet(server, own.database())
        place = workspace(team.folder / "job")
        job = begun(team.store.address, place)
        worker = team.worker()
        server.wait("gate")
        ballast = fill(disk)
        server.open("gate")
        team.until(lambda: "No space left" in worker.output)
        assert worker.is_alive
        ballast.unlink()
        team.until(lambda: team.store.is_finished(job))

        end = team.store.job(job)
        assert (end["outcome"], end["turns"], end["deaths"]) == ("completed", TURNS, 0)
        assert effects(place) == ["one", "two"]
        assert "t" in program("psql", "-Atc", "SELECT 't' FROM remit.messages LIMIT 1", team.store.address)
    finally:
        own.close()
