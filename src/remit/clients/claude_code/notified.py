"""Reports of background subagents, which the client hands over in a prompt of its own."""

from __future__ import annotations

from remit.gate.delegations import close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.clients.claude_code.desk import Desk
    from remit.clients.claude_code.results import Kept
    from remit.gate.memory import State

_MOST_VIOLATIONS = 10
_LONGEST_LINE = 500
#: Of a workflow's subagents so many are named.
_MOST_REPORTS = 5
#: How a summary begins says what has ended.
_SUMMARY = 60


def notified(head: str, session: str, desk: Desk) -> str:
    """What the orchestrator is told of a report under contract that was not accepted; else nothing.

    `head` is the beginning of the notification.
    """
    from remit.clients.claude_code import results

    agent_id, launch = _tag(head, "task-id"), _tag(head, "tool-use-id")
    kept = results.latest(desk.folder, session, agent_id) if agent_id else None
    if kept is not None and not kept.final:
        kept = None  # it was sent back, and nothing came after that
    with desk.session(session) as state:
        entry = _delegation(state, agent_id, launch)
        # A verdict on this run would have closed it, whatever was said of an earlier one.
        unjudged = entry.get("state") == "open"
        if unjudged:
            close(state, str(entry["agent_id"] or launch), "failed")
        launched = {str(one.get("agent_id")) for one in state.delegations.values()}
    if not entry and kept is None and _is_workflow(head):
        return _of_workflow(results.listed(desk.folder, session), launched)
    if unjudged:
        return _never_checked(str(entry.get("agent")), entry)
    if kept is None or kept.outcome not in ("rejected", "failed") or not desk.under_contract(kept.agent):
        return ""
    return _refused(kept, entry)


def _tag(head: str, name: str) -> str:
    """The text of the first such element, within the length of a name."""
    _, found, rest = head.partition(f"<{name}>")
    value, closed, _ = rest.partition(f"</{name}>")
    return value.strip() if found and closed and len(value) <= 200 else ""


def _delegation(state: State, agent_id: str, launch: str) -> dict[str, Any]:
    """The delegation that this report ends, if it is known."""
    for key, entry in state.delegations.items():
        if (agent_id and entry.get("agent_id") == agent_id) or (launch and key == launch):
            return entry
    return {}


def _is_workflow(head: str) -> bool:
    """Whether a script of the client hands over what its subagents said: no report of theirs passes by us."""
    return "workflow" in head.partition("<summary>")[2][:_SUMMARY].lower()


def _of_workflow(listed: list[Kept], launched: set[str]) -> str:
    """The reports that no delegation of the orchestrator's brought, and that were not accepted."""
    latest = {kept.agent_id: kept for kept in listed if kept.agent_id not in launched}
    refused = [kept for kept in latest.values() if kept.outcome in ("rejected", "failed")][-_MOST_REPORTS:]
    return "\n".join(_refused(kept, {}) for kept in refused)


def _never_checked(agent: str, entry: dict[str, Any]) -> str:
    from remit.clients.claude_code.notices import next_steps, shown_name

    return (
        f"remit: {shown_name(agent)} ended without a report that could be checked. What it sent is not accepted: use "
        f"nothing of it. {next_steps(agent, retried=bool(entry.get('retry_of')))}"
    )


def _refused(kept: Kept, entry: dict[str, Any]) -> str:
    from remit.clients.claude_code.notices import next_steps, shown_name
    from remit.contract.correction import violation_lines
    from remit.contract.framing import framed, neutral

    lines = [line[:_LONGEST_LINE] for line in violation_lines(kept.violations, _MOST_VIOLATIONS)]
    return "\n".join(
        (
            f"remit: the report of {shown_name(kept.agent)} is not accepted: use nothing of it.",
            framed(kept.agent, kept.verdict or kept.outcome, "\n".join(lines) or "There was nothing in it."),
            f"It is kept in {neutral(kept.path)}.",
            next_steps(kept.agent, retried=bool(entry.get("retry_of"))),
        )
    )
