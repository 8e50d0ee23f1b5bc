"""Budgets of jobs and of trees of jobs: reserved before a model call and settled after it, under one lock per tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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


class ActualUsage(NamedTuple):
    """The actual usage of a call to a model."""

    input: int = 0
    output: int = 0
    cost: float = 0.0


class BudgetExhausted(NamedTuple):
    """The reason why nothing can be reserved."""

    reason: str


class BudgetRequest(NamedTuple):
    """What a call needs: input tokens, output tokens, and their prices (0: unknown)."""

    input: int
    output: int
    min_output: int
    input_price: float = 0.0
    output_price: float = 0.0


async def reserve(
    database: Database, job: int, attempt: int, wanted: BudgetRequest, writes: Sequence[NamedQuery] = ()
) -> Reservation | BudgetExhausted:
    """Reserve an amount for a call; with fewer output tokens if the budget is nearly used up.

    `writes` are fenced statements of the same transaction. They also take effect if the budget is used up.
    """
    return await database.with_retry(lambda: _reserve(database, job, attempt, wanted, writes))


async def _reserve(
    database: Database, job: int, attempt: int, wanted: BudgetRequest, writes: Sequence[NamedQuery]
) -> Reservation | BudgetExhausted:
    """Reserve in two round trips: one up to the decision, one for its effect. The tree's lock comes first."""
    async with database.pipeline() as connection:
        locked = await send(connection, "budgets.lock_tree", job=job)
        written = [await send(connection, write.name, **write.values) for write in writes]
        await send(connection, "budgets.free", job=job)
        remaining = await send(connection, "budgets.left", job=job)
        found = await locked.fetchall()
        if not found or not all([await one.fetchall() for one in written]):
            raise AttemptFenced(job, attempt)
        top = found[0]["id"]
        output = _output((await remaining.fetchall())[0], wanted)
        if isinstance(output, BudgetExhausted):
            return output
        tokens = wanted.input + output
        cost = wanted.input * wanted.input_price + output * wanted.output_price
        reserved = await send(connection, "budgets.reserve", job=job, attempt=attempt, tokens=tokens, cost=cost)
        await send(connection, "budgets.reserve_tree", top=top, tokens=tokens, cost=cost)
        if not await reserved.fetchall():
            raise AttemptFenced(job, attempt)
    return Reservation(top, tokens, cost, output)


def _output(left: DictRow, wanted: BudgetRequest) -> int | BudgetExhausted:
    """Return the maximum number of output tokens within the remaining budget."""
    if left["tree_turns"] is not None and left["tree_turns"] < 1:
        return BudgetExhausted("the tree's turn budget is used up")
    output = wanted.output
    for name in ("tokens", "tree_tokens"):
        if left[name] is not None:
            output = min(output, int(left[name]) - wanted.input)
            if output < wanted.min_output:
                needed = wanted.input + wanted.min_output
                return BudgetExhausted(_used_up(name, f"{max(0, int(left[name])):,}", f"{needed:,}"))
    for name in ("cost", "tree_cost"):
        if left[name] is not None:
            if not wanted.output_price:
                return BudgetExhausted(
                    f"{_owner(name)} cost budget cannot be enforced: the price of the model is unknown"
                )
            rest = float(left[name]) - wanted.input * wanted.input_price
            output = min(output, int(rest / wanted.output_price))
            if output < wanted.min_output:
                price = wanted.input * wanted.input_price + wanted.min_output * wanted.output_price
                return BudgetExhausted(_used_up(name, f"${max(0.0, float(left[name])):.4f}", f"${price:.4f}"))
    return output


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
) -> None:
    """Release a reservation and count the actual usage. Does nothing if the job has been taken over meanwhile.

    The usage of a finished turn is added to the job when the turn is stored; that of an interrupted call
    (`is_broken`) is added here. `write` is a fenced statement of the same transaction; if the job has been taken over,
    AttemptFenced is raised for it.
    """
    own = {"job": job, "attempt": attempt}
    broken = used if is_broken else ActualUsage()
    of_tree = {
        "reserved_tokens": reserved.tokens,
        "reserved_cost": reserved.cost,
        "tokens": used.input + used.output,
        "cost": used.cost,
        "turns": 0 if is_broken else 1,
    }

    async def work() -> bool:
        async with database.pipeline() as connection:
            await send(connection, "budgets.lock_tree", job=job)
            await send(connection, "budgets.settle_tree", top=reserved.top, **own, **of_tree)
            await send(connection, "budgets.settle", **own, **broken._asdict())
            written = await send(connection, write.name, **write.values) if write is not None else None
        return written is None or bool(await written.fetchall())

    if not await database.with_retry(work):
        raise AttemptFenced(job, attempt)
