"""Turn the reports of a session into inputs of a merge: the last report of each subagent, with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from remit.checking import Options
from remit.clients.claude_code.results import MAX_TEXT_BYTES, KeptResult
from remit.contract.kinds import slug
from remit.evidence.sources import Sources
from remit.gate.session import SessionState
from remit.merging.inputs import Input, read_input
from remit.merging.model import Report


def final_texts(kept: Sequence[KeptResult], state: SessionState) -> list[KeptResult]:
    """Return the last judged report of each subagent, except those whose retry was accepted."""
    latest = {one.agent_id: one for one in kept if one.verdict or one.outcome == "failed"}
    settled = {name for key in _accepted_retries(state) for name in (key, state.delegations[key].agent_id)}
    return [one for one in latest.values() if one.verdict == "accept" or one.agent_id not in settled]


def merge_inputs_of(
    kept: Sequence[KeptResult], state: SessionState, options: Options, sources: Sources, categories: Mapping[str, str]
) -> list[Input]:
    """Return the inputs of a session's merge. An agent that failed without a report takes part as failed."""
    reports = final_texts(kept, state)
    inputs = [
        Input([_as_judged(report, one) for report in _reports(one, options, sources, categories)]) for one in reports
    ]
    failed = _agents_without_report(state, {one.agent_id for one in reports})
    return [*inputs, *(Input([Report(agent=agent, status="FAILED", verdict=None)]) for agent in failed)]


def _accepted_retries(state: SessionState) -> set[str]:
    """Return the keys of delegations whose retry was accepted."""
    return {
        entry.retry_of
        for entry in state.delegations.values()
        if entry.state == "accepted" and entry.retry_of in state.delegations
    }


def _agents_without_report(state: SessionState, reported: set[str]) -> list[str]:
    """Return the agents of failed delegations that have neither a report nor an accepted retry."""
    settled = _accepted_retries(state)
    return [
        _name(entry.agent)
        for key, entry in state.delegations.items()
        if entry.has_failed and key not in settled and not reported & {key, entry.agent_id}
    ]


def _reports(one: KeptResult, options: Options, sources: Sources, categories: Mapping[str, str]) -> list[Report]:
    data = b""
    if one.path:
        with Path(one.path).open("rb") as file:
            data = file.read(MAX_TEXT_BYTES)
    read = read_input(data, f"{one.agent}.md", options, sources, categories)
    return [_as_judged(report, one) for report in read.reports]


def _as_judged(report: Report, one: KeptResult) -> Report:
    """Set the stored verdict, which took the subagent's receipts into account, and the agent's name."""
    agent = _name(one.agent) if report.agent.startswith("unknown") else report.agent
    status = "FAILED" if one.outcome == "failed" else report.status
    return msgspec.structs.replace(report, agent=agent, status=status, verdict=one.verdict or report.verdict)


def _name(agent: str) -> str:
    return slug(agent.rpartition(":")[2])
