"""The end of a phase: its results merged, and what the merge means for the plan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from remit.contract.feedback import frame_result
from remit.failure_policy import failure_warning
from remit.orchestrate.plan import PhaseSpec
from remit.store import plans
from remit.store.database import Database
from remit.store.plans import Delegation

if TYPE_CHECKING:
    from remit.merging.inputs import Input
    from remit.merging.model import Merge, Report

#: Results that a task is shown, and texts read in place of results; other results are named.
MAX_INPUTS = 20
#: Results that are in memory at a time.
_BATCH = 25


class PhaseMerge:
    """One answer out of what delegations sent; they are added a few at a time, and only their reports are kept."""

    def __init__(self, phase: PhaseSpec, root: Path, profile: str) -> None:
        from remit.checking import Options
        from remit.evidence.sources import open_sources

        self._phase = phase
        self._sources = open_sources(root)
        self._options = Options(profile=profile).validated()
        self._inputs: list[Input] = []

    def add(self, delegations: Iterable[Delegation]) -> None:
        """What some delegations brought; who sent nothing and was not skipped counts as failed."""
        from remit.merging.inputs import Input
        from remit.merging.model import Report

        for one in delegations:
            if one.result and one.state in ("accepted", "rejected", "failed"):
                self._inputs.append(Input([_owned(one, report) for report in self._reports(one)]))
            elif not one.result and one.state != "skipped":
                # Not by `expect`: another delegation of the same agent may have answered.
                self._inputs.append(Input([Report(agent=one.agent, status="FAILED", verdict=None)]))

    def _reports(self, one: Delegation) -> list[Report]:
        from remit.merging.inputs import read_input

        data = (one.result or "").encode("utf-8", "replace")
        return read_input(data, f"{one.name}.md", self._options, self._sources).reports

    def merged(self) -> Merge:
        """The merge of all that was added."""
        from remit.merging.api import checked_settings, merge_inputs
        from remit.merging.model import MergeSettings

        settings = MergeSettings(threshold=self._phase.threshold, policy=self._phase.policy)
        return merge_inputs(self._inputs, checked_settings(settings))


def _owned(one: Delegation, report: Report) -> Report:
    """A report under the name of who sent it; what is left of a job that did not complete is no success."""
    agent = one.agent if report.agent.startswith("unknown") else report.agent
    return msgspec.structs.replace(report, agent=agent, status="FAILED" if one.state == "failed" else report.status)


def all_failed(delegations: Sequence[Delegation]) -> bool:
    """Whether nothing of a phase came to anything: then nothing goes on by itself."""
    tried = [one for one in delegations if one.state != "skipped"]
    return bool(tried) and not any(one.state == "accepted" for one in tried)


async def delegation_batches(database: Database, delegations: Sequence[Delegation]) -> AsyncIterator[list[Delegation]]:
    """Delegations with what they brought, a few at a time, so that many need no more memory than few."""
    for start in range(0, len(delegations), _BATCH):
        yield await plans.whole_delegations(database, [one.id for one in delegations[start : start + _BATCH]])


async def render_inputs(database: Database, inputs: Sequence[Delegation], kept: Path) -> tuple[str, ...]:
    """Paragraphs for the tasks of a phase. Every accepted result is written whole into the folder `kept`."""
    shown: list[str] = []
    named: list[str] = []
    missing: list[str] = []
    in_place: list[str] = []
    async for some in delegation_batches(database, inputs):
        for one in some:
            if one.state != "accepted":
                missing += _missing(one)
                in_place += list(_read_in_place(one))[: MAX_INPUTS - len(in_place)]
                continue
            file = await asyncio.to_thread(keep_result, kept, one)
            if len(shown) < MAX_INPUTS:
                shown.append(frame_result(one.agent, one.verdict, one.result or "", file))
            else:
                named.append(str(file))
    head = ["What earlier phases brought:"] if shown else []
    more = [f"{len(named)} more results are in {', '.join(named)}"] if named else []
    return (*head, *shown, *more, *dict.fromkeys(missing), *in_place)


def _missing(one: Delegation) -> list[str]:
    if one.state == "skipped":
        return [f"Agent {one.agent} was skipped by a person."]
    return [f"{failure_warning(one.agent)}."]


def _read_in_place(one: Delegation) -> Iterator[str]:
    for file in (one.fallback or {}).get("files", []):
        yield frame_result(f"{file['path']} read in place of {one.agent}", None, file["text"])


def keep_result(folder: Path, one: Delegation) -> Path:
    """A result that is shown to others, whole, where it can be read."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{one.id}.md"
    file.write_text(one.result or "", encoding="utf-8")
    return file
