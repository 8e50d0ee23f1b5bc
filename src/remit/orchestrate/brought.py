"""What earlier phases brought, as the tasks of a phase are told it: read once for a phase, a few results at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from remit.contract.framing import framed
from remit.orchestrate.ladder import warning
from remit.store import plans
from remit.store.database import Database
from remit.store.plans import Delegation

#: Results that a task is shown, and texts read in place of results; other results are named.
MAX_INPUTS = 20
#: Results that are in memory at a time.
_BATCH = 25


async def in_batches(database: Database, delegations: Sequence[Delegation]) -> AsyncIterator[list[Delegation]]:
    """Delegations with what they brought, a few at a time, so that many need no more memory than few."""
    for start in range(0, len(delegations), _BATCH):
        yield await plans.whole_delegations(database, [one.id for one in delegations[start : start + _BATCH]])


async def what_was_brought(database: Database, inputs: Sequence[Delegation], kept: Path) -> tuple[str, ...]:
    """Paragraphs for the tasks of a phase. Every accepted result is written whole into the folder `kept`."""
    shown: list[str] = []
    named: list[str] = []
    missing: list[str] = []
    in_place: list[str] = []
    async for some in in_batches(database, inputs):
        for one in some:
            if one.state != "accepted":
                missing += _missing(one)
                in_place += list(_read_in_place(one))[: MAX_INPUTS - len(in_place)]
                continue
            file = await asyncio.to_thread(keep_result, kept, one)
            if len(shown) < MAX_INPUTS:
                shown.append(framed(one.agent, one.verdict, one.result or "", file))
            else:
                named.append(str(file))
    head = ["What earlier phases brought:"] if shown else []
    more = [f"{len(named)} more results are in {', '.join(named)}"] if named else []
    return (*head, *shown, *more, *dict.fromkeys(missing), *in_place)


def _missing(one: Delegation) -> list[str]:
    if one.state == "skipped":
        return [f"Agent {one.agent} was skipped by a person."]
    return [f"{warning(one.agent)}."]


def _read_in_place(one: Delegation) -> Iterator[str]:
    for file in (one.fallback or {}).get("files", []):
        yield framed(f"{file['path']} read in place of {one.agent}", None, file["text"])


def keep_result(folder: Path, one: Delegation) -> Path:
    """A result that is shown to others, whole, where it can be read."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{one.id}.md"
    file.write_text(one.result or "", encoding="utf-8")
    return file
