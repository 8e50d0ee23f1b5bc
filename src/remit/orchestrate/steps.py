"""The steps of a phase's delegations: each decided from what is written down, done once, and written down again.

Doing a step again does nothing new, because jobs are submitted under a key of the delegation's own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from remit.dispatch.correction import correct
from remit.dispatch.settings import Settings
from remit.dispatch.submit import Queueing, Resolving, submit
from remit.errors import UsageError
from remit.orchestrate import failure_policy
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan, delegation_names, with_phase_defaults
from remit.orchestrate.progress import ProgressRecorder
from remit.registry.model import JobRequest, Limits
from remit.store import jobs, plans
from remit.store.database import Database
from remit.store.events import JobEndListener
from remit.store.jobs import Job
from remit.store.plan_lease import PlanLease
from remit.store.plans import SETTLED, Delegation
from remit.workspace.files import SourceFile, WorkTree

#: How often it is looked what has become of jobs, should the news of an end have been lost.
_LOOK_SECONDS = 0.25
#: After so long a job that waits is given another ticket.
_WAKE_SECONDS = 0.5
Notice = Callable[[], Awaitable[None]]
#: The queue of a worker that has room for what waits; asked for when something does.
Spare = Callable[[], Awaitable[str]]
MAX_FILES = 3
MAX_LINES = 200


class PlanContext(NamedTuple):
    """Where a plan's jobs are done, and by whom."""

    database: Database
    settings: Settings
    workspace: Path
    resolving: Resolving
    #: The queue of a worker of our own, which gets the first tickets.
    queue: str | None = None
    #: Who does a job that waits for long, where no queue is our own.
    spare: Spare | None = None
    #: A job whose tree's budget all of them share.
    tree: int | None = None
    on_change: Notice | None = None


class DelegationStepper:
    """Takes the delegations of one plan from step to step."""

    def __init__(
        self,
        place: PlanContext,
        hold: PlanLease,
        plan: int,
        spec: Plan,
        recorder: ProgressRecorder,
        ear: JobEndListener,
    ) -> None:
        self._place = place
        self._hold = hold
        self._database = place.database
        self._plan = plan
        self._spec = spec
        self._recorder = recorder
        self._ear = ear
        #: When a waiting job is to be woken next, and after how long again.
        self._wakes: dict[int, tuple[float, float]] = {}
        self._ended: dict[str, int] = {}
        self._top = place.tree

    async def open(self) -> None:
        """Find out what an earlier driver did and could not write down any more."""
        self._ended = await plans.ended_jobs(self._database, self._plan, f"plan-{self._plan}-")
        row = await self._database.row("plans.top", plan=self._plan)
        self._top = self._top or (row["top"] if row else None)

    async def settle(
        self, phase: int, spec: PhaseSpec, brought: Callable[[], Awaitable[Iterable[str]]], words: Mapping[int, str]
    ) -> list[Delegation]:
        """Work until every delegation of a phase is settled or waits for a person. They come without results."""
        found = await plans.delegations_of(self._database, self._plan, [phase], whole=False)
        mine = {one.id: one for one in found}
        specs = dict(zip(delegation_names(spec), with_phase_defaults(spec), strict=True))
        while busy := [one for one in mine.values() if one.state not in (*SETTLED, "escalated")]:
            ready = await self._ready(busy, spec.parallel)
            for one in ready:
                whole = (await plans.whole_delegations(self._database, [one.id]))[0]
                await self._advance(specs[one.name], whole, brought, words.get(one.id, ""))
                whole.result = whole.fallback = None  # of all of a phase's, memory would not stay flat
                mine[one.id] = whole
            if ready and self._place.on_change is not None:
                await self._place.on_change()
            elif not ready:
                await self._ear.news(_LOOK_SECONDS)
        return list(mine.values())

    async def _ready(self, busy: list[Delegation], parallel: int) -> list[Delegation]:
        """Those whose job has ended, and those that may be submitted now."""
        running = {one.job: one for one in busy if one.state == "running" and one.job is not None}
        self._ear.expect(running)
        ended = []
        for row in await self._database.rows("plans.not_running", jobs=list(running)) if running else ():
            if row["state"] == "finished":
                ended.append(running[row["id"]])
                self._wakes.pop(row["id"], None)
            else:
                await self._wake(row["id"], row["priority"])
        waiting = [one for one in busy if one.state == "queued"]
        return ended + waiting[: max(0, parallel - len(running))]

    async def _advance(
        self, spec: DelegationSpec, one: Delegation, brought: Callable[[], Awaitable[Iterable[str]]], words: str
    ) -> None:
        """Do the next step of a delegation."""
        job = await jobs.get(self._database, one.job) if one.job is not None else None
        submissions = len(await self._database.rows("transcript.results", job=one.job)) if job else 0
        step = failure_policy.next_step(spec, one, job, submissions)
        if step.name == "wait":
            return
        if job is not None and step.name != "submit":
            one.result, one.verdict = job.result or one.result, job.verdict
            one.error = None if step.name in ("accept", "correct") else failure_policy.failure_text(job)
        if step.name == "submit":
            try:
                one.job, one.state = (
                    await self._submit(spec, one, task_text(spec, one, await brought(), words)),
                    "running",
                )
            except UsageError as error:  # one that cannot be dispatched must not stop the others
                one.error, step = str(error), failure_policy.refused_step(spec, one, str(error))
                await self._fail(spec, one, None, step)
        elif step.name == "correct":
            await correct(self._database, job.id if job else 0, self._place.queue)
            one.corrections = 1
        elif step.name == "accept":
            one.state = "accepted"
        else:
            await self._fail(spec, one, job, step)
        await self._hold.save(one, step.name, step.reason)

    async def _wake(self, job: int, priority: int) -> None:
        """A job that waits for long gets a ticket where there is room: after a crash it may have none."""
        now = time.monotonic()
        due, pause = self._wakes.setdefault(job, (now + _WAKE_SECONDS, _WAKE_SECONDS))
        if now < due:
            return
        queue = self._place.queue
        if queue is None and self._place.spare is not None:
            queue = await self._place.spare()
        if queue is not None:
            async with self._database.transaction() as connection:
                await jobs.enqueue(connection, job, queue, priority)
        self._wakes[job] = now + 2 * pause, 2 * pause

    async def _fail(self, spec: DelegationSpec, one: Delegation, job: Job | None, step: failure_policy.Step) -> None:
        """One step down the ladder."""
        words = failure_policy.failure_warning(one.agent)
        if words not in one.warnings:
            one.warnings.append(words)
            await self._recorder.warn(words)
        if step.name == "retry":
            one.retries, one.job, one.state = one.retries + 1, None, "queued"
            one.scope = failure_policy.reduce_scope(spec)[1]
        elif step.name == "fall-back":
            one.fallback = await asyncio.to_thread(fallback_read, self._place.workspace, spec.scope)
        elif step.name == "gap":
            one.state = "rejected" if job is not None and job.outcome == "completed" else "failed"
        else:
            one.state = "escalated"
            await plans.escalate(self._database, self._plan, one.phase, one.id, f"{one.name}: {step.reason}")

    async def _submit(self, spec: DelegationSpec, one: Delegation, prompt: str) -> int:
        key = f"plan-{self._plan}-{one.phase}-{one.name}-{one.retries}"
        if key in self._ended:  # submitted, and over before it was written down
            await self._keep_budget_at(self._ended[key])
            return self._ended[key]
        place = self._place
        request = JobRequest(
            prompt=prompt,
            subagent_def=spec.agent if spec.runner in (None, "model") else None,
            allowed_tools=list(spec.allowed_tools) if spec.allowed_tools is not None else None,
            model=spec.model,
            max_turns=spec.max_turns,
            kind=spec.kind,
            profile=self._spec.profile,
            runner=spec.runner,
            command=spec.command,
            isolation=spec.isolation,
            limits=Limits(tokens=spec.max_tokens, cost=spec.max_cost, seconds=spec.timeout),
            input_vars=spec.input_vars,
            scope=list(failure_policy.reduce_scope(spec)[0] if one.scope else spec.scope),
        )
        queueing = self._budgeted(Queueing(first_queue=place.queue, key=key, agent=spec.agent))
        made = await submit(
            self._database, request, place.settings, place.workspace, queueing=queueing, resolving=place.resolving
        )
        await self._keep_budget_at(made.id)
        return made.id

    async def _keep_budget_at(self, job: int) -> None:
        """The plan's first job is where its budget is kept, if it has one."""
        has_budget = self._spec.max_tokens is not None or self._spec.max_cost is not None
        if self._top is None and has_budget:
            self._top = job
            await self._database.rows("plans.set_top", plan=self._plan, job=job)

    def _budgeted(self, queueing: Queueing) -> Queueing:
        """The plan's budget is kept at its first job, and shared by the others."""
        if self._top is not None:
            return queueing._replace(tree=self._top)
        return queueing._replace(tree_max_tokens=self._spec.max_tokens, tree_max_cost=self._spec.max_cost)


def fallback_read(root: Path, scope: Iterable[str]) -> dict[str, Any]:
    """The first lines of the first files of a scope, with what was read written down."""
    tree = WorkTree(root)
    files: list[dict[str, Any]] = []
    for path in _paths(tree, scope):
        found = tree.read(path)
        if isinstance(found, SourceFile):
            shown = found.lines[:MAX_LINES]
            files.append({"path": found.path, "lines": len(shown), "of": len(found.lines), "text": "\n".join(shown)})
        if len(files) == MAX_FILES:
            break
    return {"files": files}


def _paths(tree: WorkTree, scope: Iterable[str]) -> Iterator[str]:
    """The files that a scope names, and those in the folders it names."""
    listed: list[str] | None = None
    for one in scope:
        if tree.exists(one):
            yield one
            continue
        folder = tree.normal(one)
        if folder is None:
            continue
        listed = tree.paths if listed is None else listed
        yield from (path for path in listed if not folder or path.startswith(f"{folder}/"))


def task_text(spec: DelegationSpec, delegation: Delegation, brought: Iterable[str], words: str) -> str:
    """The whole prompt of a delegation. `brought` are paragraphs on the results it is given, `words` a person's."""
    parts = [spec.task.strip()]
    if spec.scope and not delegation.scope:
        parts.append(f"Scope: {', '.join(spec.scope)}")
    if delegation.scope:
        parts.append(f"An earlier attempt failed ({delegation.error}). This time: {delegation.scope}.")
    if words:
        parts.append(f"A person adds: {words}")
    return "\n\n".join([*parts, *brought])
