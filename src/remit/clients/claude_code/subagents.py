"""Handle the events of subagents: start, stop, delivery of the report, failure."""

from __future__ import annotations

import json
import os

from remit.clients.claude_code import results
from remit.clients.claude_code.payload import flag, table, text
from remit.clients.claude_code.responses import add_context, block, updated_output
from remit.gate.delegations import (
    add_failure_warning,
    close_delegation,
    is_same_agent,
    link_delegation,
    release_writes,
)
from remit.gate.session_store import safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from remit.acceptance import Judgement
    from remit.clients.claude_code.project import ProjectContext
    from remit.clients.claude_code.responses import Answer
    from remit.clients.claude_code.results import KeptResult
    from remit.gate.session import SessionState

#: The client adds a block that begins with this to a report.
_CLIENT_BLOCK = "<tools-used-before-summary>"
_GENERAL = "general-purpose"
_MAX_META_BYTES = 64_000


def subagent_started(payload: object, context: ProjectContext) -> Answer | None:
    """SubagentStart: link the run to its launch, and send the instructions if the launch did not."""
    run = SubagentRun(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    with context.session(run.session) as state:
        has_contract = _has_contract(state, run)
        key = link_run(state, run)
        if not context.is_under_contract(run.agent):
            set_aside(state, key)
            return None
        if key:  # also when a run that had ended is resumed
            state.delegations[key].state = "open"
    if has_contract or context.is_observing:
        return None
    instructions = context.prompt_for(run.agent)
    return add_context("SubagentStart", instructions) if instructions else None


def _has_contract(state: SessionState, run: SubagentRun) -> bool:
    """Whether every launch that this run may belong to contained the instructions. A subagent's launch always does."""
    linked = [key for key, entry in state.delegations.items() if key == run.call or entry.agent_id == run.agent_id]
    candidates = linked or unlinked_launch(state, run.agent)
    return bool(run.parent) or (bool(candidates) and all(state.delegations[key].contract_sent for key in candidates))


def subagent_stopped(payload: object, context: ProjectContext) -> Answer | None:
    """SubagentStop: check the report, and send it back once if it is not accepted."""
    run = SubagentRun(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    if not run.agent:
        return None
    if not context.is_under_contract(run.agent):
        _record_end(run, context)
        return None
    report = text(payload, "last_assistant_message")
    attempt = _attempt(results.latest_result(context.folder, run.session, run.agent_id), payload, report)
    judged = _judge(report, run, context, attempt)
    would = "accepted" if judged.is_accepted else "returned" if attempt == 1 else "rejected"
    with context.session(run.session) as state:
        # If the event is delivered twice at once, both processes judge it and the first one stores it.
        kept = results.latest_result(context.folder, run.session, run.agent_id)
        if kept is None or not _is_same(kept, payload, report):
            about = {
                "attempt": attempt,
                "active": flag(payload, "stop_hook_active"),
                "changed": written_files(state, run),
            }
            kept = _keep(run, context, report, judged, would, **about)
        _close(state, link_run(state, run), kept)
    return block(judged.correction) if kept.outcome == "returned" else None


def _attempt(earlier: KeptResult | None, payload: object, report: str) -> int:
    """Return the number of this report: 1, or 2 after a correction. A resumed run starts again at 1."""
    if earlier is None:
        return 1
    if _is_same(earlier, payload, report):
        return earlier.attempt
    return 2 if not earlier.is_final or flag(payload, "stop_hook_active") else 1


def _is_same(kept: KeptResult, payload: object, report: str) -> bool:
    """Whether this stop event was already stored. After a correction, the client sets `stop_hook_active`."""
    has_flag = isinstance(payload, dict) and "stop_hook_active" in payload
    return has_flag and kept.active == flag(payload, "stop_hook_active") and kept.digest == results.digest(report)


def _judge(report: str, run: SubagentRun, context: ProjectContext, attempt: int) -> Judgement:
    from remit.clients.claude_code.judging import judge  # late: only a judged report needs all rules

    return judge(report, context, run.agent, run.transcript, attempt)


def _keep(
    run: SubagentRun, context: ProjectContext, report: str, judged: Judgement, would: str, **about: Any
) -> KeptResult:
    from remit.clients.claude_code.judging import check_document

    return results.keep_result(
        context.folder,
        run.session,
        agent=run.agent,
        agent_id=run.agent_id,
        outcome="observed" if context.is_observing else would,
        would=would,
        text=report,
        check=check_document(judged, context),
        verdict=judged.decision,
        violations=judged.violations,
        files=judged.analysed_files,
        **about,
    )


def _close(state: SessionState, key: str, kept: KeptResult) -> None:
    """Close the delegation of a final report. In observe mode nothing is sent back, so the first report is final."""
    if kept.is_final:
        outcome = {"returned": "rejected"}.get(kept.would, kept.would)
        settle_launch(state, key, kept.agent, outcome, kept.files)


def _record_end(run: SubagentRun, context: ProjectContext) -> None:
    """Record the end of an agent that is not under contract."""
    results.keep_result(context.folder, run.session, agent=run.agent, agent_id=run.agent_id, outcome="observed")
    with context.session(run.session) as state:
        set_aside(state, link_run(state, run), run.agent_id)


def agent_call_returned(payload: object, context: ProjectContext) -> Answer | None:
    """PostToolUse(Agent): replace a report that was not accepted before it reaches the orchestrator."""
    response = table(payload, "tool_response")
    agent = text(response, "agentType") or text(table(payload, "tool_input"), "subagent_type") or _GENERAL
    call, is_nested = text(payload, "tool_use_id"), bool(text(payload, "agent_id"))
    run = SubagentRun(payload, agent, text(response, "agentId") or call)
    is_under_contract = context.is_under_contract(agent)
    with context.session(run.session) as state:
        if not is_nested:
            link_delegation(state, call, text(response, "agentId"))
        if not is_under_contract:
            set_aside(state, "" if is_nested else call)
    kept = results.latest_result(context.folder, run.session, run.agent_id)
    if text(response, "status") == "async_launched":
        return None
    if not is_under_contract:
        if kept is None:
            _record_end(run, context)
        return None
    return _deliver(payload, context, run, kept, "" if is_nested else call)


def _deliver(
    payload: object, context: ProjectContext, run: SubagentRun, kept: KeptResult | None, key: str
) -> Answer | None:
    """Answer the end of a run under contract; `key` is empty for a delegation by a subagent."""
    output = payload.get("tool_response") if isinstance(payload, dict) else None
    judged: Judgement | None = None
    report = _report(output)
    if kept is None or not kept.is_final or not _is_judged_report(kept, report):
        # No SubagentStop was judged: the run used up its turns.
        kept = None
        judged = _judge(report, run, context, 2)
    with context.session(run.session) as state:
        if judged is not None:
            latest = results.latest_result(context.folder, run.session, run.agent_id)
            would = "accepted" if judged.is_accepted else "failed"
            is_stored = latest is not None and latest.is_final and _is_judged_report(latest, report)
            kept = (
                latest
                if is_stored
                else _keep(run, context, report, judged, would, attempt=2, changed=written_files(state, run))
            )
        if kept is None:
            return None
        _close(state, key, kept)
        retried = key in state.delegations and bool(state.delegations[key].retry_of)
    from remit.clients.claude_code.notices import warnings_notice, withheld_notice

    if kept.outcome in ("rejected", "failed"):
        return updated_output(_replace_report(output, withheld_notice(kept, retried=retried)))
    warnings = warnings_notice(kept) if kept.outcome == "accepted" else ""
    return add_context("PostToolUse", warnings) if warnings else None


def _is_judged_report(kept: KeptResult, report: str) -> bool:
    """Whether the delivered report is the accepted one: a resumed run may have ended with another."""
    if kept.verdict != "accept" or kept.digest == results.digest(report):
        return True
    # The client may truncate a report, or change the white space around its parts.
    return bool(report.strip()) and "".join(report.split()) in "".join(results.read_text(kept).split())


def _report(output: object) -> str:
    """Return the text of a tool's output, without the block that the client adds."""
    content = output.get("content") if isinstance(output, dict) else output
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [text(entry, "text") for entry in blocks if text(entry, "type") == "text"]
    return "\n".join(one for one in texts if not one.startswith(_CLIENT_BLOCK))


def _replace_report(output: object, notice: str) -> object:
    """Return the tool's output in its own shape, with the notice instead of the report."""
    if isinstance(output, dict):
        content: object = notice if isinstance(output.get("content"), str) else [{"type": "text", "text": notice}]
        return {**output, "content": content}
    return notice if isinstance(output, str) else [{"type": "text", "text": notice}]


def agent_call_failed(payload: object, context: ProjectContext) -> Answer | None:
    """Record a delegation that an error or the user has ended.

    Events: StopFailure of a subagent; PostToolUseFailure and PermissionDenied of Agent.
    """
    if text(payload, "hook_event_name") == "StopFailure":
        _record_failure(payload, context)
        return None
    call, is_nested = text(payload, "tool_use_id"), bool(text(payload, "agent_id"))
    if text(payload, "hook_event_name") == "PermissionDenied":
        with context.session(text(payload, "session_id")) as state:
            withdraw_launch(state, "" if is_nested else call)
        return None
    agent = text(table(payload, "tool_input"), "subagent_type") or _GENERAL
    with context.session(text(payload, "session_id")) as state:
        entry = None if is_nested else state.delegations.get(call)
        run = SubagentRun(payload, agent, (entry.agent_id if entry else "") or call)
        _keep_failure(run, context, text(payload, "error"))
        settle_launch(state, "" if is_nested else call, agent, "failed")
        retried = entry is not None and bool(entry.retry_of)
    if context.is_observing or not context.is_under_contract(agent):
        return None
    from remit.clients.claude_code.notices import interrupted_notice

    return add_context("PostToolUseFailure", interrupted_notice(agent, retried=retried))


def _record_failure(payload: object, context: ProjectContext) -> None:
    """StopFailure: record it. The orchestrator gets a notice when the call fails."""
    run = SubagentRun(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    if not run.agent_id or not run.agent:
        return
    with context.session(run.session) as state:
        _keep_failure(run, context, text(payload, "last_assistant_message"))
        settle_launch(state, link_run(state, run), run.agent, "failed")


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
            would="failed",
        )


class SubagentRun:
    """A run of a subagent: its agent, its transcript, and its launch according to the client's metadata."""

    __slots__ = ("agent", "agent_id", "call", "parent", "session", "transcript")

    def __init__(self, payload: object, agent: str, agent_id: str) -> None:
        self.session = text(payload, "session_id")
        self.agent = agent
        self.agent_id = agent_id
        self.transcript = text(payload, "agent_transcript_path") or _transcript_path(
            text(payload, "transcript_path"), agent_id
        )
        meta = _meta(self.transcript)
        #: The id of the tool call that launched it.
        self.call = text(meta, "toolUseId")
        #: The subagent that launched it; empty if the orchestrator did, or if this is unknown.
        self.parent = text(meta, "parentAgentId")


def _transcript_path(session_transcript: str, agent_id: str) -> str:
    """Return the path of a subagent's transcript: the client keeps it in a folder next to the session's."""
    if not session_transcript.endswith(".jsonl") or safe_name(agent_id) != agent_id:
        return ""
    return os.path.join(session_transcript.removesuffix(".jsonl"), "subagents", f"agent-{agent_id}.jsonl")


def _meta(transcript: str) -> object:
    if not transcript.endswith(".jsonl"):
        return {}
    try:
        with open(os.open(transcript.removesuffix(".jsonl") + ".meta.json", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            return json.loads(file.read(_MAX_META_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}


def link_run(state: SessionState, run: SubagentRun) -> str:
    """Link this run to the orchestrator's delegation and return the delegation's key; "" without one."""
    for key, entry in state.delegations.items():
        if run.agent_id and entry.agent_id == run.agent_id:
            return key
    key = run.call if run.call in state.delegations else ""
    if not key and not run.call and not run.parent:
        waiting = unlinked_launch(state, run.agent)
        key = waiting[0] if len(waiting) == 1 else ""
    link_delegation(state, key, run.agent_id)
    return key


def unlinked_launch(state: SessionState, agent: str) -> list[str]:
    """Return the keys of this agent's launches that have no run yet."""
    return [
        key
        for key, entry in state.delegations.items()
        if entry.state in ("open", "observed") and not entry.agent_id and is_same_agent(entry.agent, agent)
    ]


def settle_launch(state: SessionState, key: str, agent: str, outcome: str, files: Iterable[str] = ()) -> None:
    """Close the delegation of a run that has ended. Without a delegation, only a failure is recorded."""
    entry = state.delegations.get(key)
    if entry is None:
        if outcome != "accepted":
            add_failure_warning(state, agent)
    elif entry.state != outcome:
        close_delegation(state, key, outcome, files=files)


def set_aside(state: SessionState, key: str, agent_id: str = "") -> None:
    """Mark a delegation as not under contract: no answer waits for it, and an ended run releases its files."""
    entry = state.delegations.get(key)
    if entry is not None and entry.is_open:
        entry.state = "observed"
    if agent_id:
        release_writes(state, agent_id)
        release_writes(state, key)


def written_files(state: SessionState, run: SubagentRun) -> list[str]:
    """Return the files that a run has written and still locks."""
    return sorted(path for path, holder in state.locks.items() if run.agent_id and holder == run.agent_id)


def withdraw_launch(state: SessionState, key: str) -> None:
    """Remove the delegation of a launch that the client denied."""
    if state.delegations.pop(key, None) is not None:
        release_writes(state, key)
