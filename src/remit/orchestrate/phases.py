"""The end of a phase: its results merged, and what the merge means for the plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from remit.orchestrate.model import PhaseSpec
from remit.store.plans import Delegation

if TYPE_CHECKING:
    from remit.merging.inputs import Input
    from remit.merging.model import Merge, Report


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
        from remit.merging.model import Settings

        settings = Settings(threshold=self._phase.threshold, policy=self._phase.policy)
        return merge_inputs(self._inputs, checked_settings(settings))


def _owned(one: Delegation, report: Report) -> Report:
    """A report under the name of who sent it; what is left of a job that did not complete is no success."""
    agent = one.agent if report.agent.startswith("unknown") else report.agent
    return msgspec.structs.replace(report, agent=agent, status="FAILED" if one.state == "failed" else report.status)


def all_failed(delegations: Sequence[Delegation]) -> bool:
    """Whether nothing of a phase came to anything: then nothing goes on by itself."""
    tried = [one for one in delegations if one.state != "skipped"]
    return bool(tried) and not any(one.state == "accepted" for one in tried)
