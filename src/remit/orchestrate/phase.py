"""The inputs of a phase, and its merge: results of earlier phases for its tasks, and one report from its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import msgspec

from remit.acceptance import verified_part
from remit.checking import Options, check_text
from remit.configuration import load
from remit.contract.feedback import frame_file, frame_partial, frame_result
from remit.contract.outcome import status_in
from remit.evidence.sources import open_sources
from remit.failure_policy import failure_warning
from remit.merging.inputs import failed_report, read_report, with_error
from remit.merging.merge import merge
from remit.merging.merge_data import SKIPPED, Merge, Policy, Report
from remit.merging.merge_settings import merge_settings
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan, delegation_names
from remit.registry.definition import CLAIMS, NO_CONTRACT
from remit.store import plans
from remit.store.database import Database
from remit.store.plans import Delegation, PlanRow

#: Results that a task contains, and fallback reads; further results are named by their file.
MAX_INPUTS = 20
#: Delegations that are loaded with their results at a time.
_BATCH = 25


class PlanReader:
    """Reads the results of a plan's delegations, each with the profile that it was checked with."""

    def __init__(self, spec: Plan, root: Path) -> None:
        self._spec = spec
        self._sources = open_sources(root)
        #: How results are merged in this project.
        self.merging = merge_settings(load(root))
        self._options: dict[str, Options] = {}

    def reports(self, delegation: Delegation) -> list[Report]:
        """Return the reports of a delegation. Without a result it counts as failed, unless it was skipped or waits."""
        if delegation.state == "skipped":
            report = self._read(delegation) if delegation.result else failed_report(delegation.agent)
            return [msgspec.structs.replace(report, status=SKIPPED)]
        if delegation.result and delegation.state in ("accepted", "rejected", "failed", "escalated"):
            if (
                delegation.verdict == "accept" and status_in(delegation.result) is None
            ):  # its answer is not a report: contract none
                return [Report(agent=delegation.agent, status="SUCCESS", verdict=delegation.verdict)]
            return [self._read(delegation)]
        if not delegation.result and delegation.state in ("rejected", "failed", "escalated"):
            # Not with `expect`: another delegation of the same agent may have a result.
            return [
                failed_report(
                    delegation.agent,
                    delegation.error or "",
                    recovery_options(delegation),
                    is_final=delegation.retries > 0,
                )
            ]
        return []

    def partial(self, delegation: Delegation) -> str:
        """Return the part of a failed delegation's output that holds, or an empty text.

        The error form of a subagent that reported its failure was accepted, so all of it holds.
        """
        if not delegation.result or delegation.verdict == "accept":
            return delegation.result or ""
        return verified_part(
            delegation.result,
            check_text(delegation.result, delegation.name, self._checked_with(delegation), self._sources),
        )

    def _of(self, delegation: Delegation) -> DelegationSpec:
        phase = self._spec.phases[delegation.phase]
        return dict(zip(delegation_names(phase), phase.delegations, strict=True))[delegation.name]

    def _checked_with(self, delegation: Delegation) -> Options:
        spec = self._of(delegation)
        stated = CLAIMS if spec.contract == NO_CONTRACT else spec.contract or spec.profile
        profile = stated or self._spec.profile or "v2"
        if profile not in self._options:
            self._options[profile] = Options(profile=profile).validated()
        return self._options[profile]

    def _read(self, delegation: Delegation) -> Report:
        """Return a result under its agent's name, as it was judged when it arrived.

        The result of a job that did not complete has the status FAILED.
        """
        report = self._stored(delegation)
        if report is None:
            data = (delegation.result or "").encode("utf-8", "replace")
            report = read_report(
                data, delegation.agent, self._checked_with(delegation), self._sources, delegation.verdict
            )
        if delegation.state not in ("failed", "escalated"):
            return report
        return with_error(
            msgspec.structs.replace(report, status="FAILED"),
            delegation.error or "",
            recovery_options(delegation),
            is_final=delegation.retries > 0,
        )

    def _stored(self, delegation: Delegation) -> Report | None:
        """Return the stored report; None for one of an earlier version, or that was not checked."""
        try:
            report = msgspec.convert(delegation.reported, Report)
        except msgspec.ValidationError:
            return None
        return report if (report.agent, report.verdict) == (delegation.agent, delegation.verdict) else None


def recovery_options(delegation: Delegation) -> list[str]:
    """Return what a person can do after a delegation failed."""
    log = [f"See what it wrote: `remit jobs logs {delegation.job}`"] if delegation.job is not None else []
    is_slow = (delegation.error or "").startswith("it ended with timeout")
    limit = ["Give it a smaller scope, or more time: `timeout` in the plan"] if is_slow else []
    return [*log, *limit, "Remove the cause, and run it again"]


class PhaseMerge:
    """One merge of the results of delegations. They are added in batches, and only their reports are kept."""

    def __init__(self, reader: PlanReader, threshold: float | None = None, policy: Policy | None = None) -> None:
        self._reader = reader
        self._threshold = threshold
        self._policy = policy
        self.reports: list[Report] = []

    def add(self, delegations: Iterable[Delegation]) -> None:
        """Add the results of delegations."""
        self.reports += [report for delegation in delegations for report in self._reader.reports(delegation)]

    def merged(self) -> Merge:
        """Return the merge of everything that was added."""
        project = self._reader.merging
        threshold = project.threshold if self._threshold is None else self._threshold
        settings = msgspec.structs.replace(project, threshold=threshold, policy=self._policy or project.policy)
        return merge(self.reports, settings)


def has_no_result(spec: PhaseSpec, delegations: Sequence[Delegation]) -> bool:
    """Return whether no delegation of a phase was accepted, except those that only load context."""
    loaders = {
        name
        for name, delegation in zip(delegation_names(spec), spec.delegations, strict=True)
        if delegation.loads_context
    }
    tried = [delegation for delegation in delegations if delegation.state != "skipped"]
    return any(delegation.name not in loaders for delegation in tried) and not any(
        delegation.state == "accepted" for delegation in tried
    )


async def delegation_batches(database: Database, delegations: Sequence[Delegation]) -> AsyncIterator[list[Delegation]]:
    """Yield delegations with their results in batches, so that memory does not grow with their number."""
    for start in range(0, len(delegations), _BATCH):
        yield await plans.whole_delegations(
            database, [delegation.id for delegation in delegations[start : start + _BATCH]]
        )


async def whole_plan(database: Database, row: PlanRow) -> PhaseMerge:
    """Return the merge of all phases of a plan. A finding that one of the phases keeps is kept."""
    spec = msgspec.convert(row.document, Plan)
    reader = await asyncio.to_thread(PlanReader, spec, Path(row.workspace))
    default = reader.merging.least
    lowest = min(default if phase.threshold is None else phase.threshold for phase in spec.phases)
    merging = PhaseMerge(reader, lowest, spec.phases[-1].policy)
    delegations = await plans.delegations_of(database, row.id, whole=False)
    async for batch in delegation_batches(database, delegations):
        await asyncio.to_thread(merging.add, batch)
    return merging


async def render_inputs(
    database: Database, inputs: Sequence[Delegation], folder: Path, reader: PlanReader
) -> tuple[str, ...]:
    """Return the paragraphs that the tasks of a phase get. Each accepted result is also written into `folder`."""
    results: list[str] = []
    files: list[str] = []
    missing: list[str] = []
    instead: list[str] = []
    async for batch in delegation_batches(database, inputs):
        for delegation in batch:
            if delegation.state != "accepted":
                missing.append(_missing_text(delegation))
                texts = await asyncio.to_thread(substitutes, delegation, reader)
                instead += texts[: MAX_INPUTS - len(instead)]
                continue
            file = await asyncio.to_thread(keep_result, folder, delegation)
            if len(results) < MAX_INPUTS:
                results.append(frame_result(delegation.agent, delegation.verdict, delegation.result or "", file))
            else:
                files.append(str(file))
    head = ["Results of earlier phases:"] if results else []
    more = [f"{len(files)} more results are in {', '.join(files)}"] if files else []
    return (*head, *results, *more, *dict.fromkeys(missing), *instead)


def _missing_text(delegation: Delegation) -> str:
    if delegation.state == "skipped":
        return f"Agent {delegation.agent} was skipped by a person."
    return f"{failure_warning(delegation.agent)}."


def substitutes(delegation: Delegation, reader: PlanReader) -> list[str]:
    """Return what is handed on instead of a failed delegation's result: its verified part, and the fallback read."""
    is_failed = delegation.state in ("rejected", "failed", "escalated")
    partial = reader.partial(delegation) if is_failed else ""
    files = (delegation.fallback or {}).get("files", [])
    return [
        *([frame_partial(delegation.agent, partial, delegation.error or "it failed")] if partial else []),
        *(frame_file(file["path"], file["text"], delegation.agent, file["lines"], file["of"]) for file in files),
    ]


def keep_result(folder: Path, delegation: Delegation) -> Path:
    """Write the complete result of a delegation to a file that other agents can read, and return its path."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{delegation.id}.md"
    file.write_text(delegation.result or "", encoding="utf-8")
    return file
