"""A worker is killed at every failpoint; another continues, and the end states are compared."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conversation import BUILDER, CALLS, EFFECTS, SCRIPT, TURNS, effects, workspace
from support.commands import ForkServer
from support.fleet import Fleet, opened, requests_of, submitted
from support.model_process import RemoteServer, model_process
from support.postgres import Postgres

import remit.dispatch
from remit import testing
from remit.dispatch.failpoints import FAILPOINTS
from remit.dispatch.submit import Queueing

#: The passes of each failpoint with a kill, at least the first and the last.
#: Calls 1 and 3 are Bash, 2 is Write, 4 Edit, 5 and 6 Read.
PASSED = {
    "ticket-taken": (1,),
    "claimed": (1,),
    "request-saved": (1, TURNS),
    "model-asked": (1, TURNS),
    "model-answered": (1, TURNS),
    "settled": (1, TURNS),
    "response-saved": (1, TURNS),
    "tool-begun": (1, 2, 4, 5),
    "tool-ran": (2, 3, 4, CALLS),
    "tool-finished": (1, 2, 4, 5, CALLS),
    "checked": (1,),
    "result-saved": (1,),
    "finished": (1,),
}
CASES = [f"{name}:{time}" for name, times in PASSED.items() for time in times]
UNDISTURBED = "undisturbed"
#: At these the worker has no job.
NEVER_HELD = ("ticket-taken:1", "finished:1")


@dataclass(frozen=True, slots=True)
class End:
    """The end state of a job."""

    killed: int
    job: dict[str, Any]
    messages: list[Any]
    calls: list[dict[str, Any]]
    effects: list[str]
    files: dict[str, str]
    requests: int
    receipts: int
    told: list[str]
    #: Calls with an unknown outcome, and the message about them.
    unknown: list[dict[str, Any]]
    unknown_told: list[dict[str, Any]]


@pytest.fixture(scope="module")
def ends(
    request: pytest.FixtureRequest, source: ForkServer, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, End]]:
    """Run the cases of this day in parallel: a worker for each, killed at its failpoint; another continues all jobs."""
    folder = tmp_path_factory.mktemp("stop-points")
    selected = {item.name.partition("[")[2] for item in request.session.items if item.path == request.path}
    names = [UNDISTURBED, *(case for case in CASES if f"{case}]" in selected)]
    with model_process(SCRIPT, folder) as model, opened(source, folder / "fleet", postgres.database(), model) as fleet:
        yield _played(fleet, model, names)


def _played(fleet: Fleet, model: RemoteServer, names: list[str]) -> dict[str, End]:
    places = {name: workspace(fleet.folder / name.replace(":", "-")) for name in names}
    wanted = [(f"case <{name}>", places[name], Queueing(queue=name)) for name in names]
    numbers = asyncio.run(submitted(fleet.store.address, testing.registry(BUILDER), wanted))
    jobs = dict(zip(names, numbers, strict=True))
    # Only the worker that starts at the end takes over jobs.
    first = {
        name: fleet.start(
            *("worker", "--until-idle", "--queue", name),
            REMIT_TAKEOVER_SECONDS="600",
            REMIT_STOP_AT=name if name != UNDISTURBED else "",
        )
        for name in names
    }
    killed = {name: process.wait(120) for name, process in first.items()}
    fleet.worker("--concurrency", "10")
    fleet.until(lambda: all(fleet.store.is_finished(number) for number in numbers))
    return {name: _end(fleet, model, name, killed[name], jobs[name], places[name]) for name in names}


def _end(fleet: Fleet, model: RemoteServer, name: str, killed: int, job: int, place: Path) -> End:
    store = fleet.store
    return End(
        killed=killed,
        job=store.job(job),
        messages=store.messages(job),
        calls=store.calls(job),
        effects=effects(place),
        files={path.name: path.read_text("utf-8") for path in place.iterdir() if path.name != EFFECTS},
        requests=len(requests_of(model, f"<{name}>")),
        receipts=len(store.rows("SELECT 1 FROM remit.receipts WHERE job = %s", job)),
        unknown=store.rows(
            "SELECT receipt FROM remit.receipts JOIN remit.tool_calls USING (job, call)"
            " WHERE job = %s AND state = 'unknown'",
            job,
        ),
        unknown_told=store.rows(
            "SELECT data FROM remit.events JOIN remit.tool_calls USING (job)"
            " WHERE job = %s AND kind = 'tool-done' AND call = data ->> 'call' AND state = 'unknown'",
            job,
        ),
        told=[row["kind"] for row in store.rows("SELECT kind FROM remit.events WHERE job = %s ORDER BY id", job)],
    )


def test_every_failpoint_of_the_source_is_tested() -> None:
    folder = Path(remit.dispatch.__file__).parent
    passed = {
        ast.literal_eval(node.args[0])
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "failpoint"
    }

    assert passed == set(FAILPOINTS)
    assert set(PASSED) | {"worktree-made"} == set(FAILPOINTS), "worktree-made is tested in test_worktree_killed"


def test_the_undisturbed_run_follows_the_script(ends: Mapping[str, End]) -> None:
    end = ends[UNDISTURBED]

    assert end.killed == 0
    assert (end.job["outcome"], end.job["attempt"], end.job["turns"]) == ("completed", 1, TURNS)
    assert end.job["tool_calls"] == end.receipts == CALLS
    assert end.effects == ["one", "two"]
    assert end.files["a.txt"] == "beta\n"
    assert end.requests == TURNS
    assert end.told.count("finished") == 1


@pytest.mark.parametrize("case", CASES)
def test_a_job_survives_a_kill_at(case: str, ends: Mapping[str, End]) -> None:
    end, whole = ends[case], ends[UNDISTURBED]

    assert end.killed == -9, "this failpoint was not reached"
    for same in ("outcome", "verdict", "result", "error", "turns", "tool_calls", "input_tokens", "output_tokens"):
        assert end.job[same] == whole.job[same], same
    assert end.job["deaths"] == (0 if case in NEVER_HELD else 1)
    assert whole.requests <= end.requests <= whole.requests + 1
    _effects_are_once(case, end, whole)
    _transcript_is_the_same(end, whole)
    assert end.told.count("finished") == 1
    assert end.job["reserved_tokens"] == end.job["tree_reserved_tokens"] == 0


def _effects_are_once(case: str, end: End, whole: End) -> None:
    """Check that each finished command ran once and the one in flight at most once."""
    in_flight = [call for call in end.calls if call["state"] == "unknown"]
    assert len(in_flight) <= 1
    assert end.receipts == whole.receipts
    if not in_flight:
        assert (end.effects, end.files) == (whole.effects, whole.files)
        return
    assert case.startswith(("tool-begun", "tool-ran"))
    assert in_flight[0]["name"] in ("Bash", "Edit")
    assert [one["receipt"]["failed"] for one in end.unknown] == [True]
    assert end.unknown[0]["receipt"]["arguments"] == in_flight[0]["arguments"]
    assert [(one["data"]["name"], one["data"]["failed"]) for one in end.unknown_told] == [(in_flight[0]["name"], True)]
    if case.startswith("tool-ran"):
        assert (end.effects, end.files) == (whole.effects, whole.files)
    else:
        assert (end.effects, end.files) != (whole.effects, whole.files)
        assert set(end.effects) <= set(whole.effects)
        assert len(end.effects) == len(set(end.effects))


def _transcript_is_the_same(end: End, whole: End) -> None:
    """Compare message by message; only the answer of a call in flight may differ."""
    unknown = {call["call"].partition(":")[2] for call in end.calls if call["state"] == "unknown"}
    assert len(end.messages) == len(whole.messages)
    for mine, theirs in zip(end.messages, whole.messages, strict=True):
        assert len(mine["parts"]) == len(theirs["parts"])
        for part, other in zip(mine["parts"], theirs["parts"], strict=True):
            if part.get("part_kind") == "tool-return" and part["tool_call_id"] in unknown:
                assert "not known whether" in part["content"]
                assert {**part, "content": other["content"]} == other
            elif part.get("tool_name") == "Write" and part.get("content") == "Replaced a.txt (1 lines).":
                assert other["content"] == "Created a.txt (1 lines)."  # it is safe to repeat
            elif part.get("part_kind") == "user-prompt":
                assert part["content"].startswith("case <")
            else:
                assert part == other
        assert {**mine, "parts": []} == {**theirs, "parts": []}
