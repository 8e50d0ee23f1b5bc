"""Put jobs into the store, pin their briefs, and limit the depth and the number of children of job trees."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from psycopg.errors import ForeignKeyViolation
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.errors import EnvironmentBroken, UsageError
from remit.registry.model import Brief, JobRequest, digest_of
from remit.store.database import CONNECTION_ERRORS, Connection, Database, is_rolled_back, rows
from remit.store.jobs import AttemptFenced, Job, as_job, due_at
from remit.store.storable import to_storable

MAX_DEPTH = 5
MAX_CHILDREN = 50


#: The key of a stored request whose definition is looked up by the worker that first claims the job. Workers of
#: earlier versions ignore it and run the provisional brief.
_DEFERRED = "resolve"
#: The digests of briefs that this process has submitted to a database. They are not sent again.
_sent_briefs: WeakKeyDictionary[Database, set[str]] = WeakKeyDictionary()
_MAX_SENT_BRIEFS = 1_000


class DeferredResolution(msgspec.Struct, frozen=True, kw_only=True):
    """How the worker resolves a request whose definition its submitter did not know."""

    #: `strict` refuses an unknown definition; with `open`, the policy of the worker applies.
    policy: str
    #: The tools that the submitter allows; None: those of the worker.
    allow_tools: tuple[str, ...] | None = None


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A job to submit: the request, the resolved brief, and how to queue it. All of its text must be storable."""

    request: JobRequest
    brief: Brief
    workspace: str
    #: Set if the brief is provisional.
    deferred: DeferredResolution | None = None
    isolation: str | None = None
    queue: str = "default"
    #: The queue of its first ticket, if it is not `queue`: that of the worker inside one command.
    first_queue: str | None = None
    priority: int = 0
    key: str | None = None
    delay: float = 0
    parent: int | None = None
    #: The first job of a tree whose budget it shares without being a child.
    tree: int | None = None
    tree_max_tokens: int | None = None
    tree_max_cost: float | None = None
    tree_max_turns: int | None = None
    tree_max_seconds: float | None = None
    agent: str | None = None


async def submit(database: Database, wanted: Submission) -> tuple[int, bool]:
    """Put a job into the queue. Return its number, and whether it is new: a job with the same key may exist."""
    while True:
        if wanted.key is not None and (found := await database.rows("jobs.by_key", key=wanted.key)):
            return int(found[0]["id"]), False
        try:
            inserted = await database.with_retry(lambda: _insert(database, wanted))
        except ForeignKeyViolation:  # the brief had no other job and was pruned
            _sent_briefs.pop(database, None)
            inserted = await database.with_retry(lambda: _insert(database, wanted))
        if inserted:
            return int(inserted[0]["id"]), True
        # Another caller was faster with the same key: its job exists now, unless it has already failed.


async def _insert(database: Database, wanted: Submission) -> list[DictRow]:
    """Insert a job. Raises the connection's error if a retry is possible.

    It is possible if nothing was inserted for certain, or if the job has a key.
    """
    sent = _sent_briefs.setdefault(database, set())
    columns = _columns(wanted)
    brief = columns["brief"]
    if brief in sent:
        columns["brief_json"] = None
    try:
        if wanted.parent is None:
            inserted = await _insert_alone(database, columns)
        else:
            inserted = await _insert_child(database, wanted.parent, columns)
    except _OutcomeUnknown as unknown:
        error = unknown.error
        if wanted.key is not None:
            raise error from None
        raise EnvironmentBroken(
            f"the connection to the database was lost ({' '.join(str(error).split())}), so the job may or may not be "
            "in the queue: check with `remit jobs list`"
        ) from error
    if len(sent) >= _MAX_SENT_BRIEFS:
        sent.clear()
    sent.add(brief)
    return inserted


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
    found = await database.row("submissions.tree_cost", job=job)
    return float(found["cost"]) if found is not None and found["cost"] is not None else None


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
    return {
        **_brief_columns(request, wanted.brief, wanted.agent),
        "request": Jsonb(stored),
        "prompt": to_storable(request.prompt),
        "workspace": wanted.workspace,
        "isolation": wanted.isolation,
        "queue": wanted.queue,
        "ticket_queue": wanted.first_queue or wanted.queue,
        "at": due_at(wanted.delay),
        "priority": wanted.priority,
        "key": wanted.key,
        "parent": wanted.parent,
        "root": wanted.tree,
        "depth": 0,
        "tree_max_tokens": wanted.tree_max_tokens,
        "tree_max_cost": wanted.tree_max_cost,
        "tree_max_turns": wanted.tree_max_turns,
        "tree_max_seconds": wanted.tree_max_seconds,
    }


async def _lock_parent(connection: Connection, parent: int) -> DictRow:
    """Lock the parent and return its row. Raises UsageError if it cannot have another child."""
    found = await rows(connection, "jobs.parent", parent=parent)
    if not found:
        raise UsageError(f"the parent job {parent} does not exist")
    if found[0]["depth"] + 1 > MAX_DEPTH:
        raise UsageError(f"the parent job {parent} has depth {found[0]['depth']}; the maximum depth is {MAX_DEPTH}")
    if (await rows(connection, "submissions.parent_state", parent=parent))[0]["is_cancelled"]:
        raise UsageError(f"the parent job {parent} is cancelled and cannot have more children")
    children = (await rows(connection, "jobs.children", parent=parent))[0]["children"]
    if children >= MAX_CHILDREN:
        raise UsageError(f"the parent job {parent} has {children} children; the maximum is {MAX_CHILDREN}")
    return found[0]
