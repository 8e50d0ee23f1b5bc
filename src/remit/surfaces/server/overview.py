"""The overview: the untrue claims of the last days, the last rejected report, open questions, and then the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
from psycopg.rows import DictRow
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.clients.hooks.recorded_project import SessionProject, current_project
from remit.clients.hooks.results import CLAIM_RULES, KeptResult, untrue_claims
from remit.gate.session import SessionState
from remit.gate.session_store import RecordedSession
from remit.store import dashboard, plans, review_queue
from remit.store.dashboard import JobFilter
from remit.store.database import Database
from remit.surfaces.server.site import Site, render, site_of

#: The overview counts untrue claims of these days.
_UNTRUE_DAYS = 7
_MAX_RECENT = 12
_MAX_QUEUED = 10
#: Rows of the table of days and agents, claims of the last rejected report, and questions that are shown.
_MAX_UNTRUE_ROWS = 14
_MAX_CLAIMS = 8
_MAX_QUESTIONS = 5
#: What made an untrue claim, if it was not a subagent.
_MAIN_AGENT = "main agent"
_PROMPT = "prompt "


class UntrueRow(msgspec.Struct, kw_only=True):
    """The untrue claims of one agent on one day: how many were stopped, how many got through, and the first of them."""

    day: date
    agent: str
    stopped: int = 0
    passed: int = 0
    example: str = ""
    #: The page that shows the example, and the title of the link.
    address: str = ""
    title: str = ""


class RejectedReport(msgspec.Struct, kw_only=True):
    """A report that was sent back or rejected for its untrue claims."""

    agent: str
    at: datetime
    #: What became of it.
    end: str
    #: The page that shows it, and the title of the link.
    address: str
    title: str
    claims: Sequence[Mapping[str, Any]]


class SessionUntruths(msgspec.Struct, kw_only=True):
    """What the sessions of the project add to the overview."""

    rows: list[UntrueRow]
    last: RejectedReport | None


async def overview(request: Request) -> Response:
    """Show what was untrue, what waits for a person, what runs, waits and is stuck, the workers and the spending."""
    site = site_of(request)
    timeout = site.settings.takeover_seconds
    now = datetime.now().astimezone()
    running = await dashboard.active_jobs(site.database, "running", timeout)
    recent, _ = await dashboard.page_of_jobs(site.database, JobFilter(state="finished"), None, _MAX_RECENT)
    since = now - timedelta(days=_UNTRUE_DAYS)
    returned = await dashboard.returned_results(site.database, since, CLAIM_RULES)
    sessions = await asyncio.to_thread(session_facts, site, since)
    untrue = [row for row in returned if row["claims"]]
    rows = sum_by_day([*job_rows(untrue), *sessions.rows])
    questions = await plans.escalations(site.database, is_open=True)
    return render(
        request,
        "overview.html",
        days=_UNTRUE_DAYS,
        untrue=rows[:_MAX_UNTRUE_ROWS],
        more=len(rows) - _MAX_UNTRUE_ROWS,
        stopped=sum(row.stopped for row in rows),
        passed=sum(row.passed for row in rows),
        is_cut=len(returned) == dashboard.MAX_RETURNED,
        rejected=_later(await last_of_jobs(site.database, untrue), sessions.last),
        max_claims=_MAX_CLAIMS,
        questions=questions[:_MAX_QUESTIONS],
        more_questions=len(questions) - _MAX_QUESTIONS,
        figures=await dashboard.figures(site.database, now.replace(hour=0, minute=0, second=0, microsecond=0)),
        running=running,
        stuck=[row for row in running if row["is_stuck"]],
        queued=await dashboard.active_jobs(site.database, "queued", timeout, _MAX_QUEUED),
        workers=await dashboard.listed_workers(site.database, timeout),
        budgets=await dashboard.budgets_in_use(site.database),
        recent=recent,
        day_budget=site.settings.day_budget,
        review=await review_queue.progress(site.database),
    )


def job_rows(returned: Iterable[DictRow]) -> list[UntrueRow]:
    """Return the untrue claims of jobs: of the submissions of one job, the one with the most counts."""
    worst: dict[int, DictRow] = {}
    for row in returned:
        known = worst.get(row["job"])
        if known is None or row["claims"] > known["claims"]:
            worst[row["job"]] = row
    return [
        UntrueRow(
            day=_day(row["created"]),
            agent=row["agent"],
            stopped=row["claims"],
            example=row["example"] or "",
            address=f"/jobs/{row['job']}#correction",
            title=f"job {row['job']}",
        )
        for row in worst.values()
    ]


def sum_by_day(rows: Iterable[UntrueRow]) -> list[UntrueRow]:
    """Return one row for each day and agent, the newest day first, then the most untrue claims first."""
    sums: dict[tuple[date, str], UntrueRow] = {}
    for row in rows:
        total = sums.setdefault((row.day, row.agent), UntrueRow(day=row.day, agent=row.agent))
        total.stopped += row.stopped
        total.passed += row.passed
        if row.example and (not total.example or row.passed):  # what got through is what a reader wants to know first
            total.example, total.address, total.title = row.example, row.address, row.title
    return sorted(sums.values(), key=lambda row: (-row.day.toordinal(), -row.stopped - row.passed, row.agent))


async def last_of_jobs(database: Database, returned: Sequence[DictRow]) -> RejectedReport | None:
    """Return the last result of a job with untrue claims."""
    if not returned:
        return None
    row = returned[0]
    result = await dashboard.result_of(database, row["job"], row["submission"])
    report = result["report"] if result is not None and isinstance(result["report"], dict) else {}
    violations = report.get("violations")
    entries = [entry for entry in violations if isinstance(entry, dict)] if isinstance(violations, list) else []
    is_corrected = row["state"] == "finished" and row["verdict"] == "accept"
    end = "sent back and corrected" if is_corrected else "rejected" if row["state"] == "finished" else "sent back"
    return RejectedReport(
        agent=row["agent"],
        at=row["created"],
        end=end,
        address=f"/jobs/{row['job']}#correction" if is_corrected else f"/jobs/{row['job']}",
        title=f"job {row['job']}",
        claims=_claims(entries),
    )


def session_facts(site: Site, since: datetime) -> SessionUntruths:
    """Return what the hooks counted in the sessions since a time, and the last report that they stopped."""
    project = current_project(str(site.folder))
    oldest = since.timestamp()
    sessions = [session for session in project.recorded() if session.state.updated >= oldest and session.state.untrue]
    rows = [row for session in sessions for row in _session_rows(project, session, oldest)]
    last = None
    for session in sessions:
        newest = max(
            (entry.at for key, entry in session.state.untrue.items() if not key.startswith(_PROMPT)), default=0.0
        )
        if newest >= oldest and (last is None or newest > last.at.timestamp()):
            last = _last_of_session(project, session) or last
    return SessionUntruths(rows=rows, last=last)


def _session_rows(project: SessionProject, recorded: RecordedSession, since: float) -> list[UntrueRow]:
    entries = [(key, entry) for key, entry in recorded.state.untrue.items() if entry.at >= since]
    agents = _agents(recorded.state)
    if any(not key.startswith(_PROMPT) and key not in agents for key, _ in entries):  # a delegation that was dropped
        agents = {report.agent_id: report.agent for report in project.kept(recorded)} | agents
    return [
        UntrueRow(
            day=_day(datetime.fromtimestamp(entry.at, UTC)),
            agent=_MAIN_AGENT if key.startswith(_PROMPT) else agents.get(key, "subagent").rpartition(":")[2],
            stopped=entry.stopped,
            passed=entry.passed,
            example=entry.example,
            address=f"/sessions/{recorded.name}",
            title=recorded.state.title or "session",
        )
        for key, entry in entries
        if entry.stopped or entry.passed
    ]


def _agents(state: SessionState) -> dict[str, str]:
    return {entry.agent_id: entry.agent for entry in state.delegations.values() if entry.agent_id}


def _last_of_session(project: SessionProject, recorded: RecordedSession) -> RejectedReport | None:
    kept = project.kept(recorded)
    stopped = [result for result in kept if result.outcome in ("returned", "rejected") and result.untrue]
    if not stopped:
        return None
    report = stopped[-1]
    return RejectedReport(
        agent=report.agent.rpartition(":")[2],
        at=datetime.fromtimestamp(report.at, UTC),
        end=_end_of(report, kept),
        address=f"/sessions/{recorded.name}#delegations",
        title=recorded.state.title or f"session {recorded.name[:8]}",
        claims=_claims(report.violations),
    )


def _end_of(report: KeptResult, kept: Iterable[KeptResult]) -> str:
    """Return what became of a report: only one that was sent back can be corrected."""
    later = (result for result in kept if result.agent_id == report.agent_id and result.at > report.at)
    if report.outcome == "returned":
        return "sent back and corrected" if any(result.outcome == "accepted" for result in later) else "sent back"
    return "rejected"


def _claims(violations: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the untrue claims with all fields that the page uses."""
    return [{"rule": "", "line": "", "message": "", **claim} for claim in untrue_claims(violations)]


def _later(rejected_report: RejectedReport | None, other: RejectedReport | None) -> RejectedReport | None:
    reports = [report for report in (rejected_report, other) if report is not None]
    return max(reports, key=lambda report: report.at, default=None)


def _day(time: datetime) -> date:
    return time.astimezone().date()


ROUTES = (Route("/", overview),)
