"""A person's answers to what a plan asked: retry, skip, cancel, or words to go on with."""

from __future__ import annotations

import re
from typing import NamedTuple

from remit.contract.feedback import neutralize
from remit.dispatch.correction import next_message
from remit.errors import UsageError
from remit.store import plans
from remit.store.database import Database
from remit.store.plan_lease import PlanLease
from remit.store.plans import Delegation, Escalation, PhaseRow, PlanRow

#: So often a phase is tried, and a delegation; then nothing but skipping or cancelling helps.
MAX_ROUNDS = 3
MAX_TRIES = 5
#: The queries of `plans.sql` and `jobs.sql` know these forms, too.
_OWNED = re.compile(r"(question|orchestrate)-(\d+)-")


class AppliedAnswers(NamedTuple):
    """What answers have done to a phase."""

    is_cancelled: bool = False
    #: The last answer to a question about the whole phase was to go on with what there is.
    is_skipped: bool = False
    #: Words for delegations, by their number.
    words: dict[int, str] = {}


async def apply_answers(database: Database, lease: PlanLease, plan: int, phase: PhaseRow) -> AppliedAnswers:
    """Do what was answered for a phase and is not done yet; what was done before still counts."""
    given = [one for one in await plans.escalations(database, plan) if one.phase == phase.number and one.answer]
    if not given:
        return AppliedAnswers()
    mine = {one.id: one for one in await plans.delegations_of(database, plan, [phase.number])}
    for one in given:
        if not one.is_applied:
            step, reason = _step(one)
            await lease.apply(one, _changed(one, mine, phase), phase, step, reason)
    whole = [one for one in given if one.delegation is None]
    return AppliedAnswers(
        is_cancelled=any(one.answer == "cancel" for one in given),
        is_skipped=bool(whole) and whole[-1].answer == "skip",
        words={
            number: one.words or ""
            for one in given
            if one.answer in ("retry", "text")
            for number in (mine if one.delegation is None else [one.delegation])
        },
    )


def _step(one: Escalation) -> tuple[str, str]:
    if one.answer == "skip":
        return "skip", one.words or "skipped by a person"
    return "retry", one.words or "a person asked for another try"


def _changed(one: Escalation, mine: dict[int, Delegation], phase: PhaseRow) -> list[Delegation]:
    """The delegations as an answer changes them."""
    if one.answer == "skip":
        meant = [each for each in mine.values() if _is_meant(one, each) and each.state == "escalated"]
        for each in meant:
            each.state = "skipped"
        return meant
    if one.answer not in ("retry", "text") or (one.delegation is None and phase.round >= MAX_ROUNDS):
        return []
    if one.delegation is None:
        phase.round += 1
    open_ones = [each for each in mine.values() if _is_meant(one, each) and each.state != "skipped"]
    # Where all were accepted and a person wants another try all the same, all are tried again.
    meant = [each for each in open_ones if each.state != "accepted"] or open_ones
    meant = [each for each in meant if each.retries < MAX_TRIES - 1]
    for each in meant:
        each.state, each.job, each.verdict, each.retries = "queued", None, None, each.retries + 1
    return meant


def _is_meant(one: Escalation, delegation: Delegation) -> bool:
    return one.delegation in (None, delegation.id)


class Owner(NamedTuple):
    """The job of the orchestrator that made a plan; `is_question`: the plan is nothing but what it asks."""

    job: int
    is_question: bool


def delegation_digest(job: int, key: str) -> str:
    """Of the plan of one call that delegates."""
    return f"orchestrate-{job}-{key}"


def question_digest(job: int, key: str) -> str:
    """Of the plan of one call that asks."""
    return f"question-{job}-{key}"


def owner_of(plan: PlanRow) -> Owner | None:
    """The orchestrator that made a plan; None: a person did."""
    found = _OWNED.match(plan.digest)
    return Owner(int(found[2]), found[1] == "question") if found else None


class GivenAnswer(NamedTuple):
    """An answer that was given: the plan it belongs to, and what to do next, in words."""

    plan: int
    next_action: str


async def give_answer(database: Database, escalation: int, verb: str, words: str) -> GivenAnswer:
    """Answer a question of a plan, which goes on when it is resumed, or of an orchestrator. What to do next."""
    asked = await plans.get_escalation(database, escalation)
    owner = owner_of(await plans.get_plan(database, asked.plan)) if asked is not None else None
    if asked is None or owner is None:
        number = await plans.answer_escalation(database, escalation, verb, words)
        return GivenAnswer(number, f"answered; `remit plan --resume {number}` goes on")
    await _refuse_if_over(database, owner.job)
    told = await next_message(database, owner.job, await _said(database, asked, owner, verb, words))
    if await plans.answer_orchestrator(database, escalation, verb, words, told, is_all=owner.is_question) is None:
        await _refuse_if_over(database, owner.job)
        raise UsageError(f"job {owner.job} is not waiting for an answer yet; answer again when it has ended its turn")
    return GivenAnswer(
        asked.plan, f"answered; `remit worker` goes on with job {owner.job}, `remit logs -f {owner.job}` shows it"
    )


async def _said(database: Database, asked: Escalation, owner: Owner, verb: str, words: str) -> str:
    """What the orchestrator is told. If it was a delegation of its own that asked, it has to go on with that phase."""
    if owner.is_question:
        return f"The user answers your question: {neutralize(words) if words else verb}"
    phase = (await plans.phases_of(database, asked.plan, whole=False))[asked.phase].name
    why = f" ({neutralize(words)})" if words else ""
    return f"The user answers question {asked.id}: {verb}{why}. Call Results for the phase {phase!r} to go on with it."


async def _refuse_if_over(database: Database, job: int) -> None:
    """Nobody waits for an answer any more where the orchestrator ended without completing its turn."""
    row = await database.row("jobs.get", job=job)
    if row is None:
        raise UsageError(f"job {job} was removed, and its questions with it; `remit orchestrate` begins anew")
    if row["state"] == "finished" and row["outcome"] != "completed":
        raise UsageError(
            f"job {job} is over ({row['outcome']}), and its questions with it; `remit retry {job}` lets it go on, "
            "`remit orchestrate` begins anew"
        )
