"""Driving a plan, phase by phase: what there is to do is decided from what is written down.

Whoever drives may die at any moment: the jobs go on by themselves, and the next driver finds the plan where it
is.
"""

from __future__ import annotations

import asyncio
import logging
import uuid

import msgspec

from remit.aio import run_with_keepalive
from remit.errors import UsageError
from remit.orchestrate.answers import MAX_ROUNDS, MAX_TRIES, apply_answers
from remit.orchestrate.phase import PhaseMerge, all_failed, delegation_batches, render_inputs
from remit.orchestrate.plan import PhaseSpec, Plan
from remit.orchestrate.progress import ProgressRecorder
from remit.orchestrate.steps import DelegationStepper, PlanContext
from remit.store import plans
from remit.store.events import JobEndListener
from remit.store.plan_lease import PlanLease
from remit.store.plans import Delegation, PhaseRow, PlanState

log = logging.getLogger("remit.plan")
_LOOK_SECONDS = 0.1
#: A driver that does not renew its lease for this share of `takeover_seconds` loses it.
_LEASE_SHARE = 0.6


class Driver:
    """Drives one plan to its end, or to a question that only a person can answer."""

    def __init__(self, place: PlanContext, plan: int, spec: Plan) -> None:
        self._place = place
        self._database = place.database
        self._plan = plan
        self._spec = spec
        self._lease = PlanLease(place.database, plan, str(uuid.uuid4()))
        self._timeout = place.settings.takeover_seconds * _LEASE_SHARE
        self._recorder = ProgressRecorder(place.settings.data, place.workspace, plan, spec.name)

    async def run(self) -> PlanState:
        """Go on from where the plan is; the state it is left in: finished, waiting or cancelled."""
        await self._acquire()
        try:
            return await run_with_keepalive(self._drive(), self._lease.renew, self._timeout / 4)
        finally:
            await self._lease.release()

    async def _acquire(self) -> None:
        """Acquire the lease once the last driver stops renewing it. Raises UsageError while another driver does."""
        holder = None
        while not await self._lease.acquire(self._timeout):
            last = await self._lease.holder()
            if holder is None:
                log.warning(
                    "plan %s was driven by another process; waiting to see if that process is alive", self._plan
                )
            elif last != holder:
                raise UsageError(f"plan {self._plan} is already driven by another process")
            holder = last
            await asyncio.sleep(_LOOK_SECONDS)

    async def _drive(self) -> PlanState:
        await self._lease.set_state("running")
        async with JobEndListener(self._database) as listener:
            stepper = DelegationStepper(self._place, self._lease, self._plan, self._spec, self._recorder, listener)
            await stepper.open()
            rows = await plans.phases_of(self._database, self._plan, whole=False)
            for row, spec in zip(rows, self._spec.phases, strict=True):
                stopped = None if row.state == "finished" else await self._phase(row, spec, stepper)
                if stopped is not None:
                    await self._recorder.waits(stopped, spec.name)
                    await self._lease.set_state(stopped)
                    await self._changed()
                    return stopped
        decisions = {row.decision for row in rows}
        outcome = next((one for one in ("retry", "review") if one in decisions), "continue")
        await self._lease.set_state("finished", outcome)
        await self._recorder.finished(outcome)
        await self._changed()
        return "finished"

    async def _phase(self, row: PhaseRow, spec: PhaseSpec, stepper: DelegationStepper) -> PlanState | None:
        """Run one phase; None: go on with the next, else what the plan has come to."""
        if row.state == "waiting":
            row.state = "running"
            await self._lease.save_phase(row)
            await plans.note(self._database, self._plan, "phase", f"{spec.name} begins")
        await self._recorder.phase(spec.name)
        applied = await apply_answers(self._database, self._lease, self._plan, row)
        if applied.is_cancelled:
            return "cancelled"
        told: list[tuple[str, ...]] = []

        async def brought() -> tuple[str, ...]:
            if not told:
                kept = self._place.settings.data / "results" / f"plan-{self._plan}"
                told.append(await render_inputs(self._database, await self._inputs(spec), kept))
            return told[0]

        mine = await stepper.settle(row.number, spec, brought, applied.words)
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
        merging = await asyncio.to_thread(PhaseMerge, spec, self._place.workspace, self._spec.profile or "v2")
        async for some in delegation_batches(self._database, [*given, *mine]):
            await asyncio.to_thread(merging.add, some)
        merged = await asyncio.to_thread(merging.merged)
        if merged.decision == "review" and spec.on_review == "ask" and not is_settled:
            await self._ask(row, f"the results of {spec.name} need a person's eye: {len(merged.conflicts)} conflicts")
            return "waiting"
        row.state, row.decision, row.merge = "finished", merged.decision, msgspec.to_builtins(merged)
        await self._lease.save_phase(row)
        row.merge = None
        await plans.note(self._database, self._plan, "merge", f"{spec.name}: {merged.status}, {merged.decision}")
        await self._recorder.merged(spec.name, merged.decision, mine)
        await self._changed()
        return None

    async def _inputs(self, spec: PhaseSpec) -> list[Delegation]:
        """The delegations of the phases that a phase takes its input from, without what they brought."""
        numbers = {one.name: number for number, one in enumerate(self._spec.phases)}
        wanted = [numbers[name] for name in spec.inputs]
        return await plans.delegations_of(self._database, self._plan, wanted, whole=False)

    async def _changed(self) -> None:
        if self._place.on_change is not None:
            await self._place.on_change()
