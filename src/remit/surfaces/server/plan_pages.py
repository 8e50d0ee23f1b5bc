"""The list of plans, and the page of one plan: phases, delegations, steps, the merged report, and its questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.errors import UsageError
from remit.operations.jobs import ANSWERS, answer_question, cancel_plan
from remit.operations.review_items import whole_number
from remit.orchestrate.answers import owner_of
from remit.orchestrate.api import plan_result
from remit.store import dashboard, plans
from remit.store.plans import PlanState
from remit.surfaces.server.site import (
    before_of,
    choice_of,
    form_of,
    number_of,
    person_of,
    render,
    see_other,
    site_of,
    write,
)

STATES: tuple[str, ...] = get_args(PlanState)
_MAX_WORDS = 10_000
#: Findings of a merged report that the page shows.
_MAX_FINDINGS = 200


async def plan_list(request: Request) -> Response:
    """List plans by page, the newest first."""
    site = site_of(request)
    state = choice_of(request, "state", STATES)
    rows, after = await dashboard.page_of_plans(site.database, state, before_of(request))
    return render(
        request,
        "plans.html",
        rows=rows,
        after=after,
        is_first=before_of(request) is None,
        state=state,
        states=STATES,
        questions=await plans.escalations(site.database, is_open=True),
    )


async def plan_page(request: Request) -> Response:
    """Show one plan."""
    site, number = site_of(request), number_of(request)
    found = await plan_result(site.database, number, whole=True)
    owner = owner_of(found.plan)
    merged = next((phase.merge for phase in reversed(found.phases) if phase.merge is not None), None)
    person = person_of(request)
    is_waiting = found.plan.state in ("running", "waiting")
    answerable = {one.id for one in await plans.escalations(site.database, number, is_open=True)}
    return render(
        request,
        "plan.html",
        plan=found.plan,
        phases=found.phases,
        delegations=found.delegations,
        questions=found.escalations,
        answerable=answerable,
        uses=await plans.uses_of(site.database, number),
        steps=await dashboard.last_steps(site.database, number),
        owner=owner,
        merged=merge_view(merged),
        answers=ANSWERS,
        may_answer=person.may("reviewer"),
        may_cancel=person.may("operator") and is_waiting and not (owner is not None and owner.is_question),
        is_resumable=is_waiting and owner is None and not answerable,
    )


def merge_view(merge: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a stored merge as far as a page shows it, with all fields that the page uses."""
    if merge is None:
        return None
    findings = [_finding(one) for one in _tables(merge.get("findings"))]
    conflicts = [
        {"kind": one.get("kind", ""), "finding": one.get("finding", ""), "why": one.get("why", "")}
        for one in _tables(merge.get("conflicts"))
    ]
    return {
        "status": merge.get("status", ""),
        "decision": merge.get("decision", ""),
        "findings": findings[:_MAX_FINDINGS],
        "number": len(findings),
        "conflicts": conflicts[:_MAX_FINDINGS],
    }


def _finding(one: Mapping[str, Any]) -> dict[str, Any]:
    fields = ("id", "path", "line", "severity", "title", "confidence", "agents", "verified", "category")
    return {name: one.get(name) for name in fields} | {"agents": one.get("agents") or []}


def _tables(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


async def answer(request: Request) -> Response:
    """Store a person's answer to a question of the plan, and show the plan again."""
    number = number_of(request)
    site, form = site_of(request), await form_of(request)
    verb, words = form.get("answer", ""), form.get("words", "").strip()[:_MAX_WORDS]
    question = form.get("question", "")
    details = {"answer": verb, "words": words}
    async with write(request, "reviewer", "answer", f"question:{question}", details):
        asked = whole_number(question)
        if asked is None:
            raise UsageError(f"there is no open question {question[:40]!r}")
        await answer_question(site.database, site.settings, asked, verb, words)
    return see_other(f"/plans/{number}")


async def cancel(request: Request) -> Response:
    """Cancel a plan with its questions and unfinished jobs, and show it again."""
    site, number = site_of(request), number_of(request)
    async with write(request, "operator", "cancel", f"plan:{number}"):
        why = f"{person_of(request).name} cancelled the plan"
        await cancel_plan(site.database, site.settings, number, why)
    return see_other(f"/plans/{number}")


ROUTES = (
    Route("/plans", plan_list),
    Route("/plans/{number:number}", plan_page),
    Route("/plans/{number:number}/answer", answer, methods=["POST"]),
    Route("/plans/{number:number}/cancel", cancel, methods=["POST"]),
)
