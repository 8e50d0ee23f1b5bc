"""The list of plans, and the page of one plan: phases, delegations, steps, the merged report, and its questions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.errors import UsageError
from remit.operations.jobs import ANSWERS, answer_question, cancel_plan, whole_number
from remit.orchestrate.answers import owner_of
from remit.orchestrate.delegating import plan_result
from remit.store import dashboard, plans
from remit.store.plans import JobUsage, PlanState
from remit.surfaces.server.site import (
    before_of,
    choice_of,
    form_of,
    number_of,
    render,
    see_other,
    site_of,
    words_of,
)

STATES: tuple[str, ...] = get_args(PlanState)
_MAX_WORDS = 10_000
#: Findings of a merged report that the page shows.
_MAX_FINDINGS = 200


async def plan_list(request: Request) -> Response:
    """List plans by page, the newest first."""
    site = site_of(request)
    state = choice_of(request, "state", STATES)
    words = words_of(request)
    rows, after = await dashboard.page_of_plans(site.database, state, before_of(request), words=words)
    return render(
        request,
        "plans.html",
        rows=rows,
        after=after,
        is_first=before_of(request) is None,
        state=state,
        states=STATES,
        words=words or "",
        query={name: value for name, value in (("state", state), ("q", words)) if value},
        questions=await plans.escalations(site.database, is_open=True),
    )


async def plan_page(request: Request) -> Response:
    """Show one plan."""
    site, number = site_of(request), number_of(request)
    result = await plan_result(site.database, number, whole=True)
    owner = owner_of(result.plan)
    merged = next((phase.merge for phase in reversed(result.phases) if phase.merge is not None), None)
    is_waiting = result.plan.state in ("running", "waiting")
    uses = await plans.uses_of(site.database, number)
    answerable = {escalation.id for escalation in await plans.escalations(site.database, number, is_open=True)}
    return render(
        request,
        "plan.html",
        plan=result.plan,
        phases=result.phases,
        delegations=result.delegations,
        questions=result.escalations,
        answerable=answerable,
        uses=uses,
        spans=spans_of(uses),
        steps=await dashboard.last_steps(site.database, number),
        owner=owner,
        merged=merge_view(merged),
        answers=ANSWERS,
        may_cancel=is_waiting and not (owner is not None and owner.is_question),
        is_resumable=is_waiting and owner is None and not answerable,
    )


class Span(NamedTuple):
    """When a job waited and ran, in percent of the time from the first to the last job of its plan."""

    created: float
    started: float
    finished: float


def spans_of(uses: Mapping[int, JobUsage], now: datetime | None = None) -> dict[int, Span]:
    """Return the spans of the jobs of a plan, by job number."""
    end = now or datetime.now(UTC)
    times = {
        job: (use.created, use.started or use.finished or end, use.finished or end)
        for job, use in uses.items()
        if use.created is not None
    }
    first = min((created for created, _, _ in times.values()), default=end)
    whole = max((finished - first for _, _, finished in times.values()), default=end - first).total_seconds() or 1.0
    return {
        job: Span(*(100 * (time - first).total_seconds() / whole for time in three)) for job, three in times.items()
    }


def merge_view(merge: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a stored merge as far as a page shows it, with all fields that the page uses."""
    if merge is None:
        return None
    findings = [_finding(table) for table in _tables(merge.get("findings"))]
    titles = {finding["id"]: finding["title"] for finding in findings}
    conflicts = []
    for table in _tables(merge.get("conflicts")):
        kind, finding, why = (str(table.get(name) or "") for name in ("kind", "finding", "why"))
        conflicts.append({"kind": kind, "finding": titles.get(finding, finding), "why": why})
    return {
        "status": merge.get("status", ""),
        "decision": merge.get("decision", ""),
        "findings": findings[:_MAX_FINDINGS],
        "number": len(findings),
        "conflicts": conflicts[:_MAX_FINDINGS],
    }


def _finding(table: Mapping[str, Any]) -> dict[str, Any]:
    fields = ("id", "path", "line", "severity", "title", "confidence", "agents", "verified", "category")
    return {name: table.get(name) for name in fields} | {"agents": table.get("agents") or []}


def _tables(value: object) -> list[Mapping[str, Any]]:
    return [table for table in value if isinstance(table, Mapping)] if isinstance(value, list) else []


async def answer(request: Request) -> Response:
    """Store a person's answer to a question of the plan, and show the plan again."""
    number = number_of(request)
    site, form = site_of(request), await form_of(request)
    verb, words = form.get("answer", ""), form.get("words", "").strip()[:_MAX_WORDS]
    question = form.get("question", "")
    asked = whole_number(question)
    if asked is None:
        raise UsageError(f"there is no open question {question[:40]!r}")
    await answer_question(site.database, site.settings, asked, verb, words)
    return see_other(f"/plans/{number}")


async def cancel(request: Request) -> Response:
    """Cancel a plan with its questions and unfinished jobs, and show it again."""
    site, number = site_of(request), number_of(request)
    await cancel_plan(site.database, site.settings, number, "a person cancelled the plan")
    return see_other(f"/plans/{number}")


ROUTES = (
    Route("/plans", plan_list),
    Route("/plans/{number:number}", plan_page),
    Route("/plans/{number:number}/answer", answer, methods=["POST"]),
    Route("/plans/{number:number}/cancel", cancel, methods=["POST"]),
)
