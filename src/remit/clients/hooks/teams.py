"""Check what a teammate reports: when it becomes idle, and when it completes a task of the team's list.

A teammate in the process of its team also sends SubagentStop, which judges its report first; the same report is not
judged twice. The events here contain no report, so the last message is read from the transcript. The client hands a
report to the orchestrator without an event, so it is informed at its next call or stop (`untold_notices`).
"""

from __future__ import annotations

import json
import os

from remit.clients.hooks import results
from remit.clients.hooks.delivery import new_conflicts
from remit.clients.hooks.judging import judge
from remit.clients.hooks.notices import accepted_notice, rejected_notice
from remit.clients.hooks.payload import text
from remit.clients.hooks.project import CLAIMS, ProjectContext
from remit.clients.hooks.responses import Answer, block, message
from remit.clients.hooks.subagents import SubagentRun, close, keep, link_run, outcome_of, teammate_launch
from remit.gate.session_store import read_session
from remit.regular_files import read_regular

#: The end of a transcript that is read for the last message.
_MAX_TAIL = 4_000_000


def teammate_idle(payload: object, context: ProjectContext) -> Answer | None:
    """TeammateIdle: check the teammate's last message like the report of a subagent."""
    agent = _agent_of(payload, context)
    return _check(payload, context, agent, text(payload, "agent_id") or f"teammate {text(payload, 'teammate_name')}")


def _agent_of(payload: object, context: ProjectContext) -> str:
    """Return the definition that a teammate runs, else the name that the event gives it."""
    name = text(payload, "teammate_name")
    state = read_session(context.folder, text(payload, "session_id"))
    launch = teammate_launch(state, text(payload, "agent_id"), name) if state is not None else None
    return launch.agent if launch is not None else text(payload, "agent_type") or name


def task_completed(payload: object, context: ProjectContext) -> Answer | None:
    """TaskCompleted: check the claims of a teammate that completes a task; its report may follow later.

    The main agent's own list of tasks is not checked: its final answer is.
    """
    name = _agent_of(payload, context)
    if not name or not (text(payload, "teammate_name") or text(payload, "agent_id")):
        return None
    return _check(payload, context, name, f"task {text(payload, 'task_id')} of {name}", profile=CLAIMS)


def _check(
    payload: object, context: ProjectContext, agent: str, run_id: str, profile: str | None = None
) -> Answer | None:
    run = SubagentRun(payload, agent, run_id)
    own_transcript = SubagentRun(payload, agent, text(payload, "agent_id")).transcript
    agent = run.agent
    if not agent or not context.is_checked(agent):
        return None
    transcript = own_transcript if os.path.isfile(own_transcript) else text(payload, "transcript_path")
    report = last_message(transcript)
    earlier = results.latest_result(context.folder, run.session, run_id)
    if not report or (earlier is not None and earlier.is_final and results.read_text(earlier).strip() == report):
        return None
    attempt = 2 if earlier is not None and not earlier.is_final else 1
    judged = judge(report, context, agent, transcript, attempt, profile)
    would = outcome_of(judged, "returned" if attempt == 1 else "rejected")
    kept = keep(run, context, report, judged, would, attempt=attempt)
    if profile is None:
        with context.session(run.session) as state:
            close(context, state, link_run(state, run), kept)
    if kept.outcome == "returned":
        return block(judged.correction)
    if kept.outcome in ("rejected", "failed"):
        return message(f"remit: the last message of the teammate {agent[:80]} is not accepted; see `remit gate status`")
    return None


def untold_notices(session: str, context: ProjectContext) -> str:
    """Return the notices about reports of teammates, once: what is not accepted, and conflicts; "" without one."""

    with context.session(session) as state:
        untold = [entry for entry in state.delegations.values() if entry.untold]
        for entry in untold:
            entry.untold = False
    notices = []
    for entry in untold:
        kept = results.latest_result(context.folder, session, entry.agent_id)
        if kept is not None and kept.outcome in ("rejected", "failed"):
            notices.append(rejected_notice(kept, entry))
        elif kept is not None and kept.outcome == "accepted":
            notices.append(accepted_notice(kept))
    if any(entry.state == "accepted" for entry in untold):
        notices.append(new_conflicts(context, session))
    return "\n".join(filter(None, notices))


def last_message(transcript: str) -> str:
    """Return the text of the last message of an agent in a transcript, or ""."""
    lines = (read_regular(transcript, _MAX_TAIL, follows_links=True, is_from_end=True) or b"").split(b"\n")
    for line in reversed(lines):
        if b'"assistant"' in line and (answer := _text_of(line)):
            return answer
    return ""


def _text_of(line: bytes) -> str:
    """Return the text of an assistant's message; "" for another line, or one that only calls tools."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    if text(values, "type") != "assistant":
        return ""
    shown = values.get("message")
    content = shown.get("content") if isinstance(shown, dict) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(text(block, "text") for block in blocks if text(block, "type") == "text").strip()
