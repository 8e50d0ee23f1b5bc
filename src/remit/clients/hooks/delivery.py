"""Handle the delivery of a subagent's report to the orchestrator, and delegations that end without one."""

from __future__ import annotations

from remit.acceptance import ReportJudgement
from remit.clients.hooks import results
from remit.clients.hooks.judging import judge
from remit.clients.hooks.notices import (
    accepted_notice,
    conflicts_notice,
    failure_notice,
    interrupted_notice,
    long_notice,
    unverified_notice,
    withheld_notice,
)
from remit.clients.hooks.payload import table, text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.recorded_project import conflicts_in
from remit.clients.hooks.responses import Answer, add_context, merge, updated_output
from remit.clients.hooks.results import KeptResult
from remit.clients.hooks.session_progress import record_delegation
from remit.clients.hooks.subagents import (
    SubagentRun,
    close,
    keep,
    link_run,
    outcome_of,
    record_end,
    set_aside,
    set_teammate,
    settle_launch,
)
from remit.contract.shortened import shorten_result
from remit.gate.delegations import link_delegation
from remit.gate.session import SessionState
from remit.gate.session_store import read_session
from remit.gate.tool_use import MAX_NAME_LENGTH
from remit.secrets.scan import redact

#: The client adds a block that begins with this to a report.
_CLIENT_BLOCK = "<tools-used-before-summary>"
_GENERAL = "general-purpose"
#: The status of a launch that started a teammate: it reports when it becomes idle.
_SPAWNED = "teammate_spawned"


def agent_call_returned(payload: object, context: ProjectContext) -> Answer | None:
    """PostToolUse(Agent): replace a report that was not accepted before it reaches the orchestrator."""
    response = table(payload, "tool_response")
    agent = text(response, "agentType") or text(table(payload, "tool_input"), "subagent_type") or _GENERAL
    call, is_nested = text(payload, "tool_use_id"), bool(text(payload, "agent_id"))
    run = SubagentRun(payload, agent, text(response, "agentId") or call)
    with context.session(run.session) as state:
        if not is_nested:
            link_delegation(state, call, text(response, "agentId"))
        if text(response, "status") == _SPAWNED:
            set_teammate(state, call, text(response, "name"))
        if not context.is_checked(agent):
            set_aside(state, "" if is_nested else call)
    kept = results.latest_result(context.folder, run.session, run.agent_id)
    if text(response, "status") in ("async_launched", _SPAWNED):
        return None
    if not context.is_checked(agent):
        if kept is None:
            record_end(run, context)
        return None
    return _deliver(payload, context, run, kept, "" if is_nested else call)


def _deliver(
    payload: object, context: ProjectContext, run: SubagentRun, kept: KeptResult | None, key: str
) -> Answer | None:
    """Answer the end of a checked run; `key` is empty for a delegation by a subagent."""
    output = payload.get("tool_response") if isinstance(payload, dict) else None
    judged: ReportJudgement | None = None
    report = _report(output)
    if kept is None or not kept.is_final or not _is_judged_report(kept, report):
        # No SubagentStop was judged: the run used up its turns.
        kept = None
        judged = judge(report, context, run.agent, run.transcript, 2)
    with context.session(run.session) as state:
        if judged is not None:
            latest = results.latest_result(context.folder, run.session, run.agent_id)
            is_stored = latest is not None and latest.is_final and _is_judged_report(latest, report)
            kept = latest if is_stored else keep(run, context, report, judged, outcome_of(judged, "failed"), attempt=2)
        if kept is None:
            return None
        close(context, state, key, kept)
        entry = state.delegations.get(key)
        if entry is not None:
            entry.untold = False  # this answer contains the notice
        retried = entry is not None and bool(entry.retry_of)
    conflicts = new_conflicts(context, run.session) if kept.outcome == "accepted" else ""
    return merge(_notice(output, kept, retried=retried), add_context("PostToolUse", conflicts) if conflicts else None)


def new_conflicts(context: ProjectContext, session: str) -> str:
    """Return a notice about conflicts between accepted reports that were not reported yet, or ""."""
    kept = results.list_results(context.folder, session)
    if len({result.agent for result in kept if result.outcome == "accepted" and not result.is_outside_contract}) < 2:
        return ""
    earlier = read_session(context.folder, session) or SessionState()
    conflicts = conflicts_in(kept, earlier, context.project, context.profile or "v2")
    with context.session(session) as state:
        new = [conflict for conflict in conflicts if conflict[:MAX_NAME_LENGTH] not in state.conflicts]
        state.conflicts += [conflict[:MAX_NAME_LENGTH] for conflict in new]
        for conflict in new:
            state.warn(f"Accepted reports contradict each other: {conflict}")
    return conflicts_notice(new) if new else ""


def _notice(output: object, kept: KeptResult, *, retried: bool) -> Answer | None:
    """Return the answer for a final report: a notice instead of it or with it, or None."""
    if kept.outcome == "accepted":
        notice = accepted_notice(kept)
        return merge(add_context("PostToolUse", notice) if notice else None, _shortened(output, kept))
    if kept.outcome not in ("rejected", "failed"):
        return None
    if kept.failure:
        return add_context("PostToolUse", failure_notice(kept, retried=retried))
    if kept.is_outside_contract:
        return add_context("PostToolUse", unverified_notice(kept, retried=retried))
    return updated_output(_replace_report(output, withheld_notice(kept, retried=retried)))


def _shortened(output: object, kept: KeptResult) -> Answer | None:
    """Return a shorter output with a pointer to the whole for an accepted report that is too long to hand over."""
    report = _report(output)
    short = shorten_result(report, kept.path)
    if kept.is_outside_contract or short == report or not kept.path:
        return None
    return merge(updated_output(_replace_report(output, short)), add_context("PostToolUse", long_notice(kept, report)))


def _is_judged_report(kept: KeptResult, report: str) -> bool:
    """Whether the delivered report is the accepted one: a resumed run may have ended with another."""
    if kept.verdict != "accept" or kept.digest == results.digest(report):
        return True
    # The client may truncate a report, or change the white space around its parts. The stored one has no secrets.
    return bool(report.strip()) and "".join(redact(report).split()) in "".join(results.read_text(kept).split())


def _report(output: object) -> str:
    """Return the text of a tool's output, without the block that the client adds."""
    content = output.get("content") if isinstance(output, dict) else output
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [text(entry, "text") for entry in blocks if text(entry, "type") == "text"]
    return "\n".join(block for block in texts if not block.startswith(_CLIENT_BLOCK))


def _replace_report(output: object, notice: str) -> object:
    """Return the tool's output in its own shape, with the notice instead of the report."""
    if isinstance(output, dict):
        content: object = notice if isinstance(output.get("content"), str) else [{"type": "text", "text": notice}]
        return {**output, "content": content}
    return notice if isinstance(output, str) else [{"type": "text", "text": notice}]


def agent_call_failed(payload: object, context: ProjectContext) -> Answer | None:
    """Record a delegation that an error or the user has ended.

    Events: StopFailure of a subagent; PostToolUseFailure of Agent.
    """
    if not text(payload, "tool_name"):
        _record_failure(payload, context)
        return None
    call, is_nested = text(payload, "tool_use_id"), bool(text(payload, "agent_id"))
    agent = text(table(payload, "tool_input"), "subagent_type") or _GENERAL
    with context.session(text(payload, "session_id")) as state:
        entry = None if is_nested else state.delegations.get(call)
        run = SubagentRun(payload, agent, (entry.agent_id if entry else "") or call)
        _keep_failure(run, context, text(payload, "error"))
        settle_launch(state, "" if is_nested else call, agent, "failed")
        record_delegation(context, state, "" if is_nested else call, "the call ended with an error")
        retried = entry is not None and bool(entry.retry_of)
    if not context.is_checked(agent):
        return None
    return add_context("PostToolUseFailure", interrupted_notice(agent, retried=retried))


def _record_failure(payload: object, context: ProjectContext) -> None:
    """StopFailure: record it. The orchestrator gets a notice when the call fails."""
    run = SubagentRun(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    if not run.agent_id or not run.agent:
        return
    with context.session(run.session) as state:
        _keep_failure(run, context, text(payload, "last_assistant_message"))
        key = link_run(state, run)
        settle_launch(state, key, run.agent, "failed")
        record_delegation(context, state, key, "the run ended with an error")


def _keep_failure(run: SubagentRun, context: ProjectContext, error_text: str) -> None:
    """Store a failure once."""
    kept = results.latest_result(context.folder, run.session, run.agent_id)
    if kept is None or kept.outcome != "failed":
        results.keep_result(
            context.folder,
            run.session,
            agent=run.agent,
            agent_id=run.agent_id,
            outcome="failed",
            text=error_text,
            attempt=kept.attempt if kept else 1,
        )
