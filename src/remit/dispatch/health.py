"""Check what jobs need, for `remit doctor`. Nothing is created."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from remit.configuration import Configuration
from remit.dispatch.models import KEYS, provider_of
from remit.dispatch.tools.sandbox import describe_sandbox, root_problem
from remit.dispatch.worker_settings import Settings
from remit.errors import RemitError
from remit.extras import need_of
from remit.registry.model_names import TABLE, full_name

if TYPE_CHECKING:
    from remit.store.database import Database

Level = Literal["good", "odd", "bad"]
#: Folders that jobs wait for and that are named.
_MAX_FOLDERS = 5
_MAX_SKEW_SECONDS = 2.0
#: The queue of jobs that do not name one.
_DEFAULT_QUEUE = "default"


class HealthFact(NamedTuple):
    """The result of one check."""

    what: str
    level: Level
    words: str


async def health_facts(configured: Configuration, settings: Settings) -> AsyncIterator[HealthFact]:
    """Yield the results of all checks."""
    yield _models(configured)
    if find_spec("psycopg") is None or find_spec("procrastinate") is None:
        yield HealthFact("database", "odd", f"not installed; jobs need {need_of('run')}")
        return
    async for fact in _database(settings):
        yield fact
    yield await asyncio.to_thread(_sandbox, settings)


def _sandbox(settings: Settings) -> HealthFact:
    line = describe_sandbox(network=False)
    problem = root_problem()
    if problem and any(tool.partition("(")[0] == "Bash" for tool in settings.allow_tools):
        remedy = "run the worker as another user, or set allow_tools without Bash"
        return HealthFact("sandbox", "bad", f"{problem}; {remedy}. {line}")
    return HealthFact("sandbox", "odd" if line.startswith("none") or problem else "good", line)


def missing_key(configured: Configuration) -> str | None:
    """Return the variable to set if no provider has a key and the configured model needs one, else None."""
    wanted = KEYS.get(provider_of(full_name(configured["model"], configured["models"])))
    return wanted[0] if wanted and not any(map(_has_key, KEYS)) else None


def _has_key(provider: str) -> bool:
    return any(os.environ.get(key) for key in KEYS.get(provider, ()))


def _models(configured: Configuration) -> HealthFact:
    name = full_name(configured["model"], configured["models"])
    names = {name, *(full_name(short, configured["models"]) for short in (*TABLE, *configured["models"]))}
    providers = sorted({provider_of(model) for model in names})
    present = [provider for provider in providers if _has_key(provider)]
    missing = [provider for provider in providers if provider not in present and provider in KEYS]
    provider_used = provider_of(name)
    wanted = f"; set {KEYS[provider_used][0]}" if provider_used in missing else ""
    level: Level = "odd" if provider_used in missing else "good"
    return HealthFact("model", level, f"{name}; keys present for {', '.join(present) or 'no provider'}{wanted}")


async def _database(settings: Settings) -> AsyncIterator[HealthFact]:
    # Late, as what follows: an install without the extra `run` has no database.
    from remit.store import database, jobs, schema, workers

    where = "shared" if settings.database else f"embedded in {settings.state / 'postgres'}"
    if not settings.database and not (settings.state / "postgres" / "made").exists():
        yield _not_created(where, settings.state)
        return
    try:
        async with database.open_database(settings.database, settings.state, is_examined=True) as server:
            row = await server.row("health.server")
            yield HealthFact("database", "good", f"{where}: PostgreSQL {row['version'] if row else ''}")
            if settings.database:
                yield await _connection(server)
            async with server.transaction() as connection:
                has_tables = await schema.has_tables(connection, f"the database ({where})")
            if not has_tables:
                yield HealthFact("tables", "odd", "none; the next job or worker creates them")
            yield _workers(await workers.live_workers(server, settings.takeover_seconds) if has_tables else [])
            for fact in _left_jobs(await jobs.left_folders(server) if has_tables else []):
                yield fact
            skew = await workers.clock_skew(server)
            level: Level = "good" if abs(skew) <= _MAX_SKEW_SECONDS else "bad"
            yield HealthFact("clock", level, f"{skew:+.2f} s compared with the database's clock")
    except RemitError as error:
        yield HealthFact("database", "bad", str(error))


async def _connection(database: Database) -> HealthFact:
    """Check how the shared database is reached: encrypted, and through which kind of pooler."""
    session = database.target.session
    if not (session.is_encrypted or session.is_local):
        remedy = "passwords and results of jobs can be read on the network; add sslmode=verify-full to the address"
        return HealthFact("connection", "odd", f"not encrypted: {remedy}")
    words = "encrypted" if session.is_encrypted else "on this host"
    if not session.is_pooled:
        return HealthFact("connection", "good", words)
    from remit.store.database import keeps_sessions  # late, as above

    if await keeps_sessions(database.target):
        return HealthFact("connection", "good", f"{words}, through a pooler that keeps sessions")
    return HealthFact(
        "connection",
        "odd",
        f"{words}, through a pooler that shares connections by transaction: notifications are lost, so jobs start up "
        "to a second later and open pages are not updated; use pool_mode = session",
    )


def _not_created(where: str, data: Path) -> HealthFact:
    """Check whether the embedded database can be created."""
    from remit.store.server import binaries  # late, as above

    try:
        binaries()
    except RemitError as error:
        return HealthFact("database", "bad", str(error))
    nearest = next(folder for folder in (data, *data.parents) if os.access(folder, os.F_OK))
    if not nearest.is_dir():
        reason = f"{nearest} is not a folder"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        reason = f"{nearest} is not writable"
    else:
        return HealthFact("database", "good", f"{where}: not created yet, the first job creates it")
    remedy = "set REMIT_STATE to another folder, or REMIT_STATEBASE_URL to a PostgreSQL server"
    return HealthFact("database", "bad", f"{where}: cannot be created, because {reason}; {remedy}")


def _workers(alive: Sequence[Mapping[str, Any]]) -> HealthFact:
    if not alive:
        return HealthFact("workers", "odd", "none alive; `remit worker` starts one")
    workers = ", ".join(f"{worker['host']} pid {worker['pid']} ({_queues(worker['queues'])})" for worker in alive)
    if any(not worker["queues"] or _DEFAULT_QUEUE in worker["queues"] for worker in alive):
        return HealthFact("workers", "good", workers)
    return HealthFact(
        "workers",
        "odd",
        f"{workers}; none of them takes the queue {_DEFAULT_QUEUE}; `remit worker` starts one that does",
    )


def _left_jobs(folders: Sequence[Mapping[str, Any]]) -> Iterator[HealthFact]:
    """Yield what is known of jobs that no worker has taken, because its host lacks their folder."""
    for folder in folders[:_MAX_FOLDERS]:
        count = folder["jobs"] - 1
        named = f"job {folder['first']}" + (f" and {count} more wait" if count else " waits")
        words = f"{named} for a worker on a host that has {folder['workspace']}; no worker has found this folder"
        yield HealthFact("jobs", "odd", words)


def _queues(names: Sequence[str]) -> str:
    return f"only queue{'s' * (len(names) != 1)} {', '.join(names)}" if names else "all queues"
