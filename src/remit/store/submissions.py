"""Jobs put into the store: what is asked for, whose child it is, and how far trees may grow."""

from __future__ import annotations

from typing import Any

import msgspec
from psycopg.errors import ForeignKeyViolation
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.errors import EnvironmentBroken, UsageError
from remit.registry.model import Brief, JobRequest
from remit.store.database import CONNECTION_ERRORS, Connection, Database, rows
from remit.store.jobs import due_at
from remit.store.storable import to_storable

MAX_DEPTH = 5
MAX_CHILDREN = 50


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A job that is to be submitted: the request, the brief it was resolved to, and how it is to be queued.

    Whoever submits it sees to it that all of its text can be stored.
    """

    request: JobRequest
    brief: Brief
    workspace: str
    isolation: str | None = None
    queue: str = "default"
    #: Where its first ticket goes, if not into its queue: to the worker of one command.
    first_queue: str | None = None
    priority: int = 0
    key: str | None = None
    delay: float = 0
    parent: int | None = None
    #: The first job of a tree that it belongs to without being anybody's child: it shares that job's budget.
    tree: int | None = None
    tree_max_tokens: int | None = None
    tree_max_cost: float | None = None
    tree_max_turns: int | None = None
    tree_max_seconds: float | None = None
    agent: str | None = None


async def submit(database: Database, wanted: Submission) -> tuple[int, bool]:
    """Put a job into the queue; its number, and whether it is new (else its key names one that is there)."""
    while True:
        if wanted.key is not None and (found := await database.rows("jobs.by_key", key=wanted.key)):
            return int(found[0]["id"]), False
        try:
            made = await database.patiently(lambda: _put(database, wanted))
        except ForeignKeyViolation:  # its brief was an old one without jobs, and pruned in this very moment
            made = await database.patiently(lambda: _put(database, wanted))
        if made:
            return int(made[0]["id"]), True
        # Another caller with the same key was faster: it is there now, unless it has failed already.


async def _put(database: Database, wanted: Submission) -> list[DictRow]:
    """Put in while its parent, if it has one, is held: children that come at the same time are counted.

    It may be done again where it is certain that nothing was put in, or where its key says that it was.
    """
    is_asked = False
    try:
        async with database.transaction() as connection:
            held = await _parent(connection, wanted.parent) if wanted.parent is not None else None
            made = await rows(connection, "jobs.submit", **_columns(wanted, held))
            is_asked = bool(made)
        return made
    except CONNECTION_ERRORS as error:
        if not is_asked or wanted.key is not None:
            raise
        raise EnvironmentBroken(
            f"the database went away ({' '.join(str(error).split())}), and the job may be in the queue or not: "
            "`remit jobs list` shows it"
        ) from error


async def tree_cost(database: Database, job: int) -> float | None:
    """The limit of money of the tree that a job belongs to, or None."""
    found = await database.row("submissions.tree_cost", job=job)
    return float(found["cost"]) if found is not None and found["cost"] is not None else None


def _columns(wanted: Submission, parent: DictRow | None) -> dict[str, Any]:
    request, brief = wanted.request, wanted.brief
    definition = brief.definition
    return {
        "agent": to_storable(definition.name if definition else request.subagent_def or wanted.agent or "generic"),
        "definition": Jsonb(msgspec.to_builtins(definition)) if definition else None,
        "brief": brief.digest,
        "brief_json": Jsonb(_bare(brief)),
        # The text of the system prompt is in the brief, once for all jobs that share it.
        "request": Jsonb({k: v for k, v in msgspec.to_builtins(request).items() if k != "system"}),
        "prompt": to_storable(request.prompt),
        "workspace": wanted.workspace,
        "isolation": wanted.isolation,
        "queue": wanted.queue,
        "ticket_queue": wanted.first_queue or wanted.queue,
        "at": due_at(wanted.delay),
        "priority": wanted.priority,
        "key": wanted.key,
        "parent": wanted.parent,
        "root": parent["root"] if parent else wanted.tree,
        "depth": parent["depth"] + 1 if parent else 0,
        "max_tokens": brief.limits.tokens,
        "max_cost": brief.limits.cost,
        "max_seconds": brief.limits.seconds,
        "tree_max_tokens": wanted.tree_max_tokens,
        "tree_max_cost": wanted.tree_max_cost,
        "tree_max_turns": wanted.tree_max_turns,
        "tree_max_seconds": wanted.tree_max_seconds,
    }


def _bare(brief: Brief) -> dict[str, Any]:
    return dict(msgspec.to_builtins(msgspec.structs.replace(brief, warnings=())))


async def _parent(connection: Connection, parent: int) -> DictRow:
    found = await rows(connection, "jobs.parent", parent=parent)
    if not found:
        raise UsageError(f"there is no job {parent} to be the parent")
    if found[0]["depth"] + 1 > MAX_DEPTH:
        raise UsageError(f"job {parent} is {found[0]['depth']} deep already: at most {MAX_DEPTH}")
    if (await rows(connection, "submissions.standing", parent=parent))[0]["is_cancelled"]:
        raise UsageError(f"job {parent} is cancelled: it can have no more children")
    children = (await rows(connection, "jobs.children", parent=parent))[0]["children"]
    if children >= MAX_CHILDREN:
        raise UsageError(f"job {parent} has {children} children already: at most {MAX_CHILDREN}")
    return found[0]
