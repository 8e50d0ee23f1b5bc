"""Submit a job: resolve its request, reject one that cannot run, and put it into the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remit.configuration import load
from remit.dispatch.models import check_model, check_price
from remit.dispatch.runners import PRESETS, listed_programs
from remit.dispatch.settings import Settings
from remit.dispatch.worktree import WORKTREE
from remit.errors import UsageError, did_you_mean
from remit.registry.api import resolve
from remit.registry.fields import MAX_AMOUNT
from remit.registry.lookup import Registry
from remit.registry.model import Brief, JobRequest, Limits, as_request
from remit.store import jobs, submissions
from remit.store.database import Database
from remit.store.jobs import Job
from remit.store.storable import is_storable, to_storable
from remit.store.submissions import DeferredResolution, Submission
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
#: Runners that call a model.
_MODEL_RUNNERS = ("model", "orchestrator")


class Queueing(NamedTuple):
    """How to queue a job."""

    queue: str = "default"
    first_queue: str | None = None
    priority: int = 0
    key: str | None = None
    delay: float = 0
    parent: int | None = None
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
        isolation=brief.isolation,
        **queueing._asdict(),
    )
    number, is_new = await submissions.submit(database, wanted)
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
    own = {f"max_{name}": limit for name, limit in msgspec.structs.asdict(job.limits or Limits()).items()}
    for name, limit in (*own.items(), *((f"tree_max_{name}", limit) for name, limit in tree.items())):
        if limit is not None and not 0 < limit < MAX_AMOUNT:
            raise UsageError(f"{name} must be greater than 0 and less than {MAX_AMOUNT:,.0f}, not {limit}")


async def _is_cost_limited(database: Database, brief: Brief, queueing: Queueing) -> bool:
    """Return whether a job has a cost limit, or the tree that it would belong to has one."""
    if brief.limits.cost is not None or queueing.tree_max_cost is not None:
        return True
    relative = queueing.parent if queueing.parent is not None else queueing.tree
    return relative is not None and await submissions.tree_cost(database, relative) is not None


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
    deferred = submissions.deferred_resolution(job.request)
    if deferred is None or job.turns:  # a job that an older worker has begun keeps the brief that it began with
        return job, None
    provisional = await jobs.brief_of(database, job)
    system = provisional.system if provisional.system_from == "job" else None
    request = submissions.stored_request(job.request, system)
    policy = "strict" if deferred.policy == "strict" else None  # else the policy of this worker
    brief = to_storable(
        await asyncio.to_thread(resolve, request, policy=policy, allow_tools=deferred.allow_tools, print_warnings=False)
    )
    check_brief(brief, settings, request)
    is_limited = brief.limits.cost is not None or await submissions.tree_cost(database, job.id) is not None
    if brief.runner in _MODEL_RUNNERS and is_limited:
        check_price(brief.model)
    return await submissions.pin_brief(database, job, request, brief), brief


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
        raise UsageError(f"there is no command {brief.command!r} under `runners` in the configuration{remedy}")


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
        raise UsageError("MCP servers need the extra remit[mcp]")
