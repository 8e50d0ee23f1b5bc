"""One attempt at a job: run it, check its result and store its outcome."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from pydantic_ai.toolsets import AbstractToolset

from remit import aio
from remit.acceptance import ReportJudgement, claims_with_code, judge_report
from remit.checking import Options
from remit.dispatch.conversation import Conversation
from remit.dispatch.event_writer import EventWriter
from remit.dispatch.failpoints import failpoint
from remit.dispatch.finish import RunEnd, RunStopped, end_job, partial_output, stop_job, worktree_of
from remit.dispatch.model_client import ModelClient
from remit.dispatch.models import provider_of
from remit.dispatch.runners import run_program
from remit.dispatch.submit import resolve_claimed
from remit.dispatch.telemetry import open_telemetry
from remit.dispatch.tools.tool_types import ToolLimits
from remit.dispatch.tools.toolbox import Toolbox
from remit.dispatch.toolset import Calls, job_tools
from remit.dispatch.worker_settings import Settings
from remit.dispatch.worktree import WORKTREE, is_usable, make_worktree
from remit.errors import EnvironmentBroken, UsageError
from remit.evidence.receipts import Receipt
from remit.merging.adjust import report_of
from remit.registry.definition import Brief
from remit.registry.tools import AllowList, find_tool
from remit.secrets.scan import redact_all
from remit.store import jobs
from remit.store.database import Database
from remit.store.jobs import AttemptFenced, Job
from remit.store.transcript import Transcript
from remit.workspace import git
from remit.workspace.files import WorkTree

log = logging.getLogger("remit.worker")
#: A job whose worker died this often without a finished turn in between is not tried again: it may be the cause.
MAX_DEATHS_IN_TURN = 8
#: The same limit for all turns together.
MAX_DEATHS = 25
_FLUSH_SECONDS = 1.0
T = TypeVar("T")


class AttemptParts(NamedTuple):
    """What a runner needs to run a job's conversation."""

    database: Database
    settings: Settings
    job: Job
    brief: Brief
    root: Path
    transcript: Transcript
    events: EventWriter
    calls: Calls
    model_client: ModelClient


Runner = Callable[[AttemptParts], Awaitable[RunEnd]]


class Attempt:
    """Runs a claimed job. `runners` are the runners of higher layers, by name."""

    def __init__(
        self, database: Database, job: Job, settings: Settings, runners: Mapping[str, Runner] | None = None
    ) -> None:
        self._database = database
        self._job = job
        self._settings = settings
        self._runners = runners or {}
        self._transcript = Transcript(database, job.id, job.attempt)
        self._events = EventWriter(database, job.id, job.attempt, is_redacting=settings.is_redacting)

    async def run(self) -> None:
        """Run the job to its end. Raises AttemptFenced or EnvironmentBroken if another worker has to finish it."""
        failpoint("claimed")
        job = self._job
        if job.is_cancelled:
            await stop_job(self._database, job, self._settings, is_shutdown=False)
            return
        if job.deaths_in_turn >= MAX_DEATHS_IN_TURN or job.deaths >= MAX_DEATHS:
            text = await partial_output(self._database, job.id)
            died = f"{job.deaths} attempts died"
            if job.deaths_in_turn >= MAX_DEATHS_IN_TURN:
                died = f"{job.deaths_in_turn} attempts died in one turn"
            await self._finish(RunEnd("error", text, f"stopped after {died}: {job.last_death}"))
            return
        try:
            job = await self._resolve()
        except UsageError as error:
            await self._finish(RunEnd("error", "", str(error)))
            return
        brief = apply_limits(await jobs.brief_of(self._database, job), self._settings)
        log.info("job %s (%s): started%s", job.id, job.agent, f", attempt {job.attempt}" if job.attempt > 1 else "")
        await self._events.emit("started", {"attempt": job.attempt, "model": brief.model, "tools": list(brief.tools)})
        root = Path(job.workspace)
        try:
            root = await self._workspace()
            ended = await self._in_time(brief, root)
        except RunStopped as stopped:
            ended = RunEnd(stopped.outcome, "", stopped.error)
        except UsageError as error:
            ended = RunEnd("error", "", str(error))
        if ended.outcome != "completed":
            await self._events.flush()
            ended = ended._replace(text=await partial_output(self._database, job.id) or ended.text)
        # An orchestrator answers a person: its text is not a result in the contract, and its runner judges it.
        is_result = ended.outcome == "completed" and brief.runner not in self._runners
        verdict = await self._check(brief, root, ended) if is_result else ended.verdict
        await self._finish(ended, verdict)

    async def _resolve(self) -> Job:
        """Return the job with its brief. A definition that its submitter did not know is looked up here, once."""
        self._job, brief = await resolve_claimed(self._database, self._job, self._settings)
        if brief is not None:
            for warning in brief.warnings:
                log.warning("job %s: %s", self._job.id, warning)
            definition = msgspec.to_builtins(brief.definition)
            await self._events.emit("resolved", {"definition": definition, "warnings": list(brief.warnings)})
        return self._job

    async def _workspace(self) -> Path:
        job = self._job
        project = Path(job.workspace)
        if not await asyncio.to_thread(
            os.path.isdir, project
        ):  # a worker leaves such a job; that of a command is the only one
            raise UsageError(f"the folder {project} does not exist on this host")
        if job.isolation != WORKTREE:
            return project
        folder = worktree_of(job, self._settings)
        is_made = job.worktree == str(folder) and await _prepare(is_usable, folder)
        if not is_made:
            await self._set_worktree(None)  # until it is complete: after a crash the next attempt creates it again
        root = await _prepare(partial(make_worktree, is_made=is_made, diff=job.diff), project, folder)
        failpoint("worktree-made")
        await self._set_worktree(str(folder))
        return root

    async def _set_worktree(self, folder: str | None) -> None:
        job = self._job
        if not await self._database.rows("jobs.set_worktree", job=job.id, attempt=job.attempt, worktree=folder):
            raise AttemptFenced(job.id, job.attempt)

    async def _in_time(self, brief: Brief, root: Path) -> RunEnd:
        """Run within the wall-clock limits of the job and its tree, measured by the database's clock."""
        row = await self._database.row("transcript.seconds_left", job=self._job.id)
        left = row["seconds"] if row is not None else None
        limit = asyncio.timeout(None if left is None else max(left, 0.0))
        try:
            async with limit, self._flushing():
                return await self._work(brief, root)
        except TimeoutError:
            if row is None or not limit.expired():
                raise
            job_limit = f"the limit of {self._job.max_seconds or 0:g} seconds is used up"
            tree = "the time limit of its tree of jobs is used up"
            return RunEnd("timeout", "", tree if row.get("is_tree") else job_limit)

    @asynccontextmanager
    async def _flushing(self) -> AsyncIterator[None]:
        """Write streamed text regularly, so that all of it is stored if the stream stalls and the job is ended."""
        flushing = asyncio.create_task(self._keep_flushing())
        try:
            yield
        finally:
            await aio.cancel_and_wait(flushing)

    async def _keep_flushing(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            await self._events.flush_words()

    async def _work(self, brief: Brief, root: Path) -> RunEnd:
        runner = self._runners.get(brief.runner)
        if runner is not None:
            return await runner(self._parts(brief, root))
        if brief.runner != "model":
            return await run_program(brief, self._job, root, self._settings, self._transcript, self._events)
        return await self._converse(self._parts(brief, root))

    def _parts(self, brief: Brief, root: Path) -> AttemptParts:
        job, settings = self._job, self._settings
        calls = Calls(self._transcript, self._events, is_redacting=settings.is_redacting)
        limit = settings.provider_limits.get(provider_of(brief.model))
        client = ModelClient(self._database, job.id, job.attempt, brief.model, int(limit) if limit else None)
        return AttemptParts(self._database, settings, job, brief, root, self._transcript, self._events, calls, client)

    async def _converse(self, parts: AttemptParts) -> RunEnd:
        brief, settings = parts.brief, parts.settings
        # Commands must not reach the database's socket or the files of other jobs.
        results = [settings.work / "results" / f"plan-{plan}" for plan in await self._own_plans()]
        limits = ToolLimits(results=tuple(map(str, results)), hidden=(str(settings.state),))
        spill = settings.work / "spill" / f"job-{parts.job.id}"
        tools = [tool for tool in brief.tools if not tool.startswith("mcp__")]
        toolbox = Toolbox(parts.root, tools, spill=spill, limits=limits, is_redacting=settings.is_redacting)
        toolsets: list[AbstractToolset[None]] = [job_tools(toolbox, parts.calls)]
        if brief.mcp_servers:
            from remit.dispatch.mcp_tools import LongOutputs, mcp_toolsets

            long_outputs = LongOutputs(spill, settings.is_redacting)
            toolsets += mcp_toolsets(brief, settings.mcp_servers, parts.calls, parts.root, long_outputs)
        return await Conversation(
            brief, parts.job.prompt, parts.transcript, parts.calls, toolsets, parts.model_client, parts.events
        ).run()

    async def _own_plans(self) -> list[int]:
        """Return the job's plan, and the other plans of the orchestrator that made it."""
        if self._job.plan is None:
            return []
        return [row["id"] for row in await self._database.rows("plans.related", plan=self._job.plan)]

    async def _check(self, brief: Brief, root: Path, ended: RunEnd) -> str:
        """Check the result against the contract, the project and the receipts, and store the verdict."""
        receipts = await self._transcript.receipts()
        started = time.monotonic()
        submission = await self._transcript.submissions() + 1
        # A program cannot correct its answer, so its first submission is also its last.
        attempt = submission if brief.runner == "model" else max(submission, 2)
        judgement, details = await asyncio.to_thread(
            _judge, ended.text, self._job.agent, brief, root, receipts, attempt
        )
        judged = Judged(submission, ended.text, judgement.decision, judgement.violations, details, started)
        await store_verdict(self._parts(brief, root), judged)
        return judgement.decision

    async def _finish(self, ended: RunEnd, verdict: str | None = None) -> None:
        await self._events.flush()
        await end_job(self._database, self._job, self._settings, ended, verdict)


class Judged(NamedTuple):
    """A checked answer: which submission it is, its verdict, and what is stored with it."""

    submission: int
    document: str
    verdict: str
    violations: list[dict[str, Any]]
    details: dict[str, Any]
    #: When the check began, by the monotonic clock.
    started: float


async def store_verdict(parts: AttemptParts, judged: Judged) -> None:
    """Store the verdict on an answer, and tell it to those who follow the job."""
    failpoint("checked")
    # Checked as it was sent, stored without secrets.
    stored = msgspec.to_builtins({"verdict": judged.verdict, "violations": judged.violations, **judged.details})
    document = judged.document
    if parts.settings.is_redacting:
        document, stored = await asyncio.to_thread(redact_all, (document, stored))
    await parts.transcript.save_result(judged.submission, document, judged.verdict, msgspec.json.encode(stored))
    failpoint("result-saved")
    levels = [violation["level"] for violation in judged.violations]
    if (telemetry := open_telemetry()) is not None:
        rules = [str(violation["rule"]) for violation in judged.violations]
        telemetry.verdict(parts.job.id, parts.job.agent, judged.verdict, rules)
    await parts.events.emit(
        "checked",
        {
            "verdict": judged.verdict,
            "violations": len(levels) - levels.count("L3"),
            "advice": levels.count("L3"),
            "seconds": time.monotonic() - judged.started,
        },
    )


async def _prepare(work: Callable[..., T], *arguments: Path) -> T:
    """Run `work` in a thread. If the job is cancelled, wait for the thread: the next attempt uses the same folder."""
    preparing = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(preparing)
    except asyncio.CancelledError:
        await asyncio.wait({preparing})
        raise
    except (EnvironmentBroken, OSError) as error:  # the checkout is missing or broken: another attempt would fail, too
        raise RunStopped("error", f"the job's worktree cannot be created: {error}") from error


def apply_limits(brief: Brief, settings: Settings) -> Brief:
    """Return a brief without the tools that this worker does not allow."""
    allowed = AllowList(settings.allow_tools)
    requested = (find_tool(name, allowed.own) for name in brief.tools)
    tools = tuple(str(part) for tool in requested if tool is not None for part in allowed.granted(tool))
    return brief if tools == brief.tools else msgspec.structs.replace(brief, tools=tools)


def _judge(
    report: str, agent: str, brief: Brief, root: Path, receipts: list[Receipt], attempt: int
) -> tuple[ReportJudgement, dict[str, Any]]:
    """Return the judgement of a report; its commit, its claims with code, and its part in a merge."""
    options = Options(
        profile=brief.profile,
        kind=brief.kind,
        agent=brief.definition.name if brief.definition else None,
        attempt=attempt,
    )
    judgement = judge_report(report, options, root, receipts=receipts)
    # A merge uses the claims as they are judged here: the stored text has no secrets.
    verdicts = [msgspec.structs.replace(verdict, verdict=judgement.decision) for verdict in judgement.verdicts]
    reported = report_of(verdicts, agent, WorkTree(root))
    return judgement, {
        "commit": git.head(root),
        "references": claims_with_code(judgement.verdicts, root),
        "reported": msgspec.to_builtins(reported),
    }
