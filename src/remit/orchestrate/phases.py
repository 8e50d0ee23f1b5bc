"""The end of a phase: its results merged, and what the merge means for the plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from remit.orchestrate.model import PhaseSpec
from remit.store.plans import Delegation

if TYPE_CHECKING:
    from remit.merging.model import Merge, Report


def merge_phase(phase: PhaseSpec, delegations: Sequence[Delegation], root: Path, profile: str) -> Merge:
    """One answer out of what the delegations of a phase sent; who sent nothing is missing from it."""
    from remit.checking import Options
    from remit.evidence.sources import open_sources
    from remit.merging.api import checked_settings, merge_inputs
    from remit.merging.inputs import Input, read_input
    from remit.merging.model import Report, Settings

    sources = open_sources(root)
    options = Options(profile=profile).validated()
    sent = [one for one in delegations if one.result and one.state in ("accepted", "rejected", "failed")]
    inputs = [
        Input([_owned(one, report) for report in read_input(_bytes(one), f"{one.name}.md", options, sources).reports])
        for one in sent
    ]
    # Not by `expect`: another delegation of the same agent may have answered.
    silent = [one for one in delegations if not one.result and one.state != "skipped"]
    inputs += [Input([Report(agent=one.agent, status="FAILED", verdict=None)]) for one in silent]
    return merge_inputs(inputs, checked_settings(Settings(threshold=phase.threshold, policy=phase.policy)))


def _bytes(one: Delegation) -> bytes:
    return (one.result or "").encode("utf-8", "replace")


def _owned(one: Delegation, report: Report) -> Report:
    """A report under the name of who sent it; what is left of a job that did not complete is no success."""
    agent = one.agent if report.agent.startswith("unknown") else report.agent
    return msgspec.structs.replace(report, agent=agent, status="FAILED" if one.state == "failed" else report.status)


def all_failed(delegations: Sequence[Delegation]) -> bool:
    """Whether nothing of a phase came to anything: then nothing goes on by itself."""
    tried = [one for one in delegations if one.state != "skipped"]
    return bool(tried) and not any(one.state == "accepted" for one in tried)
