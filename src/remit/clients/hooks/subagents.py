"""Handle the start and the end of subagents: check a report, and send it back once if it is not accepted."""

from __future__ import annotations

from remit.clients.hooks import results
from remit.clients.hooks.payload import flag, text
from remit.clients.hooks.progress import record_delegation
from remit.clients.hooks.responses import add_context, block
from remit.clients.hooks.runs import (
    SubagentRun,
    link_run,
    set_aside,
    settle_launch,
    teammate_launch,
    unlinked_launch,
)
from remit.clients.hooks.runs import written_files as files_written_by
from remit.gate.delegations import release_writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.acceptance import ReportJudgement
    from remit.clients.hooks.project import ProjectContext
    from remit.clients.hooks.responses import Answer
    from remit.clients.hooks.results import KeptResult
    from remit.gate.session import SessionState


def subagent_started(payload: object, context: ProjectContext) -> Answer | None:
    """SubagentStart: link the run to its launch, and send the instructions if the launch did not."""
    run = SubagentRun(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    with context.session(run.session) as state:
        launch = teammate_launch(state, run.agent_id)
        if launch is not None:  # its metadata may not be written yet
            run.agent = launch.agent
        has_contract = _has_contract(state, run)
        key = link_run(state, run)
        if not context.is_awaited(run.agent):
            set_aside(state, key)
            return None
        if key:  # also when a run that had ended is resumed
            state.delegations[key].state = "open"
            record_delegation(context, state, key)
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
    if not context.is_checked(run.agent):
        record_end(run, context)
        return None
    report = text(payload, "last_assistant_message")
    attempt = _attempt(results.latest_result(context.folder, run.session, run.agent_id), payload, report)
    from remit.clients.hooks.judging import judge  # late: only a judged report needs all rules

    judged = judge(report, context, run.agent, run.transcript, attempt)
    would = outcome_of(judged, "returned" if attempt == 1 else "rejected")
    with context.session(run.session) as state:
        # If the event is delivered twice at once, both processes judge it and the first one stores it.
        kept = results.latest_result(context.folder, run.session, run.agent_id)
        if kept is None or not _is_same(kept, payload, report):
            about = {
                "attempt": attempt,
                "active": flag(payload, "stop_hook_active"),
                "changed": files_written_by(state, run),
            }
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
    """Store a judged report. In observe mode nothing is enforced."""
    from remit.acceptance import verified_part
    from remit.clients.hooks.judging import check_document, commit_of, definition_digest, merge_document, model_of

    failure = judged.failure if judged.is_accepted else None
    return results.keep_result(
        context.folder,
        run.session,
        agent=run.agent,
        agent_id=run.agent_id,
        outcome=would if context.is_enforced(run.agent) else "observed",
        would=would,
        text=report,
        check=check_document(judged, context),
        merge=merge_document(judged, context, run.agent),
        verdict=judged.decision,
        violations=judged.violations,
        files=judged.analysed_files,
        cited=judged.cited_locations if would == "accepted" else [],
        partial="" if would == "accepted" else verified_part(report, judged.verdicts),
        profile=context.profile_of(run.agent),
        failure=failure.text if failure else "",
        recoverable=failure is None or failure.is_recoverable,
        model=model_of(run.transcript),
        commit=commit_of(context),
        findings=sum(len(verdict.document.findings) for verdict in judged.verdicts),
        definition=definition_digest(context, run.agent),
        **about,
    )


def close(context: ProjectContext, state: SessionState, key: str, kept: KeptResult) -> None:
    """Close the delegation of a final report. In observe mode nothing is sent back, so the first report is final."""
    if kept.is_final:
        outcome = {"returned": "rejected"}.get(kept.would, kept.would)
        is_known = key in state.delegations and state.delegations[key].state == outcome
        settle_launch(state, key, kept.agent, outcome, kept.files, is_recoverable=kept.recoverable)
        release_writes(state, kept.agent_id)
        if key in state.delegations:
            entry = state.delegations[key]
            entry.untold = bool(entry.teammate) and kept.outcome in ("accepted", "rejected", "failed")
        if outcome == "accepted":
            state.cite(kept.cited)
        if not is_known:
            record_delegation(context, state, key, _cause(kept))


def _cause(kept: KeptResult) -> str:
    """Return why a delegation failed, without content of its report except the failure that it states."""
    rules = dict.fromkeys(str(one.get("rule")) for one in kept.violations if one.get("level") == "L1")
    return kept.failure or f"its report was not accepted ({', '.join(list(rules)[:5]) or 'it was empty'})"


def record_end(run: SubagentRun, context: ProjectContext) -> None:
    """Record the end of an agent whose reports are not checked."""
    results.keep_result(context.folder, run.session, agent=run.agent, agent_id=run.agent_id, outcome="observed")
    with context.session(run.session) as state:
        set_aside(state, link_run(state, run), run.agent_id)
