"""One attempt at a job: from the claim to its outcome, with the result checked at the boundary."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from remit import aio
from remit.dispatch.events import EventWriter
from remit.dispatch.failpoints import failpoint
from remit.dispatch.finish import RunEnd, RunStopped, end_job, partial_output, stop_job, worktree_of
from remit.dispatch.model_client import ModelClient
from remit.dispatch.models import provider_of
from remit.dispatch.settings import Settings
from remit.dispatch.worktree import WORKTREE, is_usable, make_worktree
from remit.errors import EnvironmentBroken, UsageError
from remit.registry.model import Brief
from remit.registry.tools import AllowList, find_tool
from remit.store import jobs
from remit.store.database import Database
from remit.store.jobs import AttemptFenced, Job
from remit.store.transcript import Transcript

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

    from remit.acceptance import Judgement
    from remit.dispatch.toolset import Calls
    from remit.evidence.receipts import Receipt

#: A job whose worker died so often is not tried again.
MAX_DEATHS = 5
_TELL_SECONDS = 1.0
T = TypeVar("T")


class AttemptParts(NamedTuple):
    """What a runner of another layer needs to run a job's conversation."""

    database: Database
    settings: Settings
    job: Job
    brief: Brief
    root: Path
    transcript: Transcript
    narrator: EventWriter
    calls: Calls
    asker: ModelClient


Runner = Callable[[AttemptParts], Awaitable[RunEnd]]


class Attempt:
    """Runs a job that has been claimed; `runners` are those that belong to layers above this one."""

    def __init__(
        self, database: Database, job: Job, settings: Settings, runners: Mapping[str, Runner] | None = None
    ) -> None:
        self._database = database
        self._job = job
        self._settings = settings
        self._runners = runners or {}
        self._transcript = Transcript(database, job.id, job.attempt)
        self._narrator = EventWriter(database, job.id, job.attempt)

    async def run(self) -> None:
        """Run the job to its end. Raises Fenced or EnvironmentBroken if it has to be left to somebody else."""
        failpoint("claimed")
        job = self._job
        if job.is_cancelled:
            await stop_job(self._database, job, self._settings, is_shutdown=False)
            return
        if job.deaths >= MAX_DEATHS:
            text = await partial_output(self._database, job.id)
            await self._finish(RunEnd("error", text, f"stopped after {job.deaths} attempts died: {job.last_death}"))
            return
        brief = apply_limits(await jobs.brief_of(self._database, job), self._settings)
        await self._narrator.tell("started", {"attempt": job.attempt, "model": brief.model, "tools": list(brief.tools)})
        root = Path(job.workspace)
        try:
            root = await self._workspace()
            ended = await self._in_time(brief, root)
        except RunStopped as stopped:
            ended = RunEnd(stopped.outcome, "", stopped.error)
        except UsageError as error:
            ended = RunEnd("error", "", str(error))
        if ended.outcome != "completed":
            await self._narrator.flush()
            ended = ended._replace(text=await partial_output(self._database, job.id) or ended.text)
        # What an orchestrator says is said to a person: it is no result in the contract.
        is_result = ended.outcome == "completed" and brief.runner not in self._runners
        verdict = await self._check(brief, root, ended) if is_result else None
        await self._finish(ended, verdict)

    async def _workspace(self) -> Path:
        job = self._job
        project = Path(job.workspace)
        if job.isolation != WORKTREE:
            return project
        folder = worktree_of(job, self._settings)
        is_made = job.worktree == str(folder) and await _prepared(is_usable, folder)
        if not is_made:
            await self._set_worktree(None)  # until it is whole: who comes after us makes it anew
        root = await _prepared(partial(make_worktree, is_made=is_made, diff=job.diff), project, folder)
        failpoint("worktree-made")
        await self._set_worktree(str(folder))
        return root

    async def _set_worktree(self, folder: str | None) -> None:
        job = self._job
        if not await self._database.rows("jobs.set_worktree", job=job.id, attempt=job.attempt, worktree=folder):
            raise AttemptFenced(f"job {job.id} is no longer attempt {job.attempt}'s")

    async def _in_time(self, brief: Brief, root: Path) -> RunEnd:
        """The run within the wall time of the job and of its tree, counted by the database's clock."""
        row = await self._database.row("budgets.seconds_left", job=self._job.id)
        left = row["seconds"] if row is not None else None
        limit = asyncio.timeout(None if left is None else max(left, 0.0))
        try:
            async with limit, self._heard():
                return await self._work(brief, root)
        except TimeoutError:
            if row is None or not limit.expired():
                raise
            own = f"{self._job.max_seconds or 0:g} seconds are over"
            return RunEnd("timeout", "", "the time of all jobs of its tree is over" if row.get("is_tree") else own)

    @asynccontextmanager
    async def _heard(self) -> AsyncIterator[None]:
        """Tell the text that has come also while nothing more comes: who ends a job that hangs finds all of it."""
        telling = asyncio.create_task(self._keep_telling())
        try:
            yield
        finally:
            await aio.cancel_and_wait(telling)

    async def _keep_telling(self) -> None:
        while True:
            await asyncio.sleep(_TELL_SECONDS)
            await self._narrator.flush()

    async def _work(self, brief: Brief, root: Path) -> RunEnd:
        own = self._runners.get(brief.runner)
        if own is not None:
            return await own(self._parts(brief, root))
        if brief.runner != "model":
            from remit.dispatch.runners import run_program

            return await run_program(brief, self._job, root, self._settings, self._transcript, self._narrator)
        return await self._converse(self._parts(brief, root))

    def _parts(self, brief: Brief, root: Path) -> AttemptParts:
        from remit.dispatch.toolset import Calls

        job, settings = self._job, self._settings
        calls = Calls(self._transcript, self._narrator.tell, is_redacting=settings.is_redacting)
        most = settings.provider_limits.get(provider_of(brief.model))
        asker = ModelClient(self._database, job.id, job.attempt, brief.model, int(most) if most is not None else None)
        return AttemptParts(self._database, settings, job, brief, root, self._transcript, self._narrator, calls, asker)

    async def _converse(self, parts: AttemptParts) -> RunEnd:
        from remit.dispatch.conversation import Conversation
        from remit.dispatch.tools.model import ToolLimits
        from remit.dispatch.tools.toolbox import Toolbox
        from remit.dispatch.toolset import job_tools

        brief, settings = parts.brief, parts.settings
        # Commands must reach neither the database's socket nor the files of other jobs.
        limits = ToolLimits(results=str(settings.data / "results"), hidden=(str(settings.data),))
        spill = settings.data / "spill" / f"job-{parts.job.id}"
        toolbox = Toolbox(parts.root, _own(brief.tools), spill=spill, limits=limits, is_redacting=settings.is_redacting)
        toolsets: list[AbstractToolset[None]] = [job_tools(toolbox, parts.calls)]
        if brief.mcp_servers:
            from remit.dispatch.mcp import ServerPool, mcp_toolsets

            keeping = ServerPool(spill, settings.is_redacting)
            toolsets += mcp_toolsets(brief, settings.mcp_servers, parts.calls, parts.root, keeping)
        return await Conversation(
            brief, parts.job.prompt, parts.transcript, parts.calls, toolsets, parts.asker, parts.narrator
        ).run()

    async def _check(self, brief: Brief, root: Path, ended: RunEnd) -> str:
        """Hold the result against the contract, the project and the receipts."""
        receipts = await self._transcript.receipts()
        started = time.monotonic()
        submission = await self._transcript.submissions() + 1
        # A program cannot be asked to correct its answer, so its first submission is its last.
        attempt = submission if brief.runner == "model" else max(submission, 2)
        judgement = await asyncio.to_thread(_judge, ended.text, brief, root, receipts, attempt)
        failpoint("checked")
        report = msgspec.json.encode({"verdict": judgement.decision, "violations": judgement.violations})
        await self._transcript.save_result(submission, ended.text, judgement.decision, report)
        failpoint("result-saved")
        await self._narrator.tell(
            "checked",
            {
                "verdict": judgement.decision,
                "violations": sum(one["level"] != "L3" for one in judgement.violations),
                "advice": sum(one["level"] == "L3" for one in judgement.violations),
                "seconds": time.monotonic() - started,
            },
        )
        return judgement.decision

    async def _finish(self, ended: RunEnd, verdict: str | None = None) -> None:
        await self._narrator.flush()
        await end_job(self._database, self._job, self._settings, ended, verdict)


async def _prepared(work: Callable[..., T], *arguments: Path) -> T:
    """What is done in a thread before a job begins, to its end even if the job is cancelled: the next would meet it."""
    doing = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait({doing})
        raise
    except (EnvironmentBroken, OSError) as error:  # a checkout that is gone or broken: no other attempt fares better
        raise RunStopped("error", f"the job cannot have its worktree: {error}") from error


def apply_limits(brief: Brief, settings: Settings) -> Brief:
    """A brief without the tools that this worker does not offer: nothing exceeds its allow-list."""
    allowed = AllowList(settings.allow_tools)
    asked = (find_tool(name, allowed.own) for name in brief.tools)
    tools = tuple(str(part) for tool in asked if tool is not None for part in allowed.granted(tool))
    return brief if tools == brief.tools else msgspec.structs.replace(brief, tools=tools)


def _own(tools: Sequence[str]) -> list[str]:
    """The tools of a brief that are the worker's own, not an MCP server's."""
    return [tool for tool in tools if not tool.startswith("mcp__")]


def _judge(report: str, brief: Brief, root: Path, receipts: list[Receipt], attempt: int) -> Judgement:
    from remit.acceptance import judge_report
    from remit.checking import Options

    options = Options(profile=brief.profile, kind=brief.kind, attempt=attempt)
    return judge_report(report, options, root, receipts=receipts)
