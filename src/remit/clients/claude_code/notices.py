"""What an orchestrator is told in place of a report that was not accepted, or never came."""

from __future__ import annotations

from remit.contract.feedback import frame_result, neutralize, violation_lines
from remit.failure_policy import instructions
from remit.gate.delegations import close_delegation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.claude_code.project import ProjectContext
    from remit.clients.claude_code.results import KeptResult
    from remit.gate.session import Delegation, SessionState

_MOST_VIOLATIONS = 10
_LONGEST_LINE = 500
_MOST_NAMED = 10
_HEADS = {
    "rejected": "remit: the report of {agent} was checked, sent back once for correction, and is still not accepted. "
    "It is withheld: use nothing of it.",
    "failed": "remit: {agent} ended without a report that can be accepted, most likely at its turn limit. What it "
    "wrote last is withheld: use nothing of it.",
}
_MAX_NOTIFIED_VIOLATIONS = 10
_MAX_NOTIFIED_LINE = 500
#: Of a workflow's subagents so many are named.
_MOST_REPORTS = 5
#: How a summary begins says what has ended.
_SUMMARY = 60


def withheld_notice(kept: KeptResult, *, retried: bool) -> str:
    """The notice in place of a report: who, what is wrong, where it is kept, and what to do now."""
    agent = display_name(kept.agent)
    lines = [line[:_LONGEST_LINE] for line in violation_lines(kept.violations, _MOST_VIOLATIONS)]
    parts = [
        _HEADS.get(kept.outcome, _HEADS["rejected"]).format(agent=agent),
        frame_result(kept.agent, kept.verdict or kept.outcome, "\n".join(lines) or "There was nothing in it."),
        f"What it sent is kept in {neutralize(kept.path)}.",
        *_changes(kept.changed),
        next_steps(kept.agent, retried=retried),
    ]
    return "\n".join(parts)


def warnings_notice(kept: KeptResult) -> str:
    """What is said beside a report that was accepted although something is wrong with it; nothing if nothing is."""
    open_ones = [one for one in kept.violations if one.get("level") != "L3"]
    if not open_ones:
        return ""
    lines = [line[:_LONGEST_LINE] for line in violation_lines(open_ones, _MOST_VIOLATIONS)]
    name = display_name(kept.agent)
    head = f"remit: the report of {name} is accepted with reservations. Take for unproven what these speak of:"
    return "\n".join((head, neutralize("\n".join(lines))))


def _changes(paths: list[str]) -> list[str]:
    """What a withheld report does not undo."""
    if not paths:
        return []
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    names = neutralize(", ".join(paths[:_MOST_NAMED]))
    return [f"It has written to these files, and that stands: {names}{more}. Have them looked at before anything else."]


def next_steps(agent: str, *, retried: bool) -> str:
    """Return what to do after a failed delegation, from the next step on."""
    return f"What to do now: {instructions(display_name(agent), retries=1 if retried else 0)}"


def interrupted_notice(agent: str, *, retried: bool) -> str:
    """What is said of a delegation that an error has ended."""
    return f"remit: {display_name(agent)} failed and sent no report. {next_steps(agent, retried=retried)}"


def display_name(agent: str) -> str:
    """An agent's name in a line of ours: short, on one line, no tags."""
    return neutralize(" ".join(agent.split()))[:64] or "the subagent"


def task_notification(head: str, session: str, desk: ProjectContext) -> str:
    """What the orchestrator is told of a report under contract that was not accepted; else nothing.

    `head` is the beginning of the notification.
    """
    from remit.clients.claude_code import results

    agent_id, launch = _tag(head, "task-id"), _tag(head, "tool-use-id")
    kept = results.latest_result(desk.folder, session, agent_id) if agent_id else None
    if kept is not None and not kept.final:
        kept = None  # it was sent back, and nothing came after that
    with desk.session(session) as state:
        entry = _delegation(state, agent_id, launch)
        # A verdict on this run would have closed it, whatever was said of an earlier one.
        unjudged = entry is not None and entry.is_open
        if entry is not None and unjudged:
            close_delegation(state, entry.agent_id or launch, "failed")
        launched = {one.agent_id for one in state.delegations.values()}
    if entry is None and kept is None and _is_workflow(head):
        return _of_workflow(results.list_results(desk.folder, session), launched)
    if entry is not None and unjudged:
        return _never_checked(entry)
    if kept is None or kept.outcome not in ("rejected", "failed") or not desk.under_contract(kept.agent):
        return ""
    return _refused(kept, entry)


def _tag(head: str, name: str) -> str:
    """The text of the first such element, within the length of a name."""
    _, found, rest = head.partition(f"<{name}>")
    value, closed, _ = rest.partition(f"</{name}>")
    return value.strip() if found and closed and len(value) <= 200 else ""


def _delegation(state: SessionState, agent_id: str, launch: str) -> Delegation | None:
    """The delegation that this report ends, if it is known."""
    for key, entry in state.delegations.items():
        if (agent_id and entry.agent_id == agent_id) or (launch and key == launch):
            return entry
    return None


def _is_workflow(head: str) -> bool:
    """Whether a script of the client hands over what its subagents said: no report of theirs passes by us."""
    return "workflow" in head.partition("<summary>")[2][:_SUMMARY].lower()


def _of_workflow(listed: list[KeptResult], launched: set[str]) -> str:
    """The reports that no delegation of the orchestrator's brought, and that were not accepted."""
    latest = {kept.agent_id: kept for kept in listed if kept.agent_id not in launched}
    refused = [kept for kept in latest.values() if kept.outcome in ("rejected", "failed")][-_MOST_REPORTS:]
    return "\n".join(_refused(kept, None) for kept in refused)


def _never_checked(entry: Delegation) -> str:

    return (
        f"remit: {display_name(entry.agent)} ended without a report that could be checked. What it sent is not "
        f"accepted: use nothing of it. {next_steps(entry.agent, retried=bool(entry.retry_of))}"
    )


def _refused(kept: KeptResult, entry: Delegation | None) -> str:
    from remit.contract.feedback import frame_result, neutralize, violation_lines

    lines = [line[:_MAX_NOTIFIED_LINE] for line in violation_lines(kept.violations, _MAX_NOTIFIED_VIOLATIONS)]
    return "\n".join(
        (
            f"remit: the report of {display_name(kept.agent)} is not accepted: use nothing of it.",
            frame_result(kept.agent, kept.verdict or kept.outcome, "\n".join(lines) or "There was nothing in it."),
            f"It is kept in {neutralize(kept.path)}.",
            next_steps(kept.agent, retried=entry is not None and bool(entry.retry_of)),
        )
    )
