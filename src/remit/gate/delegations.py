"""Delegations: open from their launch until they are accepted, rejected or failed; and who may write which file."""

from __future__ import annotations

import time

from remit.failure_policy import failure_warning
from remit.gate.model import LONGEST_NAME
from remit.gate.paths import locate
from remit.gate.ruling import Ruling
from remit.gate.session import Delegation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.gate.model import ToolUse
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings

#: Before the names of agents that come from the plugin of this install.
OUR_PLUGIN = "remit:"
OUTCOMES = ("accepted", "rejected", "failed")


def judge_launch(call: ToolUse, state: SessionState, project: str) -> Ruling:
    """A delegation that says in `writes` which files it will change must not meet another open one there."""
    given = call.input.get("writes")
    named = [path for path in given if isinstance(path, str)] if isinstance(given, list | tuple) else []
    paths = tuple(locate(path, call.cwd, project).name[:LONGEST_NAME] for path in named[:64])
    agent = call.text("subagent_type")[:LONGEST_NAME] or "general-purpose"

    def start(state: SessionState) -> None:
        open_delegation(state, call.tool_use_id, agent, writes=paths)

    ruling = Ruling(paths=paths, apply=start)
    for path in paths:
        if path in state.locks:
            holder = _holder_name(state, state.locks[path])
            ruling = Ruling(
                1,
                "parallel-writes",
                f"{path} is being written by {holder}, whose delegation is open. Wait until it is finished, "
                "or give the two delegations different files",
                paths=paths,
            )
            ruling.observed = start
            break
    return ruling


def judge_subagent_write(call: ToolUse, state: SessionState, names: Iterable[str]) -> Ruling:
    """A subagent takes a file by its first write; another one waits until that delegation has ended."""
    mine = tuple(name[:LONGEST_NAME] for name in names)
    for name in mine:
        holder = state.locks.get(name, call.agent_id)
        if holder != call.agent_id and not _becomes(state, holder, call):
            return Ruling(
                1,
                "parallel-writes",
                f"{name} is being written by {_holder_name(state, holder)} in another open delegation. "
                "Leave it, and report what you would have changed as a blocker",
                paths=mine,
            )

    def take(state: SessionState) -> None:
        for name in mine:
            holder = state.locks.get(name, "")
            if holder in state.delegations:
                link_delegation(state, holder, call.agent_id)
            state.locks[name] = call.agent_id

    return Ruling(paths=mine, apply=take)


def _becomes(state: SessionState, holder: str, call: ToolUse) -> bool:
    """Whether the caller may be the subagent of that launch: of its kind, with no other launch of its own."""
    entry = state.delegations.get(holder)
    if entry is None:
        return False
    if entry.agent_id:
        return entry.agent_id == call.agent_id
    linked = any(other.agent_id == call.agent_id for other in state.delegations.values())
    return not linked and is_same_agent(entry.agent, call.agent_type)


def is_same_agent(one: str, other: str) -> bool:
    """Whether two names mean one agent: `plugin:agent` and `agent` do, and so do all ways to write it."""
    return one == other or agent_slug(one.rpartition(":")[2]) == agent_slug(other.rpartition(":")[2])


def agent_slug(name: str) -> str:
    """An agent's name without what the client overlooks in it: capitals, and what stands between its words."""
    return "".join(letter for letter in name.lower() if letter not in " _-")


def _holder_name(state: SessionState, holder: str) -> str:
    for key, entry in state.delegations.items():
        if holder in (key, entry.agent_id):
            return entry.agent
    return "another subagent"


def open_delegation(
    state: SessionState, key: str, agent: str, *, writes: Iterable[str] = (), now: float | None = None
) -> str:
    """A delegation begins; its key. After one of the same agent that failed, this is its one retry."""
    key = key or f"launch-{len(state.delegations)}"
    retry_of = ""
    for other, entry in state.delegations.items():
        if entry.may_be_retried and is_same_agent(entry.agent, agent):
            retry_of = other
    if retry_of:
        state.delegations[retry_of].retried = True
    state.delegations[key] = Delegation(agent, time.time() if now is None else now, retry_of=retry_of)
    for path in writes:
        state.locks[path] = key
    return key


def link_delegation(state: SessionState, key: str, agent_id: str) -> None:
    """The subagent that a launch started."""
    if key in state.delegations and agent_id:
        state.delegations[key].agent_id = agent_id[:LONGEST_NAME]


def close_delegation(
    state: SessionState, key: str, outcome: str, *, files: Iterable[str] = (), now: float | None = None
) -> None:
    """A delegation ends: `accepted` with the files that its result covers, `rejected` or `failed`.

    `key` is the id of the launching call or of the subagent. One that was never launched is known from now on.
    """
    if outcome not in OUTCOMES:
        raise ValueError(f"a delegation ends as one of {', '.join(OUTCOMES)}, not as {outcome!r}")
    found = next((name for name, entry in state.delegations.items() if key and entry.agent_id == key), key)
    if found not in state.delegations:
        found = open_delegation(state, found, "unknown", now=now)
    entry = state.delegations[found]
    entry.state = outcome
    release_writes(state, found)
    release_writes(state, entry.agent_id)
    if outcome == "accepted":
        for path in files:
            state.analysed[path[:LONGEST_NAME]] = entry.agent
        for other in state.delegations.values():
            if is_same_agent(other.agent, entry.agent):
                other.fallback = None  # it worked after all: nothing to fall back from
        state.open_window("delegation", now)
    else:
        add_failure_warning(state, entry.agent)


def add_failure_warning(state: SessionState, agent: str) -> None:
    """Remember that a result is missing."""
    state.warn(failure_warning(agent[:LONGEST_NAME]))


def release_writes(state: SessionState, holder: str) -> None:
    """Give back the files that a subagent or a launch holds."""
    state.locks = {path: other for path, other in state.locks.items() if other != holder}


def open_delegations(state: SessionState) -> list[str]:
    """The agents whose delegations have not ended."""
    return [entry.agent for entry in state.delegations.values() if entry.is_open]


def failed_delegation(state: SessionState) -> tuple[Delegation | None, str]:
    """The retry that failed after its delegation had, or else the agent whose delegation failed and was not retried."""
    waiting = ""
    for entry in state.delegations.values():
        if entry.allows_fallback:
            return entry, ""
        if entry.may_be_retried and entry.fallback is not None:
            waiting = entry.agent
    return None, waiting


def has_given_up(state: SessionState, agent: str) -> bool:
    """Whether that agent's delegation and its retry failed, and none was accepted since."""
    return any(entry.allows_fallback and is_same_agent(entry.agent, agent) for entry in state.delegations.values())


def judge_tools(call: ToolUse, settings: GateSettings) -> Ruling | None:
    """A subagent uses the tools of its definition, and no other."""
    # An agent of another plugin has another definition, whatever its name; the client knows that one.
    allowed = settings.tools.get(call.agent_type) or settings.tools.get(call.agent_type.removeprefix(OUR_PLUGIN))
    if allowed is None or not call.agent_type:
        return None
    for entry in allowed:
        name = entry.partition("(")[0].strip()
        name = "Agent" if name == "Task" else name
        if name in ("*", call.tool) or (name.endswith("*") and call.tool.startswith(name[:-1])):
            return None
        if name.startswith("mcp__") and call.tool.startswith(name + "__"):
            return None
    tools = ", ".join(allowed) or "none"
    return Ruling(
        1,
        "tool-limits",
        f"the definition of {call.agent_type[:LONGEST_NAME]} does not list {call.tool[:80]} (its tools: {tools[:400]})",
    )
