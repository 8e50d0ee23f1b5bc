"""Notices for the orchestrator: on reports that were not accepted, or with warnings, and on the state of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remit.clients.hooks import results
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.results import KeptResult
from remit.contract.feedback import frame_partial, frame_result, neutralize, violation_lines
from remit.contract.tokens import estimate_tokens
from remit.failure_policy import instructions
from remit.gate.delegation import Delegation
from remit.gate.delegations import close_delegation, open_delegations
from remit.gate.session import SessionState

_MAX_VIOLATIONS = 10
_MAX_LINE = 500
_MAX_FILES = 10
_MAX_LISTED = 5
#: Verified lines of a rejected report that are passed on.
_MAX_PARTIAL = 20
#: At most this many reports of a workflow are listed.
_MAX_REPORTS = 5
#: The beginning of a notification's summary names what has ended.
_SUMMARY_HEAD = 60
_HEADS = {
    "rejected": "remit: the report of {agent} was checked, sent back once for correction, and is still not accepted. "
    "It is withheld: do not use it.",
    "failed": "remit: {agent} ended without an acceptable report, most likely at its turn limit. Its last message is "
    "withheld: do not use it.",
}


def withheld_notice(kept: KeptResult, *, retried: bool) -> str:
    """Return the notice that replaces a report: its violations, where it is stored, and what to do next."""
    parts = [
        _HEADS.get(kept.outcome, _HEADS["rejected"]).format(agent=display_name(kept.agent)),
        _framed_violations(kept),
        *_verified_part(kept, "its report was not accepted"),
        f"The report is stored in {neutralize(kept.path)}.",
        *_written_files(kept.changed),
        next_steps(kept.agent, retried=retried, is_recoverable=kept.recoverable),
    ]
    return "\n".join(parts)


def failure_notice(kept: KeptResult, *, retried: bool) -> str:
    """Return the notice next to a valid report that states a failure (Status FAILED)."""
    name = display_name(kept.agent)
    head = (
        f"remit: the task of {name} is not done: {neutralize(kept.failure)}. Use its report only to decide what to do."
    )
    parts = (
        head,
        *_written_files(kept.changed),
        next_steps(kept.agent, retried=retried, is_recoverable=kept.recoverable),
    )
    return "\n".join(parts)


def unverified_notice(kept: KeptResult, *, retried: bool) -> str:
    """Return the notice next to a report of an agent that is not under contract: which of its claims do not hold."""
    head = (
        f"remit: the report of {display_name(kept.agent)} was sent back once, and these claims still do not hold. "
        "Do not use them and do not repeat them to the user:"
    )
    return "\n".join(
        (head, _framed_violations(kept), next_steps(kept.agent, retried=retried, is_recoverable=kept.recoverable))
    )


def accepted_notice(kept: KeptResult) -> str:
    """Return the notice for an accepted report with violations, or one that needs a decision; "" for others."""
    return "\n".join(filter(None, (_warnings_notice(kept), _review_notice(kept))))


def _warnings_notice(kept: KeptResult) -> str:
    """Return the notice for a report that was accepted in spite of violations; "" if it has none.

    Violations of L1 in an accepted report are of its form.
    """
    name = display_name(kept.agent)
    form = [violation for violation in kept.violations if violation.get("level") == "L1"]
    others = [violation for violation in kept.violations if violation.get("level") == "L2"]
    parts = []
    if form:
        head = f"remit: the report of {name} was sent back once, and its form is still wrong. Its claims were checked:"
        parts += [head if not others else head.replace("Its claims", "Its other claims"), *_lines(form)]
    if others:
        head = f"remit: the report of {name} was accepted with warnings. Treat the following claims as unverified:"
        parts += [head, *_lines(others)]
    return neutralize("\n".join(parts))


def _review_notice(kept: KeptResult) -> str:
    """Return the notice for an accepted report that needs a decision: PARTIAL, a low score, blockers; "" for others."""
    if not kept.reviews:
        return ""
    name = display_name(kept.agent)
    head = f"remit: before you go on, review the report of {name}, and decide what follows or ask the user:"
    return neutralize("\n".join((head, *(f"- {' '.join(review.split())}"[:_MAX_LINE] for review in kept.reviews))))


def long_notice(kept: KeptResult, report: str) -> str:
    """Return the notice for a report that is handed over shortened."""
    return (
        f"remit: the report of {display_name(kept.agent)} has about {estimate_tokens(report):,} tokens. Here it is "
        f"shortened; the whole is in {neutralize(kept.path)}. Read there only what you need."
    )


def conflicts_notice(conflicts: list[str]) -> str:
    """Return the notice about accepted reports that contradict each other."""
    head = (
        "remit: accepted reports contradict each other. Do not decide between them yourself: show the user both "
        "statements and ask, or have verification-specialist check them."
    )
    lines = [f"- {conflict}"[:_MAX_LINE] for conflict in conflicts[:_MAX_VIOLATIONS]]
    return "\n".join((head, frame_result("several", "conflict", "\n".join(lines))))


def interrupted_notice(agent: str, *, retried: bool) -> str:
    """Return the notice for a delegation that ended with an error."""
    return f"remit: {display_name(agent)} failed and sent no report. {next_steps(agent, retried=retried)}"


def next_steps(agent: str, *, retried: bool, is_recoverable: bool = True) -> str:
    """Return what to do after a failed delegation, from the next step on."""
    steps = instructions(display_name(agent), retries=1 if retried else 0, is_recoverable=is_recoverable)
    return f"What to do now: {steps}"


def display_name(agent: str) -> str:
    """Return an agent's name for a notice: short, on one line, without tags."""
    return neutralize(" ".join(agent.split()))[:64] or "the subagent"


def task_notification(head: str, session: str, context: ProjectContext) -> str:
    """Return the notice for a background report; "" if it was accepted without one, or is not checked.

    `head` is the beginning of the client's notification.
    """
    agent_id, launch = _tag(head, "task-id"), _tag(head, "tool-use-id")
    kept = results.latest_result(context.folder, session, agent_id) if agent_id else None
    if kept is not None and not kept.is_final:
        kept = None  # it was sent back, and no corrected report has come
    with context.session(session) as state:
        entry = _find_delegation(state, agent_id, launch)
        # A verdict on this run would have closed the delegation, even after a verdict on an earlier run.
        is_unjudged = entry is not None and entry.is_open
        if entry is not None and is_unjudged:
            close_delegation(state, entry.agent_id or launch, "failed")
        launched = {delegation.agent_id for delegation in state.delegations.values()}
    if entry is None and kept is None and _is_workflow(head):
        return _workflow_notice(results.list_results(context.folder, session), launched)
    if entry is not None and is_unjudged:
        return _unchecked_notice(entry)
    if kept is None or kept.outcome not in ("accepted", "rejected", "failed") or not context.is_checked(kept.agent):
        return ""
    return accepted_notice(kept) if kept.outcome == "accepted" else rejected_notice(kept, entry)


def _workflow_notice(listed: list[KeptResult], launched: set[str]) -> str:
    """Describe the reports that were not accepted and that the orchestrator did not request itself."""
    latest = {kept.agent_id: kept for kept in listed if kept.agent_id not in launched}
    rejected = [kept for kept in latest.values() if kept.outcome in ("rejected", "failed")][-_MAX_REPORTS:]
    return "\n".join(rejected_notice(kept, None) for kept in rejected)


def _unchecked_notice(entry: Delegation) -> str:
    return (
        f"remit: {display_name(entry.agent)} ended without a report that could be checked. Its output is not "
        f"accepted: do not use any of it. {next_steps(entry.agent, retried=bool(entry.retry_of))}"
    )


def rejected_notice(kept: KeptResult, entry: Delegation | None) -> str:
    """Return the notice about a report that the orchestrator has already received and must not use."""
    retried = entry is not None and bool(entry.retry_of)
    if kept.failure:
        return failure_notice(kept, retried=retried)
    if kept.is_outside_contract:
        return unverified_notice(kept, retried=retried)
    sender = f" ({display_name(entry.teammate)})" if entry is not None and entry.teammate else ""
    return "\n".join(
        (
            f"remit: the report of {display_name(kept.agent)}{sender} is not accepted: do not use it.",
            _framed_violations(kept),
            *_verified_part(kept, "its report was not accepted"),
            f"The report is stored in {neutralize(kept.path)}.",
            next_steps(kept.agent, retried=retried, is_recoverable=kept.recoverable),
        )
    )


def _verified_part(kept: KeptResult, why: str) -> list[str]:
    """Return the lines of a rejected report whose claims hold, marked as partial."""
    lines = "\n".join(kept.partial.split("\n")[:_MAX_PARTIAL])
    return [frame_partial(kept.agent, lines, why)] if lines else []


def _framed_violations(kept: KeptResult) -> str:
    return frame_result(
        kept.agent, kept.verdict or kept.outcome, "\n".join(_lines(kept.violations)) or "The report was empty."
    )


def _lines(violations: Sequence[dict[str, Any]]) -> list[str]:
    return [line[:_MAX_LINE] for line in violation_lines(violations, _MAX_VIOLATIONS)]


def _written_files(paths: list[str]) -> list[str]:
    """Return a warning about files that the subagent has edited, which a withheld report does not undo."""
    if not paths:
        return []
    more = f" and {len(paths) - _MAX_FILES} more" if len(paths) > _MAX_FILES else ""
    names = neutralize(", ".join(paths[:_MAX_FILES]))
    return [f"Its changes to these files remain: {names}{more}. Have them reviewed before anything else."]


def _tag(head: str, name: str) -> str:
    """Return the text of the first such element, if it is short enough for a name."""
    _, start, rest = head.partition(f"<{name}>")
    value, end, _ = rest.partition(f"</{name}>")
    return value.strip() if start and end and len(value) <= 200 else ""


def _find_delegation(state: SessionState, agent_id: str, launch: str) -> Delegation | None:
    """Return the delegation that a report ends, if it is recorded."""
    for key, entry in state.delegations.items():
        if (agent_id and entry.agent_id == agent_id) or (launch and key == launch):
            return entry
    return None


def _is_workflow(head: str) -> bool:
    """Whether the client's workflow script delivers the output: hooks do not see the reports of its subagents."""
    return "workflow" in head.partition("<summary>")[2][:_SUMMARY_HEAD].lower()


def state_notice(state: SessionState, context: ProjectContext) -> str:
    """Return the state of a session in a few lines."""
    limits, window = context.settings.limits, state.window
    read = f"{len(window.files)} of {limits['files']} files and {window.lines} of {limits['total']} lines"
    lines = [
        f"Remit's gate controls this session (mode {context.settings.mode}). Direct reads since the last prompt: {read}"
        + (f"; {window.closed}" if window.closed else "")
        + "."
    ]
    waiting = open_delegations(state)
    if waiting:
        lines.append(f"Open delegations: {_last_few(waiting)}. Give no final answer before their results.")
    if state.analysed:
        count = f"{len(state.analysed)} file{'s' if len(state.analysed) != 1 else ''}"
        lines.append(f"Accepted results cover {count}. Do not read what they cover again.")
    declared = [f"{entry.kind} {' '.join(entry.paths)}" for entry in state.declarations]
    if declared:
        lines.append(f"Declared by the user: {_last_few(declared)}.")
    if state.warnings:
        lines.append(f"Warnings: {_last_few(state.warnings)}")
    return "\n".join(lines)


def _last_few(texts: list[str]) -> str:
    more = len(texts) - _MAX_LISTED
    return "; ".join(entry[:200] for entry in texts[-_MAX_LISTED:]) + (f" (and {more} more)" if more > 0 else "")
