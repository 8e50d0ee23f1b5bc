"""Submitting a job: the request becomes a brief, what cannot run is refused, the rest goes into the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remit.dispatch.models import check_model, check_price
from remit.dispatch.runners import PRESETS
from remit.dispatch.settings import Settings
from remit.dispatch.worktree import WORKTREE
from remit.errors import UsageError, did_you_mean
from remit.registry.api import resolve
from remit.registry.fields import MAX_AMOUNT
from remit.registry.lookup import Registry
from remit.registry.model import Brief, JobRequest, Limits, as_request
from remit.store import submissions
from remit.store.database import Database
from remit.store.storable import is_storable, to_storable
from remit.store.submissions import Submission
from remit.workspace import git
from remit.workspace.safe_git import root_above

#: The queue's name is a part of the channel that wakes workers up, and PostgreSQL allows no longer ones.
MAX_QUEUE = 40
#: Bytes of a key: it stands in an index.
MAX_KEY = 1_000
MAX_PRIORITY = 1_000_000
#: Seconds of a delay: a year.
MAX_DELAY = 366 * 86_400
#: Numbers of jobs go up to this one.
_LAST_JOB = 2**63 - 1
_MODELS = ("model", "orchestrator")


class Queueing(NamedTuple):
    """How a job is to be queued."""

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
    #: What it is listed as, if it has no definition.
    agent: str | None = None


class Submitted(NamedTuple):
    """A job that is in the store."""

    id: int
    is_new: bool
    brief: Brief


class Resolving(NamedTuple):
    """How a request is to be resolved; see `remit.resolve`."""

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
    """Resolve a request and put it into the queue."""
    check_queueing(queueing)
    request = _cleaned(request)
    job, _ = as_request(request)
    check_limits(job, queueing)
    brief = to_storable(resolve(request, **resolving._asdict()))
    check_brief(brief, settings, job)
    if brief.runner in _MODELS and await _is_cost_limited(database, brief, queueing):
        check_price(brief.model)
    wanted = Submission(
        request=job,
        brief=brief,
        workspace=await asyncio.to_thread(_folder, workspace, brief.isolation),
        isolation=brief.isolation,
        **queueing._asdict(),
    )
    number, is_new = await submissions.submit(database, wanted)
    return Submitted(number, is_new, brief)


def _cleaned(request: JobRequest | Mapping[str, Any]) -> JobRequest | Mapping[str, Any]:
    """A request without what cannot be stored."""
    try:
        return to_storable(request if isinstance(request, JobRequest) else dict(request))
    except RecursionError:
        raise UsageError("a job's fields are nested too deeply") from None


def check_queueing(queueing: Queueing) -> None:
    """Refuse what the queue cannot keep."""
    if not queueing.queue.isprintable() or not 0 < len(queueing.queue.encode()) <= MAX_QUEUE:
        raise UsageError(f"a queue's name has 1 to {MAX_QUEUE} characters, not {queueing.queue[:60]!r}")
    key = queueing.key
    if key is not None and not (is_storable(key) and 0 < len(key.encode()) <= MAX_KEY):
        raise UsageError(f"a key is text of 1 to {MAX_KEY} bytes in UTF-8, not {key[:60]!r}")
    if not -MAX_PRIORITY <= queueing.priority <= MAX_PRIORITY:
        raise UsageError(f"a priority is from -{MAX_PRIORITY} to {MAX_PRIORITY}, not {queueing.priority}")
    if not 0 <= queueing.delay <= MAX_DELAY:
        raise UsageError(f"a delay is from 0 to {MAX_DELAY} seconds, not {queueing.delay}")
    if queueing.parent is not None and not 0 < queueing.parent <= _LAST_JOB:
        raise UsageError(f"there is no job {queueing.parent} to be the parent")


def check_limits(job: JobRequest, queueing: Queueing) -> None:
    """Refuse limits that nothing can keep to, or that say nothing."""
    tree = {name: getattr(queueing, f"tree_max_{name}") for name in ("tokens", "cost", "turns", "seconds")}
    if queueing.parent is not None and any(limit is not None for limit in tree.values()):
        raise UsageError("a tree's limits are said at its first job: a job with a parent cannot have any")
    own = msgspec.structs.asdict(job.limits or Limits())
    said = (*own.items(), *((f"a tree's {name}", limit) for name, limit in tree.items()))
    for name, limit in said:
        if limit is not None and not 0 < limit < MAX_AMOUNT:
            raise UsageError(f"a limit of {name} must be more than nothing and below {MAX_AMOUNT:,.0f}, not {limit}")


async def _is_cost_limited(database: Database, brief: Brief, queueing: Queueing) -> bool:
    """Whether a limit of money holds for a job: its own, or that of the tree it would belong to."""
    if brief.limits.cost is not None or queueing.tree_max_cost is not None:
        return True
    inside = queueing.parent if queueing.parent is not None else queueing.tree
    return inside is not None and await submissions.tree_cost(database, inside) is not None


def _folder(workspace: Path, isolation: str | None) -> str:
    if not is_storable(str(workspace)):
        raise UsageError(f"{str(workspace)!r}: a folder to work in needs a name in UTF-8")
    if not workspace.is_dir():
        raise UsageError(f"{workspace}: no such folder to work in")
    if isolation == WORKTREE:
        root = root_above(workspace)
        if root is None:
            raise UsageError(f"{workspace} is no git checkout: isolation by worktree needs one")
        if git.head(root) is None:
            raise UsageError(f"{root} has no commit yet: isolation by worktree needs one")
    resolved = str(workspace.resolve())
    if not is_storable(resolved):
        raise UsageError(f"{resolved!r}: a folder to work in needs a name in UTF-8")
    return resolved


def check_brief(brief: Brief, settings: Settings, job: JobRequest) -> None:
    """Refuse what could only fail later."""
    if not job.prompt.strip():
        raise UsageError("the job has no prompt: say what is to be done")
    if brief.runner in _MODELS:
        check_model(brief.model)
        _check_servers(brief, settings)
        return
    known = {**PRESETS, **settings.runners}
    if brief.command is None:
        raise UsageError(f"the runner {brief.runner!r} needs a command: one of {', '.join(sorted(known))}")
    if brief.command not in known:
        near = did_you_mean(brief.command, known) or f"; known are {', '.join(sorted(known))}"
        raise UsageError(f"there is no command {brief.command!r} under `runners` in the configuration{near}")


def _check_servers(brief: Brief, settings: Settings) -> None:
    for name in brief.mcp_servers:
        if name not in settings.mcp_servers:
            near = did_you_mean(name, settings.mcp_servers)
            raise UsageError(f"there is no MCP server {name!r} under `mcp_servers` in the configuration{near}")
    if brief.mcp_servers and find_spec("fastmcp") is None:
        raise UsageError("MCP servers need the extra remit[mcp]")
