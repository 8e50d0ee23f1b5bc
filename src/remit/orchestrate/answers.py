"""A person's answers to the questions of a plan: retry, skip, cancel, or a text."""

from __future__ import annotations

import re
from typing import NamedTuple

from remit.contract.feedback import neutralize
from remit.dispatch.submit import next_message
from remit.errors import UsageError
from remit.store import plans
from remit.store.database import Database
from remit.store.plans import Delegation, Escalation, PhaseRow, PlanLease, PlanRow

#: How often a phase and a delegation are tried. After that, only skipping or cancelling is possible.
MAX_ROUNDS = 3
MAX_TRIES = 5
#: The queries in `plans.sql` and `jobs.sql` use these forms too.
_OWNED = re.compile(r"(question|orchestrate)-(\d+)-")


class AppliedAnswers(NamedTuple):
    """The effect of the answers on a phase."""

    is_cancelled: bool = False
    #: Whether the last answer about the phase as a whole was to continue with the existing results.
    is_skipped: bool = False
    #: Number of a delegation -> the text that a person added to its task.
    texts: dict[int, str] = {}


async def apply_answers(database: Database, lease: PlanLease, plan: int, phase: PhaseRow) -> AppliedAnswers:
    """Apply the new answers for a phase, and return the effect of all of them."""
    answered = [
        answer for answer in await plans.escalations(database, plan) if answer.phase == phase.number and answer.answer
    ]
    if not answered:
        return AppliedAnswers()
    delegations = {
        delegation.id: delegation for delegation in await plans.delegations_of(database, plan, [phase.number])
    }
    for answer in answered:
        if not answer.is_applied:
            step, reason = _step(answer)
            await lease.apply(answer, _change(answer, delegations, phase), phase, step, reason)
    about_phase = [answer for answer in answered if answer.delegation is None]
    return AppliedAnswers(
        is_cancelled=any(answer.answer == "cancel" for answer in answered),
        is_skipped=bool(about_phase) and about_phase[-1].answer == "skip",
        texts={
            number: answer.words or ""
            for answer in answered
            if answer.answer in ("retry", "text")
            for number in (delegations if answer.delegation is None else [answer.delegation])
        },
    )


def _step(escalation: Escalation) -> tuple[str, str]:
    if escalation.answer == "skip":
        return "skip", escalation.words or "skipped by a person"
    return "retry", escalation.words or "a person asked for another try"


def _change(escalation: Escalation, delegations: dict[int, Delegation], phase: PhaseRow) -> list[Delegation]:
    """Change the delegations that an answer is about, and return them."""
    affected = [each for each in delegations.values() if escalation.delegation in (None, each.id)]
    if escalation.answer == "skip":
        affected = [each for each in affected if each.state == "escalated"]
        for each in affected:
            each.state = "skipped"
        return affected
    if escalation.answer not in ("retry", "text") or (escalation.delegation is None and phase.round >= MAX_ROUNDS):
        return []
    if escalation.delegation is None:
        phase.round += 1
    affected = [each for each in affected if each.state != "skipped"]
    # If all were accepted and a person wants another try, all are tried again.
    affected = [each for each in affected if each.state != "accepted"] or affected
    affected = [each for each in affected if each.retries < MAX_TRIES - 1]
    for each in affected:
        each.state, each.job, each.verdict, each.retries = "queued", None, None, each.retries + 1
    return affected


class Owner(NamedTuple):
    """The job of the orchestrator that made a plan. `is_question`: the plan consists of a question only."""

    job: int
    is_question: bool


def delegation_digest(job: int, key: str) -> str:
    """Return the digest of the plan of a `Delegate` call."""
    return f"orchestrate-{job}-{key}"


def question_digest(job: int, key: str) -> str:
    """Return the digest of the plan of an `Ask` call."""
    return f"question-{job}-{key}"


def owner_of(plan: PlanRow) -> Owner | None:
    """Return the orchestrator that made a plan; None if a person made it."""
    match = _OWNED.match(plan.digest)
    return Owner(int(match[2]), match[1] == "question") if match else None


async def open_questions_of(database: Database, job: int) -> list[Escalation]:
    """Return the open questions of an orchestrator and of its delegations."""
    rows = await database.rows("plans.open_of_job", job=job)
    return [
        question for row in rows for question in await plans.escalations(database, row["id"]) if question.answer is None
    ]


class GivenAnswer(NamedTuple):
    """A stored answer: the plan it belongs to, and what the user does next."""

    plan: int
    next_action: str


async def give_answer(database: Database, escalation: int, verb: str, words: str) -> GivenAnswer:
    """Answer a question of a plan, which continues when it is resumed, or of an orchestrator."""
    asked = await plans.get_escalation(database, escalation)
    owner = owner_of(await plans.get_plan(database, asked.plan)) if asked is not None else None
    if asked is None or owner is None:
        number = await plans.answer_escalation(database, escalation, verb, words)
        return GivenAnswer(number, f"answered; continue with `remit plan run --resume {number}`")
    await _refuse_if_over(database, owner.job)
    message = await next_message(database, owner.job, await _answer_message(database, asked, owner, verb, words))
    if await plans.answer_orchestrator(database, escalation, verb, words, message, is_all=owner.is_question) is None:
        await _refuse_if_over(database, owner.job)
        raise UsageError(f"job {owner.job} is not waiting for an answer yet; answer again when its turn has ended")
    return GivenAnswer(
        asked.plan,
        f"answered; continue job {owner.job} with `remit worker`, and follow it with `remit jobs logs -f {owner.job}`",
    )


async def _answer_message(database: Database, asked: Escalation, owner: Owner, verb: str, words: str) -> str:
    """Return the message with the answer for an orchestrator. If a delegation asked, it has to resume that phase."""
    if owner.is_question:
        return f"The user answers your question: {neutralize(words) if words else verb}"
    phase = (await plans.phases_of(database, asked.plan, whole=False))[asked.phase].name
    why = f" ({neutralize(words)})" if words else ""
    return f"The user answers question {asked.id}: {verb}{why}. Call Results for the phase {phase!r} to continue it."


async def _refuse_if_over(database: Database, job: int) -> None:
    """Raise UsageError if an orchestrator does not wait for answers any more, because its job failed or is gone."""
    row = await database.row("jobs.get", job=job)
    if row is None:
        raise UsageError(f"job {job} and its questions were removed; start again with `remit run orchestrator`")
    if row["state"] == "finished" and row["outcome"] != "completed":
        raise UsageError(
            f"job {job} has ended ({row['outcome']}), so its questions cannot be answered; continue it with "
            f"`remit jobs retry {job}`, or start again with `remit run orchestrator`"
        )
