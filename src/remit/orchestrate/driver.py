"""Driving a plan: each step is decided from what is written down, done once, and written down again.

Whoever drives may die at any moment: the jobs go on by themselves, and the next driver finds the plan where it
is. Doing a step again does nothing new, because jobs are submitted under a key of the delegation's own.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from remit.dispatch.correction import correct
from remit.dispatch.settings import Settings
from remit.dispatch.submitting import Queueing, Resolving, submit
from remit.errors import UsageError
from remit.orchestrate import ladder
from remit.orchestrate.answers import MAX_ROUNDS, MAX_TRIES, apply_answers
from remit.orchestrate.fallback import fallback_read
from remit.orchestrate.model import DelegationSpec, PhaseSpec, Plan, delegation_names
from remit.orchestrate.phases import all_failed, merge_phase
from remit.orchestrate.record import Recorder
from remit.orchestrate.tasks import task_text
from remit.registry.model import JobRequest, Limits
from remit.store import jobs, plans
from remit.store.database import Database
from remit.store.plans import SETTLED, Delegation, PhaseRow, PlanState

log = logging.getLogger("remit.plan")
_LOOK_SECONDS = 0.1
#: Of the time within which a dead worker's job is taken over, how long a driver may be silent.
_SILENCE = 0.6
#: After so long a job that waits is given another ticket.
_WAKE_SECONDS = 0.5

Notice = Callable[[], Awaitable[None]]


class Driver:
    """Drives one plan to its end, or to a question that only a person can answer."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        plan: int,
        spec: Plan,
        workspace: Path,
        *,
        resolving: Resolving,
        queue: str | None = None,
        on_change: Notice | None = None,
    ) -> None:
        self._database = database
        self._settings = settings
        self._plan = plan
        self._spec = spec
        self._workspace = workspace
        self._resolving = resolving
        self._queue = queue
        self._on_change = on_change
        self._id = str(uuid.uuid4())
        self._silence = settings.takeover_seconds * _SILENCE
        #: When a waiting job is to be woken next, and after how long again.
        self._wakes: dict[int, tuple[float, float]] = {}
        self._recorder = Recorder(settings.data, workspace, plan, spec.name)

    async def run(self) -> PlanState:
        """Go on from where the plan is; the state it is left in: finished, waiting or cancelled."""
        await self._hold()
        driving, beating = asyncio.create_task(self._phases()), asyncio.create_task(self._beat())
        try:
            await asyncio.wait({driving, beating}, return_when=asyncio.FIRST_COMPLETED)
            if not driving.done():
                await beating
            return await driving
        finally:
            driving.cancel()
            beating.cancel()
            await asyncio.gather(driving, beating, return_exceptions=True)
            await plans.let_go(self._database, self._plan, self._id)

    async def _hold(self) -> None:
        """Become the one who drives: when the last one's heart has stopped. Refused while it beats."""
        heard = None
        while not await plans.drive(self._database, self._plan, self._id, self._silence):
            last = await plans.last_beat(self._database, self._plan)
            if heard is None:
                log.warning("plan %s was driven by another process: waiting to see if it lives", self._plan)
            elif last != heard:
                raise UsageError(f"plan {self._plan} is driven by another process already")
            heard = last
            await asyncio.sleep(_LOOK_SECONDS)

    async def _beat(self) -> None:
        """Say that we drive, as long as it is so; whoever was frozen for too long has lost the plan."""
        while await plans.drive(self._database, self._plan, self._id, self._silence):  # noqa: ASYNC110 (a heart)
            await asyncio.sleep(self._silence / 4)
        raise UsageError(f"plan {self._plan} is driven by another process now")

    async def _phases(self) -> PlanState:
        await plans.set_state(self._database, self._plan, "running")
        for row, spec in zip(await plans.phases_of(self._database, self._plan), self._spec.phases, strict=True):
            if row.state == "finished":
                continue
            ended = await self._phase(row, spec)
            if ended is not None:
                await self._recorder.waits(ended, spec.name)
                await plans.set_state(self._database, self._plan, ended, None)
                await self._changed()
                return ended
        decisions = {row.decision for row in await plans.phases_of(self._database, self._plan)}
        outcome = next((one for one in ("retry", "review") if one in decisions), "continue")
        await plans.set_state(self._database, self._plan, "finished", outcome)
        await self._recorder.finished(outcome)
        await self._changed()
        return "finished"

    async def _phase(self, row: PhaseRow, spec: PhaseSpec) -> PlanState | None:
        """Run one phase; None: go on with the next, else what the plan has come to."""
        if row.state == "waiting":
            row.state = "running"
            await plans.save_phase(self._database, self._plan, row)
            await plans.note(self._database, self._plan, "phase", f"{spec.name} begins")
        await self._recorder.phase(spec.name)
        while True:
            applied = await apply_answers(self._database, self._plan, row)
            if applied.is_cancelled:
                return "cancelled"
            mine = await self._settled(row, spec, applied.words)
            if any(one.state == "escalated" for one in mine):
                await self._ask_again(mine)
                return "waiting"
            if all_failed(mine) and not applied.is_skipped:
                await self._ask(row, f"every delegation of {spec.name} failed")
                return "waiting"
            return await self._decide(row, spec, mine, is_settled=applied.is_skipped)

    async def _ask(self, row: PhaseRow, why: str) -> None:
        """Ask a person about a whole phase."""
        last = "; only skip or cancel help" if row.round >= MAX_ROUNDS else ""
        reason = f"{why} (round {row.round} of {MAX_ROUNDS}{last})"
        await plans.escalate(self._database, self._plan, row.number, None, reason)

    async def _ask_again(self, mine: list[Delegation]) -> None:
        """Nobody waits without a question: one whose answer could not help any more is put again."""
        for one in mine:
            if one.state == "escalated":
                reason = f"{one.name}: {one.error}; it was tried {one.retries + 1} times of {MAX_TRIES}"
                await plans.escalate(self._database, self._plan, one.phase, one.id, reason)

    async def _decide(
        self, row: PhaseRow, spec: PhaseSpec, mine: list[Delegation], *, is_settled: bool
    ) -> PlanState | None:
        given = [one for one in await self._inputs(spec) if one.state == "accepted"] if spec.merges_inputs else []
        merged = await asyncio.to_thread(
            merge_phase, spec, [*given, *mine], self._workspace, self._spec.profile or "v2"
        )
        if merged.decision == "review" and spec.on_review == "ask" and not is_settled:
            await self._ask(row, f"the results of {spec.name} need a person's eye: {len(merged.conflicts)} conflicts")
            return "waiting"
        row.state, row.decision, row.merge = "finished", merged.decision, msgspec.to_builtins(merged)
        await plans.save_phase(self._database, self._plan, row)
        await plans.note(self._database, self._plan, "merge", f"{spec.name}: {merged.status}, {merged.decision}")
        await self._recorder.merged(spec.name, merged.decision, mine)
        await self._changed()
        return None

    async def _settled(self, row: PhaseRow, spec: PhaseSpec, words: dict[int, str]) -> list[Delegation]:
        """Work until every delegation of a phase is settled or waits for a person."""
        specs = dict(zip(delegation_names(spec), spec.delegations, strict=True))
        while True:
            everything = await plans.delegations_of(self._database, self._plan)
            mine = [one for one in everything if one.phase == row.number]
            busy = [one for one in mine if one.state not in SETTLED and one.state != "escalated"]
            if not busy:
                return mine
            inputs = self._inputs_of(spec, everything)
            moved = False
            running = sum(one.state == "running" for one in busy)
            for one in busy:
                if one.state == "queued" and running >= spec.parallel:
                    continue
                running += one.state == "queued"
                moved |= await self._advance(specs[one.name], one, inputs, words.get(one.id, ""))
            if moved:
                await self._changed()
            else:
                await self._until_one_ends([one.job for one in busy if one.job is not None])

    async def _until_one_ends(self, running: list[int]) -> None:
        """Wait for the end of a job. The look is a light one, for it is taken often."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            found = await self._database.rows("plans.not_running", jobs=running)
            for row in found:
                if row["state"] == "queued":
                    await self._wake(row["id"])
            if not running or any(row["state"] == "finished" for row in found):
                return

    async def _inputs(self, spec: PhaseSpec) -> list[Delegation]:
        return self._inputs_of(spec, await plans.delegations_of(self._database, self._plan))

    def _inputs_of(self, spec: PhaseSpec, everything: list[Delegation]) -> list[Delegation]:
        """What the delegations of the phases brought that a phase takes its input from."""
        numbers = {one.name: number for number, one in enumerate(self._spec.phases)}
        wanted = {numbers[name] for name in spec.inputs}
        return [one for one in everything if one.phase in wanted]

    async def _advance(self, spec: DelegationSpec, one: Delegation, inputs: list[Delegation], words: str) -> bool:
        """Do the next step of a delegation; False: there is nothing to do but to wait."""
        job = await jobs.get(self._database, one.job) if one.job is not None else None
        submissions = len(await self._database.rows("transcript.results", job=one.job)) if job else 0
        step = ladder.next_step(spec, one, job, submissions)
        if step.name == "wait":
            return False
        if job is not None and step.name != "submit":
            one.result, one.verdict = job.result or one.result, job.verdict
            one.error = None if step.name in ("accept", "correct") else ladder.failure_words(job)
        if step.name == "submit":
            try:
                one.job, one.state = await self._submit(spec, one, inputs, words), "running"
            except UsageError as error:  # one that cannot be dispatched must not stop the others
                one.error, step = str(error), ladder.refused(spec, one, str(error))
                await self._fail(spec, one, None, step)
        elif step.name == "correct":
            await correct(self._database, job.id if job else 0, self._queue)
            one.corrections = 1
        elif step.name == "accept":
            one.state = "accepted"
        else:
            await self._fail(spec, one, job, step)
        await plans.save(self._database, one, step.name, step.reason)
        return True

    async def _wake(self, job: int) -> None:
        """A job that waits for long gets a ticket in our own worker's queue: after a crash it has none there."""
        if self._queue is None:
            return
        now = time.monotonic()
        due, pause = self._wakes.setdefault(job, (now + _WAKE_SECONDS, _WAKE_SECONDS))
        if now >= due:
            async with self._database.transaction() as connection:
                await jobs.enqueue(connection, job, self._queue, 0)
            self._wakes[job] = now + 2 * pause, 2 * pause

    async def _fail(self, spec: DelegationSpec, one: Delegation, job: jobs.Job | None, step: ladder.Step) -> None:
        """One step down the ladder."""
        words = ladder.warning(one.agent)
        if words not in one.warnings:
            one.warnings.append(words)
            await self._recorder.warn(words)
        if step.name == "retry":
            one.retries, one.job, one.state = one.retries + 1, None, "queued"
            one.scope = ladder.reduced(spec)[1]
        elif step.name == "fall-back":
            one.fallback = await asyncio.to_thread(fallback_read, self._workspace, spec.scope)
        elif step.name == "gap":
            one.state = "rejected" if job is not None and job.outcome == "completed" else "failed"
        else:
            one.state = "escalated"
            await plans.escalate(self._database, self._plan, one.phase, one.id, f"{one.name}: {step.reason}")

    async def _submit(self, spec: DelegationSpec, one: Delegation, inputs: list[Delegation], words: str) -> int:
        kept = self._settings.data / "results" / f"plan-{self._plan}"
        await asyncio.to_thread(_keep, kept, inputs)
        scope = ladder.reduced(spec)[0] if one.scope else spec.scope
        limits = Limits(tokens=spec.max_tokens, cost=spec.max_cost, seconds=spec.timeout)
        request = JobRequest(
            prompt=task_text(spec, one, inputs, words, kept),
            subagent_def=spec.agent if spec.runner in (None, "model") else None,
            allowed_tools=list(spec.allowed_tools) if spec.allowed_tools is not None else None,
            model=spec.model,
            max_turns=spec.max_turns,
            kind=spec.kind,
            profile=self._spec.profile,
            runner=spec.runner,
            command=spec.command,
            isolation=spec.isolation,
            limits=limits,
            input_vars=spec.input_vars,
            scope=list(scope),
        )
        key = f"plan-{self._plan}-{one.phase}-{one.name}-{one.retries}"
        queueing = Queueing(first_queue=self._queue, key=key, agent=spec.agent)
        made = await submit(
            self._database, request, self._settings, self._workspace, queueing=queueing, resolving=self._resolving
        )
        return made.id

    async def _changed(self) -> None:
        if self._on_change is not None:
            await self._on_change()


def _keep(folder: Path, results: list[Delegation]) -> None:
    """Results that are shown to others, whole, where they can be read."""
    for one in results:
        if one.result and one.state == "accepted":
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / f"{one.id}.md").write_text(one.result, encoding="utf-8")
