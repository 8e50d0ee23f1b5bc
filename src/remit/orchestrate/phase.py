"""The inputs of a phase, and its merge: results of earlier phases for its tasks, and one report from its own."""

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

#: Results that a task contains, and fallback reads; further results are named by their file.
MAX_INPUTS = 20
#: Delegations that are loaded with their results at a time.
_BATCH = 25


class PhaseMerge:
    """One merge of the results of delegations. They are added in batches, and only their reports are kept."""

    def __init__(self, phase: PhaseSpec, root: Path, profile: str) -> None:
        from remit.checking import Options
        from remit.evidence.sources import open_sources

        self._phase = phase
        self._sources = open_sources(root)
        self._options = Options(profile=profile).validated()
        self._inputs: list[Input] = []

    def add(self, delegations: Iterable[Delegation]) -> None:
        """Add the results of delegations. A delegation without a result counts as failed, unless it was skipped."""
        from remit.merging.inputs import Input
        from remit.merging.model import Report

        for one in delegations:
            if one.result and one.state in ("accepted", "rejected", "failed"):
                self._inputs.append(Input([_with_agent(one, report) for report in self._reports(one)]))
            elif not one.result and one.state != "skipped":
                # Not with `expect`: another delegation of the same agent may have a result.
                self._inputs.append(Input([Report(agent=one.agent, status="FAILED", verdict=None)]))

    def _reports(self, one: Delegation) -> list[Report]:
        from remit.merging.inputs import read_input

        data = (one.result or "").encode("utf-8", "replace")
        return read_input(data, f"{one.name}.md", self._options, self._sources).reports

    def merged(self) -> Merge:
        """Return the merge of everything that was added."""
        from remit.merging.api import checked_settings, merge_inputs
        from remit.merging.model import MergeSettings

        settings = MergeSettings(threshold=self._phase.threshold, policy=self._phase.policy)
        return merge_inputs(self._inputs, checked_settings(settings))


def _with_agent(one: Delegation, report: Report) -> Report:
    """Return a report under its agent's name. The report of a job that did not complete has the status FAILED."""
    agent = one.agent if report.agent.startswith("unknown") else report.agent
    return msgspec.structs.replace(report, agent=agent, status="FAILED" if one.state == "failed" else report.status)


def all_failed(delegations: Sequence[Delegation]) -> bool:
    """Return whether no delegation of a phase was accepted: then the plan does not continue by itself."""
    tried = [one for one in delegations if one.state != "skipped"]
    return bool(tried) and not any(one.state == "accepted" for one in tried)


async def delegation_batches(database: Database, delegations: Sequence[Delegation]) -> AsyncIterator[list[Delegation]]:
    """Yield delegations with their results in batches, so that memory does not grow with their number."""
    for start in range(0, len(delegations), _BATCH):
        yield await plans.whole_delegations(database, [one.id for one in delegations[start : start + _BATCH]])


async def render_inputs(database: Database, inputs: Sequence[Delegation], folder: Path) -> tuple[str, ...]:
    """Return the paragraphs that the tasks of a phase get. Each accepted result is also written into `folder`."""
    results: list[str] = []
    files: list[str] = []
    missing: list[str] = []
    fallbacks: list[str] = []
    async for batch in delegation_batches(database, inputs):
        for one in batch:
            if one.state != "accepted":
                missing.append(_missing_text(one))
                fallbacks += list(_fallback_texts(one))[: MAX_INPUTS - len(fallbacks)]
                continue
            file = await asyncio.to_thread(keep_result, folder, one)
            if len(results) < MAX_INPUTS:
                results.append(frame_result(one.agent, one.verdict, one.result or "", file))
            else:
                files.append(str(file))
    head = ["Results of earlier phases:"] if results else []
    more = [f"{len(files)} more results are in {', '.join(files)}"] if files else []
    return (*head, *results, *more, *dict.fromkeys(missing), *fallbacks)


def _missing_text(one: Delegation) -> str:
    if one.state == "skipped":
        return f"Agent {one.agent} was skipped by a person."
    return f"{failure_warning(one.agent)}."


def _fallback_texts(one: Delegation) -> Iterator[str]:
    for file in (one.fallback or {}).get("files", []):
        yield frame_result(f"{file['path']} read in place of {one.agent}", None, file["text"])


def keep_result(folder: Path, one: Delegation) -> Path:
    """Write the complete result of a delegation to a file that other agents can read, and return its path."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{one.id}.md"
    file.write_text(one.result or "", encoding="utf-8")
    return file
