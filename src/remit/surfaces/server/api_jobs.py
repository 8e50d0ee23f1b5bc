"""The API for jobs, plans and questions: submit, list, show, cancel, retry, follow and answer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from starlette.requests import Request

from remit.dispatch.correction import retry
from remit.errors import UsageError
from remit.orchestrate.api import plan_result
from remit.orchestrate.progress import record_cancelled
from remit.reports.jobs import JobShape, job_shape
from remit.reports.plans import plan_shape
from remit.store import jobs
from remit.store.jobs import Job
from remit.surfaces.requests.folders import Folders
from remit.surfaces.requests.posted_jobs import (
    AnswerVerb,
    GivenAnswerShape,
    JobSubmission,
    QuestionList,
    answer_posted,
    open_questions,
    submit_posted,
)
from remit.surfaces.server.job_pages import filter_of
from remit.surfaces.server.operations import Answered, Operation, QueryParameter
from remit.surfaces.server.site import Site, before_of, number_of, site_of, write
from remit.surfaces.server.streams import job_events

_MAX_LISTED = 500
_BEFORE = QueryParameter("before", "continue before this number", "integer")
_LIMIT = QueryParameter("limit", f"at most this many, 1 to {_MAX_LISTED}; default: 50", "integer")


class JobList(msgspec.Struct, kw_only=True):
    """Jobs, the newest first."""

    schema: Literal["remit.jobs/1"] = "remit.jobs/1"
    jobs: list[JobShape]


class AnswerBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An answer to a question."""

    answer: AnswerVerb
    why: str = ""


def limit_of(request: Request) -> int:
    """Return how many entries a request asks for."""
    text = request.query_params.get("limit", "50")
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 0 < int(text) <= _MAX_LISTED):
        raise UsageError(f"limit must be from 1 to {_MAX_LISTED}, not {text[:40]!r}")
    return int(text)


async def submit(request: Request, body: JobSubmission) -> Answered:
    """Put a job into the queue."""
    site = site_of(request)
    async with write(request, "operator", "submit", f"agent:{body.agent}", {"key": body.key, "queue": body.queue}):
        accepted = await submit_posted(site.database, site.settings, Folders([site.folder]), body)
    return Answered(accepted.job, 201 if accepted.is_new else 200)


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
    return await open_questions(site_of(request).database)


async def answer(request: Request, body: AnswerBody) -> GivenAnswerShape:
    """Answer a question."""
    site, number = site_of(request), number_of(request)
    details = {"answer": body.answer, "words": body.why}
    async with write(request, "reviewer", "answer", f"question:{number}", details):
        return await answer_posted(site.database, site.settings, number, body.answer, body.why.strip())


_FILTERS = (
    QueryParameter("state", "queued, running or finished"),
    QueryParameter("agent", "the name of an agent"),
    QueryParameter("verdict", "accept, revise or reject"),
)
_JOB = "/jobs/{number:number}"
OPERATIONS = (
    Operation("POST", "/jobs", "submitJob", "Submit a job", "operator", submit, JobShape, JobSubmission, status=201),
    Operation("GET", "/jobs", "listJobs", "List jobs", "viewer", list_all, JobList, query=(*_FILTERS, _BEFORE, _LIMIT)),
    Operation("GET", _JOB, "showJob", "Show a job with its result", "viewer", show, JobShape),
    Operation("POST", f"{_JOB}/cancel", "cancelJob", "Cancel a job", "operator", cancel, JobShape),
    Operation("POST", f"{_JOB}/retry", "retryJob", "Continue or correct a job", "operator", retry_job, JobShape),
    Operation("GET", f"{_JOB}/events", "followJob", "Follow the events of a job", "viewer", job_events),
    Operation("GET", "/plans/{number:number}", "showPlan", "Show a plan", "viewer", show_plan, dict[str, Any]),
    Operation("GET", "/questions", "listQuestions", "List the open questions", "viewer", questions, QuestionList),
    Operation(
        *("POST", "/questions/{number:number}/answer", "answerQuestion", "Answer a question", "reviewer", answer),
        answer=GivenAnswerShape,
        body=AnswerBody,
    ),
)
