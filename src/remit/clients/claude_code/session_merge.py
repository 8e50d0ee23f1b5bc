"""What the subagents of a session sent, as inputs of a merge: the last word of each, under the verdict it got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from remit.checking import Options
from remit.clients.claude_code.results import LARGEST_TEXT, Kept
from remit.contract.kinds import slug
from remit.evidence.sources import Sources
from remit.gate.memory import State
from remit.merging.inputs import Input, read_input
from remit.merging.model import Report


def last_words(kept: Sequence[Kept]) -> list[Kept]:
    """The last report of each subagent that was judged. Where an agent's work was accepted, what it sent in other
    runs and was not accepted is superseded: that was the reason for the retry."""
    latest = {one.agent_id: one for one in kept if one.verdict or one.outcome == "failed"}
    accepted = {_name(one.agent) for one in latest.values() if one.verdict == "accept"}
    return [one for one in latest.values() if one.verdict == "accept" or _name(one.agent) not in accepted]


def inputs_of(
    kept: Sequence[Kept], state: State, options: Options, sources: Sources, categories: Mapping[str, str]
) -> list[Input]:
    """The inputs of a session's merge. Who failed without sending anything takes part as failed."""
    words = last_words(kept)
    inputs = [
        Input([_as_judged(report, one) for report in _reports(one, options, sources, categories)]) for one in words
    ]
    heard = {_name(one.agent) for one in words}
    failed = {_name(str(entry.get("agent"))) for entry in _without_success(state)} - heard
    return [*inputs, *(Input([Report(agent=agent, status="FAILED", verdict=None)]) for agent in sorted(failed))]


def _without_success(state: State) -> list[Mapping[str, Any]]:
    """Delegations that ended badly, of agents of which none ended well."""
    well = {_name(str(entry.get("agent"))) for entry in state.delegations.values() if entry.get("state") == "accepted"}
    return [
        entry
        for entry in state.delegations.values()
        if entry.get("state") in ("failed", "rejected") and _name(str(entry.get("agent"))) not in well
    ]


def _reports(one: Kept, options: Options, sources: Sources, categories: Mapping[str, str]) -> list[Report]:
    data = b""
    if one.path:
        with Path(one.path).open("rb") as file:
            data = file.read(LARGEST_TEXT)
    read = read_input(data, f"{one.agent}.md", options, sources, categories)
    return [_as_judged(report, one) for report in read.reports]


def _as_judged(report: Report, one: Kept) -> Report:
    """With the verdict that was given when what the subagent really did was at hand, and with its own name."""
    agent = _name(one.agent) if report.agent.startswith("unknown") else report.agent
    status = "FAILED" if one.outcome == "failed" else report.status
    return msgspec.structs.replace(report, agent=agent, status=status, verdict=one.verdict or report.verdict)


def _name(agent: str) -> str:
    return slug(agent.rpartition(":")[2])
