"""One attempt at a job: from the claim to its outcome, with the result checked at the boundary."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from remit.dispatch.asking import Asker
from remit.dispatch.models import provider_of
from remit.dispatch.narrator import Narrator
from remit.dispatch.outcome import Ended, Stopped
from remit.dispatch.settings import Settings
from remit.dispatch.stops import stop_point
from remit.dispatch.worktree import WORKTREE, make_worktree, read_diff, remove_worktree
from remit.errors import UsageError
from remit.registry.model import Brief
from remit.registry.tools import AllowList, known
from remit.store import jobs
from remit.store.database import Database
from remit.store.events import unfinished_text
from remit.store.jobs import Fenced, Job
from remit.store.transcript import Transcript

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

    from remit.checking import Verdict
    from remit.dispatch.toolset import Calls
    from remit.evidence.receipts import Receipt

#: A job whose worker died so often is not tried again.
MAX_DEATHS = 5


class Parts(NamedTuple):
    """What a runner of another layer needs to run a job's conversation."""

    database: Database
    settings: Settings
    job: Job
    brief: Brief
    root: Path
    transcript: Transcript
    narrator: Narrator
    calls: Calls
    asker: Asker


Runner = Callable[[Parts], Awaitable[Ended]]


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
        self._narrator = Narrator(database, job.id, job.attempt)

    async def run(self) -> None:
        """Run the job to its end. Raises Fenced or EnvironmentBroken if it has to be left to somebody else."""
        stop_point("claimed")
        job = self._job
        if job.is_cancelled:
            await stop_job(self._database, job, self._settings, is_shutdown=False)
            return
        if job.deaths >= MAX_DEATHS:
            await self._finish(
                Ended("error", job.result or "", f"stopped after {job.deaths} attempts died: {job.last_death}")
            )
            return
        brief = bounded(await jobs.brief_of(self._database, job), self._settings)
        await self._narrator.tell("started", {"attempt": job.attempt, "model": brief.model, "tools": list(brief.tools)})
        root = await self._workspace()
        try:
            ended = await self._in_time(brief, root)
        except Stopped as stopped:
            ended = Ended(stopped.outcome, "", stopped.error)
        except UsageError as error:
            ended = Ended("error", "", str(error))
        if ended.outcome != "completed":
            await self._narrator.flush()
            ended = ended._replace(text=await what_there_is(self._database, job.id) or ended.text)
        # What an orchestrator says is said to a person: it is no result in the contract.
        is_result = ended.outcome == "completed" and brief.runner not in self._runners
        verdict = await self._check(brief, root, ended) if is_result else None
        await self._finish(ended, verdict)

    async def _workspace(self) -> Path:
        job = self._job
        project = Path(job.workspace)
        if job.isolation != WORKTREE:
            return project
        folder = self._settings.data / "worktrees" / f"job-{job.id}"
        root = await asyncio.to_thread(make_worktree, project, folder, is_made=job.worktree == str(folder))
        stop_point("worktree-made")
        await self._database.rows("jobs.set_worktree", job=job.id, attempt=job.attempt, worktree=str(folder))
        return root

    async def _in_time(self, brief: Brief, root: Path) -> Ended:
        """The run within its wall time, counted from when the job first began."""
        limit = self._job.max_seconds
        if limit is None:
            return await self._work(brief, root)
        begun = self._job.started or datetime.now(UTC)
        left = limit - (datetime.now(UTC) - begun).total_seconds()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                return await self._work(brief, root)
        except TimeoutError:
            return Ended("timeout", "", f"{limit:g} seconds are over")

    async def _work(self, brief: Brief, root: Path) -> Ended:
        own = self._runners.get(brief.runner)
        if own is not None:
            return await own(self._parts(brief, root))
        if brief.runner != "model":
            from remit.dispatch.runners import run_program

            return await run_program(brief, self._job, root, self._settings, self._transcript, self._narrator)
        return await self._converse(self._parts(brief, root))

    def _parts(self, brief: Brief, root: Path) -> Parts:
        from remit.dispatch.toolset import Calls

        job, settings = self._job, self._settings
        calls = Calls(self._transcript, self._narrator.tell, is_redacting=settings.is_redacting)
        most = settings.provider_limits.get(provider_of(brief.model))
        asker = Asker(self._database, job.id, job.attempt, brief.model, int(most) if most is not None else None)
        return Parts(self._database, settings, job, brief, root, self._transcript, self._narrator, calls, asker)

    async def _converse(self, parts: Parts) -> Ended:
        from remit.dispatch.loop import Conversation
        from remit.dispatch.tools.model import ToolLimits
        from remit.dispatch.tools.toolbox import Toolbox
        from remit.dispatch.toolset import job_tools

        brief, settings = parts.brief, parts.settings
        # Commands in the sandbox must not reach the database's socket; the worktree of a job is beside it.
        is_inside = settings.data in parts.root.parents
        limits = ToolLimits(
            results=str(settings.data / "results"),
            hidden=(str(settings.data / "postgres" if is_inside else settings.data),),
        )
        spill = settings.data / "spill" / f"job-{parts.job.id}"
        toolbox = Toolbox(parts.root, _own(brief.tools), spill=spill, limits=limits, is_redacting=settings.is_redacting)
        toolsets: list[AbstractToolset[None]] = [job_tools(toolbox, parts.calls)]
        if brief.mcp_servers:
            from remit.dispatch.mcp import mcp_toolsets

            toolsets += mcp_toolsets(brief, settings.mcp_servers, parts.calls, parts.root)
        return await Conversation(
            brief, parts.job.prompt, parts.transcript, parts.calls, toolsets, parts.asker, parts.narrator
        ).run()

    async def _check(self, brief: Brief, root: Path, ended: Ended) -> str:
        """Hold the result against the contract, the project and the receipts."""
        receipts = await self._transcript.receipts()
        started = time.monotonic()
        submission = await self._transcript.submissions() + 1
        # A program cannot be asked to correct its answer, so its first submission is its last.
        attempt = submission if brief.runner == "model" else max(submission, 2)
        verdict = await asyncio.to_thread(_verdict, ended.text, brief, root, receipts, attempt)
        stop_point("checked")
        report = msgspec.json.encode(
            {
                "verdict": verdict.verdict,
                "violations": [
                    {
                        "rule": one.rule,
                        "code": one.code,
                        "level": one.level,
                        "line": one.line,
                        "message": one.message,
                        "help": one.help,
                    }
                    for one in verdict.violations
                ],
            }
        )
        await self._transcript.save_result(submission, ended.text, verdict.verdict, report)
        stop_point("result-saved")
        await self._narrator.tell(
            "checked",
            {
                "verdict": verdict.verdict,
                "violations": sum(one.level != "L3" for one in verdict.violations),
                "advice": sum(one.level == "L3" for one in verdict.violations),
                "seconds": time.monotonic() - started,
            },
        )
        return verdict.verdict

    async def _finish(self, ended: Ended, verdict: str | None = None) -> None:
        job = self._job
        diff, folder = await _diff(job, self._settings)
        await self._narrator.flush()
        await jobs.finish(
            self._database,
            job.id,
            job.attempt,
            ended.outcome,
            error=ended.error,
            verdict=verdict,
            result=ended.text,
            diff=diff,
        )
        stop_point("finished")
        if diff is not None:
            await asyncio.to_thread(remove_worktree, Path(job.workspace), folder)


def bounded(brief: Brief, settings: Settings) -> Brief:
    """A brief without the tools that this worker does not offer: nothing exceeds its allow-list."""
    allowed = AllowList(settings.allow_tools)
    asked = (known(name, allowed.own) for name in brief.tools)
    tools = tuple(str(part) for tool in asked if tool is not None for part in allowed.granted(tool))
    return brief if tools == brief.tools else msgspec.structs.replace(brief, tools=tools)


def _own(tools: Sequence[str]) -> list[str]:
    """The tools of a brief that are the worker's own, not an MCP server's."""
    return [tool for tool in tools if not tool.startswith("mcp__")]


def _verdict(document: str, brief: Brief, root: Path, receipts: list[Receipt], attempt: int) -> Verdict:
    from remit.checking import check_all

    # As bytes: a text might look like a path, and this one is not ours.
    data = document.encode("utf-8", "replace")
    verdicts = check_all(data, repo=root, profile=brief.profile, kind=brief.kind, receipts=receipts, attempt=attempt)
    order = ("reject", "revise", "accept")
    return min(verdicts, key=lambda one: order.index(one.verdict))


async def what_there_is(database: Database, job: int) -> str:
    """The text of a job that did not complete: the answer it was in the middle of, else its last one."""
    unfinished = await unfinished_text(database, job)
    return unfinished.strip() or (await jobs.get(database, job)).result or ""


async def stop_job(database: Database, job: Job, settings: Settings, *, is_shutdown: bool) -> None:
    """A job whose run was cancelled: by its owner, or because the worker ends and another shall have it."""
    if is_shutdown:
        await jobs.give_back(database, job.id, job.attempt)
        return
    await jobs.cancel_under(database, job.id)
    text = await what_there_is(database, job.id)
    diff, folder = await _diff(job, settings)
    with contextlib.suppress(Fenced):
        await jobs.finish(
            database, job.id, job.attempt, "cancelled", error="cancelled while it ran", result=text, diff=diff
        )
        if diff is not None:
            await asyncio.to_thread(remove_worktree, Path(job.workspace), folder)


async def _diff(job: Job, settings: Settings) -> tuple[str | None, Path]:
    """What a job changed in a worktree of its own, and where that is; None: it has none."""
    folder = settings.data / "worktrees" / f"job-{job.id}"
    if job.isolation != WORKTREE or not await asyncio.to_thread(folder.exists):
        return None, folder
    return await asyncio.to_thread(read_diff, folder), folder
