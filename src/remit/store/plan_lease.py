"""The lease on a plan: one process drives a plan at a time, and only that process writes the plan's progress."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from psycopg.types.json import Jsonb

from remit.errors import UsageError
from remit.ledger.items import NewItem
from remit.ledger.ledger_entries import LedgerEntry
from remit.store import ledger, review_queue
from remit.store.database import Connection, Database, rows
from remit.store.plans import Delegation, Escalation, PhaseRow, PlanState
from remit.store.storable import to_storable


class PlanLease:
    """A driver's lease on one plan. After another driver has acquired it, each write raises UsageError."""

    def __init__(self, database: Database, plan: int, driver: str) -> None:
        self._database = database
        self._plan = plan
        self._driver = driver

    async def acquire(self, timeout: float) -> bool:  # noqa: ASYNC109 (the age of the other driver's lease)
        """Become the driver if there is no other, or if the other has not renewed its lease for `timeout` seconds."""
        acquired = await self._database.rows(
            "plans.acquire_lease", plan=self._plan, driver=self._driver, timeout=timeout
        )
        return bool(acquired)

    async def renew(self) -> None:
        """Stay the driver. Raises UsageError if another process has acquired the lease."""
        if not await self._database.rows("plans.renew_lease", plan=self._plan, driver=self._driver):
            raise self._lost()

    async def holder(self) -> tuple[Any, ...]:
        """Return the current driver and the time of its last renewal."""
        row = await self._database.row("plans.lease_holder", plan=self._plan)
        return (row["driver"], row["heartbeat"]) if row else ()

    async def release(self) -> None:
        """Stop driving the plan."""
        await self._database.rows("plans.release_lease", plan=self._plan, driver=self._driver)

    async def set_state(self, state: PlanState, outcome: str | None = None) -> None:
        """Store the state of the plan."""

        async def work(connection: Connection) -> None:
            await rows(connection, "plans.set_state", plan=self._plan, state=state, outcome=outcome)

        await self._write(work)

    async def save(self, delegation: Delegation, step: str, reason: str) -> None:
        """Store a delegation and the step that changed it, in one transaction."""
        await self._write(lambda connection: self._save(connection, delegation, step, reason))

    async def save_phase(
        self, phase: PhaseRow, entries: Sequence[LedgerEntry] = (), items: Sequence[NewItem] = ()
    ) -> None:
        """Store a phase, in one transaction with its entries in the ledger and its review items."""

        async def work(connection: Connection) -> None:
            await self._save_phase(connection, phase)
            await ledger.record_in(connection, entries)
            await review_queue.add_items_in(connection, items)

        await self._write(work)

    async def apply(
        self, escalation: Escalation, changed: list[Delegation], phase: PhaseRow, step: str, reason: str
    ) -> None:
        """Store all effects of an answered escalation in one transaction, so that a crash leaves all or none."""

        async def work(connection: Connection) -> None:
            for delegation in changed:
                await self._save(connection, delegation, step, reason)
            await self._save_phase(connection, phase)
            await rows(connection, "plans.applied", escalation=escalation.id)

        await self._write(work)

    async def _write(self, write: Callable[[Connection], Awaitable[None]]) -> None:
        async def work() -> None:
            async with self._locked() as connection:
                await write(connection)

        await self._database.with_retry(work)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[Connection]:
        """Open a transaction in which no other process can acquire the lease."""
        async with self._database.transaction() as connection:
            if not await rows(connection, "plans.lock_lease", plan=self._plan, driver=self._driver):
                raise self._lost()
            yield connection

    def _lost(self) -> UsageError:
        return UsageError(f"plan {self._plan} is now driven by another process")

    async def _save(self, connection: Connection, delegation: Delegation, step: str, reason: str) -> None:
        values = msgspec.to_builtins(delegation)
        for name in ("plan", "phase", "name", "agent"):
            values.pop(name)
        values["fallback"] = Jsonb(to_storable(delegation.fallback)) if delegation.fallback is not None else None
        values["result"] = to_storable(delegation.result)
        values["error"] = to_storable(delegation.error)
        await rows(connection, "plans.set_delegation", **values)
        row = {"plan": self._plan, "delegation": delegation.id, "step": step, "reason": to_storable(reason)}
        await rows(connection, "plans.add_step", **row)

    async def _save_phase(self, connection: Connection, phase: PhaseRow) -> None:
        values = msgspec.to_builtins(phase)
        values.pop("name")
        values["merge"] = Jsonb(to_storable(phase.merge)) if phase.merge is not None else None
        await rows(connection, "plans.set_phase", plan=self._plan, **values)
