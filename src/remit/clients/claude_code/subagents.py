"""Subagents: they start, they stop, their report reaches the orchestrator, or they fail."""

from __future__ import annotations

from remit.clients.claude_code import results
from remit.clients.claude_code.answers import block, context, updated_output
from remit.clients.claude_code.launches import Run, connect, set_aside, settle, unlinked, withdraw, written
from remit.clients.claude_code.payload import flag, table, text
from remit.gate.delegations import link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.clients.claude_code.answers import Answer
    from remit.clients.claude_code.desk import Desk
    from remit.clients.claude_code.judging import Judged
    from remit.clients.claude_code.results import Kept
    from remit.gate.memory import State

#: The one block of a report that the client adds.
_CLIENTS_OWN = "<tools-used-before-summary>"
_GENERAL = "general-purpose"


def started(payload: object, desk: Desk) -> Answer | None:
    """SubagentStart: the run is linked to its launch; it is told the contract if the launch did not do so."""
    run = Run(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    with desk.session(run.session) as state:
        told = _told(state, run)
        key = connect(state, run)
        if not desk.under_contract(run.agent):
            set_aside(state, key)
            return None
        if key:  # also where a run that had ended is taken up again
            state.delegations[key]["state"] = "open"
    if told or desk.observing:
        return None
    part = desk.prompt_for(run.agent)
    return context("SubagentStart", part) if part else None


def _told(state: State, run: Run) -> bool:
    """Whether the launch of this run, or each that may be it, was given the contract. A subagent's launch always is."""
    mine = [key for key, entry in state.delegations.items() if key == run.call or entry.get("agent_id") == run.agent_id]
    may_be = mine or unlinked(state, run.agent)
    return bool(run.parent) or (bool(may_be) and all(state.delegations[key].get("told") for key in may_be))


def stopped(payload: object, desk: Desk) -> Answer | None:
    """SubagentStop: the report is checked; one that is not accepted is sent back, once."""
    run = Run(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    if not run.agent:
        return None
    if not desk.under_contract(run.agent):
        _note(run, desk)
        return None
    report = text(payload, "last_assistant_message")
    attempt = _attempt(results.latest(desk.folder, run.session, run.agent_id), payload, report)
    judged = _judge(report, run, desk, attempt)
    would = "accepted" if judged.accepted else "returned" if attempt == 1 else "rejected"
    with desk.session(run.session) as state:
        # An event that is delivered twice at once is judged by both, and kept by the first of them.
        kept = results.latest(desk.folder, run.session, run.agent_id)
        if kept is None or not _is_same(kept, payload, report):
            about = {"attempt": attempt, "active": flag(payload, "stop_hook_active"), "changed": written(state, run)}
            kept = _keep(run, desk, report, judged, would, **about)
        _close(state, connect(state, run), kept)
    return block(judged.correction) if kept.outcome == "returned" else None


def _attempt(earlier: Kept | None, payload: object, report: str) -> int:
    """The how many-eth report this is. One that was taken up again after its end begins anew."""
    if earlier is None:
        return 1
    if _is_same(earlier, payload, report):
        return earlier.attempt
    return 2 if not earlier.final or flag(payload, "stop_hook_active") else 1


def _is_same(kept: Kept, payload: object, report: str) -> bool:
    """Whether this very stop was kept. After a correction the client says that a hook is at work."""
    said = isinstance(payload, dict) and "stop_hook_active" in payload
    return said and kept.active == flag(payload, "stop_hook_active") and kept.digest == results.digest(report)


def _judge(report: str, run: Run, desk: Desk, attempt: int) -> Judged:
    from remit.clients.claude_code.judging import judge  # late: only a report that is judged needs all the rules

    return judge(report, desk, run.agent, run.transcript, attempt)


def _keep(run: Run, desk: Desk, report: str, judged: Judged, would: str, **about: Any) -> Kept:
    return results.keep(
        desk.folder,
        run.session,
        agent=run.agent,
        agent_id=run.agent_id,
        outcome="observed" if desk.observing else would,
        would=would,
        text=report,
        check=judged.check,
        verdict=judged.verdict,
        violations=judged.violations,
        files=judged.files,
        **about,
    )


def _close(state: State, key: str, kept: Kept) -> None:
    """What a kept report does to its delegation. Who is only observed is sent nothing back: the first word counts."""
    if kept.final:
        outcome = {"returned": "rejected"}.get(kept.would, kept.would)
        settle(state, key, kept.agent, outcome, kept.files)


def _note(run: Run, desk: Desk) -> None:
    """An agent that is not under contract: that it came to its end is all that is kept."""
    results.keep(desk.folder, run.session, agent=run.agent, agent_id=run.agent_id, outcome="observed")
    with desk.session(run.session) as state:
        set_aside(state, connect(state, run), run.agent_id)


def reported(payload: object, desk: Desk) -> Answer | None:
    """PostToolUse(Agent): a report that was not accepted does not reach who asked for it."""
    response = table(payload, "tool_response")
    agent = text(response, "agentType") or text(table(payload, "tool_input"), "subagent_type") or _GENERAL
    call, nested = text(payload, "tool_use_id"), bool(text(payload, "agent_id"))
    run = Run(payload, agent, text(response, "agentId") or call)
    under = desk.under_contract(agent)
    with desk.session(run.session) as state:
        if not nested:
            link(state, call, text(response, "agentId"))
        if not under:
            set_aside(state, "" if nested else call)
    kept = results.latest(desk.folder, run.session, run.agent_id)
    if text(response, "status") == "async_launched":
        return None
    if not under:
        if kept is None:
            _note(run, desk)
        return None
    return _delivered(payload, desk, run, kept, "" if nested else call)


def _delivered(payload: object, desk: Desk, run: Run, kept: Kept | None, key: str) -> Answer | None:
    """A run of an agent under contract has come to its end; `key` is empty for a subagent's own delegation."""
    output = payload.get("tool_response") if isinstance(payload, dict) else None
    judged: Judged | None = None
    report = _report(output)
    if kept is None or not kept.final or not _is_what_was_judged(kept, report):
        # Nobody was asked when it stopped: its turns were used up.
        kept = None
        judged = _judge(report, run, desk, 2)
    with desk.session(run.session) as state:
        if judged is not None:
            again = results.latest(desk.folder, run.session, run.agent_id)
            would = "accepted" if judged.accepted else "failed"
            done = again is not None and again.final and _is_what_was_judged(again, report)
            kept = again if done else _keep(run, desk, report, judged, would, attempt=2, changed=written(state, run))
        if kept is None:
            return None
        _close(state, key, kept)
        retried = bool(state.delegations.get(key, {}).get("retry_of"))
    from remit.clients.claude_code.notices import reservations, withheld

    if kept.outcome in ("rejected", "failed"):
        return updated_output(_replaced(output, withheld(kept, retried=retried)))
    doubts = reservations(kept) if kept.outcome == "accepted" else ""
    return context("PostToolUse", doubts) if doubts else None


def _is_what_was_judged(kept: Kept, report: str) -> bool:
    """Whether an accepted report is the one that arrives: a run that was taken up again may have ended otherwise."""
    if kept.verdict != "accept" or kept.digest == results.digest(report):
        return True
    # The client may cut a report, or change the white space around its parts.
    return bool(report.strip()) and "".join(report.split()) in "".join(results.text_of(kept).split())


def _report(output: object) -> str:
    """The text that a tool's output would have brought, without what the client itself put there."""
    content = output.get("content") if isinstance(output, dict) else output
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [text(entry, "text") for entry in blocks if text(entry, "type") == "text"]
    return "\n".join(one for one in texts if not one.startswith(_CLIENTS_OWN))


def _replaced(output: object, notice: str) -> object:
    """The tool's output in its own shape, with one text in place of the report."""
    if isinstance(output, dict):
        content: object = notice if isinstance(output.get("content"), str) else [{"type": "text", "text": notice}]
        return {**output, "content": content}
    return notice if isinstance(output, str) else [{"type": "text", "text": notice}]


def failed(payload: object, desk: Desk) -> Answer | None:
    """A delegation that an error or a person has ended: StopFailure of a subagent, PostToolUseFailure(Agent)."""
    if text(payload, "hook_event_name") == "StopFailure":
        _broke_off(payload, desk)
        return None
    call, nested = text(payload, "tool_use_id"), bool(text(payload, "agent_id"))
    if text(payload, "hook_event_name") == "PermissionDenied":
        with desk.session(text(payload, "session_id")) as state:
            withdraw(state, "" if nested else call)
        return None
    agent = text(table(payload, "tool_input"), "subagent_type") or _GENERAL
    with desk.session(text(payload, "session_id")) as state:
        entry: dict[str, Any] = {} if nested else state.delegations.get(call, {})
        run = Run(payload, agent, str(entry.get("agent_id") or call))
        _keep_failure(run, desk, text(payload, "error"))
        settle(state, "" if nested else call, agent, "failed")
        retried = bool(entry.get("retry_of"))
    if desk.observing or not desk.under_contract(agent):
        return None
    from remit.clients.claude_code.notices import broken_off

    return context("PostToolUseFailure", broken_off(agent, retried=retried))


def _broke_off(payload: object, desk: Desk) -> None:
    """StopFailure: whoever launched it is told by the failure of the call."""
    run = Run(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    if not run.agent_id or not run.agent:
        return
    with desk.session(run.session) as state:
        _keep_failure(run, desk, text(payload, "last_assistant_message"))
        settle(state, connect(state, run), run.agent, "failed")


def _keep_failure(run: Run, desk: Desk, words: str) -> None:
    """What is known of a failure, once."""
    kept = results.latest(desk.folder, run.session, run.agent_id)
    if kept is None or kept.outcome != "failed":
        results.keep(
            desk.folder,
            run.session,
            agent=run.agent,
            agent_id=run.agent_id,
            outcome="failed",
            text=words,
            attempt=kept.attempt if kept else 1,
            would="failed",
        )
