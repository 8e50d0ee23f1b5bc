"""Subagents: they start, they stop, their report reaches the orchestrator, or they fail."""

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

#: The one block of a report that the client adds.
_CLIENTS_OWN = "<tools-used-before-summary>"
_GENERAL = "general-purpose"
_LARGEST_META = 64_000


def subagent_started(payload: object, desk: ProjectContext) -> Answer | None:
    """SubagentStart: the run is linked to its launch; it is told the contract if the launch did not do so."""
    run = SubagentRun(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    with desk.session(run.session) as state:
        told = _told(state, run)
        key = link_run(state, run)
        if not desk.under_contract(run.agent):
            set_aside(state, key)
            return None
        if key:  # also where a run that had ended is taken up again
            state.delegations[key].state = "open"
    if told or desk.observing:
        return None
    part = desk.prompt_for(run.agent)
    return add_context("SubagentStart", part) if part else None


def _told(state: SessionState, run: SubagentRun) -> bool:
    """Whether the launch of this run, or each that may be it, was given the contract. A subagent's launch always is."""
    mine = [key for key, entry in state.delegations.items() if key == run.call or entry.agent_id == run.agent_id]
    may_be = mine or unlinked_launch(state, run.agent)
    return bool(run.parent) or (bool(may_be) and all(state.delegations[key].contract_sent for key in may_be))


def subagent_stopped(payload: object, desk: ProjectContext) -> Answer | None:
    """SubagentStop: the report is checked; one that is not accepted is sent back, once."""
    run = SubagentRun(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    if not run.agent:
        return None
    if not desk.under_contract(run.agent):
        _note(run, desk)
        return None
    report = text(payload, "last_assistant_message")
    attempt = _attempt(results.latest_result(desk.folder, run.session, run.agent_id), payload, report)
    judged = _judge(report, run, desk, attempt)
    would = "accepted" if judged.is_accepted else "returned" if attempt == 1 else "rejected"
    with desk.session(run.session) as state:
        # An event that is delivered twice at once is judged by both, and kept by the first of them.
        kept = results.latest_result(desk.folder, run.session, run.agent_id)
        if kept is None or not _is_same(kept, payload, report):
            about = {
                "attempt": attempt,
                "active": flag(payload, "stop_hook_active"),
                "changed": written_files(state, run),
            }
            kept = _keep(run, desk, report, judged, would, **about)
        _close(state, link_run(state, run), kept)
    return block(judged.correction) if kept.outcome == "returned" else None


def _attempt(earlier: KeptResult | None, payload: object, report: str) -> int:
    """The how many-eth report this is. One that was taken up again after its end begins anew."""
    if earlier is None:
        return 1
    if _is_same(earlier, payload, report):
        return earlier.attempt
    return 2 if not earlier.final or flag(payload, "stop_hook_active") else 1


def _is_same(kept: KeptResult, payload: object, report: str) -> bool:
    """Whether this very stop was kept. After a correction the client says that a hook is at work."""
    said = isinstance(payload, dict) and "stop_hook_active" in payload
    return said and kept.active == flag(payload, "stop_hook_active") and kept.digest == results.digest(report)


def _judge(report: str, run: SubagentRun, desk: ProjectContext, attempt: int) -> Judgement:
    from remit.clients.claude_code.judging import judge  # late: only a report that is judged needs all the rules

    return judge(report, desk, run.agent, run.transcript, attempt)


def _keep(
    run: SubagentRun, desk: ProjectContext, report: str, judged: Judgement, would: str, **about: Any
) -> KeptResult:
    from remit.clients.claude_code.judging import check_document

    return results.keep_result(
        desk.folder,
        run.session,
        agent=run.agent,
        agent_id=run.agent_id,
        outcome="observed" if desk.observing else would,
        would=would,
        text=report,
        check=check_document(judged, desk),
        verdict=judged.decision,
        violations=judged.violations,
        files=judged.analysed_files,
        **about,
    )


def _close(state: SessionState, key: str, kept: KeptResult) -> None:
    """What a kept report does to its delegation. Who is only observed is sent nothing back: the first word counts."""
    if kept.final:
        outcome = {"returned": "rejected"}.get(kept.would, kept.would)
        settle_launch(state, key, kept.agent, outcome, kept.files)


def _note(run: SubagentRun, desk: ProjectContext) -> None:
    """An agent that is not under contract: that it came to its end is all that is kept."""
    results.keep_result(desk.folder, run.session, agent=run.agent, agent_id=run.agent_id, outcome="observed")
    with desk.session(run.session) as state:
        set_aside(state, link_run(state, run), run.agent_id)


def agent_call_returned(payload: object, desk: ProjectContext) -> Answer | None:
    """PostToolUse(Agent): a report that was not accepted does not reach who asked for it."""
    response = table(payload, "tool_response")
    agent = text(response, "agentType") or text(table(payload, "tool_input"), "subagent_type") or _GENERAL
    call, nested = text(payload, "tool_use_id"), bool(text(payload, "agent_id"))
    run = SubagentRun(payload, agent, text(response, "agentId") or call)
    under = desk.under_contract(agent)
    with desk.session(run.session) as state:
        if not nested:
            link_delegation(state, call, text(response, "agentId"))
        if not under:
            set_aside(state, "" if nested else call)
    kept = results.latest_result(desk.folder, run.session, run.agent_id)
    if text(response, "status") == "async_launched":
        return None
    if not under:
        if kept is None:
            _note(run, desk)
        return None
    return _delivered(payload, desk, run, kept, "" if nested else call)


def _delivered(
    payload: object, desk: ProjectContext, run: SubagentRun, kept: KeptResult | None, key: str
) -> Answer | None:
    """A run of an agent under contract has come to its end; `key` is empty for a subagent's own delegation."""
    output = payload.get("tool_response") if isinstance(payload, dict) else None
    judged: Judgement | None = None
    report = _report(output)
    if kept is None or not kept.final or not _is_what_was_judged(kept, report):
        # Nobody was asked when it stopped: its turns were used up.
        kept = None
        judged = _judge(report, run, desk, 2)
    with desk.session(run.session) as state:
        if judged is not None:
            again = results.latest_result(desk.folder, run.session, run.agent_id)
            would = "accepted" if judged.is_accepted else "failed"
            done = again is not None and again.final and _is_what_was_judged(again, report)
            kept = (
                again if done else _keep(run, desk, report, judged, would, attempt=2, changed=written_files(state, run))
            )
        if kept is None:
            return None
        _close(state, key, kept)
        retried = key in state.delegations and bool(state.delegations[key].retry_of)
    from remit.clients.claude_code.notices import warnings_notice, withheld_notice

    if kept.outcome in ("rejected", "failed"):
        return updated_output(_replaced(output, withheld_notice(kept, retried=retried)))
    doubts = warnings_notice(kept) if kept.outcome == "accepted" else ""
    return add_context("PostToolUse", doubts) if doubts else None


def _is_what_was_judged(kept: KeptResult, report: str) -> bool:
    """Whether an accepted report is the one that arrives: a run that was taken up again may have ended otherwise."""
    if kept.verdict != "accept" or kept.digest == results.digest(report):
        return True
    # The client may cut a report, or change the white space around its parts.
    return bool(report.strip()) and "".join(report.split()) in "".join(results.read_text(kept).split())


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


def agent_call_failed(payload: object, desk: ProjectContext) -> Answer | None:
    """A delegation that an error or a person has ended: StopFailure of a subagent, PostToolUseFailure(Agent)."""
    if text(payload, "hook_event_name") == "StopFailure":
        _broke_off(payload, desk)
        return None
    call, nested = text(payload, "tool_use_id"), bool(text(payload, "agent_id"))
    if text(payload, "hook_event_name") == "PermissionDenied":
        with desk.session(text(payload, "session_id")) as state:
            withdraw_launch(state, "" if nested else call)
        return None
    agent = text(table(payload, "tool_input"), "subagent_type") or _GENERAL
    with desk.session(text(payload, "session_id")) as state:
        entry = None if nested else state.delegations.get(call)
        run = SubagentRun(payload, agent, (entry.agent_id if entry else "") or call)
        _keep_failure(run, desk, text(payload, "error"))
        settle_launch(state, "" if nested else call, agent, "failed")
        retried = entry is not None and bool(entry.retry_of)
    if desk.observing or not desk.under_contract(agent):
        return None
    from remit.clients.claude_code.notices import interrupted_notice

    return add_context("PostToolUseFailure", interrupted_notice(agent, retried=retried))


def _broke_off(payload: object, desk: ProjectContext) -> None:
    """StopFailure: whoever launched it is told by the failure of the call."""
    run = SubagentRun(payload, text(payload, "agent_type"), text(payload, "agent_id"))
    if not run.agent_id or not run.agent:
        return
    with desk.session(run.session) as state:
        _keep_failure(run, desk, text(payload, "last_assistant_message"))
        settle_launch(state, link_run(state, run), run.agent, "failed")


def _keep_failure(run: SubagentRun, desk: ProjectContext, words: str) -> None:
    """What is known of a failure, once."""
    kept = results.latest_result(desk.folder, run.session, run.agent_id)
    if kept is None or kept.outcome != "failed":
        results.keep_result(
            desk.folder,
            run.session,
            agent=run.agent,
            agent_id=run.agent_id,
            outcome="failed",
            text=words,
            attempt=kept.attempt if kept else 1,
            would="failed",
        )


class SubagentRun:
    """A run of a subagent: who it is, its transcript, and what the client wrote beside that about its launch."""

    __slots__ = ("agent", "agent_id", "call", "parent", "session", "transcript")

    def __init__(self, payload: object, agent: str, agent_id: str) -> None:
        self.session = text(payload, "session_id")
        self.agent = agent
        self.agent_id = agent_id
        self.transcript = text(payload, "agent_transcript_path") or _derived(text(payload, "transcript_path"), agent_id)
        meta = _meta(self.transcript)
        #: The id of the call that launched it.
        self.call = text(meta, "toolUseId")
        #: The subagent that launched it; empty: the orchestrator did, or it is not known.
        self.parent = text(meta, "parentAgentId")


def _derived(transcript_path: str, agent_id: str) -> str:
    """Where the client keeps a subagent's transcript: in a folder beside the session's."""
    if not transcript_path.endswith(".jsonl") or safe_name(agent_id) != agent_id:
        return ""
    return os.path.join(transcript_path.removesuffix(".jsonl"), "subagents", f"agent-{agent_id}.jsonl")


def _meta(transcript: str) -> object:
    if not transcript.endswith(".jsonl"):
        return {}
    try:
        with open(os.open(transcript.removesuffix(".jsonl") + ".meta.json", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            return json.loads(file.read(_LARGEST_META))
    except (OSError, ValueError, RecursionError):
        return {}


def link_run(state: SessionState, run: SubagentRun) -> str:
    """The orchestrator's delegation that this run belongs to, linked from now on; empty: none, or it is not known."""
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
    """Launches of this agent of which no run is known yet."""
    return [
        key
        for key, entry in state.delegations.items()
        if entry.state in ("open", "observed") and not entry.agent_id and is_same_agent(entry.agent, agent)
    ]


def settle_launch(state: SessionState, key: str, agent: str, outcome: str, files: Iterable[str] = ()) -> None:
    """A run has ended. Of one that is no delegation of the orchestrator's only a failure is remembered."""
    entry = state.delegations.get(key)
    if entry is None:
        if outcome != "accepted":
            add_failure_warning(state, agent)
    elif entry.state != outcome:
        close_delegation(state, key, outcome, files=files)


def set_aside(state: SessionState, key: str, agent_id: str = "") -> None:
    """Nobody is held to anything here: the delegation is not waited for, and its run, if ended, holds no files."""
    entry = state.delegations.get(key)
    if entry is not None and entry.is_open:
        entry.state = "observed"
    if agent_id:
        release_writes(state, agent_id)
        release_writes(state, key)


def written_files(state: SessionState, run: SubagentRun) -> list[str]:
    """The files that a run has written and not given back yet."""
    return sorted(path for path, holder in state.locks.items() if run.agent_id and holder == run.agent_id)


def withdraw_launch(state: SessionState, key: str) -> None:
    """A launch that was refused after all: there never was a delegation."""
    if state.delegations.pop(key, None) is not None:
        release_writes(state, key)
