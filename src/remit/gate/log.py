"""The decisions of a session: a list, a summary, the explanation of one; the decision on a call that is not made."""

from __future__ import annotations

import json

from remit.errors import UsageError, did_you_mean
from remit.gate.decide import count_lines, decide, decide_stop
from remit.gate.rule_texts import RULES, describe_rule
from remit.gate.session import SessionState
from remit.gate.session_store import find_session, recorded_sessions
from remit.gate.tool_use import COSTS, Decision, ToolUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from remit.gate.session_entries import DecisionEntry
    from remit.gate.settings import GateSettings

#: The approximate cost of reading a line, for the cost of a denied read.
TOKENS_PER_LINE = 10
#: The agents that a lookup would be delegated to.
EXPLORERS = ("code-explorer", "Explore")


def log_entries(state: SessionState, *, denied: bool = False) -> list[dict[str, Any]]:
    """Return the stored decisions, oldest first. With `denied`, only those that denied or would have."""
    entries = [{**vars(entry), "statements": _statements(entry)} for entry in state.decisions]
    return [entry for entry in entries if not denied or is_denied(entry)]


def _statements(entry: DecisionEntry) -> list[dict[str, str]]:
    return [{"text": each.text, "proof": each.proof, "outcome": each.outcome} for each in entry.statements or ()]


def is_denied(entry: dict[str, Any]) -> bool:
    """Return whether the call was denied, or would have been in another mode than `observe`."""
    return "deny" in (entry.get("decision"), entry.get("would"))


def exception_cost(entry: dict[str, Any]) -> dict[str, int | None]:
    """Return the lines and tokens of a decision: the cost of a denied call, or the cost of an exception and what it
    saved compared with a delegation. None if a value is not known."""
    lines = entry.get("lines")
    lines = lines if isinstance(lines, int) and not isinstance(lines, bool) else 0
    if is_denied(entry):
        return {"lines": lines or None, "tokens": lines * TOKENS_PER_LINE or None, "saved": None}
    cost, instead = COSTS.get(str(entry.get("exception")), (0, None))
    return {"lines": lines or None, "tokens": cost or None, "saved": instead - cost if instead is not None else None}


def session_summary(state: SessionState) -> dict[str, Any]:
    """Return a summary of the session."""
    answers: dict[str, int] = {}
    rules: dict[str, int] = {}
    for entry in state.decisions:
        answer = entry.would or entry.decision
        answers[answer] = answers.get(answer, 0) + 1
        if entry.rule:
            rules[entry.rule] = rules.get(entry.rule, 0) + 1
    return {
        "session": state.session,
        "window": {
            "files": len(state.window.files),
            "lines": state.window.lines,
            "why": state.window.why,
            "closed": state.window.closed or None,
        },
        "answers": answers,
        "rules": rules,
        "exceptions": {"used": dict(state.used), "tokens_saved": state.saved},
        "denied": saved_tokens(state),
        "untrue": dict(zip(("stopped", "got_through"), state.untrue_since(), strict=True)),
        "analysed": len(state.analysed),
        "delegations": [
            {"id": key, "agent": delegation.agent, "state": delegation.state, "retry": bool(delegation.retry_of)}
            for key, delegation in state.delegations.items()
        ],
        "declarations": [vars(entry) for entry in state.declarations],
        "warnings": list(state.warnings),
    }


def saved_tokens(state: SessionState) -> dict[str, int]:
    """Return the total cost of the denied calls."""
    lines = sum(exception_cost(entry)["lines"] or 0 for entry in log_entries(state, denied=True))
    return {"lines": lines, "tokens": lines * TOKENS_PER_LINE}


def delegation_costs(results: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return, by agent, the mean tokens that a delegation costs the orchestrator: instructions and reports.

    It is an estimate. What the subagent read is not in it.
    """
    runs: dict[str, dict[str, int]] = {}
    for result in results:
        tokens, agent, run = result.get("tokens"), str(result.get("agent") or ""), str(result.get("agent_id") or "")
        if isinstance(tokens, int) and tokens > 0:
            of_agent = runs.setdefault(agent.rpartition(":")[2], {})
            of_agent[run] = of_agent.get(run, 0) + tokens
    return {agent: round(sum(of_agent.values()) / len(of_agent)) for agent, of_agent in runs.items()}


def estimated_saving(used: Mapping[str, int], costs: Mapping[str, int]) -> tuple[int, str, int]:
    """Return the tokens that exceptions saved, and the agent and the cost of the delegation that was counted instead.

    A lookup and a verification are compared with the explorers of the session, if there were any.
    """
    explorer = next((agent for agent in EXPLORERS if agent in costs), "")
    total = 0
    for kind, count in used.items():
        cost, instead = COSTS.get(kind, (0, None))
        real = costs[explorer] if explorer and kind in ("lookup", "verify") else instead
        total += count * max(0, real - cost) if real is not None else 0
    return total, explorer, costs.get(explorer, COSTS["lookup"][1] or 0)


def find_decision(state: SessionState, wanted: str = "") -> dict[str, Any] | None:
    """Return the latest decision about a call (its id, or the start or end of the id) or by a rule. Without either,
    return the latest one that is not a plain allow."""
    entries = log_entries(state)[::-1]
    for entry in entries:
        if wanted and wanted in (entry.get("id"), entry.get("rule")):
            return entry
        if not wanted and (entry.get("would") or entry.get("decision")) != "allow":
            return entry
    for entry in entries if len(wanted) >= 4 else ():
        if entry.get("id", "").startswith(wanted) or entry.get("id", "").endswith(wanted):
            return entry
    return None


def explain_decision(folders: list[str], session: str, wanted: str) -> tuple[dict[str, Any] | None, str, str | None]:
    """Return a decision, its rule and its session. For a rule without decisions, return the rule only."""
    is_rule = describe_rule(wanted) is not None
    if is_rule and not recorded_sessions(folders):
        return None, wanted, None
    state = find_session(folders, session).state
    entry = find_decision(state, wanted)
    if entry is not None:
        return entry, str(entry.get("rule") or ""), state.session
    if is_rule:
        return None, wanted, state.session
    if not wanted:
        raise UsageError(f"session {state.session} has no denials or warnings; `remit gate log` shows all decisions")
    hint = did_you_mean(wanted, [name for name, *_ in RULES]) or "; `remit gate log` shows the ids"
    raise UsageError(f"session {state.session} has no decision {wanted!r}, and there is no such rule{hint}")


def read_payload(data: bytes) -> dict[str, Any]:
    """Parse the payload of a tool call or of the end of a turn."""
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"standard input is not JSON: {error}; pass the payload of a hook") from error
    if not isinstance(payload, dict):
        raise UsageError(f"the payload must be a JSON object, not {type(payload).__name__}")
    if not isinstance(payload.get("tool_name"), str) and payload.get("hook_event_name") != "Stop":
        raise UsageError("the payload has no tool call: tool_name is missing or not a string")
    return payload


def dry_run(payload: dict[str, Any], state: SessionState | None, settings: GateSettings, project: str) -> Decision:
    """Return what would be decided in a session with this state, or in a new session."""
    state = state or SessionState()
    if "tool_name" not in payload:
        return decide_stop(state, settings, shown_lines=count_lines(payload.get("last_assistant_message")))
    return decide(ToolUse.from_payload(payload), state, settings, project)
