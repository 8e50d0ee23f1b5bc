"""A rolling upgrade: workers of the version before the last migration and of this one share a database.

The old version is what git has before the commit that added the newest migration.
"""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conversation import BUILDER, CONVERSATION, TURNS, effects, workspace
from support.fixtures import MakeFleet
from support.fleet import Fleet, submitted
from support.model_process import RemoteServer
from support.postgres import Postgres
from support.waiting import PATIENCE

from remit import testing
from remit.dispatch.submit import Queueing
from remit.store.migrate import migrations

Model = Callable[[dict[str, Any]], RemoteServer]
ROOT = Path(__file__).resolve().parents[3]
MIGRATIONS = "src/remit/store/migrations"
#: The old version submits a job and then works, in one process, which imports everything once.
OLD = """
import sys
from remit.surfaces.cli import main
for words in (["submit", "builder", "<first>"], ["worker", "--concurrency", "1"]):
    sys.argv = ["remit", *words]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""


def git(*words: str) -> bytes:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"the history of the project is not here: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout


@pytest.fixture(scope="module")
def old_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sources of the version before the newest migration."""
    newest = max(file.name for file in (ROOT / MIGRATIONS).glob("*.sql"))
    added = git("log", "--diff-filter=A", "--format=%H", "-1", "--", f"{MIGRATIONS}/{newest}").decode().strip()
    if not added:
        pytest.skip(f"{newest} is not committed yet")
    folder = tmp_path_factory.mktemp("old")
    with zipfile.ZipFile(io.BytesIO(git("archive", "--format=zip", f"{added}~1", "src"))) as archive:
        archive.extractall(folder)
    assert not (folder / MIGRATIONS / newest).exists()
    return folder / "src"


@contextmanager
def old_worker(team: Fleet, source: Path, place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the old version until the block is left."""
    environment = {**team.environment, "PYTHONPATH": str(source)}
    with (team.folder / "old.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", OLD], cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait(PATIENCE)


def gated(gate: str) -> list[dict[str, Any]]:
    """Return the conversation with a third answer that waits at a gate: a call has run, another one follows."""
    return [{**turn, "gate": gate} if number == 2 else turn for number, turn in enumerate(CONVERSATION)]


def numbers(team: Fleet) -> list[int]:
    return [row["number"] for row in team.store.rows("SELECT number FROM remit.migrations ORDER BY 1")]


def test_old_and_new_workers_take_over_each_others_jobs(
    fleet: MakeFleet, model: Model, postgres: Postgres, old_source: Path
) -> None:
    server = model({"conversations": {"<first>": gated("first"), "<second>": gated("second"), "<third>": CONVERSATION}})
    team = fleet(server, address=postgres.empty_database())
    team.environment["REMIT_TAKEOVER_SECONDS"] = "6"  # a worker that waits for a processor is not a dead one
    _, _, text = BUILDER.partition("---\n")[2].partition("---\n")
    team.define("builder", text, tools="Read, Write, Edit, Bash")
    first, second, third = (workspace(team.folder / name) for name in ("first", "second", "third"))
    with old_worker(team, old_source, first) as old:
        server.wait("first")
        assert numbers(team) == [step.number for step in migrations()][:-1]

        # The first command of the new version migrates the database while a job of the old one runs.
        wanted = [("<second>", second, Queueing()), ("<third>", third, Queueing())]
        [job, plain] = asyncio.run(submitted(team.store.address, testing.registry(BUILDER), wanted))
        assert numbers(team) == [step.number for step in migrations()]
        new = team.worker("--concurrency", "1")
        server.wait("second")
        new.kill()

        server.open("first")  # the old worker ends its job in the new tables, does the third and takes over the second
        server.wait("second", arrived=2)
        assert [team.store.is_finished(number) for number in (1, job, plain)] == [True, False, True]
        last = team.worker("--concurrency", "1")
        old.kill()
        server.wait("second", arrived=3)
    server.open("second")
    team.until(lambda: team.store.is_finished(job))
    assert f"job {job} is taken over" in last.output

    ends = [team.store.job(number) for number in (1, job, plain)]
    assert [(end["outcome"], end["attempt"], end["deaths"], end["turns"]) for end in ends] == [
        ("completed", 1, 0, TURNS),
        ("completed", 3, 2, TURNS),
        ("completed", 1, 0, TURNS),
    ]
    assert [effects(place) for place in (first, second, third)] == [["one", "two"]] * 3
