"""Budgets of jobs and of trees of jobs: reserved before a model call and settled after it, under one lock per tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from remit.store.database import Database, send
from remit.store.jobs import AttemptFenced
from remit.store.transcript import EndedCall, StepRecord, stored_json

#: Nothing is stored with a reservation or its release.
NOTHING = StepRecord()


class Reservation(NamedTuple):
    """The amount reserved for one call to a model."""

    #: The first job of the tree.
    top: int
    tokens: int
    cost: float
    #: The maximum number of output tokens.
    output: int
    #: The seconds until the provider may get requests again.
    wait: float = 0.0


class ActualUsage(NamedTuple):
    """The actual usage of a call to a model."""

    input: int = 0
    output: int = 0
    cost: float = 0.0
    is_priced: bool = True


class BudgetExhausted(NamedTuple):
    """The reason why nothing can be reserved."""

    reason: str


class BudgetRequest(NamedTuple):
    """What a call needs: input tokens, output tokens, their prices (0: unknown), and the provider."""

    input: int
    output: int
    min_output: int
    input_price: float = 0.0
    output_price: float = 0.0
    provider: str = ""


async def reserve(
    database: Database,
    job: int,
    attempt: int,
    wanted: BudgetRequest,
    request: StepRecord = NOTHING,
    calls: Sequence[EndedCall] = (),
) -> Reservation | BudgetExhausted:
    """Reserve an amount for a call; with fewer output tokens if the budget is nearly used up.

    The request and the calls whose outputs it has are stored with it, also if the budget is used up.
    """
    rows = await database.repeated(
        "transcript.begin_turn",
        job=job,
        attempt=attempt,
        wanted_input=wanted.input,
        wanted_output=wanted.output,
        min_output=wanted.min_output,
        input_cost=wanted.input * wanted.input_price,
        output_price=wanted.output_price,
        provider=wanted.provider,
        **request.values(calls),
    )
    if not rows:
        raise AttemptFenced(job, attempt)
    row = rows[0]
    if row["exceeded"] is not None:
        return BudgetExhausted(_reason(row["exceeded"], row["left"], wanted))
    return Reservation(row["top"], row["new_tokens"], row["new_cost"], row["granted"], row["wait"] or 0.0)


def _reason(exceeded: str, left: Any, wanted: BudgetRequest) -> str:
    """Return why a budget does not allow a request."""
    if exceeded == "tree_turns":
        return "the tree's turn budget is used up"
    if exceeded in ("tokens", "tree_tokens"):
        return _used_up(exceeded, f"{max(0, int(left)):,}", f"{wanted.input + wanted.min_output:,}")
    if not wanted.output_price:
        return f"{_owner(exceeded)} cost budget cannot be enforced: the price of the model is unknown"
    price = wanted.input * wanted.input_price + wanted.min_output * wanted.output_price
    return _used_up(exceeded, f"${max(0.0, float(left)):.4f}", f"${price:.4f}")


def _owner(name: str) -> str:
    return "the tree's" if name.startswith("tree") else "the job's"


def _used_up(name: str, left: str, needed: str) -> str:
    unit = name.removeprefix("tree_").removesuffix("s")
    return f"{_owner(name)} {unit} budget is used up: {left} left, and the next call needs about {needed}"


async def settle(
    database: Database,
    job: int,
    attempt: int,
    reserved: Reservation,
    used: ActualUsage,
    response: StepRecord = NOTHING,
    *,
    answered: str = "",
) -> frozenset[str]:
    """Store a response, release its reservation and count the actual usage. Return which of its calls are new.

    The failures of a provider that has answered (`answered`) are forgotten. Raises AttemptFenced if the job has been
    taken over meanwhile.
    """
    rows = await database.repeated(
        "transcript.end_turn",
        **_released(job, attempt, reserved, answered),
        used_tokens=used.input + used.output,
        used_cost=used.cost,
        begun=stored_json([call._asdict() for call in response.begun]),
        **response.values(),
    )
    if not rows:
        raise AttemptFenced(job, attempt)
    return frozenset(rows[0]["new_calls"])


async def settle_broken(
    database: Database, job: int, attempt: int, reserved: Reservation, used: ActualUsage, *, answered: str = ""
) -> None:
    """Release the reservation of an interrupted call, and count what it used. It completes no turn.

    Does nothing if the job has been taken over meanwhile.
    """

    async def work() -> None:
        async with database.pipeline() as connection:
            await send(connection, "budgets.lock_tree", job=job)
            values = {**_released(job, attempt, reserved, answered), **used._asdict()}
            await send(connection, "budgets.settle_broken", **values)

    await database.with_retry(work)


def _released(job: int, attempt: int, reserved: Reservation, answered: str) -> dict[str, Any]:
    return {
        "job": job,
        "attempt": attempt,
        "top": reserved.top,
        "reserved_tokens": reserved.tokens,
        "reserved_cost": reserved.cost,
        "provider": answered,
    }
