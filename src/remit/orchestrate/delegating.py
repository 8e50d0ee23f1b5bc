"""Delegate from Python code: one subagent, several, or a plan that is driven phase by phase. The work survives a crash.

Every decision is made from the stored rows. A driver may die at any moment: the jobs continue without it, and the next
driver resumes the plan where it is.
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remit.aio import run_with_keepalive
from remit.contract.feedback import neutralize
from remit.dispatch.models import need_key
from remit.dispatch.submit import Queueing, Resolving
from remit.dispatch.submit import submit as submit_job
from remit.dispatch.worker_settings import Settings, load_settings
from remit.errors import UsageError, did_you_mean
from remit.merging.merge import CLARIFY_BELOW, is_unsure
from remit.merging.merge_data import Merge
from remit.orchestrate.answers import MAX_ROUNDS, MAX_TRIES, apply_answers, owner_of
from remit.orchestrate.phase import PhaseMerge, PlanReader, delegation_batches, has_no_result, render_inputs, whole_plan
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan, delegation_names
from remit.orchestrate.plan_file import check_plan
from remit.orchestrate.plan_progress import KeyFacts, ProgressRecorder
from remit.orchestrate.steps import ChangeCallback, DelegationStepper, PlanContext, SpareQueue
from remit.registry.definition import JobRequest, digest_of
from remit.registry.resolution import resolve
from remit.store import jobs, plans
from remit.store.database import Database, open_database, shared_database
from remit.store.events import JobEndListener
from remit.store.plans import Delegation, Escalation, PhaseRow, PlanLease, PlanRow, PlanState

log = logging.getLogger("remit.plan")
_POLL_SECONDS = 0.1
_MAX_QUESTION = 300
#: A driver that does not renew its lease for this share of `takeover_seconds` loses it.
_LEASE_SHARE = 0.6


class Driver:
    """Drives one plan to its end, or to a question that only a person can answer."""

    def __init__(self, context: PlanContext, plan: int, spec: Plan) -> None:
        self._context = context
        self._database = context.database
        self._plan = plan
        self._spec = spec
        self._lease = PlanLease(context.database, plan, str(uuid.uuid4()))
        self._timeout = context.settings.takeover_seconds * _LEASE_SHARE
        self._recorder = ProgressRecorder(context.settings.texts, context.workspace, plan, spec.name, context.owner)
        self._plan_reader: PlanReader | None = None

    async def run(self) -> PlanState:
        """Continue the plan and return its state: finished, waiting or cancelled."""
        await self._acquire()
        try:
            return await run_with_keepalive(self._drive(), self._lease.renew, self._timeout / 4)
        except UsageError:
            if (await plans.get_plan(self._database, self._plan)).state != "cancelled":
                raise
            # Another process cancelled it, so this one has lost the lease. It may have submitted a job since then.
            await jobs.cancel_plan(self._database, self._plan, "a person cancelled the plan")
            return "cancelled"
        finally:
            await self._lease.release()

    async def _acquire(self) -> None:
        """Acquire the lease once the last driver stops renewing it. Raise UsageError if another driver is alive."""
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
            await asyncio.sleep(_POLL_SECONDS)

    async def _drive(self) -> PlanState:
        await self._lease.set_state("running")
        async with JobEndListener(self._database) as listener:
            stepper = DelegationStepper(self._context, self._lease, self._plan, self._spec, self._recorder, listener)
            await stepper.open()
            rows = await plans.phases_of(self._database, self._plan, whole=False)
            for row, spec in zip(rows, self._spec.phases, strict=True):
                stopped = None if row.state == "finished" else await self._phase(row, spec, stepper)
                if stopped is not None:
                    await self._stop(stopped, spec, row.number)
                    await self._notify()
                    return stopped
        decisions = {row.decision for row in rows}
        outcome = next((decision for decision in ("retry", "review") if decision in decisions), "continue")
        await self._lease.set_state("finished", outcome)
        await self._recorder.finished(outcome)
        await self._notify()
        return "finished"

    async def _stop(self, state: PlanState, spec: PhaseSpec, number: int) -> None:
        """Store that the plan waits for a person, or is cancelled together with its jobs."""
        if state == "cancelled":
            await jobs.cancel_plan(self._database, self._plan, "a person cancelled the plan")
        else:
            await self._lease.set_state(state)
        delegations = await plans.delegations_of(self._database, self._plan, [number], whole=False)
        questions = [
            question for question in await plans.escalations(self._database, self._plan) if question.answer is None
        ]
        await self._recorder.stopped(state, spec.name, delegations, questions)

    async def _phase(self, row: PhaseRow, spec: PhaseSpec, stepper: DelegationStepper) -> PlanState | None:
        """Run one phase. Return None to continue with the next phase, else the state of the plan."""
        if row.state == "waiting":
            row.state = "running"
            await self._lease.save_phase(row)
            await plans.note(self._database, self._plan, "phase", f"{spec.name} begins")
        await self._recorder.phase(spec.name)
        applied = await apply_answers(self._database, self._lease, self._plan, row)
        if applied.is_cancelled:
            return "cancelled"
        rendered: list[tuple[str, ...]] = []

        async def inputs() -> tuple[str, ...]:
            if not rendered:
                folder = self._context.settings.work / "results" / f"plan-{self._plan}"
                reader = await self._reader()
                rendered.append(await render_inputs(self._database, await self._inputs(spec), folder, reader))
            return rendered[0]

        delegations = await stepper.settle(row.number, spec, inputs, applied.texts)
        if any(delegation.state == "escalated" for delegation in delegations):
            await self._ask_again(delegations)
            return "waiting"
        # A failure that is not critical never blocks: the plan goes on, unless its author wants to be asked.
        if spec.on_review == "ask" and has_no_result(spec, delegations) and not applied.is_skipped:
            await self._ask(row, f"every delegation of {spec.name} failed")
            return "waiting"
        return await self._decide(row, spec, delegations, is_skipped=applied.is_skipped)

    async def _ask(self, row: PhaseRow, why: str) -> None:
        """Ask a person about a phase."""
        last = "; only skip or cancel is possible" if row.round >= MAX_ROUNDS else ""
        reason = f"{why} (round {row.round} of {MAX_ROUNDS}{last})"
        await plans.escalate(self._database, self._plan, row.number, None, reason)

    async def _ask_again(self, delegations: list[Delegation]) -> None:
        """Ask again about delegations whose answer had no effect, so that each waiting one has an open question."""
        for delegation in delegations:
            if delegation.state == "escalated":
                reason = (
                    f"{delegation.name}: {delegation.error}; it was tried {delegation.retries + 1} times of {MAX_TRIES}"
                )
                await plans.escalate(self._database, self._plan, delegation.phase, delegation.id, reason)

    async def _decide(
        self, row: PhaseRow, spec: PhaseSpec, delegations: list[Delegation], *, is_skipped: bool
    ) -> PlanState | None:
        """Merge the results of a phase and store the decision."""
        inputs = (
            [delegation for delegation in await self._inputs(spec) if delegation.state == "accepted"]
            if spec.merges_inputs
            else []
        )
        merging = PhaseMerge(await self._reader(), spec.threshold, spec.policy)
        facts = KeyFacts()
        async for batch in delegation_batches(self._database, [*inputs, *delegations]):
            await asyncio.to_thread(merging.add, batch)
            await asyncio.to_thread(facts.add, batch)
        merged = await asyncio.to_thread(merging.merged)
        row.decision, row.merge = merged.decision, msgspec.to_builtins(merged)
        why = review_reason(merged)
        if why and not is_skipped:
            if self._asks(spec):
                await self._lease.save_phase(row)  # so that the person who is asked sees the results
                row.merge = None
                await self._ask(row, f"a person has to review the results of {spec.name}: {why}")
                return "waiting"
            if spec.on_review is None:
                await self._report_unreviewed(spec, why)
        row.state = "finished"
        await self._lease.save_phase(row)
        row.merge = None
        text = f"{spec.name}: run {merged.status} · decision {merged.decision}"
        await plans.note(self._database, self._plan, "merge", text)
        await self._recorder.merged(spec.name, merged.decision, delegations, facts)
        await self._notify()
        return None

    async def _report_unreviewed(self, spec: PhaseSpec, why: str) -> None:
        """Report that no person has reviewed the results of a phase."""
        is_last = spec is self._spec.phases[-1]
        if not is_last:
            note = f"{spec.name}: {why}; no person has reviewed this, and the plan continues"
            await plans.note(self._database, self._plan, "review", note)
        await self._recorder.unreviewed(spec.name, why, "is finished" if is_last else "went on")

    def _asks(self, spec: PhaseSpec) -> bool:
        """Return whether a person is asked before the plan continues after a phase that needs a review."""
        is_last = spec is self._spec.phases[-1]
        return spec.on_review == "ask" or (spec.on_review is None and self._context.can_ask and not is_last)

    async def _reader(self) -> PlanReader:
        if self._plan_reader is None:
            self._plan_reader = await asyncio.to_thread(PlanReader, self._spec, self._context.workspace)
        return self._plan_reader

    async def _inputs(self, spec: PhaseSpec) -> list[Delegation]:
        """Return the delegations of the phases that are inputs of a phase, without their results."""
        numbers = {phase.name: number for number, phase in enumerate(self._spec.phases)}
        phases = [numbers[name] for name in spec.inputs]
        return await plans.delegations_of(self._database, self._plan, phases, whole=False)

    async def _notify(self) -> None:
        if self._context.on_change is not None:
            await self._context.on_change()


def review_reason(merged: Merge) -> str:
    """Return why a person should review a merge, also one in which other results failed; "" for no reason."""
    partial = sorted({agent.agent for agent in merged.agents if agent.status == "PARTIAL"})
    reasons = [f"{', '.join(partial)} reported PARTIAL"] if partial else []
    if merged.conflicts:
        number = len(merged.conflicts)
        reasons.append(f"{number} conflict{'s' * (number != 1)}")
    unsure = [summary for summary in merged.sections.summaries if is_unsure(summary.confidence)]
    if unsure:
        scores = ", ".join(sorted({f"{agent.agent} {agent.confidence:g}" for agent in unsure}))
        questions = [text for agent in unsure if (text := _question_of(merged, agent.agent))]
        asked = f": {' '.join(dict.fromkeys(questions))}" if questions else ""
        reasons.append(f"a confidence under {CLARIFY_BELOW:g} ({scores}){asked}")
    return "; ".join(reasons) or ("the results need a review" if merged.decision == "review" else "")


def _question_of(merged: Merge, agent: str) -> str:
    """Return the question that an uncertain agent asks, on one line, or ""."""
    notes = [note.text for note in merged.sections.notes if note.agent == agent and note.heading == "Uncertainty"]
    lines = [line.strip().lstrip("-*• ") for text in notes for line in text.split("\n")]
    return next((neutralize(line[:_MAX_QUESTION]) for line in lines if "?" in line or "？" in line), "")


class PlanResult(NamedTuple):
    """A plan with its phases, delegations and questions."""

    plan: PlanRow
    phases: list[PhaseRow]
    delegations: list[Delegation]
    escalations: list[Escalation]


class DelegationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one delegation. `error` states why it failed; a result with the status FAILED is a failure."""

    agent: str
    state: str
    verdict: str | None
    result: str
    warnings: tuple[str, ...] = ()
    job: int | None = None
    error: str | None = None


async def submit(
    agent: str | None,
    task: str,
    *,
    repo: str | Path = ".",
    queueing: Queueing = Queueing(),  # noqa: B008 (it never changes)
    resolving: Resolving = Resolving(),  # noqa: B008 (it never changes)
    **options: Any,
) -> int:
    """Put a job into the queue and return its number, as `remit run --detach` does. A worker runs it.

    `agent` is a definition, None for a job without one; a definition that is unknown here is looked up by the worker.
    `options` are how it is queued (`key`, `priority`, `queue`, `delay`, `parent` and the limits of its tree) and the
    fields of `JobRequest`, such as `system`, `allowed_tools`, `model` and `contract`. Raises UsageError for others.
    Calls that run at the same time share their connections.
    """
    how, fields = _split_options(options)
    queueing = queueing._replace(**how)
    root = Path(repo)
    settings = load_settings(start=root)
    request = {**fields, "prompt": task, "subagent_def": agent}
    async with shared_database(settings.database, settings.state) as database:
        submitted = await submit_job(database, request, settings, root, queueing=queueing, resolving=resolving)
    return submitted.id


def _split_options(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options for the queue, and the fields of its request. Raises UsageError for others."""
    queueing = set(Queueing._fields) - {"agent", "first_queue", "plan", "tree"}
    request = set(JobRequest.__struct_fields__) - {"prompt", "subagent_def"}
    for name in options:
        if name not in queueing | request:
            raise UsageError(f"a job has no option {name!r}{did_you_mean(name, queueing | request)}")
    how = {name: value for name, value in options.items() if name in queueing}
    return how, {name: value for name, value in options.items() if name not in queueing}


async def delegate(agent: str, task: str, *, repo: str | Path = ".", **options: Any) -> DelegationResult:
    """Delegate a task to one subagent. The result is checked, and corrected once if it breaks the contract.

    `options` are the fields of `DelegationSpec`, such as `system`, `model`, `critical` and `scope`.
    """
    return (await fan_out([DelegationSpec(agent=agent, task=task, **options)], repo=repo))[0]


async def fan_out(
    delegations: Sequence[DelegationSpec | dict[str, Any]], *, repo: str | Path = "."
) -> list[DelegationResult]:
    """Delegate tasks to several subagents in parallel. A failure of one does not stop the others."""
    specs = [
        delegation if isinstance(delegation, DelegationSpec) else msgspec.convert(delegation, DelegationSpec)
        for delegation in delegations
    ]
    plan = Plan(name="fan out", phases=(PhaseSpec(name="work", delegations=tuple(specs)),))
    result = await run_plan(plan, repo=repo, is_new=True)
    return [
        DelegationResult(
            agent=delegation.agent,
            state=delegation.state,
            verdict=delegation.verdict,
            result=delegation.result or "",
            warnings=tuple(delegation.warnings),
            job=delegation.job,
            error=delegation.error,
        )
        for delegation in result.delegations
    ]


async def run_plan(plan: Plan, *, repo: str | Path = ".", is_new: bool = False) -> PlanResult:
    """Run a plan, or resume the newest unfinished plan with the same text. `is_new` always starts a new one."""
    from remit.orchestrate.local_worker import ensure_worker  # late: it needs the libraries of models

    root = Path(repo)
    settings = load_settings(start=root)
    async with (
        open_database(settings.database, settings.state) as database,
        ensure_worker(database, settings, concurrency=max_parallel(plan)) as queue,
    ):
        number = await begin_plan(database, plan, root, is_new=is_new)
        await drive_plan(database, settings, number, queue=queue)
        return await plan_result(database, number)


def max_parallel(plan: Plan) -> int:
    """Return how many delegations of a plan may run at the same time."""
    return max((min(phase.parallel, len(phase.delegations)) for phase in plan.phases), default=1)


async def begin_plan(database: Database, plan: Plan, root: Path, *, is_new: bool = False) -> int:
    """Return the number of the newest unfinished plan with the same text, or store the plan as a new one."""
    check_plan(plan, plan.name)
    document = msgspec.to_builtins(plan)
    digest = digest_of(msgspec.json.encode(document, order="deterministic"))
    phases = [
        (
            phase.name,
            list(zip(delegation_names(phase), (delegation.agent for delegation in phase.delegations), strict=True)),
        )
        for phase in plan.phases
    ]
    workspace = await asyncio.to_thread(os.path.realpath, root)
    earlier = first_version_digest(plan)
    number, _ = await plans.open_plan(
        database, plan.name, digest, document, workspace, phases, is_new=is_new, earlier=earlier
    )
    return number


def first_version_digest(plan: Plan) -> str | None:
    """Return the digest that version 0.1.0 stored for a plan; None if the plan has fields that it did not know."""
    new = ("system", "profile", "contract")
    if any(
        getattr(delegation, name) is not None
        for phase in plan.phases
        for delegation in phase.delegations
        for name in new
    ):
        return None
    phases = []
    for phase in plan.phases:
        delegations = [
            {name: getattr(delegation, name) for name in delegation.__struct_fields__ if name not in new}
            for delegation in phase.delegations
        ]
        fields = {name: getattr(phase, name) for name in phase.__struct_fields__} | {"delegations": delegations}
        defaults = {"threshold": 80, "policy": "mean", "on_review": "continue"}
        phases.append({name: defaults.get(name) if value is None else value for name, value in fields.items()})
    document = {name: getattr(plan, name) for name in plan.__struct_fields__} | {"phases": phases}
    return digest_of(msgspec.json.encode(document, order="deterministic"))


async def check_drivable(database: Database, plan: int) -> PlanRow:
    """Return a plan. Raise UsageError if it is a question of an orchestrator, which cannot be driven."""
    row = await plans.get_plan(database, plan)
    if (owner := owner_of(row)) is not None and owner.is_question:
        raise UsageError(
            f"plan {plan} is a question of job {owner.job}: list it with `remit plan questions`, "
            "answer it with `remit plan answer ID …`"
        )
    return row


async def check_keys(database: Database, plan: int, resolving: Resolving) -> None:
    """Raise UsageError if this process has no key for a model that a plan still needs."""
    spec = msgspec.convert((await plans.get_plan(database, plan)).document, Plan)
    rows = await plans.phases_of(database, plan, whole=False)
    for row, phase in zip(rows, spec.phases, strict=True):
        if row.state != "finished":
            for delegation in phase.delegations:
                _check_key(delegation, resolving)


def _check_key(delegation: DelegationSpec, resolving: Resolving) -> None:
    if delegation.runner not in (None, "model"):
        return
    request = {"prompt": delegation.task, "subagent_def": delegation.agent, "model": delegation.model}
    try:
        brief = resolve(request, **resolving._asdict(), print_warnings=False)
    except UsageError:
        return  # reported when the delegation is submitted
    if brief.runner == "model":
        need_key(brief.model)


async def drive_plan(  # noqa: PLR0913 (all but three are keywords with a default)
    database: Database,
    settings: Settings,
    plan: int,
    *,
    queue: str | None = None,
    spare: SpareQueue | None = None,
    tree: int | None = None,
    on_change: ChangeCallback | None = None,
    can_ask: bool = False,
    resolving: Resolving = Resolving(),  # noqa: B008 (it never changes)
) -> str:
    """Drive a plan from its current state, and return the state in which it stops.

    `can_ask`: a person is there who can be asked after a phase that needs a review.
    """
    row = await check_drivable(database, plan)
    owner = owner_of(row)
    context = PlanContext(
        database,
        settings,
        Path(row.workspace),
        resolving,
        queue=queue,
        spare=spare,
        tree=tree,
        on_change=on_change,
        can_ask=can_ask,
        owner=owner.job if owner is not None else None,
    )
    return await Driver(context, plan, msgspec.convert(row.document, Plan)).run()


async def plan_result(database: Database, plan: int, *, whole: bool = True) -> PlanResult:
    """Return a plan as it is now; `whole=False` leaves out merges and results."""
    return PlanResult(
        await plans.get_plan(database, plan),
        await plans.phases_of(database, plan, whole=whole),
        await plans.delegations_of(database, plan, whole=whole),
        await plans.escalations(database, plan),
    )


async def merge_plan(database: Database, row: PlanRow) -> Merge | None:
    """Return one merge of everything that the delegations of a plan reported so far, or None without a report."""
    merging = await whole_plan(database, row)
    if not merging.reports:
        return None
    return await asyncio.to_thread(merging.merged)
