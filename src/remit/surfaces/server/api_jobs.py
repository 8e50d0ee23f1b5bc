"""The API for lists of jobs, plans, questions and events; the other operations are those of `remit.operations`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from starlette.requests import Request

from remit.errors import UsageError
from remit.operations.jobs import QuestionList, open_questions
from remit.orchestrate.api import plan_result
from remit.reports.jobs import JobShape, job_shape
from remit.reports.plans import plan_shape
from remit.store import jobs
from remit.surfaces.server.job_pages import filter_of
from remit.surfaces.server.operations import ApiOperation, QueryParameter
from remit.surfaces.server.site import before_of, number_of, site_of
from remit.surfaces.server.streams import job_events

_MAX_LISTED = 500
_BEFORE = QueryParameter("before", "continue before this number", "integer")
_LIMIT = QueryParameter("limit", f"at most this many, 1 to {_MAX_LISTED}; default: 50", "integer")


class JobList(msgspec.Struct, kw_only=True):
    """Jobs, the newest first."""

    schema: Literal["remit.jobs/1"] = "remit.jobs/1"
    jobs: list[JobShape]


def limit_of(request: Request) -> int:
    """Return how many entries a request asks for."""
    text = request.query_params.get("limit", "50")
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 0 < int(text) <= _MAX_LISTED):
        raise UsageError(f"limit must be from 1 to {_MAX_LISTED}, not {text[:40]!r}")
    return int(text)


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


async def show_plan(request: Request) -> dict[str, Any]:
    """Return one plan with its phases, questions and merged report."""
    return plan_shape(await plan_result(site_of(request).database, number_of(request)))


async def questions(request: Request) -> QuestionList:
    """Return the open questions."""
    return await open_questions(site_of(request).database)


_FILTERS = (
    QueryParameter("state", "queued, running or finished"),
    QueryParameter("agent", "the name of an agent"),
    QueryParameter("verdict", "accept, revise or reject"),
)
OPERATIONS = (
    ApiOperation(
        "GET", "/jobs", "listJobs", "List jobs", "viewer", list_all, JobList, query=(*_FILTERS, _BEFORE, _LIMIT)
    ),
    ApiOperation(
        "GET", "/jobs/{number:number}/events", "followJob", "Follow the events of a job", "viewer", job_events
    ),
    ApiOperation("GET", "/plans/{number:number}", "showPlan", "Show a plan", "viewer", show_plan, dict[str, Any]),
    ApiOperation("GET", "/questions", "listQuestions", "List the open questions", "viewer", questions, QuestionList),
)
