"""A job's transcript: messages, tool calls, receipts and results, every write fenced by the attempt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from remit.evidence.receipts import Receipt
from remit.store.database import Database, NamedQuery, send
from remit.store.jobs import AttemptFenced
from remit.store.storable import to_storable

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


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
        await self._write(self.message_statement(number, message, sums, partial))

    def message_statement(
        self, number: int, message: bytes, sums: UsageSums, partial: str | None, events: Sequence[StoredEvent] = ()
    ) -> NamedQuery:
        """Return the statement that stores a message, as a part of a transaction. It returns no row if fenced."""
        return self._statement(
            "transcript.save_message",
            number=number,
            message=_jsonb(message),
            partial=to_storable(partial),
            events=_events(events),
            **sums._asdict(),
        )

    def events_statement(self, events: Sequence[StoredEvent]) -> NamedQuery:
        """Return the statement that stores events, as a part of a transaction. It returns no row if fenced."""
        return self._statement("transcript.add_events", events=_events(events))

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
            self._statement(
                "transcript.begin_call",
                call=call,
                turn=turn,
                name=name,
                arguments=_jsonb(msgspec.json.encode(arguments)),
                events=_events(events),
                is_repeatable=is_repeatable,
                is_read_only=is_read_only,
            )
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
            self._statement(
                "transcript.finish_call",
                call=call,
                output=to_storable(output),
                is_failed=is_failed,
                state=state,
                receipt=_receipt(receipt),
                events=_events(events),
            )
        )

    def call_statement(
        self, call: FinishedCall, number: str, receipt: Receipt | None, events: Sequence[StoredEvent], seconds: float
    ) -> NamedQuery:
        """Return the statement that stores a read-only call that took some seconds, as a part of a transaction.

        It also stores its start again, which a crash of the database may have lost. It returns no row if fenced.
        """
        return self._statement(
            "transcript.record_call",
            call=number,
            turn=call.turn,
            name=call.name,
            arguments=_jsonb(msgspec.json.encode(call.arguments)),
            output=to_storable(call.output),
            is_failed=call.is_failed,
            receipt=_receipt(receipt),
            events=_events(events),
            seconds=seconds,
        )

    async def write_all(self, statements: Sequence[NamedQuery]) -> None:
        """Write statements in one transaction. Raises AttemptFenced if another attempt owns the job."""

        async def work() -> bool:
            async with self._database.pipeline() as connection:
                written = [await send(connection, one.name, **one.values) for one in statements]
            return all([await one.fetchall() for one in written])

        if statements and not await self._database.with_retry(work):
            raise AttemptFenced(self.job, self.attempt)

    async def touch(self) -> None:
        """Mark the job as alive although no step has finished. Raises AttemptFenced if another attempt owns it."""
        await self._write(self._statement("jobs.touch"))

    async def receipts(self) -> list[Receipt]:
        """Return the receipts of this job's tool calls."""
        return await receipts_of(self._database, self.job)

    async def submissions(self) -> int:
        """Count the checked results. One whose worker died before the job ended is not counted: it is checked again."""
        found = await self._database.rows("transcript.results", job=self.job)
        answers = await self._database.row("transcript.answers", job=self.job)
        return min(len(found), max(0, int(answers["corrections"])) if answers else 0)

    async def save_result(self, submission: int, document: str, verdict: str, report: bytes) -> None:
        """Store a result with its verdict and report."""
        await self._write(
            self._statement(
                "transcript.save_result",
                submission=submission,
                document=to_storable(document),
                verdict=verdict,
                report=_jsonb(report),
            )
        )

    def _statement(self, query: str, **values: Any) -> NamedQuery:
        return NamedQuery(query, {"job": self.job, "attempt": self.attempt, **values})

    async def _write(self, statement: NamedQuery) -> list[DictRow]:
        done = await self._database.rows(statement.name, **statement.values)
        if not done:
            raise AttemptFenced(self.job, self.attempt)
        return done


def _jsonb(data: bytes) -> Jsonb:
    """Return JSON for the database, which cannot store NUL characters."""
    return Jsonb(_NUL.sub(r"\1\\ufffd", data.decode()), dumps=lambda text: text)


def _receipt(receipt: Receipt | None) -> Jsonb | None:
    return _jsonb(msgspec.json.encode(receipt)) if receipt is not None else None


def _events(events: Sequence[StoredEvent]) -> Jsonb:
    return Jsonb(to_storable([event._asdict() for event in events]))


async def receipts_of(database: Database, job: int) -> list[Receipt]:
    """Return the receipts of a job's tool calls."""
    found = await database.rows("transcript.receipts", job=job)
    return [msgspec.convert(row["receipt"], Receipt) for row in found]
