"""Open, link and close delegations, and decide which subagent may write which file."""

from __future__ import annotations

import time

from remit.failure_policy import failure_warning
from remit.gate.delegation import Delegation
from remit.gate.project_paths import locate
from remit.gate.ruling import Ruling
from remit.gate.tool_use import MAX_NAME_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.tool_use import ToolUse

#: The prefix of agents from the plugin that `remit install` writes.
OUR_PLUGIN = "remit:"
#: Agents of the client without tools that write.
_READING_AGENTS = frozenset({"explore", "plan", "claudecodeguide"})
#: Agents of the client with all tools.
_CLIENT_AGENTS = frozenset({"general-purpose", "statusline-setup", "output-style-setup", "claude", "fork"})
_WRITING_TOOLS = frozenset({"*", "Edit", "MultiEdit", "Write", "NotebookEdit"})
MODEL_CLASSES = ("haiku", "sonnet", "opus")
_MODELS = "Use haiku for lookups, sonnet for analysis and opus for requirements, unless the user asks for another model"
OUTCOMES = ("accepted", "rejected", "failed")


def judge_launch(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """Judge a launch. The files in its `writes` must not be locked by another open delegation, and a model that it
    names must be that of the agent's definition."""
    writes = call.input.get("writes")
    named = [path for path in writes if isinstance(path, str)] if isinstance(writes, list | tuple) else []
    paths = tuple(locate(path, call.cwd, project).name[:MAX_NAME_LENGTH] for path in named[:64])
    agent = call.text("subagent_type")[:MAX_NAME_LENGTH] or "general-purpose"

    def start(state: SessionState) -> None:
        open_delegation(state, call.tool_use_id, agent, writes=paths)

    ruling = _judge_model(call, agent, settings) or Ruling()
    ruling.paths, ruling.apply = paths, start
    for path in paths:
        if path in state.locks:
            holder = _holder_name(state, state.locks[path])
            ruling = Ruling(
                1,
                "parallel-writes",
                f"{path} is being written by {holder} in an open delegation. Wait until that one ends, or give the "
                "two delegations different files",
                paths=paths,
            )
            ruling.observed = start
            break
    return ruling


def _judge_model(call: ToolUse, agent: str, settings: GateSettings) -> Ruling | None:
    """Return a ruling if a launch names another model than the agent's definition."""
    defined = settings.models.get(agent) or settings.models.get(agent.rpartition(":")[2])
    named = model_class(call.text("model"))
    if not defined or not named or named == defined:
        return None
    fits = f"{agent} is defined with {defined}, and the call names {named}. {_MODELS}"
    return Ruling(2, "model-choice", fits)


def model_class(model: str) -> str:
    """Return the class of a model's name; "" for a model of another provider, `inherit` or no model."""
    return next((name for name in MODEL_CLASSES if name in model.lower()), "")


def judge_subagent_write(call: ToolUse, state: SessionState, names: Iterable[str]) -> Ruling:
    """Judge a subagent's write. The first write locks a file until the delegation ends."""
    paths = tuple(name[:MAX_NAME_LENGTH] for name in names)
    for name in paths:
        holder = state.locks.get(name, call.agent_id)
        if holder != call.agent_id and not _may_be_run_of(state, holder, call):
            return Ruling(
                1,
                "parallel-writes",
                f"{name} is being written by {_holder_name(state, holder)} in another open delegation. "
                "Do not change it; report the change that you would make as a blocker",
                paths=paths,
            )

    def take(state: SessionState) -> None:
        for name in paths:
            holder = state.locks.get(name, "")
            if holder in state.delegations:
                link_delegation(state, holder, call.agent_id)
            state.locks[name] = call.agent_id

    return Ruling(paths=paths, apply=take)


def _may_be_run_of(state: SessionState, holder: str, call: ToolUse) -> bool:
    """Return whether the caller may be the subagent of that launch: the same agent, linked to no other launch."""
    entry = state.delegations.get(holder)
    if entry is None:
        return False
    if entry.agent_id:
        return entry.agent_id == call.agent_id
    linked = any(other.agent_id == call.agent_id for other in state.delegations.values())
    return not linked and is_same_agent(entry.agent, call.agent_type)


def is_same_agent(name: str, other: str) -> bool:
    """Return whether two names mean the same agent: prefix, case and separators do not matter."""
    return name == other or agent_slug(name.rpartition(":")[2]) == agent_slug(other.rpartition(":")[2])


def agent_slug(name: str) -> str:
    """Return an agent's name without what the client ignores: case, blanks, `_` and `-`."""
    return "".join(letter for letter in name.lower() if letter not in " _-")


def _holder_name(state: SessionState, holder: str) -> str:
    for key, entry in state.delegations.items():
        if holder in (key, entry.agent_id):
            return entry.agent
    return "another subagent"


def open_delegation(
    state: SessionState, key: str, agent: str, *, writes: Iterable[str] = (), now: float | None = None
) -> str:
    """Open a delegation and return its key. After a failed one of the same agent, it is the retry."""
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
    release_writes(state, own_key)
    release_writes(state, entry.agent_id)
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


def release_writes(state: SessionState, holder: str) -> None:
    """Release the files that a subagent or a launch has locked."""
    state.locks = {path: other for path, other in state.locks.items() if other != holder}


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


def may_write(call: ToolUse, settings: GateSettings) -> bool:
    """Return whether the agent of a call may change code: a subagent whose definition has a tool that writes.

    An agent without a definition has no permission. The definitions of other plugins are not known.
    """
    if not call.agent_id:
        return False
    allowed = _tools_of(call.agent_type, settings)
    if allowed is None:
        return agent_slug(call.agent_type) not in _READING_AGENTS and _is_defined(call.agent_type, settings)
    return any(entry.partition("(")[0].strip() in _WRITING_TOOLS for entry in allowed)


def _tools_of(agent: str, settings: GateSettings) -> tuple[str, ...] | None:
    """Return the tools of an agent's definition, which the client finds by other spellings of its name, too."""
    name = agent.removeprefix(OUR_PLUGIN)
    if name in settings.tools or ":" in name or not name:
        return settings.tools.get(agent) or settings.tools.get(name)
    return next((tools for other, tools in settings.tools.items() if agent_slug(other) == agent_slug(name)), None)


def _is_defined(agent: str, settings: GateSettings) -> bool:
    if ":" in agent or agent in _CLIENT_AGENTS:
        return True
    known = (*settings.tools, *settings.models, *settings.agents.values())
    return any(is_same_agent(agent, name) for name in known)


def judge_tools(call: ToolUse, settings: GateSettings) -> Ruling | None:
    """Return a ruling if a subagent uses a tool that its definition does not list."""
    # An agent of another plugin has its own definition, which the client applies.
    allowed = _tools_of(call.agent_type, settings)
    if allowed is None and agent_slug(call.agent_type) in _READING_AGENTS and call.tool in _WRITING_TOOLS:
        name, other = call.agent_type[:MAX_NAME_LENGTH], settings.agent("backend")
        return Ruling(
            1, "tool-limits", f"{name} is an agent of the client that only reads. Delegate the change to {other}"
        )
    if allowed is None or not call.agent_type:
        return None
    for entry in allowed:
        name = entry.partition("(")[0].strip()
        name = "Agent" if name == "Task" else name
        if name in ("*", call.tool) or (name.endswith("*") and call.tool.startswith(name[:-1])):
            return None
        if name.startswith("mcp__") and call.tool.startswith(name + "__"):
            return None
    agent, tools = call.agent_type[:MAX_NAME_LENGTH], ", ".join(allowed) or "none"
    reason = f"the definition of {agent} does not list {call.tool[:80]}. Its tools: {tools[:400]}"
    return Ruling(1, "tool-limits", reason)
