"""Driving a plan: one driver at a time, and only it writes down what the plan has come to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from psycopg.types.json import Jsonb

from remit.errors import UsageError
from remit.store.database import Connection, Database, rows
from remit.store.plans import Delegation, Escalation, PhaseRow, PlanState
from remit.store.storable import to_storable


class PlanLease:
    """A plan in the hands of one driver. Each write raises UsageError once another has it: it changes nothing then."""

    def __init__(self, database: Database, plan: int, driver: str) -> None:
        self._database = database
        self._plan = plan
        self._driver = driver

    async def take(self, silence: float) -> bool:
        """Become the one who drives, if nobody does or whoever did has been silent for so long."""
        taken = await self._database.rows("plans.drive", plan=self._plan, driver=self._driver, silence=silence)
        return bool(taken)

    async def beat(self) -> bool:
        """Go on driving; False: somebody else does by now."""
        return bool(await self._database.rows("plans.beat", plan=self._plan, driver=self._driver))

    async def last_beat(self) -> tuple[Any, ...]:
        """Who drives and when it was heard of last."""
        row = await self._database.row("plans.last_beat", plan=self._plan)
        return (row["driver"], row["heartbeat"]) if row else ()

    async def let_go(self) -> None:
        """Stop driving."""
        await self._database.rows("plans.let_go", plan=self._plan, driver=self._driver)

    def lost(self) -> UsageError:
        """What is said to a driver that is none any more."""
        return UsageError(f"plan {self._plan} is driven by another process now")

    async def set_state(self, state: PlanState, outcome: str | None = None) -> None:
        """Write down what the plan has come to."""

        async def work(connection: Connection) -> None:
            await rows(connection, "plans.set_state", plan=self._plan, state=state, outcome=outcome)

        await self._write(work)

    async def save(self, delegation: Delegation, step: str, reason: str) -> None:
        """Write down what a delegation has come to, and the step that led there, together."""
        await self._write(lambda connection: self._save(connection, delegation, step, reason))

    async def save_phase(self, phase: PhaseRow) -> None:
        """Write down what a phase has come to."""
        await self._write(lambda connection: self._save_phase(connection, phase))

    async def apply(
        self, given: Escalation, changed: list[Delegation], phase: PhaseRow, step: str, reason: str
    ) -> None:
        """Write down what an answer did, all of it together: whoever dies in between has done nothing."""

        async def work(connection: Connection) -> None:
            for one in changed:
                await self._save(connection, one, step, reason)
            await self._save_phase(connection, phase)
            await rows(connection, "plans.applied", escalation=given.id)

        await self._write(work)

    async def _write(self, write: Callable[[Connection], Awaitable[None]]) -> None:
        async def work() -> None:
            async with self._held() as connection:
                await write(connection)

        await self._database.patiently(work)

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[Connection]:
        """A transaction in which nobody else can become the driver."""
        async with self._database.transaction() as connection:
            if not await rows(connection, "plans.hold", plan=self._plan, driver=self._driver):
                raise self.lost()
            yield connection

    async def _save(self, connection: Connection, delegation: Delegation, step: str, reason: str) -> None:
        values = msgspec.to_builtins(delegation)
        for name in ("plan", "phase", "name", "agent"):
            values.pop(name)
        values["fallback"] = Jsonb(to_storable(delegation.fallback)) if delegation.fallback is not None else None
        values["result"] = to_storable(delegation.result)
        values["error"] = to_storable(delegation.error)
        await rows(connection, "plans.set_delegation", **values)
        told = {"plan": self._plan, "delegation": delegation.id, "step": step, "reason": to_storable(reason)}
        await rows(connection, "plans.add_step", **told)

    async def _save_phase(self, connection: Connection, phase: PhaseRow) -> None:
        values = msgspec.to_builtins(phase)
        values.pop("name")
        values["merge"] = Jsonb(to_storable(phase.merge)) if phase.merge is not None else None
        await rows(connection, "plans.set_phase", plan=self._plan, **values)
