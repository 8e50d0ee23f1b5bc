"""The overview, the list of jobs, and the page of one job: its tree, result and verdict, transcript, brief and cost."""

from __future__ import annotations

from datetime import datetime
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.dispatch.submit import retry
from remit.orchestrate.progress import record_cancelled
from remit.store import dashboard, jobs, review_queue
from remit.store.dashboard import JobFilter
from remit.store.jobs import Job, Outcome, State
from remit.surfaces.server.job_view import brief_view, conversation_of, event_texts, marked_lines, report_of
from remit.surfaces.server.site import (
    Site,
    before_of,
    choice_of,
    number_of,
    person_of,
    render,
    see_other,
    site_of,
    write,
)

_MAX_RECENT = 12
_MAX_QUEUED = 10
STATES: tuple[str, ...] = get_args(State)
OUTCOMES: tuple[str, ...] = get_args(Outcome)
VERDICTS = ("accept", "revise", "reject")


async def overview(request: Request) -> Response:
    """Show what runs, waits and is stuck, the workers, today's spending, and what waits for a person."""
    site = site_of(request)
    timeout = site.settings.takeover_seconds
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    running = await dashboard.active_jobs(site.database, "running", timeout)
    recent, _ = await dashboard.page_of_jobs(site.database, JobFilter(state="finished"), None, _MAX_RECENT)
    return render(
        request,
        "overview.html",
        figures=await dashboard.figures(site.database, midnight),
        running=running,
        stuck=[row for row in running if row["is_stuck"]],
        queued=await dashboard.active_jobs(site.database, "queued", timeout, _MAX_QUEUED),
        workers=await dashboard.listed_workers(site.database, timeout),
        budgets=await dashboard.budgets_in_use(site.database),
        recent=recent,
        day_budget=site.settings.day_budget,
        review=await review_queue.progress(site.database),
    )


def filter_of(request: Request) -> JobFilter:
    """Return which jobs a request asks for."""
    agent = request.query_params.get("agent", "")[:200]
    return JobFilter(
        state=choice_of(request, "state", STATES),
        verdict=choice_of(request, "verdict", VERDICTS),
        outcome=choice_of(request, "outcome", OUTCOMES),
        agent=agent if agent and agent.isprintable() else None,
    )


async def job_list(request: Request) -> Response:
    """List jobs by page, the newest first."""
    site, wanted = site_of(request), filter_of(request)
    rows, after = await dashboard.page_of_jobs(site.database, wanted, before_of(request))
    return render(
        request,
        "jobs.html",
        rows=rows,
        wanted=wanted,
        after=after,
        is_first=before_of(request) is None,
        agents=await dashboard.agent_names(site.database),
        choices={"state": STATES, "verdict": VERDICTS, "outcome": OUTCOMES},
    )


async def job_page(request: Request) -> Response:
    """Show one job."""
    site = site_of(request)
    job = await jobs.get(site.database, number_of(request))
    results = await dashboard.results_of(site.database, job.id)
    transcript = await dashboard.transcript_of(site.database, job.id)
    report = report_of(results)
    document = results[-1]["document"] if results else job.result or ""
    person = person_of(request)
    return render(
        request,
        "job.html",
        job=job,
        tree=await dashboard.tree_of(site.database, job),
        plan=await dashboard.plan_of_job(site.database, job.id),
        brief=await _brief(site, job),
        report=report,
        lines=marked_lines(document, report),
        earlier=results[:-1],
        conversation=conversation_of(job, transcript),
        receipts=transcript.receipts,
        events=event_texts(await dashboard.last_events(site.database, job.id)),
        may_operate=person.may("operator"),
        can_retry=_can_retry(job),
    )


async def _brief(site: Site, job: Job) -> dict[str, Any] | None:
    row = await site.database.row("jobs.brief", digest=job.brief)
    return brief_view(row["brief"] if row else None)


def _can_retry(job: Job) -> bool:
    return job.state == "finished" and (job.outcome != "completed" or job.verdict == "revise")


async def cancel_job(request: Request) -> Response:
    """Cancel a job and show it again."""
    site, number = site_of(request), number_of(request)
    async with write(request, "operator", "cancel", f"job:{number}"):
        await jobs.cancel(site.database, number)
        await record_cancelled(site.settings.data, f"job {number}")
    return see_other(f"/jobs/{number}")


async def retry_job(request: Request) -> Response:
    """Continue a job that did not complete, or let it correct its result, and show it again."""
    site, number = site_of(request), number_of(request)
    async with write(request, "operator", "retry", f"job:{number}"):
        await site.database.without_retry(lambda: retry(site.database, number))
    return see_other(f"/jobs/{number}")


ROUTES = (
    Route("/", overview),
    Route("/jobs", job_list),
    Route("/jobs/{number:number}", job_page),
    Route("/jobs/{number:number}/cancel", cancel_job, methods=["POST"]),
    Route("/jobs/{number:number}/retry", retry_job, methods=["POST"]),
)
