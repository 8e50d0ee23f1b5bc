"""A person's answers to what a plan asked: retry, skip, cancel, or words to go on with."""

from __future__ import annotations

from typing import NamedTuple

from remit.orchestrate.model import ANSWERS
from remit.store import plans
from remit.store.database import Database
from remit.store.driving import Hold
from remit.store.plans import Delegation, Escalation, PhaseRow

__all__ = ["ANSWERS", "MAX_ROUNDS", "MAX_TRIES", "Applied", "apply_answers"]
#: So often a phase is tried, and a delegation; then nothing but skipping or cancelling helps.
MAX_ROUNDS = 3
MAX_TRIES = 5


class Applied(NamedTuple):
    """What answers have done to a phase."""

    is_cancelled: bool = False
    #: The last answer to a question about the whole phase was to go on with what there is.
    is_skipped: bool = False
    #: Words for delegations, by their number.
    words: dict[int, str] = {}


async def apply_answers(database: Database, hold: Hold, plan: int, phase: PhaseRow) -> Applied:
    """Do what was answered for a phase and is not done yet; what was done before still counts."""
    given = [one for one in await plans.escalations(database, plan) if one.phase == phase.number and one.answer]
    if not given:
        return Applied()
    mine = {one.id: one for one in await plans.delegations_of(database, plan, [phase.number])}
    for one in given:
        if not one.is_applied:
            step, reason = _step(one)
            await hold.apply(one, _changed(one, mine, phase), phase, step, reason)
    whole = [one for one in given if one.delegation is None]
    return Applied(
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
