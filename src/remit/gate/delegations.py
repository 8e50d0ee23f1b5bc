"""Open, link and close delegations."""

from __future__ import annotations

import time

from remit.failure_policy import failure_warning
from remit.gate.delegation import Delegation
from remit.gate.ruling import Ruling
from remit.gate.tool_use import MAX_NAME_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.tool_use import ToolUse

#: Agents of the client without tools that write.
_READING_AGENTS = frozenset({"explore", "plan", "claudecodeguide"})
_WRITING_TOOLS = frozenset({"*", "Edit", "MultiEdit", "Write", "NotebookEdit", "Bash"})
OUTCOMES = ("accepted", "rejected", "failed")


def judge_launch(call: ToolUse) -> Ruling:
    """Judge a launch: it opens a delegation."""
    agent = call.text("subagent_type")[:MAX_NAME_LENGTH] or "general-purpose"

    def start(state: SessionState) -> None:
        open_delegation(state, call.tool_use_id, agent)

    return Ruling(apply=start)


def is_same_agent(name: str, other: str) -> bool:
    """Return whether two names mean the same agent: prefix, case and separators do not matter."""
    return name == other or agent_slug(name.rpartition(":")[2]) == agent_slug(other.rpartition(":")[2])


def agent_slug(name: str) -> str:
    """Return an agent's name without what the client ignores: case, blanks, `_` and `-`."""
    return "".join(letter for letter in name.lower() if letter not in " _-")


def open_delegation(state: SessionState, key: str, agent: str, *, now: float | None = None) -> str:
    """Open a delegation and return its key. After a failed one of the same agent, it is the retry."""
    key = key or f"launch-{len(state.delegations)}"
    retry_of = ""
    for other, entry in state.delegations.items():
        if entry.may_be_retried and is_same_agent(entry.agent, agent):
            retry_of = other
    if retry_of:
        state.delegations[retry_of].retried = True
    state.delegations[key] = Delegation(agent, time.time() if now is None else now, retry_of=retry_of)
    return key


def link_delegation(state: SessionState, key: str, agent_id: str) -> None:
    """Record the subagent that a launch started."""
    if key in state.delegations and agent_id:
        state.delegations[key].agent_id = agent_id[:MAX_NAME_LENGTH]


def close_delegation(
    state: SessionState,
    key: str,
    outcome: str,
    *,
    files: Iterable[str] = (),
    is_recoverable: bool = True,
    now: float | None = None,
) -> None:
    """Close a delegation as `accepted`, with the files that its result covers, `rejected` or `failed`.

    `key` is the id of the launching call or of the subagent. If it is unknown, a delegation is added. With
    `is_recoverable` false, a failure is not retried.
    """
    if outcome not in OUTCOMES:
        raise ValueError(f"the outcome must be one of {', '.join(OUTCOMES)}, not {outcome!r}")
    own_key = next((name for name, entry in state.delegations.items() if key and entry.agent_id == key), key)
    if own_key not in state.delegations:
        own_key = open_delegation(state, own_key, "unknown", now=now)
    entry = state.delegations[own_key]
    entry.state = outcome
    entry.is_recoverable = is_recoverable
    if outcome == "accepted":
        for path in files:
            state.analysed[path[:MAX_NAME_LENGTH]] = entry.agent
        for other in state.delegations.values():
            if is_same_agent(other.agent, entry.agent):
                other.fallback = None  # the agent succeeded, so no fallback is needed
        state.open_window("delegation", now)
    else:
        add_failure_warning(state, entry.agent)


def add_failure_warning(state: SessionState, agent: str) -> None:
    """Add a warning that a result is missing."""
    state.warn(failure_warning(agent[:MAX_NAME_LENGTH]))


def open_delegations(state: SessionState) -> list[str]:
    """Return the agents whose delegations are open."""
    return [entry.agent for entry in state.delegations.values() if entry.is_open]


def failed_delegation(state: SessionState) -> tuple[Delegation | None, str]:
    """Return the failed retry that allows a fallback, or else the agent whose failed delegation may be retried."""
    waiting = ""
    for entry in state.delegations.values():
        if entry.allows_fallback:
            return entry, ""
        if entry.may_be_retried and entry.fallback is not None:
            waiting = entry.agent
    return None, waiting


def has_failed_twice(state: SessionState, agent: str) -> bool:
    """Return whether the agent's delegation and its retry failed, and none was accepted later."""
    return any(entry.allows_fallback and is_same_agent(entry.agent, agent) for entry in state.delegations.values())


def open_writers(state: SessionState, settings: GateSettings) -> list[str]:
    """Return the agents of open delegations whose definition has a tool that may write."""
    return [entry.agent for entry in state.delegations.values() if entry.is_open and _may_write(entry.agent, settings)]


def _may_write(agent: str, settings: GateSettings) -> bool:
    bare = agent_slug(agent.rpartition(":")[2])
    tools = next((tools for name, tools in settings.tools.items() if agent_slug(name) == bare), None)
    if tools is None:
        return bare not in _READING_AGENTS
    return any(entry.partition("(")[0].strip() in _WRITING_TOOLS for entry in tools)
