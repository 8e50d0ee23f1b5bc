"""A soak: many jobs and conversations while workers are killed at random. None is lost, no effect happens twice.

`python3 dev.py bench --long soak` runs it in full, for most of an hour. `python bench/soak.py JOBS CONVERSATIONS FILE
[SECONDS]` runs one of another size, keeps its progress in a file, and submits no more jobs after some seconds.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections import Counter
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from dispatch import brief_of_a_job, submission
from fleet import Sample, WorkerPlace, nothing_brief, rows, samples_of, server, slope, start_worker
from measure import Bench

from remit.dispatch.submit import Submission, insert
from remit.errors import EnvironmentBroken
from remit.registry.definition import Brief
from remit.store.database import Database, open_database

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))  # where the scripted model is

SHORT = (5_000, 100)
FULL = (100_000, 2_000)
#: Workers that may be killed; one more is never killed.
MORTAL = 4
KILL_SECONDS = 2.0
_TAKEOVER_SECONDS = 6.0
#: How many jobs are submitted at the same time, and how many may wait.
_SUBMITTING = 4
_MOST_WAITING = 2_000
#: A worker's memory counts after this many jobs: by then everything that is imported late is there.
_WARM_JOBS = 500
#: The same for workers that may be killed, which live for seconds; each has at least this number of samples.
_WARM_MORTAL_JOBS = 100
_SAMPLES = 8
_STUCK_SECONDS = 300.0
_MODEL = "anthropic:claude-sonnet-5"
_EFFECTS = "effects.log"
#: Each conversation appends its number to a file and ends.
_SCRIPT = {
    "conversations": {
        "": [
            {
                "tools": [
                    {"name": "Bash", "input": {"command": f"echo $1 >> {_EFFECTS}"}, "find": r"task (\d+) of the soak"}
                ]
            },
            {"text": "Done."},
        ]
    }
}
_FINISHED = "SELECT count(*) AS n FROM remit.jobs WHERE state = 'finished'"
_QUEUED = "SELECT count(*) AS n FROM remit.jobs WHERE state = 'queued'"
_notes: list[str] = []


def _talking_brief() -> Brief:
    return msgspec.structs.replace(brief_of_a_job(), tools=("Bash",), model=_MODEL, max_turns=5)


async def _submit_once(database: Database, wanted: Submission) -> None:
    """Submit a job, again and again while the database does not respond; its key makes it one job."""
    while True:
        try:
            await insert(database, wanted)
        except EnvironmentBroken:
            await asyncio.sleep(0.5)
        else:
            return


class Soak:
    """One run: submits jobs, kills workers, and counts at the end."""

    def __init__(
        self, place: WorkerPlace, jobs: int, conversations: int, progress: Path | None, seconds: float
    ) -> None:
        self._place = place
        self._jobs = jobs
        self._conversations = conversations
        self._progress = progress
        self._random = random.Random(21)
        self._started = time.monotonic()
        self._deadline = self._started + seconds
        self.submitted = 0
        self.kills = 0
        self.pids: list[int] = []

    async def run(self) -> dict[str, Any]:
        """Run to the end and return what was counted."""
        immortal = self._start()
        mortal = [self._start() for _ in range(MORTAL)]
        killing = asyncio.create_task(self._keep_killing(mortal))
        try:
            async with open_database(self._place.address, self._place.folder) as database:
                submitting = asyncio.create_task(self._submit_all(database))
                is_complete = await self._until_finished(submitting)
                if submitting.done():
                    submitting.result()
        finally:
            killing.cancel()
            await asyncio.gather(killing, return_exceptions=True)
            for process in (immortal, *mortal):
                process.kill()
        return {"is_complete": is_complete, **self._counted(immortal.pid or 0)}

    def _start(self) -> ForkServerProcess:
        process = start_worker(self._place)
        self.pids.append(process.pid or 0)
        return process

    async def _keep_killing(self, mortal: list[ForkServerProcess]) -> None:
        while True:
            await asyncio.sleep(KILL_SECONDS)
            victim = self._random.randrange(len(mortal))
            mortal[victim].kill()
            mortal[victim].join()
            self.kills += 1
            mortal[victim] = self._start()

    async def _submit_all(self, database: Database) -> None:
        """Submit conversations evenly among the other jobs; wait while many are waiting."""
        nothing, talking = nothing_brief(), _talking_brief()
        total = self._jobs + self._conversations
        numbers = iter(range(total))
        workspace = str(self._place.folder / "project")

        async def submit_some() -> None:
            for number in numbers:
                if time.monotonic() > self._deadline:
                    return
                is_talk = (number * self._conversations) // total != ((number + 1) * self._conversations) // total
                wanted = submission(number, talking if is_talk else nothing, "default")
                request = msgspec.structs.replace(wanted.request, prompt=f"task {number} of the soak")
                queueing = wanted.queueing._replace(key=f"soak-{number}")
                whole = msgspec.structs.replace(wanted, request=request, workspace=workspace, queueing=queueing)
                await _submit_once(database, whole)
                self.submitted += 1
                if number % 200 == 0:
                    while await self._waiting() > _MOST_WAITING:  # noqa: ASYNC110 (another process works)
                        await asyncio.sleep(0.5)

        await asyncio.gather(*(submit_some() for _ in range(_SUBMITTING)))

    async def _waiting(self) -> int:
        """Return how many jobs wait; many, if the database does not respond."""
        try:
            return await asyncio.to_thread(self._count, _QUEUED)
        except psycopg.OperationalError:
            return _MOST_WAITING + 1

    async def _until_finished(self, submitting: asyncio.Task[None]) -> bool:
        """Wait until all jobs have finished; return False if nothing finishes any more."""
        last, since = -1, time.monotonic()
        while True:
            await asyncio.sleep(2)
            try:
                done = await asyncio.to_thread(self._count, _FINISHED)
            except psycopg.OperationalError:
                continue
            self._note_progress(done)
            if submitting.done() and (submitting.exception() is not None or done >= self.submitted):
                return submitting.exception() is None
            if done != last:
                last, since = done, time.monotonic()
            elif time.monotonic() - since > _STUCK_SECONDS:
                submitting.cancel()
                return False

    def _note_progress(self, done: int) -> None:
        if self._progress is not None:
            seconds = time.monotonic() - self._started
            total = self._jobs + self._conversations
            line = f"{time.strftime('%H:%M:%S')} {done:,} of {total:,} jobs in {seconds:,.0f} s, {self.kills} kills\n"
            self._progress.write_text(line, encoding="utf-8")

    def _count(self, statement: str) -> int:
        return int(rows(self._place.address, statement)[0]["n"])

    def _counted(self, immortal: int) -> dict[str, Any]:
        """Return what was lost or happened twice, and how the memory of the workers grew."""
        folder = self._place.folder
        effects = Counter((folder / "project" / _EFFECTS).read_text(encoding="utf-8").split())
        talks = rows(
            self._place.address,
            "SELECT substring(prompt from '\\d+') AS number, tool_calls.state AS call"
            " FROM remit.jobs LEFT JOIN remit.tool_calls ON job = jobs.id"
            f" WHERE brief = '{_talking_brief().digest}'",
        )
        ends = (
            "SELECT count(*) AS n FROM (SELECT job FROM remit.events WHERE kind = 'finished' GROUP BY job HAVING {}) x"
        )
        of_workers = {pid: samples_of(self._place, pid) for pid in self.pids}
        return {
            "seconds": round(time.monotonic() - self._started),
            "kills": self.kills,
            "workers": len(self.pids),
            "submitted": self.submitted,
            "finished": self._count(_FINISHED),
            "lost": self.submitted - self._count("SELECT count(*) AS n FROM remit.jobs WHERE outcome = 'completed'"),
            "outcomes": rows(
                self._place.address,
                "SELECT outcome, left(error, 120) AS error, count(*) AS number FROM remit.jobs GROUP BY 1, 2",
            ),
            "ended twice": self._count(ends.format("count(*) > 1")),
            "tickets left": self._count("SELECT count(*) AS n FROM procrastinate_jobs"),
            "taken over": self._count("SELECT count(*) AS n FROM remit.jobs WHERE deaths > 0"),
            "attempts": self._count("SELECT sum(attempt) AS n FROM remit.jobs"),
            "effects": sum(effects.values()),
            "doubled effects": sum(number > 1 for number in effects.values()),
            "lost effects": sum(talk["call"] == "done" and not effects[talk["number"]] for talk in talks),
            "calls by state": dict(Counter(str(talk["call"]) for talk in talks)),
            "unknown calls that took effect": sum(
                talk["call"] == "unknown" and effects[talk["number"]] > 0 for talk in talks
            ),
            "watched settings left": _watched(folder / "state"),
            "never killed": _memory(of_workers[immortal]),
            "killed": _memory_of_killed([samples for pid, samples in of_workers.items() if pid != immortal]),
        }


def _watched(state: Path) -> int:
    """Return the number of jobs whose settings are still watched: each was ended by a worker or will never be."""
    file = state / "remit" / "watched.json"
    return sum(map(len, json.loads(file.read_text(encoding="utf-8")).values())) if file.exists() else 0


def _memory(samples: list[Sample]) -> dict[str, float]:
    warm = [one for one in samples if one.jobs >= _WARM_JOBS] or samples
    half = warm[len(warm) // 2 :]
    return {
        "jobs": samples[-1].jobs,
        "first MB": round(warm[0].kilobytes / 1024, 1),
        "last MB": round(warm[-1].kilobytes / 1024, 1),
        "KB per 1,000 jobs": round(slope(warm), 1),
        "KB per 1,000 jobs, second half": round(slope(half), 1),
    }


def _memory_of_killed(workers: list[list[Sample]]) -> dict[str, float]:
    """Return the usual growth in workers that were killed, of those that lived long enough."""
    warm = [[one for one in samples if one.jobs >= _WARM_MORTAL_JOBS] for samples in workers]
    slopes = [slope(samples) for samples in warm if len(samples) >= _SAMPLES]
    return {
        "workers with enough samples": len(slopes),
        "median KB per 1,000 jobs": round(statistics.median(slopes), 1) if slopes else 0.0,
        "largest MB": round(max(one.kilobytes for samples in workers for one in samples) / 1024, 1),
    }


def soak(jobs: int, conversations: int, progress: Path | None = None, seconds: float = float("inf")) -> dict[str, Any]:
    """Run a soak of this size and return what was counted."""
    from support.model_process import model_process  # type: ignore[import-not-found,unused-ignore]

    with server() as (address, folder), model_process(_SCRIPT, folder) as model:
        (folder / "project").mkdir()
        (folder / "project" / _EFFECTS).touch()
        environment = {
            "XDG_STATE_HOME": str(folder / "state"),
            "ANTHROPIC_API_KEY": "bench",
            "ANTHROPIC_BASE_URL": model.url,
        }
        place = WorkerPlace(
            address, folder, environment, takeover_seconds=_TAKEOVER_SECONDS, concurrency=5, is_preloaded=True
        )
        return asyncio.run(Soak(place, jobs, conversations, progress, seconds).run())


def _lost_and_doubled(size: tuple[int, int]) -> float:
    found = soak(*size)
    _notes.append(f"  soak of {size[0]:,} jobs and {size[1]:,} conversations: {json.dumps(found)}")
    return float(found["lost"] + found["ended twice"] + found["doubled effects"] + found["lost effects"])


def benches() -> list[Bench]:
    """Return the benches of this file. The goal 0 would be no goal, so a figure below one job is required."""
    return [
        Bench(
            f"soak: {jobs:,} jobs, {talks:,} conversations, a kill every {KILL_SECONDS:g} s",
            "lost jobs and doubled effects",
            "jobs",
            0.5,
            lambda size=(jobs, talks): _lost_and_doubled(size),  # type: ignore[misc]
            lambda: _notes,
            is_long=True,
        )
        for jobs, talks in (SHORT, FULL)
    ]


if __name__ == "__main__":
    found = soak(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), *map(float, sys.argv[4:5]))
    Path(sys.argv[3]).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
