"""Delegate from Python code: one subagent, several, or a plan. The work survives a crash."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remit.dispatch.models import need_key
from remit.dispatch.settings import Settings, load_settings
from remit.dispatch.submit import Queueing, Resolving
from remit.dispatch.submit import submit as submit_job
from remit.errors import UsageError
from remit.merging.merge import with_coverage
from remit.merging.model import Merge
from remit.orchestrate.answers import owner_of
from remit.orchestrate.coverage import review_coverage
from remit.orchestrate.driver import Driver
from remit.orchestrate.phase import whole_plan
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan, delegation_names
from remit.orchestrate.plan_file import check_plan
from remit.orchestrate.remote import RemoteServer
from remit.orchestrate.review import reviewed_scope
from remit.orchestrate.steps import ChangeCallback, PlanContext, SpareQueue
from remit.registry.api import resolve
from remit.registry.model import digest_of
from remit.store import plans
from remit.store.database import Database, open_database
from remit.store.plans import Delegation, Escalation, PhaseRow, PlanRow


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
    server: RemoteServer | None = None,
    queueing: Queueing = Queueing(),  # noqa: B008 (it never changes)
    resolving: Resolving = Resolving(),  # noqa: B008 (it never changes)
    **fields: Any,
) -> int:
    """Put a job into the queue and return its number, as `remit submit` does. A worker runs it.

    With `server`, the job is submitted to that server, where `repo` is relative to the server's folder.

    `agent` is a definition, None for a job without one; a definition that is unknown here is looked up by the worker.
    `fields` are those of `JobRequest`, such as `system`, `allowed_tools`, `model` and `contract`.
    """
    if server is not None:
        how = {name: value for name, value in queueing._asdict().items() if value != Queueing._field_defaults[name]}
        submitted_there = await asyncio.to_thread(server.submit, agent, task, repo=str(repo), **how, **fields)
        return int(submitted_there["id"])
    root = Path(repo)
    settings = load_settings(start=root)
    request = {**fields, "prompt": task, "subagent_def": agent}
    async with open_database(settings.database, settings.data) as database:
        submitted = await submit_job(database, request, settings, root, queueing=queueing, resolving=resolving)
    return submitted.id


async def delegate(agent: str, task: str, *, repo: str | Path = ".", **options: Any) -> DelegationResult:
    """Delegate a task to one subagent. The result is checked, and corrected once if it breaks the contract.

    `options` are the fields of `DelegationSpec`, such as `system`, `model`, `critical` and `scope`.
    """
    return (await fan_out([DelegationSpec(agent=agent, task=task, **options)], repo=repo))[0]


async def fan_out(
    delegations: Sequence[DelegationSpec | dict[str, Any]], *, repo: str | Path = "."
) -> list[DelegationResult]:
    """Delegate tasks to several subagents in parallel. A failure of one does not stop the others."""
    specs = [one if isinstance(one, DelegationSpec) else msgspec.convert(one, DelegationSpec) for one in delegations]
    plan = Plan(name="fan out", phases=(PhaseSpec(name="work", delegations=tuple(specs)),))
    result = await run_plan(plan, repo=repo, is_new=True)
    return [
        DelegationResult(
            agent=one.agent,
            state=one.state,
            verdict=one.verdict,
            result=one.result or "",
            warnings=tuple(one.warnings),
            job=one.job,
            error=one.error,
        )
        for one in result.delegations
    ]


async def run_plan(plan: Plan, *, repo: str | Path = ".", is_new: bool = False) -> PlanResult:
    """Run a plan, or resume the newest unfinished plan with the same text. `is_new` always starts a new one."""
    from remit.orchestrate.local_worker import ensure_worker  # late: it needs the libraries of models

    root = Path(repo)
    settings = load_settings(start=root)
    async with (
        open_database(settings.database, settings.data) as database,
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
        (phase.name, list(zip(delegation_names(phase), (one.agent for one in phase.delegations), strict=True)))
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
    if any(getattr(one, name) is not None for phase in plan.phases for one in phase.delegations for name in new):
        return None
    phases = []
    for phase in plan.phases:
        delegations = [
            {name: getattr(one, name) for name in one.__struct_fields__ if name not in new} for one in phase.delegations
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
            for one in phase.delegations:
                _check_key(one, resolving)


def _check_key(one: DelegationSpec, resolving: Resolving) -> None:
    if one.runner not in (None, "model"):
        return
    request = {"prompt": one.task, "subagent_def": one.agent, "model": one.model}
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
    if not merging.inputs:
        return None
    merged = await asyncio.to_thread(merging.merged)
    scope = reviewed_scope(msgspec.convert(row.document, Plan))
    if scope is None:
        return merged
    delegations = await plans.delegations_of(database, row.id, whole=False)
    return with_coverage(merged, await review_coverage(database, delegations, Path(row.workspace), scope))
