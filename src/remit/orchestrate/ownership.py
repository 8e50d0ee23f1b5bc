"""Whose a plan is: an orchestrator's plans and questions are found by a digest that names its job."""

from __future__ import annotations

import re
from typing import NamedTuple

from remit.store.plans import PlanRow

#: The queries of `plans.sql` and `jobs.sql` know these forms, too.
_OWNED = re.compile(r"(question|orchestrate)-(\d+)-")


class Owner(NamedTuple):
    """The job of the orchestrator that made a plan; `is_question`: the plan is nothing but what it asks."""

    job: int
    is_question: bool


def delegating_digest(job: int, key: str) -> str:
    """Of the plan of one call that delegates."""
    return f"orchestrate-{job}-{key}"


def asking_digest(job: int, key: str) -> str:
    """Of the plan of one call that asks."""
    return f"question-{job}-{key}"


def owner_of(plan: PlanRow) -> Owner | None:
    """The orchestrator that made a plan; None: a person did."""
    found = _OWNED.match(plan.digest)
    return Owner(int(found[2]), found[1] == "question") if found else None
