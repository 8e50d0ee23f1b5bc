"""Budgets of jobs and of trees of jobs: reserved before a call, settled after it, under one lock a tree."""

from __future__ import annotations

from typing import NamedTuple

from psycopg.rows import DictRow

from remit.store.database import Database, rows
from remit.store.jobs import AttemptFenced


class Reservation(NamedTuple):
    """What was set aside for one call to a model."""

    top: int
    tokens: int
    cost: float
    #: How many tokens the answer may have.
    output: int


class ActualUsage(NamedTuple):
    """What a call to a model took."""

    input: int = 0
    output: int = 0
    cost: float = 0.0


class BudgetExhausted(NamedTuple):
    """Why there is nothing to set aside."""

    what: str


class BudgetRequest(NamedTuple):
    """What a call would need: tokens it sends, tokens it may get, and the price of one of each (0: not known)."""

    input: int
    output: int
    least_output: int
    input_price: float = 0.0
    output_price: float = 0.0


async def reserve(database: Database, job: int, attempt: int, wanted: BudgetRequest) -> Reservation | BudgetExhausted:
    """Set something aside for a call; a smaller answer where the budget is nearly used up."""
    return await database.patiently(lambda: _reserve(database, job, attempt, wanted))


async def _reserve(database: Database, job: int, attempt: int, wanted: BudgetRequest) -> Reservation | BudgetExhausted:
    async with database.transaction() as connection:
        found = await rows(connection, "budgets.top", job=job)
        if not found:
            raise AttemptFenced(f"job {job} is gone")
        top = found[0]["top"]
        await rows(connection, "budgets.lock_top", top=top)
        await rows(connection, "budgets.free", job=job, top=top)
        left = (await rows(connection, "budgets.left", job=job, top=top))[0]
        output = _output(left, wanted)
        if isinstance(output, BudgetExhausted):
            return output
        tokens = wanted.input + output
        cost = wanted.input * wanted.input_price + output * wanted.output_price
        if not await rows(connection, "budgets.reserve", job=job, attempt=attempt, tokens=tokens, cost=cost):
            raise AttemptFenced(f"job {job} is no longer attempt {attempt}'s")
        await rows(connection, "budgets.reserve_tree", top=top, tokens=tokens, cost=cost)
        return Reservation(top, tokens, cost, output)


def _output(left: DictRow, wanted: BudgetRequest) -> int | BudgetExhausted:
    """How many tokens the answer may have with what is left."""
    if left["tree_turns"] is not None and left["tree_turns"] < 1:
        return BudgetExhausted("the tree's budget of turns is used up")
    output = wanted.output
    for name in ("tokens", "tree_tokens"):
        if left[name] is not None:
            output = min(output, int(left[name]) - wanted.input)
            if output < wanted.least_output:
                needed = wanted.input + wanted.least_output
                return BudgetExhausted(_words(name, f"{max(0, int(left[name])):,}", f"{needed:,}"))
    for name in ("cost", "tree_cost"):
        if left[name] is not None:
            if not wanted.output_price:
                return BudgetExhausted(
                    f"{_whose(name)} budget of cost cannot be kept: the price of the model is not known"
                )
            rest = float(left[name]) - wanted.input * wanted.input_price
            output = min(output, int(rest / wanted.output_price))
            if output < wanted.least_output:
                price = wanted.input * wanted.input_price + wanted.least_output * wanted.output_price
                return BudgetExhausted(_words(name, f"${max(0.0, float(left[name])):.4f}", f"${price:.4f}"))
    return output


def _whose(name: str) -> str:
    return "the tree's" if name.startswith("tree") else "the job's"


def _words(name: str, left: str, needed: str) -> str:
    what = name.removeprefix("tree_")
    return f"{_whose(name)} budget of {what} is used up: {left} left, and the next call needs about {needed}"


async def settle(
    database: Database, job: int, attempt: int, held: Reservation, taken: ActualUsage, *, is_broken: bool = False
) -> None:
    """Put back what was set aside and count what was used. Nothing, if the job has been taken over meanwhile.

    What a finished turn took is counted for the job with the turn itself; of a broken call (`is_broken`) here.
    """
    broken = taken if is_broken else ActualUsage()

    async def work() -> None:
        async with database.transaction() as connection:
            await rows(connection, "budgets.lock_top", top=held.top)
            if await rows(connection, "budgets.settle", job=job, attempt=attempt, **broken._asdict()):
                await rows(
                    connection,
                    "budgets.settle_tree",
                    top=held.top,
                    reserved_tokens=held.tokens,
                    reserved_cost=held.cost,
                    tokens=taken.input + taken.output,
                    cost=taken.cost,
                    turns=0 if is_broken else 1,
                )

    await database.patiently(work)
