"""Budgets of jobs and of trees of jobs: reserved before a model call and settled after it, under one lock per tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg.rows import DictRow

from remit.store.database import Database, NamedQuery, send
from remit.store.jobs import AttemptFenced


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
    database: Database, job: int, attempt: int, wanted: BudgetRequest, writes: Sequence[NamedQuery] = ()
) -> Reservation | BudgetExhausted:
    """Reserve an amount for a call; with fewer output tokens if the budget is nearly used up.

    `writes` are fenced statements of the same transaction. They also take effect if the budget is used up.
    """
    values = {**wanted._asdict(), "input_cost": wanted.input * wanted.input_price}

    async def work() -> list[DictRow]:
        async with database.pipeline() as connection:
            await send(connection, "budgets.lock_tree", job=job)
            written = [await send(connection, write.name, **write.values) for write in writes]
            reserved = await send(connection, "budgets.reserve", job=job, attempt=attempt, **values)
        return (await reserved.fetchall()) if all([await one.fetchall() for one in written]) else []

    rows = await database.with_retry(work)
    if not rows:  # the lock came first, so nothing was written
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
    write: NamedQuery | None = None,
    *,
    is_broken: bool = False,
    answered: str = "",
) -> None:
    """Release a reservation and count the actual usage. Does nothing if the job has been taken over meanwhile.

    The usage of a finished turn is added to the job when the turn is stored; that of an interrupted call
    (`is_broken`) is added here. `write` is a fenced statement of the same transaction; if the job has been taken over,
    AttemptFenced is raised for it. The failures of a provider that has answered (`answered`) are forgotten.
    """
    broken = used if is_broken else ActualUsage()
    values = {
        "provider": answered,
        "top": reserved.top,
        "reserved_tokens": reserved.tokens,
        "reserved_cost": reserved.cost,
        "tokens": used.input + used.output,
        "cost": used.cost,
        "turns": 0 if is_broken else 1,
        **{f"broken_{name}": value for name, value in broken._asdict().items()},
    }

    async def work() -> bool:
        async with database.pipeline() as connection:
            await send(connection, "budgets.lock_tree", job=job)
            await send(connection, "budgets.settle", job=job, attempt=attempt, **values)
            written = await send(connection, write.name, **write.values) if write is not None else None
        return written is None or bool(await written.fetchall())

    if not await database.with_retry(work):
        raise AttemptFenced(job, attempt)
