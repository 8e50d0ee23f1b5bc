"""The decisions of a session: a list, a summary, and what exceptions saved."""

from __future__ import annotations

from remit.gate.session import SessionState
from remit.gate.tool_use import COSTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from remit.gate.session_entries import DecisionEntry

#: The approximate cost of reading a line, for the cost of a denied read.
TOKENS_PER_LINE = 10
#: The agents that a lookup would be delegated to.
EXPLORERS = ("code-explorer", "Explore")


def log_entries(state: SessionState, *, denied: bool = False) -> list[dict[str, Any]]:
    """Return the stored decisions, oldest first. With `denied`, only those that denied."""
    entries = [{**vars(entry), "statements": _statements(entry)} for entry in state.decisions]
    return [entry for entry in entries if not denied or is_denied(entry)]


def _statements(entry: DecisionEntry) -> list[dict[str, str]]:
    return [{"text": each.text, "proof": each.proof, "outcome": each.outcome} for each in entry.statements or ()]


def is_denied(entry: dict[str, Any]) -> bool:
    """Return whether the call was denied, or the answer sent back."""
    return entry.get("decision") == "deny"


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
        answers[entry.decision] = answers.get(entry.decision, 0) + 1
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
