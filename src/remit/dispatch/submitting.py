"""Submitting a job: the request becomes a brief, what cannot run is refused, the rest goes into the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from remit.dispatch.models import check_model, check_price
from remit.dispatch.runners import PRESETS
from remit.dispatch.settings import Settings
from remit.dispatch.worktree import WORKTREE
from remit.errors import UsageError, did_you_mean
from remit.registry.api import resolve
from remit.registry.lookup import Registry
from remit.registry.model import Brief, JobRequest, as_request
from remit.store import submissions
from remit.store.database import Database
from remit.store.submissions import Submission
from remit.workspace import git
from remit.workspace.safe_git import root_above

#: The queue's name is a part of the channel that wakes workers up, and PostgreSQL allows no longer ones.
MAX_QUEUE = 40


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
    job, _ = as_request(request)
    if not queueing.queue.isprintable() or not 0 < len(queueing.queue.encode()) <= MAX_QUEUE:
        raise UsageError(f"a queue's name has 1 to {MAX_QUEUE} characters, not {queueing.queue[:60]!r}")
    brief = resolve(request, **resolving._asdict())
    check_brief(brief, settings, job)
    if brief.runner == "model" and (brief.limits.cost is not None or queueing.tree_max_cost is not None):
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


def _folder(workspace: Path, isolation: str | None) -> str:
    if not workspace.is_dir():
        raise UsageError(f"{workspace}: no such folder to work in")
    if isolation == WORKTREE:
        root = root_above(workspace)
        if root is None:
            raise UsageError(f"{workspace} is no git checkout: isolation by worktree needs one")
        if git.head(root) is None:
            raise UsageError(f"{root} has no commit yet: isolation by worktree needs one")
    return str(workspace.resolve())


def check_brief(brief: Brief, settings: Settings, job: JobRequest) -> None:
    """Refuse what could only fail later."""
    if not job.prompt.strip():
        raise UsageError("the job has no prompt: say what is to be done")
    if brief.runner in ("model", "orchestrator"):
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
