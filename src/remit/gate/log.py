"""What was decided in a session, for people who ask: a list, a summary, one decision explained."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.memory import State

#: What a line read costs in tokens, roughly: for what a denied read would have cost.
TOKENS_A_LINE = 10


def entries(state: State, *, denied: bool = False) -> list[dict[str, Any]]:
    """The decisions kept, oldest first; `denied`: only those that denied, or would have."""
    return [entry for entry in state.decisions if not denied or "deny" in (entry.get("decision"), entry.get("would"))]


def status(state: State) -> dict[str, Any]:
    """The session at a glance."""
    answers: dict[str, int] = {}
    rules: dict[str, int] = {}
    for entry in state.decisions:
        answer = str(entry.get("would") or entry.get("decision"))
        answers[answer] = answers.get(answer, 0) + 1
        if entry.get("rule"):
            rules[str(entry["rule"])] = rules.get(str(entry["rule"]), 0) + 1
    spared = sum(_lines(entry) for entry in entries(state, denied=True))
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
        "denied": {"lines": spared, "tokens": spared * TOKENS_A_LINE},
        "delegations": [
            {"id": key, "agent": entry.get("agent"), "state": entry.get("state"), "retry": bool(entry.get("retry_of"))}
            for key, entry in state.delegations.items()
        ],
        "declarations": list(state.declarations),
        "warnings": list(state.warnings),
    }


def _lines(entry: dict[str, Any]) -> int:
    lines = entry.get("lines")
    return lines if isinstance(lines, int) else 0


def why(state: State, wanted: str = "") -> dict[str, Any] | None:
    """The decision of a call (its id, or a rule's name, or nothing: the last that was not simply allowed)."""
    entry: dict[str, Any]
    for entry in reversed(state.decisions):
        if wanted and wanted in (entry.get("id"), entry.get("rule")):
            return entry
        if not wanted and (entry.get("would") or entry.get("decision")) != "allow":
            return entry
    return None
