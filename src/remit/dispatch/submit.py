"""Submit a job: resolve its request, reject one that cannot run, and queue it; or continue a finished job."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from psycopg.errors import ForeignKeyViolation
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.configuration import load
from remit.contract.feedback import correction_text
from remit.dispatch.models import check_model, check_price
from remit.dispatch.runners import PRESETS, listed_programs
from remit.dispatch.worker_settings import Settings
from remit.dispatch.worktree import WORKTREE
from remit.errors import EnvironmentBroken, UsageError, did_you_mean
from remit.extras import need_of
from remit.registry.definition import Brief, JobRequest, Limits, as_request, digest_of
from remit.registry.fields import MAX_AMOUNT
from remit.registry.lookup import Registry
from remit.registry.resolution import resolve
from remit.store import jobs
from remit.store.database import CONNECTION_ERRORS, Connection, Database, is_rolled_back, rows
from remit.store.jobs import AttemptFenced, Job, Message, as_job, due_at
from remit.store.storable import is_storable, to_storable
from remit.store.transcript import Transcript
from remit.workspace import git
from remit.workspace.safe_git import root_above

#: Bytes of a queue's name: it is part of a notification channel, whose name PostgreSQL limits.
MAX_QUEUE = 40
#: Bytes of a key: it is in an index.
MAX_KEY = 1_000
MAX_PRIORITY = 1_000_000
#: Seconds of a delay: one year.
MAX_DELAY = 366 * 86_400
_MAX_JOB = 2**63 - 1
#: Limits of a tree of jobs.
MAX_DEPTH = 5
MAX_CHILDREN = 50
#: Runners that call a model.
_MODEL_RUNNERS = ("model", "orchestrator")


class Queueing(NamedTuple):
    """How to queue a job."""

    queue: str = "default"
    #: The queue of its first ticket, if it is not `queue`: that of the worker inside one command.
    first_queue: str | None = None
    priority: int = 0
    key: str | None = None
    #: The plan that submits it; its keys are unique in the plan.
    plan: int | None = None
    delay: float = 0
    parent: int | None = None
    #: The first job of a tree whose budget it shares without being a child.
    tree: int | None = None
    tree_max_tokens: int | None = None
    tree_max_cost: float | None = None
    tree_max_turns: int | None = None
    tree_max_seconds: float | None = None
    #: The agent name of a job without a definition.
    agent: str | None = None


class Submitted(NamedTuple):
    """A submitted job."""

    id: int
    is_new: bool
    brief: Brief


class Resolving(NamedTuple):
    """How to resolve a request; see `remit.resolve`."""

    plugin_path: str | Iterable[str] | None = None
    registry: Registry | None = None
    policy: str | None = None
    allow_tools: Iterable[str] | None = None


async def submit(
    database: Database,
    request: JobRequest | Mapping[str, Any],
    settings: Settings,
    workspace: Path,
    *,
    queueing: Queueing = Queueing(),  # noqa: B008 (it never changes)
    resolving: Resolving = Resolving(),  # noqa: B008 (it never changes)
) -> Submitted:
    """Resolve a request and put the job into the queue. Raises UsageError if it cannot run.

    A definition that is unknown here is looked up by the worker that first claims the job (`resolve_claimed`).
    """
    check_queueing(queueing)
    request = _storable(request)
    job, _ = as_request(request)
    check_limits(job, queueing)
    brief = to_storable(resolve(request, **resolving._asdict(), is_submission=True))
    deferred = None
    if job.subagent_def is not None and brief.definition is None:
        deferred = DeferredResolution(
            policy=resolving.policy or load()["policy"],
            allow_tools=tuple(resolving.allow_tools) if resolving.allow_tools is not None else None,
        )
        _check_prompt(job)
        if job.model is not None and brief.runner in _MODEL_RUNNERS:
            check_model(brief.model)
    else:
        check_brief(brief, settings, job)
    has_model = brief.runner in _MODEL_RUNNERS and (deferred is None or job.model is not None)
    if has_model and await _is_cost_limited(database, brief, queueing):
        check_price(brief.model)
    wanted = Submission(
        request=job,
        brief=brief,
        deferred=deferred,
        workspace=await asyncio.to_thread(_checked_folder, workspace, brief.isolation),
        project=settings.project_of(workspace),
        queueing=queueing,
    )
    number, is_new = await insert(database, wanted)
    return Submitted(number, is_new, brief)


def _storable(request: JobRequest | Mapping[str, Any]) -> JobRequest | Mapping[str, Any]:
    """Return a request without the characters that cannot be stored."""
    try:
        return to_storable(request if isinstance(request, JobRequest) else dict(request))
    except RecursionError:
        raise UsageError("the fields of the job are nested too deeply") from None


def check_queueing(queueing: Queueing) -> None:
    """Raise UsageError for values that the queue cannot store."""
    if not queueing.queue.isprintable() or not 0 < len(queueing.queue.encode()) <= MAX_QUEUE:
        raise UsageError(f"the name of a queue must have 1 to {MAX_QUEUE} characters, not {queueing.queue[:60]!r}")
    key = queueing.key
    if key is not None and not (is_storable(key) and 0 < len(key.encode()) <= MAX_KEY):
        raise UsageError(f"a key must be text of 1 to {MAX_KEY} bytes in UTF-8, not {key[:60]!r}")
    if not -MAX_PRIORITY <= queueing.priority <= MAX_PRIORITY:
        raise UsageError(f"a priority must be from -{MAX_PRIORITY} to {MAX_PRIORITY}, not {queueing.priority}")
    if not 0 <= queueing.delay <= MAX_DELAY:
        raise UsageError(f"a delay must be from 0 to {MAX_DELAY} seconds, not {queueing.delay}")
    if queueing.parent is not None and not 0 < queueing.parent <= _MAX_JOB:
        raise UsageError(f"the parent job {queueing.parent} does not exist")


def check_limits(job: JobRequest, queueing: Queueing) -> None:
    """Raise UsageError for limits that are out of range or have no effect."""
    tree = {name: getattr(queueing, f"tree_max_{name}") for name in ("tokens", "cost", "turns", "seconds")}
    if queueing.parent is not None and any(limit is not None for limit in tree.values()):
        raise UsageError("only the first job of a tree can have tree limits; a job with a parent cannot")
    job_limits = {f"max_{name}": limit for name, limit in msgspec.structs.asdict(job.limits or Limits()).items()}
    for name, limit in (*job_limits.items(), *((f"tree_max_{name}", limit) for name, limit in tree.items())):
        if limit is not None and not 0 < limit < MAX_AMOUNT:
            raise UsageError(f"{name} must be greater than 0 and less than {MAX_AMOUNT:,.0f}, not {limit}")


async def _is_cost_limited(database: Database, brief: Brief, queueing: Queueing) -> bool:
    """Return whether a job has a cost limit, or the tree that it would belong to has one."""
    if brief.limits.cost is not None or queueing.tree_max_cost is not None:
        return True
    relative = queueing.parent if queueing.parent is not None else queueing.tree
    return relative is not None and await tree_cost(database, relative) is not None


def _checked_folder(workspace: Path, isolation: str | None) -> str:
    """Return the resolved folder of a job. Raises UsageError if the job cannot work there."""
    if not is_storable(str(workspace)):
        raise UsageError(f"the name of the folder {str(workspace)!r} is not valid UTF-8")
    if not workspace.is_dir():
        raise UsageError(f"the folder {workspace} does not exist")
    if isolation == WORKTREE:
        root = root_above(workspace)
        if root is None:
            raise UsageError(f"{workspace} is not a git checkout, which isolation by worktree needs")
        if git.head(root) is None:
            raise UsageError(f"{root} has no commit, which isolation by worktree needs")
    resolved = str(workspace.resolve())
    if not is_storable(resolved):
        raise UsageError(f"the name of the folder {resolved!r} is not valid UTF-8")
    return resolved


async def resolve_claimed(database: Database, job: Job, settings: Settings) -> tuple[Job, Brief | None]:
    """Resolve a job whose definition its submitter did not know, in the registry of this worker, and pin the brief.

    Return the job, and its new brief, or None if the job had its brief. Raises UsageError if the job cannot run, and
    AttemptFenced if another attempt owns it.
    """
    deferred = deferred_resolution(job.request)
    if deferred is None or job.turns:  # a job that an older worker has begun keeps the brief that it began with
        return job, None
    provisional = await jobs.brief_of(database, job)
    system = provisional.system if provisional.system_from == "job" else None
    request = stored_request(job.request, system)
    policy = "strict" if deferred.policy == "strict" else None  # else the policy of this worker
    brief = to_storable(
        await asyncio.to_thread(resolve, request, policy=policy, allow_tools=deferred.allow_tools, print_warnings=False)
    )
    check_brief(brief, settings, request)
    is_limited = brief.limits.cost is not None or await tree_cost(database, job.id) is not None
    if brief.runner in _MODEL_RUNNERS and is_limited:
        check_price(brief.model)
    return await pin_brief(database, job, request, brief), brief


def _check_prompt(job: JobRequest) -> None:
    if not job.prompt.strip():
        raise UsageError("the prompt of the job is empty")


def check_brief(brief: Brief, settings: Settings, job: JobRequest) -> None:
    """Raise UsageError for a brief that could only fail later."""
    _check_prompt(job)
    if brief.runner in _MODEL_RUNNERS:
        check_model(brief.model)
        _check_servers(brief, settings)
        return
    commands = listed_programs(settings, chosen_by_person=job.command is not None)
    if brief.command is None:
        raise UsageError(f"the runner {brief.runner!r} needs a command: one of {', '.join(sorted(commands)) or 'none'}")
    if brief.command not in commands:
        remedy = _remedy(brief.command, commands)
        raise UsageError(f"there is no command {brief.command!r} under `commands` in the configuration{remedy}")


def _remedy(command: str, commands: Mapping[str, str]) -> str:
    if command in PRESETS:
        return f'; a definition may use this program if you list it: {command} = "preset"'
    return did_you_mean(command, commands) or f"; the commands are {', '.join(sorted(commands)) or 'none'}"


def _check_servers(brief: Brief, settings: Settings) -> None:
    for name in brief.mcp_servers:
        if name not in settings.mcp_servers:
            near = did_you_mean(name, settings.mcp_servers)
            raise UsageError(f"there is no MCP server {name!r} under `mcp_servers` in the configuration{near}")
    if brief.mcp_servers and find_spec("fastmcp") is None:
        raise UsageError(f"MCP servers need {need_of('mcp')}")


#: The key of a stored request whose definition is looked up by the worker that first claims the job. Workers of
#: earlier versions ignore it and run the provisional brief.
_DEFERRED = "resolve"


class DeferredResolution(msgspec.Struct, frozen=True, kw_only=True):
    """How the worker resolves a request whose definition its submitter did not know."""

    #: `strict` refuses an unknown definition; with `open`, the policy of the worker applies.
    policy: str
    #: The tools that the submitter allows; None: those of the worker.
    allow_tools: tuple[str, ...] | None = None


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A job to put into the queue. All of its text is storable."""

    request: JobRequest
    brief: Brief
    workspace: str
    project: str
    #: Set if the brief is provisional.
    deferred: DeferredResolution | None = None
    queueing: Queueing = Queueing()


async def insert(database: Database, wanted: Submission) -> tuple[int, bool]:
    """Put a job into the queue. Return its number, and whether it is new: a job with the same key may exist."""
    while True:
        key = wanted.queueing.key
        if key is not None and (
            known := await database.row("jobs.by_key", key=key, project=wanted.project, plan=wanted.queueing.plan)
        ):
            return int(known["id"]), False
        try:
            inserted = await database.with_retry(lambda: _insert(database, wanted))
        except ForeignKeyViolation:  # the brief had no other job and was pruned meanwhile
            continue
        if inserted:
            return int(inserted[0]["id"]), True
        # Another caller was faster with the same key: its job exists now, unless it has already failed.


async def _insert(database: Database, wanted: Submission) -> list[DictRow]:
    """Insert a job. Raises the connection's error if a retry is possible.

    It is possible if nothing was inserted for certain, or if the job has a key.
    """
    columns = _columns(wanted)
    parent, key = wanted.queueing.parent, wanted.queueing.key
    try:
        return await (_insert_alone(database, columns) if parent is None else _insert_child(database, parent, columns))
    except _OutcomeUnknown as unknown:
        error = unknown.error
        if key is not None:
            raise error from None
        raise EnvironmentBroken(
            f"the connection to the database was lost ({' '.join(str(error).split())}), so the job may or may not be "
            "in the queue: check with `remit jobs list`"
        ) from error


class _OutcomeUnknown(Exception):
    """The connection was lost when the job may have been inserted."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def _insert_alone(database: Database, columns: dict[str, Any]) -> list[DictRow]:
    """Insert a job without a parent: one statement, without BEGIN and COMMIT."""
    async with database.connection() as connection:
        try:
            return await rows(connection, "jobs.submit", **columns)
        except CONNECTION_ERRORS as error:
            if is_rolled_back(error):
                raise
            raise _OutcomeUnknown(error) from error


async def _insert_child(database: Database, number: int, columns: dict[str, Any]) -> list[DictRow]:
    """Insert a job while its parent is locked, so that children that are submitted at the same time are counted."""
    is_inserted = False
    try:
        async with database.transaction() as connection:
            parent = await _lock_parent(connection, number)
            place = {"root": parent["root"], "depth": parent["depth"] + 1}
            inserted = await rows(connection, "jobs.submit", **{**columns, **place})
            is_inserted = bool(inserted)
        return inserted
    except CONNECTION_ERRORS as error:
        if is_inserted:
            raise _OutcomeUnknown(error) from error
        raise


async def tree_cost(database: Database, job: int) -> float | None:
    """Return the cost limit of the tree that a job belongs to, or None."""
    limit = await database.row("jobs.tree_cost", job=job)
    return float(limit["cost"]) if limit is not None and limit["cost"] is not None else None


def deferred_resolution(request: dict[str, Any]) -> DeferredResolution | None:
    """Return how a stored request is to be resolved, or None if its job has its brief."""
    return msgspec.convert(request[_DEFERRED], DeferredResolution) if _DEFERRED in request else None


def stored_request(request: dict[str, Any], system: str | None) -> JobRequest:
    """Return the request of a job from its stored form, which does not contain the system prompt."""
    fields = {name: value for name, value in request.items() if name in JobRequest.__struct_fields__}
    return msgspec.convert({**fields, "system": system}, JobRequest)


async def pin_brief(database: Database, job: Job, request: JobRequest, brief: Brief) -> Job:
    """Store the brief that a worker resolved, and return the job. Raises AttemptFenced if another attempt owns it."""
    values = _brief_columns(request, brief, job.agent)
    pinned = await database.rows(
        "jobs.pin", job=job.id, attempt=job.attempt, isolation=brief.isolation, deferred=_DEFERRED, **values
    )
    if not pinned:
        raise AttemptFenced(job.id, job.attempt)
    return as_job(pinned[0])


def _brief_columns(request: JobRequest, brief: Brief, agent: str | None) -> dict[str, Any]:
    definition = brief.definition
    encoded = msgspec.json.encode(msgspec.structs.replace(brief, warnings=()))
    return {
        "agent": to_storable(definition.name if definition else request.subagent_def or agent or "generic"),
        "definition": Jsonb(definition, dumps=msgspec.json.encode) if definition else None,
        "brief": digest_of(encoded),
        "brief_json": Jsonb(encoded, dumps=bytes),
        "max_tokens": brief.limits.tokens,
        "max_cost": brief.limits.cost,
        "max_seconds": brief.limits.seconds,
    }


def _columns(wanted: Submission) -> dict[str, Any]:
    request = wanted.request
    # The system prompt is stored in the brief, once for all jobs that share it.
    stored = {name: value for name, value in msgspec.to_builtins(request).items() if name != "system"}
    if wanted.deferred is not None:
        stored[_DEFERRED] = msgspec.to_builtins(wanted.deferred)
    queueing = wanted.queueing
    return {
        **_brief_columns(request, wanted.brief, queueing.agent),
        "request": Jsonb(stored),
        "prompt": to_storable(request.prompt),
        "workspace": wanted.workspace,
        "isolation": wanted.brief.isolation,
        "project": wanted.project,
        "queue": queueing.queue,
        "first_queue": queueing.first_queue,
        "plan": queueing.plan,
        "at": due_at(queueing.delay),
        "priority": queueing.priority,
        "key": queueing.key,
        "parent": queueing.parent,
        "root": queueing.tree,
        "depth": 0,
        "tree_max_tokens": queueing.tree_max_tokens,
        "tree_max_cost": queueing.tree_max_cost,
        "tree_max_turns": queueing.tree_max_turns,
        "tree_max_seconds": queueing.tree_max_seconds,
    }


async def _lock_parent(connection: Connection, parent: int) -> DictRow:
    """Lock the parent and return its row. Raises UsageError if it cannot have another child."""
    parents = await rows(connection, "jobs.parent", parent=parent)
    if not parents:
        raise UsageError(f"the parent job {parent} does not exist")
    if parents[0]["depth"] + 1 > MAX_DEPTH:
        raise UsageError(f"the parent job {parent} has depth {parents[0]['depth']}; the maximum depth is {MAX_DEPTH}")
    if (await rows(connection, "jobs.parent_state", parent=parent))[0]["is_cancelled"]:
        raise UsageError(f"the parent job {parent} is cancelled and cannot have more children")
    children = (await rows(connection, "jobs.children", parent=parent))[0]["children"]
    if children >= MAX_CHILDREN:
        raise UsageError(f"the parent job {parent} has {children} children; the maximum is {MAX_CHILDREN}")
    return parents[0]


async def correct(database: Database, job: int, queue: str | None = None) -> bool:
    """Send the violations of a completed job's last result back to it. Return False if that was already done."""
    text = correction_text(await jobs.violations_of(database, job))
    return await jobs.reopen(database, await next_message(database, job, text), queue)


async def may_correct(database: Database, job: int) -> bool:
    """Return whether the result of a job may still be sent back to it: only a first submission is to be revised."""
    stored = await jobs.get(database, job)
    return stored.outcome == "completed" and stored.verdict == "revise"


async def retry(database: Database, job: int) -> str:
    """Continue a job that did not complete, or ask for the correction of a result that was `revise`.

    Return what it will do, as an addition to a sentence. Raises UsageError if there is nothing to continue.
    """
    stored = await jobs.get(database, job)
    if stored.outcome != "completed" or stored.verdict == "accept":
        await jobs.retry(database, job)
        return ""
    if not await may_correct(database, job):
        why = f"its result is final ({stored.verdict})" if stored.verdict else "it is completed"
        raise UsageError(f"job {job} cannot be retried: {why}")
    if not await correct(database, job):
        raise UsageError(f"job {job} was already asked for the correction")
    return " to correct its result"


async def next_message(database: Database, job: int, text: str) -> Message:
    """Return a text as the next message of a job's transcript."""
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    from remit.dispatch.conversation import stored_json

    messages = await Transcript(database, job, 0).messages()
    request = ModelRequest(parts=[UserPromptPart(text)])
    return Message(job, len(messages), stored_json(request, is_redacting=False))
