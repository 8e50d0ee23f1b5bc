"""The sessions of clients: delegations, denied calls, budget, declarations, and what was noticed later.

The hooks store sessions as files of a project, so the server shows those of the project that it was started in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.clients.hooks.recorded_project import SessionProject, current_project
from remit.gate.log import is_denied, log_entries, session_summary
from remit.gate.session_store import RecordedSession
from remit.reports.gate_sessions import log_shape, texts
from remit.surfaces.server.site import NotFound, Site, render, site_of

_MAX_SESSIONS = 200
_MAX_DECISIONS = 500
#: The fields of stored entries that pages use.
_DECISION: dict[str, Any] = {
    **dict.fromkeys(("at", "tool", "agent", "decision", "rule", "reason", "exception", "id", "delegate_to")),
    "paths": [],
}
_RESULT: dict[str, Any] = dict.fromkeys(("agent", "at", "attempt", "outcome", "verdict", "violations", "changed"))
_CHANGE: dict[str, Any] = {"at": None, "paths": [], "command": "", "decided": ""}


def _project(site: Site) -> SessionProject:
    return current_project(str(site.folder))


async def session_list(request: Request) -> Response:
    """List the sessions of the project, the latest first."""
    site = site_of(request)
    sessions = await asyncio.to_thread(session_summaries, site, _MAX_SESSIONS)
    return render(request, "sessions.html", sessions=sessions, folder=str(site.folder))


def session_summaries(site: Site, limit: int) -> list[dict[str, Any]]:
    """Return the latest sessions of the project as lists show them."""
    return [_summary(session) for session in _project(site).recorded()[:limit]]


def _summary(session: RecordedSession) -> dict[str, Any]:
    state = session.state
    summary = session_summary(state)
    delegations = summary["delegations"]
    return {
        "name": session.name,
        "session": state.session or session.name,
        "title": state.title or f"session {(state.session or session.name)[:8]}",
        "branch": state.branch,
        "started": time_of(state.started),
        "updated": time_of(state.updated),
        "decisions": len(state.decisions),
        "denied": len(log_entries(state, denied=True)),
        "delegations": len(delegations),
        "open": sum(delegation["state"] == "open" for delegation in delegations),
        "untrue": dict(zip(("stopped", "passed"), state.untrue_since(), strict=True)),
        "changes": sum(not change.decided for change in state.changes),
    }


def time_of(seconds: object) -> datetime | None:
    """Return a stored time; None if it is missing or invalid."""
    try:
        return datetime.fromtimestamp(float(seconds), UTC) if seconds else None  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, OSError):
        return None


async def session_page(request: Request) -> Response:
    """Show one session."""
    site = site_of(request)
    name = request.path_params["name"]
    values = await asyncio.to_thread(_session_values, site, name)
    if values is None:
        raise NotFound(f"there is no session {name}")
    return render(request, "session.html", **values)


def _session_values(site: Site, name: str) -> dict[str, Any] | None:
    project = _project(site)
    session = next((entry for entry in project.recorded() if name in (entry.name, entry.state.session)), None)
    if session is None:
        return None
    state, settings = session.state, project.settings()
    log = log_shape(state, denied=False)
    decisions = [_decision(entry) for entry in log["decisions"][-_MAX_DECISIONS:]]
    results = [_entry(result, _RESULT) for result in project.results(session)]
    return {
        "summary": _summary(session),
        "details": session_summary(state),
        "mode": state.mode,
        "limits": settings.limits,
        "denied": [decision for decision in decisions if is_denied(decision)],
        "saved": log["denied"],
        "decisions": decisions,
        "results": results,
        "changes": [_entry(vars(change), _CHANGE) for change in state.changes],
        "untrue": [_entry(vars(count) | {"stopped": count.stopped}, {}) for count in state.untrue.values()],
    }


def _entry(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    entry = {**defaults, **values}
    entry["at"] = time_of(entry.get("at"))
    if "paths" in defaults:
        entry["paths"] = texts(entry.get("paths"))
    return entry


def _decision(values: Mapping[str, Any]) -> dict[str, Any]:
    return _entry(values, _DECISION)


ROUTES = (
    Route("/sessions", session_list),
    Route("/sessions/{name}", session_page),
)
