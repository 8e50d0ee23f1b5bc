"""The end of a phase: its results merged, and what the merge means for the plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from remit.orchestrate.model import PhaseSpec
from remit.store.plans import Delegation

if TYPE_CHECKING:
    from remit.merging.model import Merge


def merge_phase(phase: PhaseSpec, delegations: Sequence[Delegation], root: Path, profile: str) -> Merge:
    """One answer out of what the delegations of a phase sent; who sent nothing is missing from it."""
    from remit.checking import Options
    from remit.evidence.sources import open_sources
    from remit.merging.api import checked_settings, merge_inputs
    from remit.merging.inputs import read_input
    from remit.merging.model import Settings

    sources = open_sources(root)
    options = Options(profile=profile).validated()
    sent = [one for one in delegations if one.result and one.state in ("accepted", "rejected", "failed")]
    inputs = [
        read_input((one.result or "").encode("utf-8", "replace"), f"{one.name}.md", options, sources) for one in sent
    ]
    silent = tuple(one.agent for one in delegations if not one.result and one.state not in ("skipped",))
    settings = checked_settings(Settings(threshold=phase.threshold, policy=phase.policy, expect=silent))
    return merge_inputs(inputs, settings)


def all_failed(delegations: Sequence[Delegation]) -> bool:
    """Whether nothing of a phase came to anything: then nothing goes on by itself."""
    return not any(one.state in ("accepted", "skipped") for one in delegations)
