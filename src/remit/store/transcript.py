"""A job's transcript: messages, tool calls, receipts and results, every write fenced by the attempt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.evidence.receipts import Receipt
from remit.store.database import Database, send
from remit.store.jobs import AttemptFenced
from remit.store.storable import to_storable

_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


class UsageSums(NamedTuple):
    """The usage of a job so far."""

    turns: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0.0
    is_priced: bool = True


class StoredEvent(NamedTuple):
    """An event that is stored together with a step of the conversation."""

    kind: str
    data: dict[str, Any]


class EarlierCall(NamedTuple):
    """A tool call that an earlier attempt began: its state and, once it has ended, its output."""

    state: str
    output: str | None


class FinishedCall(NamedTuple):
    """A tool call with its output."""

    turn: int
    name: str
    arguments: dict[str, Any]
    output: str
    is_failed: bool


class BegunCall(NamedTuple):
    """A read-only call that starts as soon as the response that makes it is stored."""

    call: str
    turn: int
    name: str
    arguments: dict[str, Any]


class EndedCall(NamedTuple):
    """A read-only call that has ended, with the values and the events to store."""

    values: dict[str, Any]
    events: list[StoredEvent]


class StepRecord(NamedTuple):
    """What is stored with a request or a response: its message, unless it is stored already, sums, text and events."""

    number: int | None = None
    message: bytes = b"null"
    sums: UsageSums | None = None
    partial: str | None = None
    events: Sequence[StoredEvent] = ()
    #: The calls of a response that start at once.
    begun: Sequence[BegunCall] = ()

    def values(self, calls: Sequence[EndedCall] = ()) -> dict[str, Any]:
        """Return the values of a statement, which also stores calls that have ended and their events, in order.

        A provider may use an id twice in a turn. The call that ended first is stored.
        """
        earlier = [event for call in calls for event in call.events]
        ended: dict[str, dict[str, Any]] = {}
        for call in calls:
            ended.setdefault(call.values["call"], call.values)
        return {
            "number": self.number,
            "message": _jsonb(self.message),
            "partial": to_storable(self.partial),
            "events": _events([*earlier, *self.events]),
            "calls": stored_json(list(ended.values())),
            **(self.sums._asdict() if self.sums is not None else dict.fromkeys(UsageSums._fields)),
        }


class Transcript:
    """The transcript of one attempt at a job."""

    def __init__(self, database: Database, job: int, attempt: int) -> None:
        self._database = database
        self.job = job
        self.attempt = attempt

    async def messages(self) -> list[Any]:
        """Return every message as it was stored."""
        return [row["message"] for row in await self._database.rows("transcript.messages", job=self.job)]

    async def save_message(self, number: int, message: bytes, sums: UsageSums, partial: str | None = None) -> None:
        """Store a message, with the usage of the job up to it and its text so far."""
        values = StepRecord(number, message, sums, partial).values()
        await self._write("transcript.save_message", **values)

    async def broken(self) -> UsageSums:
        """Return the usage of interrupted calls to the model, in this attempt and in earlier ones."""
        row = await self._database.row("transcript.broken", job=self.job)
        return UsageSums(input=row["input"], output=row["output"], cost=float(row["cost"])) if row else UsageSums()

    async def last_calls(self) -> list[FinishedCall]:
        """Return the finished calls of the last turns, in the order they finished."""
        return [FinishedCall(**row) for row in await self._database.rows("transcript.last_calls", job=self.job)]

    async def begin_call(
        self,
        call: str,
        turn: int,
        name: str,
        arguments: dict[str, Any],
        events: Sequence[StoredEvent] = (),
        *,
        is_repeatable: bool = True,
        is_read_only: bool = False,
    ) -> EarlierCall | None:
        """Store that a tool is about to run. Return the call of an earlier attempt, if there is one.

        A call that has ended stays as it is, and so does a pending one that must not be repeated.
        """
        rows = await self._write(
            "transcript.begin_call",
            call=call,
            turn=turn,
            name=name,
            arguments=stored_json(arguments),
            events=_events(events),
            is_repeatable=is_repeatable,
            is_read_only=is_read_only,
        )
        return EarlierCall(rows[0]["state"], rows[0]["output"]) if rows[0]["state"] else None

    async def finish_call(
        self,
        call: str,
        output: str,
        receipt: Receipt | None,
        events: Sequence[StoredEvent] = (),
        *,
        is_failed: bool,
        state: str = "done",
    ) -> None:
        """Store the output of a tool call."""
        await self._write(
            "transcript.finish_call",
            call=call,
            output=to_storable(output),
            is_failed=is_failed,
            state=state,
            receipt=stored_json(receipt) if receipt is not None else None,
            events=_events(events),
        )

    async def save_calls(self, calls: Sequence[EndedCall]) -> None:
        """Store read-only calls that have ended."""
        if calls:
            values = StepRecord().values(calls)
            await self._write("transcript.record_calls", events=values["events"], calls=values["calls"])

    async def touch(self) -> None:
        """Mark the job as alive although no step has finished. Raises AttemptFenced if another attempt owns it."""
        await self._write("jobs.touch")

    async def receipts(self) -> list[Receipt]:
        """Return the receipts of this job's tool calls."""
        return await receipts_of(self._database, self.job)

    async def submissions(self) -> int:
        """Count the checked results. One whose worker died before the job ended is not counted: it is checked again."""
        results = await self._database.rows("transcript.results", job=self.job)
        answers = await self._database.row("transcript.answers", job=self.job)
        return min(len(results), max(0, int(answers["corrections"])) if answers else 0)

    async def save_result(self, submission: int, document: str, verdict: str, report: bytes) -> None:
        """Store a result with its verdict and report."""
        await self._write(
            "transcript.save_result",
            submission=submission,
            document=to_storable(document),
            verdict=verdict,
            report=_jsonb(report),
        )

    async def _write(self, query: str, **values: Any) -> list[DictRow]:
        done = await self._database.rows(query, job=self.job, attempt=self.attempt, **values)
        if not done:
            raise AttemptFenced(self.job, self.attempt)
        return done


def ended_call(
    call: FinishedCall, number: str, receipt: Receipt | None, events: list[StoredEvent], seconds: float
) -> EndedCall:
    """Return what is stored for a read-only call that took some seconds. Its start is stored again: it may be lost."""
    values = {
        "call": number,
        "turn": call.turn,
        "name": call.name,
        "arguments": call.arguments,
        "output": to_storable(call.output),
        "is_failed": call.is_failed,
        "seconds": seconds,
    }
    return EndedCall(values if receipt is None else {**values, "receipt": receipt}, events)


def _jsonb(data: bytes) -> Jsonb:
    """Return JSON for the database, which cannot store NUL characters."""
    return Jsonb(_NUL.sub(rb"\1\\ufffd", data) if b"\\u0000" in data else data, dumps=_unchanged)


def _unchanged(data: bytes) -> bytes:
    return data


def stored_json(value: Any) -> Jsonb:
    """Return a value without lone surrogates as JSON for the database."""
    return _jsonb(msgspec.json.encode(value))


def _events(events: Sequence[StoredEvent]) -> Jsonb:
    listed = [event._asdict() for event in events]
    try:
        return stored_json(listed)
    except UnicodeEncodeError:  # a lone surrogate
        return stored_json(to_storable(listed))


async def receipts_of(database: Database, job: int) -> list[Receipt]:
    """Return the receipts of a job's tool calls."""
    receipts = await database.rows("transcript.receipts", job=job)
    return [msgspec.convert(row["receipt"], Receipt) for row in receipts]


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
            await send(connection, "transcript.lock_tree", job=job)
            values = {**_released(job, attempt, reserved, answered), **used._asdict()}
            await send(connection, "transcript.settle_broken", **values)

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
