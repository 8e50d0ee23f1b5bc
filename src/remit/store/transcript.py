"""A job's transcript: messages, tool calls, receipts and results, every write fenced by the attempt."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec
from psycopg.types.json import Jsonb

from remit.evidence.receipts import Receipt
from remit.store.database import Database
from remit.store.jobs import AttemptFenced
from remit.store.storable import to_storable

_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


class UsageSums(NamedTuple):
    """What a job has used so far."""

    turns: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0.0
    is_priced: bool = True


class StoredCall(NamedTuple):
    """A tool call as the transcript has it."""

    call: str
    name: str
    arguments: dict[str, Any]
    state: str
    output: str | None
    is_failed: bool


class FinishedCall(NamedTuple):
    """A tool call and what it came to."""

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
        """Every message, as it was given."""
        return [row["message"] for row in await self._database.rows("transcript.messages", job=self.job)]

    async def save_message(self, number: int, message: bytes, sums: UsageSums, partial: str | None = None) -> None:
        """Write a message down, with what the job has used up to it and the text it has so far."""
        await self._held(
            "transcript.save_message",
            number=number,
            message=_jsonb(message),
            partial=to_storable(partial),
            **sums._asdict(),
        )

    async def broken(self) -> UsageSums:
        """What calls to the model took that broke off, in this attempt or an earlier one."""
        row = await self._database.row("transcript.broken", job=self.job)
        return UsageSums(input=row["input"], output=row["output"], cost=float(row["cost"])) if row else UsageSums()

    async def call(self, call: str) -> StoredCall | None:
        """A tool call that has begun."""
        row = await self._database.row("transcript.call", job=self.job, call=call)
        return StoredCall(**row) if row else None

    async def last_calls(self) -> list[FinishedCall]:
        """The calls of the last turns that were run to their end, in that order."""
        return [FinishedCall(**row) for row in await self._database.rows("transcript.last_calls", job=self.job)]

    async def begin_call(self, call: str, turn: int, name: str, arguments: dict[str, Any]) -> None:
        """Write down that a tool is about to run."""
        await self._held(
            "transcript.begin_call", call=call, turn=turn, name=name, arguments=_jsonb(msgspec.json.encode(arguments))
        )

    async def finish_call(
        self, call: str, output: str, receipt: Receipt | None, *, is_failed: bool, state: str = "done"
    ) -> None:
        """Write down what a tool answered."""
        await self._held(
            "transcript.finish_call",
            call=call,
            output=to_storable(output),
            is_failed=is_failed,
            state=state,
            receipt=_jsonb(msgspec.json.encode(receipt)) if receipt is not None else None,
        )

    async def touch(self) -> None:
        """Say that the job gets on, although no step of it is finished."""
        await self._database.rows("jobs.touch", job=self.job, attempt=self.attempt)

    async def hold(self) -> None:
        """Say so, and be sure that the job is still this attempt's. Raises Fenced."""
        await self._held("jobs.touch")

    async def receipts(self) -> list[Receipt]:
        """What the tools of this job did."""
        found = await self._database.rows("transcript.receipts", job=self.job)
        return [msgspec.convert(row["receipt"], Receipt) for row in found]

    async def submissions(self) -> int:
        """How many results of this job have been checked; one of an attempt that died just then counts again."""
        found = await self._database.rows("transcript.results", job=self.job)
        answers = await self._database.row("transcript.answers", job=self.job)
        return min(len(found), max(0, int(answers["corrections"])) if answers else 0)

    async def save_result(self, submission: int, document: str, verdict: str, report: bytes) -> None:
        """Write down a result and what the check said of it; one that is there already stays."""
        await self._held(
            "transcript.save_result",
            submission=submission,
            document=to_storable(document),
            verdict=verdict,
            report=_jsonb(report),
        )

    async def _held(self, query: str, **values: Any) -> None:
        done = await self._database.rows(query, job=self.job, attempt=self.attempt, **values)
        if not done:
            raise AttemptFenced(f"job {self.job} is no longer attempt {self.attempt}'s")


def _jsonb(data: bytes) -> Jsonb:
    """JSON for the database, which has no character zero."""
    return Jsonb(_NUL.sub(r"\1\\ufffd", data.decode()), dumps=lambda text: text)
