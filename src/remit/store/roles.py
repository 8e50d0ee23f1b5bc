"""The database roles of workers and submitters: what each of them may do with each table, and the SQL for that.

The role that owns the tables migrates them, prunes jobs and runs the server. Neither of the other two may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, get_args

import psycopg

from remit.errors import EnvironmentBroken, UsageError
from remit.store.database import SESSION, Database

RoleKind = Literal["worker", "submitter"]
KINDS: tuple[RoleKind, ...] = get_args(RoleKind)
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
#: The columns that a submitter fills in. The others are the work of a worker: state, owner, usage and result.
_REQUEST = (
    "agent, definition, brief, request, prompt, workspace, isolation, queue, priority, idempotency_key, due, parent, "
    "root, depth, max_tokens, max_cost, max_seconds, tree_max_tokens, tree_max_cost, tree_max_turns, tree_max_seconds"
)
_TICKET = "queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at"
_ALL = "SELECT, INSERT, UPDATE, DELETE"
_CHANGE = "SELECT, INSERT, UPDATE"
_ADD = "SELECT, INSERT"

#: Table -> the privileges of workers and of submitters; None: no access at all.
PRIVILEGES: dict[str, tuple[str | None, str | None]] = {
    "remit.briefs": (_ADD, "SELECT, INSERT (digest, brief)"),
    "remit.jobs": (_CHANGE, f"SELECT, INSERT ({_REQUEST})"),
    "remit.messages": (_CHANGE, "SELECT"),
    "remit.tool_calls": (_CHANGE, "SELECT"),
    "remit.receipts": (_ADD, "SELECT"),
    "remit.results": (_CHANGE, "SELECT"),
    "remit.events": (_ADD, "SELECT"),
    "remit.workers": (_ALL, "SELECT"),
    "remit.slots": (_ALL, None),
    "remit.circuits": (_CHANGE, None),
    "remit.plans": (_CHANGE, "SELECT"),
    "remit.phases": (_CHANGE, "SELECT"),
    "remit.delegations": (_CHANGE, "SELECT"),
    "remit.steps": (_ADD, "SELECT"),
    "remit.escalations": (_CHANGE, "SELECT"),
    "remit.ledger": (_CHANGE, None),
    "remit.ledger_days": (_CHANGE, None),
    "remit.review_items": (_CHANGE, None),
    "remit.opinions": (_ALL, None),
    "remit.decisions": (_CHANGE, None),
    "remit.outbox": (_ALL, None),
    "remit.tokens": (None, None),
    "remit.web_sessions": (None, None),
    "remit.audit": (None, None),
    "procrastinate_jobs": (_ALL, f"SELECT, INSERT ({_TICKET})"),
    "procrastinate_events": (_ADD, "INSERT (job_id, type, at)"),
    "procrastinate_workers": (_ALL, "SELECT"),
    "procrastinate_periodic_defers": (_ALL, None),
}
#: The numbers of the queue's rows.
_SEQUENCES: dict[RoleKind, tuple[str, ...]] = {
    "worker": ("procrastinate_jobs_id_seq", "procrastinate_events_id_seq", "procrastinate_periodic_defers_id_seq"),
    "submitter": ("procrastinate_jobs_id_seq", "procrastinate_events_id_seq"),
}


def check_names(names: Mapping[RoleKind, str]) -> None:
    """Raise UsageError for names that cannot be those of the roles."""
    for name in names.values():
        if not _NAME.fullmatch(name) or name.startswith("pg_") or name == "public":
            raise UsageError(f"{name[:80]!r} is not a name of a role: use lower-case letters, digits and _")
    if len(set(names.values())) < len(names):
        raise UsageError("workers and submitters need different roles")


def statements(names: Mapping[RoleKind, str], database: str) -> Iterator[str]:
    """Yield the SQL that creates the roles, or makes existing ones what they should be. It can be run again."""
    yield f"SET search_path = {SESSION['search_path']}"
    yield "REVOKE CREATE ON SCHEMA public FROM PUBLIC"
    for kind, name in names.items():
        yield f"DO $$ BEGIN CREATE ROLE {name} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        quoted = '"' + database.replace('"', '""') + '"'
        for setting, value in SESSION.items():
            shown = value if setting == "search_path" else f"'{value}'"
            yield f"ALTER ROLE {name} IN DATABASE {quoted} SET {setting} = {shown}"
        yield f"GRANT CONNECT ON DATABASE {quoted} TO {name}"
        yield f"REVOKE ALL ON ALL TABLES IN SCHEMA remit FROM {name}"
        yield f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA remit FROM {name}"
        yield f"REVOKE CREATE ON SCHEMA remit FROM {name}"
        yield f"GRANT USAGE ON SCHEMA remit TO {name}"
        for table, privileges in PRIVILEGES.items():
            if (granted := privileges[KINDS.index(kind)]) is not None:
                yield f"GRANT {granted} ON {table} TO {name}"
        yield f"GRANT USAGE ON SEQUENCE {', '.join(_SEQUENCES[kind])} TO {name}"


async def role_script(database: Database, names: Mapping[RoleKind, str]) -> list[str]:
    """Return the statements for this database. Raises UsageError for roles that may do more already."""
    check_names(names)
    (row,) = await database.rows("health.owner", roles=list(names.values()))
    if row["powerful"]:
        raise UsageError(
            f"the role {row['powerful'][0]} owns the tables or is a superuser, so it may do everything; choose another"
        )
    return list(statements(names, str(row["database"])))


async def apply_roles(database: Database, script: list[str]) -> None:
    """Run the statements in one transaction. Raises EnvironmentBroken if the account may not."""

    async def work() -> None:
        async with database.transaction() as connection:
            for statement in script:
                await connection.execute(statement.encode())

    try:
        await database.without_retry(work)
    except psycopg.errors.InsufficientPrivilege as error:
        raise EnvironmentBroken(
            f"this account cannot make the roles ({_first_line(error)}): let an administrator of the server run what "
            "`remit db roles` prints without --apply"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
