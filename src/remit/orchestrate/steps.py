"""The steps of a phase's delegations. Each step is decided from the stored rows, done once, and stored.

Repeating a step has no effect, because every job is submitted under a key of its delegation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from remit.contract.outcome import ReportedFailure, failure_in
from remit.dispatch.submit import Queueing, Resolving, correct, submit
from remit.dispatch.worker_settings import Settings
from remit.errors import UsageError
from remit.failure_policy import (
    FALLBACK_FILES,
    FALLBACK_LINES,
    can_correct,
    explain_step,
    failure_warning,
    reduce_scope,
    resolved_warning,
)
from remit.failure_policy import next_step as step_after_failure
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan, delegation_names, with_phase_defaults
from remit.orchestrate.plan_progress import ProgressRecorder
from remit.registry.definition import JobRequest, Limits
from remit.store import jobs, plans
from remit.store.database import Database
from remit.store.events import JobEndListener
from remit.store.jobs import Job
from remit.store.plans import SETTLED, Delegation, PlanLease
from remit.workspace.files import SourceFile, WorkTree

#: Interval in which the state of jobs is read, in case a notification was lost. While nothing happens, it doubles up to
#: the longest: a thousand plans must not ask all the time.
_POLL_SECONDS = 0.25
_LONGEST_POLL_SECONDS = 5.0
#: A job that is still queued after this time is enqueued again.
_REQUEUE_SECONDS = 0.5
#: Called after every change of a plan.
ChangeCallback = Callable[[], Awaitable[None]]
#: Returns the queue of a worker with a free slot; called when a job waits.
SpareQueue = Callable[[], Awaitable[str]]
#: Returns the paragraphs on the results of earlier phases.
InputsCallback = Callable[[], Awaitable[Iterable[str]]]
StepName = Literal["wait", "submit", "correct", "accept", "retry", "fall-back", "gap", "escalate"]


class Step(NamedTuple):
    """The next step of a delegation, and the reason for it."""

    name: StepName
    reason: str


class PlanContext(NamedTuple):
    """What the jobs of a plan need: the database, the settings, the checkout and the workers."""

    database: Database
    settings: Settings
    workspace: Path
    resolving: Resolving
    #: The queue of this process's own worker, which gets the jobs first.
    queue: str | None = None
    #: Where jobs go that wait for long, if this process has no queue.
    spare: SpareQueue | None = None
    #: A job whose tree budget all jobs of the plan share.
    tree: int | None = None
    on_change: ChangeCallback | None = None
    #: Whether a person is there who can be asked before the next phase.
    can_ask: bool = False
    #: The job of the orchestrator that made the plan.
    owner: int | None = None


class DelegationStepper:
    """Advances the delegations of one plan step by step."""

    def __init__(
        self,
        context: PlanContext,
        lease: PlanLease,
        plan: int,
        spec: Plan,
        recorder: ProgressRecorder,
        listener: JobEndListener,
    ) -> None:
        self._context = context
        self._lease = lease
        self._database = context.database
        self._plan = plan
        self._spec = spec
        self._recorder = recorder
        self._listener = listener
        #: Job -> when it is enqueued again, and the interval after that.
        self._requeues: dict[int, tuple[float, float]] = {}
        self._ended: dict[str, int] = {}
        self._budget_job = context.tree

    async def open(self) -> None:
        """Load what an earlier driver did but could not store."""
        self._ended = await plans.ended_jobs(self._database, self._plan)
        row = await self._database.row("plans.top", plan=self._plan)
        self._budget_job = self._budget_job or (row["top"] if row else None)

    async def settle(
        self, phase: int, spec: PhaseSpec, inputs: InputsCallback, answers: Mapping[int, str]
    ) -> list[Delegation]:
        """Work until every delegation of a phase is settled or waits for a person; return them without results.

        `answers` maps the number of a delegation to the text that a person added to its task.
        """
        rows = await plans.delegations_of(self._database, self._plan, [phase], whole=False)
        delegations = {row.id: row for row in rows}
        specs = dict(zip(delegation_names(spec), with_phase_defaults(spec), strict=True))
        pause = _POLL_SECONDS
        while busy := [
            delegation for delegation in delegations.values() if delegation.state not in (*SETTLED, "escalated")
        ]:
            ready = await self._ready(busy, spec.parallel)
            for delegation in ready:
                full = (await plans.whole_delegations(self._database, [delegation.id]))[0]
                await self._advance(specs[delegation.name], full, inputs, answers.get(delegation.id, ""))
                full.result = full.fallback = None  # keeps memory flat: a phase may have many results
                delegations[delegation.id] = full
            if ready and self._context.on_change is not None:
                await self._context.on_change()
            elif not ready:
                await self._listener.wait(pause)
            pause = (
                min(2 * pause, _LONGEST_POLL_SECONDS) if self._listener.is_listening and not ready else _POLL_SECONDS
            )
        return list(delegations.values())

    async def _ready(self, busy: list[Delegation], parallel: int) -> list[Delegation]:
        """Return the delegations whose job has ended, and those that may be submitted now."""
        running = {
            delegation.job: delegation
            for delegation in busy
            if delegation.state == "running" and delegation.job is not None
        }
        self._listener.expect(running)
        ended = []
        for row in await self._database.rows("plans.not_running", jobs=list(running)) if running else ():
            if row["state"] == "finished":
                ended.append(running[row["id"]])
                self._requeues.pop(row["id"], None)
            else:
                await self._requeue(row["id"], row["priority"])
        queued = [delegation for delegation in busy if delegation.state == "queued"]
        return ended + queued[: max(0, parallel - len(running))]

    async def _requeue(self, job: int, priority: int) -> None:
        """Enqueue a job again that has waited for long: after a crash it may not be in any queue."""
        now = time.monotonic()
        due, interval = self._requeues.setdefault(job, (now + _REQUEUE_SECONDS, _REQUEUE_SECONDS))
        if now < due:
            return
        queue = self._context.queue
        if queue is None and self._context.spare is not None:
            queue = await self._context.spare()
        if queue is not None:
            async with self._database.transaction() as connection:
                await jobs.enqueue(connection, job, queue, priority)
        self._requeues[job] = now + 2 * interval, 2 * interval

    async def _advance(self, spec: DelegationSpec, delegation: Delegation, inputs: InputsCallback, answer: str) -> None:
        """Do the next step of a delegation and store it."""
        job = await jobs.get(self._database, delegation.job) if delegation.job is not None else None
        submissions = len(await self._database.rows("transcript.results", job=delegation.job)) if job else 0
        step = next_step(spec, delegation, job, submissions)
        if step.name == "wait":
            return
        if job is not None and step.name != "submit":
            delegation.result, delegation.verdict = job.result or delegation.result, job.verdict
            delegation.error = (
                None if step.name in ("accept", "correct") else _failure_text(job, failure_in(job.result))
            )
        if step.name == "submit":
            try:
                delegation.job = await self._submit(
                    spec, delegation, task_text(spec, delegation, await inputs(), answer)
                )
                delegation.state = "running"
            except UsageError as error:  # a delegation that cannot be dispatched must not stop the others
                delegation.error, step = str(error), _refused_step(spec, delegation, str(error))
                await self._fail(spec, delegation, None, step)
        elif step.name == "correct":
            await correct(self._database, job.id if job else 0, self._context.queue)
            delegation.corrections = 1
        elif step.name == "accept":
            delegation.state = "accepted"
            await self._resolve_warning(spec, delegation)
        else:
            await self._fail(spec, delegation, job, step)
        await self._lease.save(delegation, step.name, step.reason)

    async def _fail(self, spec: DelegationSpec, delegation: Delegation, job: Job | None, step: Step) -> None:
        """Do a step of the failure policy."""
        warning = failure_warning(delegation.agent)
        if warning not in delegation.warnings:
            delegation.warnings.append(warning)
        await self._recorder.failed(self._spec.phases[delegation.phase].name, delegation, step.name, step.reason)
        if step.name == "retry":
            delegation.retries, delegation.job, delegation.state = delegation.retries + 1, None, "queued"
            delegation.scope = reduce_scope(spec.scope)[1]
        elif step.name == "fall-back":
            delegation.fallback = await asyncio.to_thread(fallback_read, self._context.workspace, spec.scope)
        elif step.name == "gap":
            is_rejected = job is not None and job.outcome == "completed" and job.verdict != "accept"
            delegation.state = "rejected" if is_rejected else "failed"
        else:
            delegation.state = "escalated"
            await plans.escalate(
                self._database, self._plan, delegation.phase, delegation.id, f"{delegation.name}: {step.reason}"
            )

    async def _resolve_warning(self, spec: DelegationSpec, delegation: Delegation) -> None:
        """Mark the warning of an earlier failure as resolved."""
        warning = failure_warning(delegation.agent)
        if warning in delegation.warnings:
            delegation.warnings[delegation.warnings.index(warning)] = resolved_warning(delegation.agent)
            await self._recorder.resolved(self._spec.phases[delegation.phase].name, delegation)

    async def _submit(self, spec: DelegationSpec, delegation: Delegation, prompt: str) -> int:
        """Submit the job of a delegation and return its number."""
        key = f"{delegation.phase}-{delegation.name}-{delegation.retries}"
        if key in self._ended:  # an earlier driver submitted it, and it ended before that was stored
            await self._keep_budget_at(self._ended[key])
            return self._ended[key]
        context = self._context
        request = JobRequest(
            prompt=prompt,
            subagent_def=spec.agent if spec.runner in (None, "model") else None,
            system=spec.system,
            allowed_tools=list(spec.allowed_tools) if spec.allowed_tools is not None else None,
            model=spec.model,
            max_turns=spec.max_turns,
            kind=spec.kind,
            profile=spec.profile or (self._spec.profile if spec.contract is None else None),
            contract=spec.contract,
            runner=spec.runner,
            command=spec.command,
            isolation=spec.isolation,
            limits=Limits(tokens=spec.max_tokens, cost=spec.max_cost, seconds=spec.timeout),
            input_vars=spec.input_vars,
            scope=list(reduce_scope(spec.scope)[0] if delegation.scope else spec.scope),
        )
        queueing = self._with_budget(Queueing(first_queue=context.queue, key=key, plan=self._plan, agent=spec.agent))
        submitted = await submit(
            self._database, request, context.settings, context.workspace, queueing=queueing, resolving=context.resolving
        )
        await self._keep_budget_at(submitted.id)
        return submitted.id

    async def _keep_budget_at(self, job: int) -> None:
        """Make a job the one that keeps the plan's budget, if the plan has a budget and no such job yet."""
        has_budget = self._spec.max_tokens is not None or self._spec.max_cost is not None
        if self._budget_job is None and has_budget:
            self._budget_job = job
            await self._database.rows("plans.set_top", plan=self._plan, job=job)

    def _with_budget(self, queueing: Queueing) -> Queueing:
        """Add the plan's budget: the first job keeps it, the others share it."""
        if self._budget_job is not None:
            return queueing._replace(tree=self._budget_job)
        return queueing._replace(tree_max_tokens=self._spec.max_tokens, tree_max_cost=self._spec.max_cost)


def next_step(spec: DelegationSpec, delegation: Delegation, job: Job | None, submissions: int) -> Step:
    """Return the next step of a delegation. It depends on stored values only, so a repeated call gives the same."""
    if delegation.job is None or job is None:
        return Step("submit", "it is dispatched")
    if job.state != "finished":
        return Step("wait", f"job {job.id} is {job.state}")
    failure = failure_in(job.result) if job.outcome == "completed" else None
    if job.outcome == "completed" and job.verdict == "accept" and failure is None:
        return Step("accept", f"job {job.id} was accepted")
    if job.outcome == "completed" and job.verdict == "revise" and can_correct(submissions):
        return Step("correct", f"job {job.id} breaks the contract; it may correct its result once")
    recoverable = failure is None or failure.is_recoverable
    return _failed_step(spec, delegation, _failure_text(job, failure), is_recoverable=recoverable)


def _refused_step(spec: DelegationSpec, delegation: Delegation, error_text: str) -> Step:
    """Return the step for a delegation that could not be dispatched."""
    return _failed_step(spec, delegation, f"it could not be dispatched: {error_text}")


def _failed_step(spec: DelegationSpec, delegation: Delegation, failure: str, *, is_recoverable: bool = True) -> Step:
    step = step_after_failure(
        is_recoverable=is_recoverable,
        critical=bool(spec.critical),
        loads_context=spec.loads_context,
        retries=delegation.retries,
        has_fallback=delegation.fallback is not None,
    )
    return Step(
        cast("StepName", step), explain_step(step, failure, delegation.retries, loads_context=spec.loads_context)
    )


def _failure_text(job: Job, failure: ReportedFailure | None) -> str:
    """Return why a finished job is a failure. `failure` is what its report states."""
    if job.outcome == "completed" and job.verdict == "accept" and failure is not None:
        return failure.text
    if job.outcome == "completed":
        return f"its result was not accepted ({job.verdict})"
    return f"it ended with {job.outcome}" + (f": {job.error}" if job.error else "")


def task_text(spec: DelegationSpec, delegation: Delegation, inputs: Iterable[str], answer: str) -> str:
    """Return the prompt of a delegation.

    `inputs` are paragraphs on the results of earlier phases, `answer` is what a person added.
    """
    parts = [spec.task.strip()]
    if spec.scope and not delegation.scope:
        parts.append(f"Scope: {', '.join(spec.scope)}")
    if delegation.scope:
        parts.append(f"An earlier attempt failed ({delegation.error}). This time: {delegation.scope}.")
    if answer:
        parts.append(f"A person adds: {answer}")
    return "\n\n".join([*parts, *inputs])


def fallback_read(root: Path, scope: Iterable[str]) -> dict[str, Any]:
    """Return the first lines of the first files of a scope, with the number of lines read."""
    tree = WorkTree(root)
    files: list[dict[str, Any]] = []
    for path in _files_in_scope(tree, scope):
        source = tree.read(path)
        if isinstance(source, SourceFile):
            lines = source.lines[:FALLBACK_LINES]
            files.append({"path": source.path, "lines": len(lines), "of": len(source.lines), "text": "\n".join(lines)})
        if len(files) == FALLBACK_FILES:
            break
    return {"files": files}


def _files_in_scope(tree: WorkTree, scope: Iterable[str]) -> Iterator[str]:
    """Yield the files that a scope names, and the files in the folders that it names."""
    listed: list[str] | None = None
    for path in scope:
        if tree.exists(path):
            yield path
            continue
        folder = tree.normal(path)
        if folder is None:
            continue
        listed = tree.paths if listed is None else listed
        yield from (path for path in listed if not folder or path.startswith(f"{folder}/"))
