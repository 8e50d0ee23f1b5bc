"""The API for jobs, plans and questions: submit, list, show, cancel, retry, follow and answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
from starlette.requests import Request

from remit.dispatch.correction import retry
from remit.dispatch.submit import Queueing, Resolving
from remit.dispatch.submit import submit as submit_job
from remit.errors import UsageError
from remit.orchestrate.api import plan_result
from remit.orchestrate.progress import record_cancelled
from remit.registry.model import Limits
from remit.reports.jobs import JobShape, job_shape
from remit.reports.plans import escalation_shape, plan_shape
from remit.store import jobs, plans
from remit.store.jobs import Job
from remit.surfaces.server.job_pages import filter_of
from remit.surfaces.server.operations import Answered, Operation, QueryParameter
from remit.surfaces.server.plan_pages import give_checked_answer
from remit.surfaces.server.site import Site, before_of, number_of, site_of, write
from remit.surfaces.server.streams import job_events

_MAX_LISTED = 500
_BEFORE = QueryParameter("before", "continue before this number", "integer")
_LIMIT = QueryParameter("limit", f"at most this many, 1 to {_MAX_LISTED}; default: 50", "integer")


class JobSubmission(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job to submit. The policy is always `strict`: unknown definitions and tools are refused."""

    task: str
    #: The definition; null: the job has none.
    agent: str | None = None
    #: The folder to work in, relative to the folder that the server was started in.
    repo: str = "."
    system: str | None = None
    allowed_tools: list[str] | None = None
    model: str | None = None
    kind: str | None = None
    profile: str | None = None
    contract: Literal["none"] | None = None
    max_turns: int | None = None
    input_vars: dict[str, str] = {}
    limits: Limits | None = None
    isolation: Literal["worktree"] | None = None
    queue: str = "default"
    priority: int = 0
    key: str | None = None
    delay: float = 0
    parent: int | None = None
    tree_max_tokens: int | None = None
    tree_max_cost: float | None = None
    tree_max_turns: int | None = None
    tree_max_seconds: float | None = None


class JobList(msgspec.Struct, kw_only=True):
    """Jobs, the newest first."""

    schema: Literal["remit.jobs/1"] = "remit.jobs/1"
    jobs: list[JobShape]


class QuestionShape(msgspec.Struct, kw_only=True):
    """A question of a plan or an orchestrator."""

    id: int
    plan: int
    agent: str | None
    reason: str
    answer: str | None
    words: str | None


class QuestionList(msgspec.Struct, kw_only=True):
    """The open questions."""

    schema: Literal["remit.escalations/1"] = "remit.escalations/1"
    escalations: list[QuestionShape]


class GivenAnswerShape(msgspec.Struct, kw_only=True):
    """A stored answer, and what continues the work."""

    schema: Literal["remit.answer/1"] = "remit.answer/1"
    escalation: int
    plan: int
    answer: str
    next_action: str


class AnswerBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An answer to a question."""

    answer: Literal["retry", "skip", "text", "cancel"]
    why: str = ""


def inside(site: Site, name: str) -> Path:
    """Return a folder of a request. Raises UsageError if it is not in the folder of the server."""
    root = site.folder.resolve()
    try:
        folder = (root / name).resolve()
    except (OSError, ValueError) as error:
        raise UsageError(f"the folder {name!r} cannot be used") from error
    if not folder.is_relative_to(root):
        raise UsageError(f"the folder {name!r} is not in the folder that the server was started in")
    return folder


def limit_of(request: Request) -> int:
    """Return how many entries a request asks for."""
    text = request.query_params.get("limit", "50")
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= _MAX_LISTED):
        raise UsageError(f"limit must be from 1 to {_MAX_LISTED}, not {text[:40]!r}")
    return int(text)


async def submit(request: Request, body: JobSubmission) -> Answered:
    """Put a job into the queue."""
    site = site_of(request)
    fields = msgspec.structs.asdict(body)
    queueing = Queueing(**{name: fields.pop(name) for name in Queueing._fields if name in fields and name != "agent"})
    wanted = {**fields, "prompt": fields.pop("task"), "subagent_def": fields.pop("agent")}
    del wanted["repo"], wanted["task"], wanted["agent"]
    async with write(request, "operator", "submit", f"agent:{body.agent}", {"key": body.key, "queue": body.queue}):
        submitted = await submit_job(
            site.database,
            {name: value for name, value in wanted.items() if value is not None},
            site.settings,
            inside(site, body.repo),
            queueing=queueing,
            resolving=Resolving(policy="strict"),
        )
    job = job_shape(await jobs.get(site.database, submitted.id))
    return Answered(job, 201 if submitted.is_new else 200)


async def list_all(request: Request) -> JobList:
    """List jobs."""
    site, wanted = site_of(request), filter_of(request)
    found = await site.database.filtered(
        "dashboard.whole_jobs",
        state=wanted.state,
        agent=wanted.agent,
        verdict=wanted.verdict,
        before=before_of(request),
        limit=limit_of(request),
    )
    return JobList(jobs=[job_shape(jobs.as_job(row)) for row in found])


async def _shape(site: Site, number: int) -> JobShape:
    found: Job = await jobs.get(site.database, number)
    return job_shape(found)


async def show(request: Request) -> JobShape:
    """Return one job with its result."""
    return await _shape(site_of(request), number_of(request))


async def cancel(request: Request) -> JobShape:
    """Cancel a job."""
    site, number = site_of(request), number_of(request)
    async with write(request, "operator", "cancel", f"job:{number}"):
        await jobs.cancel(site.database, number)
        await record_cancelled(site.settings.data, f"job {number}")
    return await _shape(site, number)


async def retry_job(request: Request) -> JobShape:
    """Continue a job that did not complete, or let it correct its result."""
    site, number = site_of(request), number_of(request)
    async with write(request, "operator", "retry", f"job:{number}"):
        await site.database.without_retry(lambda: retry(site.database, number))
    return await _shape(site, number)


async def show_plan(request: Request) -> dict[str, Any]:
    """Return one plan with its phases, questions and merged report."""
    return plan_shape(await plan_result(site_of(request).database, number_of(request)))


async def questions(request: Request) -> QuestionList:
    """Return the open questions."""
    found = await plans.escalations(site_of(request).database, is_open=True)
    return QuestionList(escalations=[QuestionShape(**escalation_shape(one)) for one in found])


async def answer(request: Request, body: AnswerBody) -> GivenAnswerShape:
    """Answer a question."""
    number = number_of(request)
    details = {"answer": body.answer, "words": body.why}
    async with write(request, "reviewer", "answer", f"question:{number}", details):
        next_action = await give_checked_answer(request, str(number), body.answer, body.why.strip())
    asked = await plans.get_escalation(site_of(request).database, number)
    plan = asked.plan if asked is not None else 0
    return GivenAnswerShape(escalation=number, plan=plan, answer=body.answer, next_action=next_action)


_FILTERS = (
    QueryParameter("state", "queued, running or finished"),
    QueryParameter("agent", "the name of an agent"),
    QueryParameter("verdict", "accept, revise or reject"),
)
_JOB = "/jobs/{number:int}"
OPERATIONS = (
    Operation("POST", "/jobs", "submitJob", "Submit a job", "operator", submit, JobShape, JobSubmission, status=201),
    Operation("GET", "/jobs", "listJobs", "List jobs", "viewer", list_all, JobList, query=(*_FILTERS, _BEFORE, _LIMIT)),
    Operation("GET", _JOB, "showJob", "Show a job with its result", "viewer", show, JobShape),
    Operation("POST", f"{_JOB}/cancel", "cancelJob", "Cancel a job", "operator", cancel, JobShape),
    Operation("POST", f"{_JOB}/retry", "retryJob", "Continue or correct a job", "operator", retry_job, JobShape),
    Operation("GET", f"{_JOB}/events", "followJob", "Follow the events of a job", "viewer", job_events),
    Operation("GET", "/plans/{number:int}", "showPlan", "Show a plan", "viewer", show_plan, dict[str, Any]),
    Operation("GET", "/questions", "listQuestions", "List the open questions", "viewer", questions, QuestionList),
    Operation(
        *("POST", "/questions/{number:int}/answer", "answerQuestion", "Answer a question", "reviewer", answer),
        answer=GivenAnswerShape,
        body=AnswerBody,
    ),
)
