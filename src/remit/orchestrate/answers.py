"""A person's answers to what a plan asked: retry, skip, cancel, or words to go on with."""

from __future__ import annotations

from typing import NamedTuple

from remit.store import plans
from remit.store.database import Database
from remit.store.plans import Delegation, Escalation, PhaseRow

ANSWERS = ("retry", "skip", "cancel", "text")


class Applied(NamedTuple):
    """What answers have done to a phase."""

    is_cancelled: bool = False
    is_skipped: bool = False
    is_answered: bool = False
    #: Words for delegations, by their number.
    words: dict[int, str] = {}


async def apply_answers(database: Database, plan: int, phase: PhaseRow) -> Applied:
    """Do what was answered for a phase and is not done yet; what was done before still counts."""
    given = [one for one in await plans.escalations(database, plan) if one.phase == phase.number and one.answer]
    delegations = {one.id: one for one in await plans.delegations_of(database, plan) if one.phase == phase.number}
    for one in given:
        if not one.is_applied:
            await _apply(database, one, delegations, phase)
    last = given[-1] if given else None
    whole = [one for one in given if one.delegation is None]
    return Applied(
        is_cancelled=any(one.answer == "cancel" for one in given),
        is_skipped=bool(whole) and whole[-1].answer == "skip",
        is_answered=last is not None,
        words={one.delegation: one.words or "" for one in given if one.delegation is not None and one.answer != "skip"},
    )


async def _apply(database: Database, one: Escalation, delegations: dict[int, Delegation], phase: PhaseRow) -> None:
    meant = [delegations[one.delegation]] if one.delegation in delegations else list(delegations.values())
    for delegation in meant:
        if one.answer == "skip" and (one.delegation is not None or delegation.state == "escalated"):
            delegation.state = "skipped"
            await plans.save(database, delegation, "skip", one.words or "skipped by a person")
        elif one.answer in ("retry", "text") and delegation.state not in ("accepted", "skipped"):
            delegation.state, delegation.job, delegation.retries = "queued", None, delegation.retries + 1
            await plans.save(database, delegation, "retry", one.words or "a person asked for another try")
    if one.delegation is None and one.answer in ("retry", "text"):
        phase.round += 1
        await plans.save_phase(database, one.plan, phase)
    await database.rows("plans.applied", escalation=one.id)
