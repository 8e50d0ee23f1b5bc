"""The overview: reports that were sent back, open questions, the last sessions, and the jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from psycopg.rows import DictRow
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.clients.hooks.recorded_project import SessionProject, current_project
from remit.clients.hooks.results import KeptResult, untrue_claims
from remit.gate.session_store import RecordedSession
from remit.store import dashboard, plans
from remit.store.dashboard import JobFilter
from remit.surfaces.server.session_pages import session_summaries
from remit.surfaces.server.site import Site, render, site_of

_SENT_BACK_DAYS = 7
_MAX_SENT_BACK = 10
_MAX_SESSIONS = 5
_MAX_QUESTIONS = 5
_MAX_RECENT = 12
_MAX_QUEUED = 10
#: Sessions whose reports are read.
_MAX_READ = 50


class SentBack(NamedTuple):
    """A report that was sent back or rejected."""

    agent: str
    at: datetime
    #: What became of it.
    end: str
    #: The page that shows it, and the title of the link.
    address: str
    title: str
    #: The number of its untrue claims, and the first of them, or else its first violation.
    claims: int
    example: str


async def overview(request: Request) -> Response:
    """Show what was sent back, what waits for a person, the last sessions, and what runs, waits and is stuck."""
    site = site_of(request)
    timeout = site.settings.takeover_seconds
    now = datetime.now().astimezone()
    since = now - timedelta(days=_SENT_BACK_DAYS)
    running = await dashboard.active_jobs(site.database, "running", timeout)
    recent, _ = await dashboard.page_of_jobs(site.database, JobFilter(state="finished"), None, _MAX_RECENT)
    questions = await plans.escalations(site.database, is_open=True)
    returned = await dashboard.returned_results(site.database, since, _MAX_SENT_BACK)
    sent_back = [*map(_of_job, returned), *await asyncio.to_thread(_of_sessions, site, since)]
    return render(
        request,
        "overview.html",
        days=_SENT_BACK_DAYS,
        sent_back=sorted(sent_back, key=lambda report: report.at, reverse=True)[:_MAX_SENT_BACK],
        sessions=await asyncio.to_thread(session_summaries, site, _MAX_SESSIONS),
        questions=questions[:_MAX_QUESTIONS],
        more_questions=len(questions) - _MAX_QUESTIONS,
        figures=await dashboard.figures(site.database, now.replace(hour=0, minute=0, second=0, microsecond=0)),
        running=running,
        stuck=[row for row in running if row["is_stuck"]],
        queued=await dashboard.active_jobs(site.database, "queued", timeout, _MAX_QUEUED),
        workers=await dashboard.listed_workers(site.database, timeout),
        recent=recent,
    )


def _of_job(row: DictRow) -> SentBack:
    is_corrected = row["state"] == "finished" and row["verdict"] == "accept"
    end = "sent back and corrected" if is_corrected else "rejected" if row["state"] == "finished" else "sent back"
    stored = row["violations"] if isinstance(row["violations"], list) else []
    return SentBack(
        row["agent"],
        row["created"],
        end,
        f"/jobs/{row['job']}#correction" if is_corrected else f"/jobs/{row['job']}",
        f"job {row['job']}",
        *_claims([violation for violation in stored if isinstance(violation, dict)]),
    )


def _of_sessions(site: Site, since: datetime) -> list[SentBack]:
    """Return the reports that hooks sent back since a time."""
    project = current_project(str(site.folder))
    sessions = [session for session in project.recorded()[:_MAX_READ] if session.state.updated >= since.timestamp()]
    return [report for session in sessions for report in _of_session(project, session, since)]


def _of_session(project: SessionProject, session: RecordedSession, since: datetime) -> Iterable[SentBack]:
    kept = project.kept(session)
    for report in kept:
        if report.outcome in ("returned", "rejected") and report.at >= since.timestamp():
            yield SentBack(
                report.agent.rpartition(":")[2],
                datetime.fromtimestamp(report.at, UTC),
                _end_of(report, kept),
                f"/sessions/{session.name}#delegations",
                session.state.title or f"session {session.name[:8]}",
                *_claims(report.violations),
            )


def _end_of(report: KeptResult, kept: Iterable[KeptResult]) -> str:
    """Return what became of a report: only one that was sent back can be corrected."""
    if report.outcome != "returned":
        return "rejected"
    later = (result for result in kept if result.agent_id == report.agent_id and result.at > report.at)
    return "sent back and corrected" if any(result.outcome == "accepted" for result in later) else "sent back"


def _claims(violations: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    untrue = untrue_claims(violations)
    first = next(iter(untrue or violations), {})
    return len(untrue), str(first.get("message") or "")


ROUTES = (Route("/", overview),)
