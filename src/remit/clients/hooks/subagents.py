"""Handle the start and the end of subagents: check a report, and send it back once if it is not accepted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from remit.acceptance import ReportJudgement, verified_part
from remit.clients.hooks import results
from remit.clients.hooks.judging import (
    check_document,
    commit_of,
    definition_digest,
    edited_files,
    judge,
    merge_document,
    model_of,
)
from remit.clients.hooks.payload import flag, text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import Answer, add_context, block
from remit.clients.hooks.results import KeptResult
from remit.clients.hooks.session_progress import record_delegation
from remit.contract.tokens import estimate_tokens
from remit.gate.delegation import Delegation
from remit.gate.delegations import (
    add_failure_warning,
    close_delegation,
    is_same_agent,
    link_delegation,
)
from remit.gate.session import SessionState
from remit.gate.session_store import safe_name
from remit.gate.tool_use import MAX_NAME_LENGTH
from remit.regular_files import read_regular

_MAX_META_BYTES = 64_000


def subagent_started(payload: object, context: ProjectContext) -> Answer | None:
    """SubagentStart: link the run to its launch, and send the instructions if the launch did not."""
    run = SubagentRun(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    with context.session(run.session) as state:
        launch = teammate_launch(state, run.agent_id)
        if launch is not None:  # its metadata may not be written yet
            run.agent = launch.agent
        has_contract = _has_contract(state, run)
        key = link_run(state, run)
        if not context.is_checked(run.agent):
            set_aside(state, key)
            return None
        if key:  # also when a run that had ended is resumed
            state.delegations[key].state = "open"
            record_delegation(context, state, key)
    if has_contract:
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
    if not context.is_checked(run.agent):
        record_end(run, context)
        return None
    report = text(payload, "last_assistant_message")
    attempt = _attempt(results.latest_result(context.folder, run.session, run.agent_id), payload, report)
    judged = judge(report, context, run.agent, run.transcript, attempt)
    would = outcome_of(judged, "returned" if attempt == 1 else "rejected")
    with context.session(run.session) as state:
        # If the event is delivered twice at once, both processes judge it and the first one stores it.
        kept = results.latest_result(context.folder, run.session, run.agent_id)
        if kept is None or not _is_same(kept, payload, report):
            about = {"attempt": attempt, "active": flag(payload, "stop_hook_active")}
            kept = keep(run, context, report, judged, would, **about)
        close(context, state, link_run(state, run), kept)
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


def outcome_of(judged: ReportJudgement, otherwise: str) -> str:
    """Return the outcome of a report. A valid report of a failure is a failure: the work is not done."""
    if not judged.is_accepted:
        return otherwise
    return "failed" if judged.failure else "accepted"


def keep(
    run: SubagentRun, context: ProjectContext, report: str, judged: ReportJudgement, would: str, **about: Any
) -> KeptResult:
    """Store a judged report."""
    failure = judged.failure if judged.is_accepted else None
    return results.keep_result(
        context.folder,
        run.session,
        agent=run.agent,
        agent_id=run.agent_id,
        outcome=would,
        text=report,
        check=check_document(judged, context),
        merge=merge_document(judged, context, run.agent),
        verdict=judged.decision,
        violations=judged.violations,
        files=judged.analysed_files,
        cited=judged.cited_locations if would == "accepted" else [],
        changed=[] if would == "accepted" else edited_files(run.transcript, context.project),
        partial="" if would == "accepted" else verified_part(report, judged.verdicts),
        profile=context.profile_of(run.agent),
        failure=failure.text if failure else "",
        recoverable=failure is None or failure.is_recoverable,
        reviews=judged.reasons_for_review if would == "accepted" else [],
        model=model_of(run.transcript),
        commit=commit_of(context),
        findings=sum(len(verdict.document.findings) for verdict in judged.verdicts),
        definition=definition_digest(context, run.agent),
        tokens=estimate_tokens(report) + _instruction_tokens(run, context, about),
        **about,
    )


def _instruction_tokens(run: SubagentRun, context: ProjectContext, about: dict[str, Any]) -> int:
    """Return the tokens of the instructions that a run got, for its first report."""
    instructions = context.prompt_for(run.agent) if about.get("attempt") == 1 else ""
    return estimate_tokens(instructions) if instructions else 0


def close(context: ProjectContext, state: SessionState, key: str, kept: KeptResult) -> None:
    """Close the delegation of a final report."""
    has_passed = kept.outcome == "rejected" and kept.is_outside_contract  # with a notice about what is untrue
    state.count_untrue(kept.agent_id, kept.untrue, has_passed=has_passed)
    if kept.is_final:
        outcome = kept.outcome
        is_known = key in state.delegations and state.delegations[key].state == outcome
        settle_launch(state, key, kept.agent, outcome, kept.files, is_recoverable=kept.recoverable)
        if key in state.delegations:
            entry = state.delegations[key]
            entry.untold = bool(entry.teammate) and kept.outcome in ("accepted", "rejected", "failed")
        if outcome == "accepted":
            state.cite(kept.cited)
        if not is_known:
            record_delegation(context, state, key, _cause(kept), kept.reviews)


def _cause(kept: KeptResult) -> str:
    """Return why a delegation failed, without content of its report except the failure that it states."""
    rules = dict.fromkeys(str(violation.get("rule")) for violation in kept.violations if violation.get("level") == "L1")
    return kept.failure or f"its report was not accepted ({', '.join(list(rules)[:5]) or 'it was empty'})"


def record_end(run: SubagentRun, context: ProjectContext) -> None:
    """Record the end of an agent whose reports are not checked."""
    results.keep_result(context.folder, run.session, agent=run.agent, agent_id=run.agent_id, outcome="observed")
    with context.session(run.session) as state:
        set_aside(state, link_run(state, run))


class SubagentRun:
    """A run of a subagent: its agent, its transcript, and its launch according to the client's metadata.

    The events of a teammate name the teammate; `agent` is the definition that it runs.
    """

    def __init__(self, payload: object, agent: str, agent_id: str) -> None:
        self.session = text(payload, "session_id")
        self.agent_id = agent_id
        self.transcript = text(payload, "agent_transcript_path") or _transcript_path(
            text(payload, "transcript_path"), agent_id
        )
        meta = _meta(self.transcript)
        self.agent = text(meta, "spawnedAgentType") or agent
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
        return json.loads(read_regular(transcript.removesuffix(".jsonl") + ".meta.json", _MAX_META_BYTES) or b"{}")
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


def set_teammate(state: SessionState, key: str, name: str) -> None:
    """Record that a teammate runs this delegation."""
    if key in state.delegations and name:
        state.delegations[key].teammate = name[:MAX_NAME_LENGTH]


def teammate_launch(state: SessionState, agent_id: str, name: str = "") -> Delegation | None:
    """Return the delegation that a teammate runs, by its id or else by its name; None for another agent."""
    teammates = [delegation for delegation in state.delegations.values() if delegation.teammate]
    for delegation in reversed(teammates):
        if delegation.agent_id == agent_id if agent_id else delegation.teammate == name:
            return delegation
    return None


def unlinked_launch(state: SessionState, agent: str) -> list[str]:
    """Return the keys of this agent's launches that have no run yet."""
    return [
        key
        for key, entry in state.delegations.items()
        if entry.state in ("open", "observed") and not entry.agent_id and is_same_agent(entry.agent, agent)
    ]


def settle_launch(
    state: SessionState,
    key: str,
    agent: str,
    outcome: str,
    files: Iterable[str] = (),
    *,
    is_recoverable: bool = True,
) -> None:
    """Close the delegation of a run that has ended. Without a delegation, only a failure is recorded."""
    entry = state.delegations.get(key)
    if entry is None:
        if outcome != "accepted":
            add_failure_warning(state, agent)
    elif entry.state != outcome:
        close_delegation(state, key, outcome, files=files, is_recoverable=is_recoverable)


def set_aside(state: SessionState, key: str) -> None:
    """Mark a delegation as not checked: no answer waits for it."""
    entry = state.delegations.get(key)
    if entry is not None and entry.is_open:
        entry.state = "observed"
