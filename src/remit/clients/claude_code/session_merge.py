"""What the subagents of a session sent, as inputs of a merge: the last word of each, under the verdict it got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from remit.checking import Options
from remit.clients.claude_code.results import LARGEST_TEXT, KeptResult
from remit.contract.kinds import slug
from remit.evidence.sources import Sources
from remit.gate.session import SessionState
from remit.merging.inputs import Input, read_input
from remit.merging.model import Report


def final_texts(kept: Sequence[KeptResult], state: SessionState) -> list[KeptResult]:
    """The last report of each subagent that was judged; without those whose retry was accepted."""
    latest = {one.agent_id: one for one in kept if one.verdict or one.outcome == "failed"}
    settled = {name for key in _retried_well(state) for name in (key, state.delegations[key].agent_id)}
    return [one for one in latest.values() if one.verdict == "accept" or one.agent_id not in settled]


def merge_inputs_of(
    kept: Sequence[KeptResult], state: SessionState, options: Options, sources: Sources, categories: Mapping[str, str]
) -> list[Input]:
    """The inputs of a session's merge. Who failed without sending anything takes part as failed."""
    words = final_texts(kept, state)
    inputs = [
        Input([_as_judged(report, one) for report in _reports(one, options, sources, categories)]) for one in words
    ]
    failed = _silent(state, {one.agent_id for one in words})
    return [*inputs, *(Input([Report(agent=agent, status="FAILED", verdict=None)]) for agent in failed)]


def _retried_well(state: SessionState) -> set[str]:
    """The delegations whose retry was accepted."""
    return {
        entry.retry_of
        for entry in state.delegations.values()
        if entry.state == "accepted" and entry.retry_of in state.delegations
    }


def _silent(state: SessionState, heard: set[str]) -> list[str]:
    """The agents of delegations that ended badly, without a report and without a retry that ended well."""
    settled = _retried_well(state)
    return [
        _name(entry.agent)
        for key, entry in state.delegations.items()
        if entry.has_failed and key not in settled and not heard & {key, entry.agent_id}
    ]


def _reports(one: KeptResult, options: Options, sources: Sources, categories: Mapping[str, str]) -> list[Report]:
    data = b""
    if one.path:
        with Path(one.path).open("rb") as file:
            data = file.read(LARGEST_TEXT)
    read = read_input(data, f"{one.agent}.md", options, sources, categories)
    return [_as_judged(report, one) for report in read.reports]


def _as_judged(report: Report, one: KeptResult) -> Report:
    """With the verdict that was given when what the subagent really did was at hand, and with its own name."""
    agent = _name(one.agent) if report.agent.startswith("unknown") else report.agent
    status = "FAILED" if one.outcome == "failed" else report.status
    return msgspec.structs.replace(report, agent=agent, status=status, verdict=one.verdict or report.verdict)


def _name(agent: str) -> str:
    return slug(agent.rpartition(":")[2])
