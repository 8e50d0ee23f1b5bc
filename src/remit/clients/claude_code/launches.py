"""Which launch a subagent belongs to, and what its end does to that delegation."""

# ruff: noqa: PTH118, PTH123
# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import json
import os

from remit.clients.claude_code.payload import text
from remit.gate.delegations import close, link, release, same_agent, warn_of
from remit.gate.state import plain_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from remit.gate.memory import State

_LARGEST_META = 64_000


class Run:
    """A run of a subagent: who it is, its transcript, and what the client wrote beside that about its launch."""

    __slots__ = ("agent", "agent_id", "call", "parent", "session", "transcript")

    def __init__(self, payload: object, agent: str, agent_id: str) -> None:
        self.session = text(payload, "session_id")
        self.agent = agent
        self.agent_id = agent_id
        self.transcript = text(payload, "agent_transcript_path") or _derived(text(payload, "transcript_path"), agent_id)
        meta = _meta(self.transcript)
        #: The id of the call that launched it.
        self.call = text(meta, "toolUseId")
        #: The subagent that launched it; empty: the orchestrator did, or it is not known.
        self.parent = text(meta, "parentAgentId")


def _derived(transcript_path: str, agent_id: str) -> str:
    """Where the client keeps a subagent's transcript: in a folder beside the session's."""
    if not transcript_path.endswith(".jsonl") or plain_name(agent_id) != agent_id:
        return ""
    return os.path.join(transcript_path.removesuffix(".jsonl"), "subagents", f"agent-{agent_id}.jsonl")


def _meta(transcript: str) -> object:
    if not transcript.endswith(".jsonl"):
        return {}
    try:
        with open(os.open(transcript.removesuffix(".jsonl") + ".meta.json", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            return json.loads(file.read(_LARGEST_META))
    except (OSError, ValueError, RecursionError):
        return {}


def connect(state: State, run: Run) -> str:
    """The orchestrator's delegation that this run belongs to, linked from now on; empty: none, or it is not known."""
    for key, entry in state.delegations.items():
        if run.agent_id and entry.get("agent_id") == run.agent_id:
            return key
    key = run.call if run.call in state.delegations else ""
    if not key and not run.call and not run.parent:
        waiting = unlinked(state, run.agent)
        key = waiting[0] if len(waiting) == 1 else ""
    link(state, key, run.agent_id)
    return key


def unlinked(state: State, agent: str) -> list[str]:
    """Launches of this agent of which no run is known yet."""
    return [
        key
        for key, entry in state.delegations.items()
        if entry.get("state") in ("open", "observed")
        and not entry.get("agent_id")
        and same_agent(str(entry.get("agent", "")), agent)
    ]


def settle(state: State, key: str, agent: str, outcome: str, files: Iterable[str] = ()) -> None:
    """A run has ended. Of one that is no delegation of the orchestrator's only a failure is remembered."""
    entry = state.delegations.get(key)
    if entry is None:
        if outcome != "accepted":
            warn_of(state, agent)
    elif entry.get("state") != outcome:
        close(state, key, outcome, files=files)


def set_aside(state: State, key: str, agent_id: str = "") -> None:
    """Nobody is held to anything here: the delegation is not waited for, and its run, if ended, holds no files."""
    entry: dict[str, Any] = state.delegations.get(key, {})
    if entry.get("state") == "open":
        entry["state"] = "observed"
    if agent_id:
        release(state, agent_id)
        release(state, key)


def written(state: State, run: Run) -> list[str]:
    """The files that a run has written and not given back yet."""
    return sorted(path for path, holder in state.locks.items() if run.agent_id and holder == run.agent_id)


def withdraw(state: State, key: str) -> None:
    """A launch that was refused after all: there never was a delegation."""
    if state.delegations.pop(key, None) is not None:
        release(state, key)
