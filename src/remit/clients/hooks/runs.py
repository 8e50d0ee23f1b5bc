"""Runs of subagents: their launches according to the client's metadata, and the state of their delegations."""

from __future__ import annotations

import json
import os

from remit.clients.hooks.payload import text
from remit.gate.delegations import (
    add_failure_warning,
    close_delegation,
    is_same_agent,
    link_delegation,
    release_writes,
)
from remit.gate.model import MAX_NAME_LENGTH
from remit.gate.session_store import safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.gate.delegation import Delegation
    from remit.gate.session import SessionState

_MAX_META_BYTES = 64_000


class SubagentRun:
    """A run of a subagent: its agent, its transcript, and its launch according to the client's metadata.

    The events of a teammate name the teammate; `agent` is the definition that it runs.
    """

    __slots__ = ("agent", "agent_id", "call", "parent", "session", "transcript")

    def __init__(self, payload: object, agent: str, agent_id: str) -> None:
        self.session = text(payload, "session_id")
        self.agent_id = agent_id
        self.transcript = text(payload, "agent_transcript_path") or _transcript_path(
            text(payload, "transcript_path"), agent_id
        )
        meta = _meta(self.transcript)
        self.agent = text(meta, "spawnedAgentType") or agent
        #: The id of the tool call that launched it.
        self.call = text(meta, "toolUseId")
        #: The subagent that launched it; empty if the orchestrator did, or if this is unknown.
        self.parent = text(meta, "parentAgentId")


def _transcript_path(session_transcript: str, agent_id: str) -> str:
    """Return the path of a subagent's transcript: the client keeps it in a folder next to the session's."""
    if not session_transcript.endswith(".jsonl") or safe_name(agent_id) != agent_id:
        return ""
    return os.path.join(session_transcript.removesuffix(".jsonl"), "subagents", f"agent-{agent_id}.jsonl")


def _meta(transcript: str) -> object:
    if not transcript.endswith(".jsonl"):
        return {}
    try:
        with open(os.open(transcript.removesuffix(".jsonl") + ".meta.json", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            return json.loads(file.read(_MAX_META_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}


def link_run(state: SessionState, run: SubagentRun) -> str:
    """Link this run to the orchestrator's delegation and return the delegation's key; "" without one."""
    for key, entry in state.delegations.items():
        if run.agent_id and entry.agent_id == run.agent_id:
            return key
    key = run.call if run.call in state.delegations else ""
    if not key and not run.call and not run.parent:
        waiting = unlinked_launch(state, run.agent)
        key = waiting[0] if len(waiting) == 1 else ""
    link_delegation(state, key, run.agent_id)
    return key


def set_teammate(state: SessionState, key: str, name: str) -> None:
    """Record that a teammate runs this delegation."""
    if key in state.delegations and name:
        state.delegations[key].teammate = name[:MAX_NAME_LENGTH]


def teammate_launch(state: SessionState, agent_id: str, name: str = "") -> Delegation | None:
    """Return the delegation that a teammate runs, by its id or else by its name; None for another agent."""
    found = [one for one in state.delegations.values() if one.teammate]
    for one in reversed(found):
        if one.agent_id == agent_id if agent_id else one.teammate == name:
            return one
    return None


def unlinked_launch(state: SessionState, agent: str) -> list[str]:
    """Return the keys of this agent's launches that have no run yet."""
    return [
        key
        for key, entry in state.delegations.items()
        if entry.state in ("open", "observed") and not entry.agent_id and is_same_agent(entry.agent, agent)
    ]


def settle_launch(
    state: SessionState,
    key: str,
    agent: str,
    outcome: str,
    files: Iterable[str] = (),
    *,
    is_recoverable: bool = True,
) -> None:
    """Close the delegation of a run that has ended. Without a delegation, only a failure is recorded."""
    entry = state.delegations.get(key)
    if entry is None:
        if outcome != "accepted":
            add_failure_warning(state, agent)
    elif entry.state != outcome:
        close_delegation(state, key, outcome, files=files, is_recoverable=is_recoverable)


def set_aside(state: SessionState, key: str, agent_id: str = "") -> None:
    """Mark a delegation as not checked: no answer waits for it, and an ended run releases its files."""
    entry = state.delegations.get(key)
    if entry is not None and entry.is_open:
        entry.state = "observed"
    if agent_id:
        release_writes(state, agent_id)
        release_writes(state, key)


def written_files(state: SessionState, run: SubagentRun) -> list[str]:
    """Return the files that a run has written and still locks."""
    return sorted(path for path, holder in state.locks.items() if run.agent_id and holder == run.agent_id)


def withdraw_launch(state: SessionState, key: str) -> None:
    """Remove the delegation of a launch that the client denied."""
    if state.delegations.pop(key, None) is not None:
        release_writes(state, key)
