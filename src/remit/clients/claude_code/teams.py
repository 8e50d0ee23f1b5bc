"""Check what a teammate reports: when it becomes idle, and when it completes a task of the team's list.

The client sends no report with these events, so the teammate's last message is read from its transcript. An agent that
is launched with a name outside a team ends with SubagentStop and is checked there.
"""

from __future__ import annotations

import json
import os

from remit.clients.claude_code import results
from remit.clients.claude_code.payload import text
from remit.clients.claude_code.project import CLAIMS
from remit.clients.claude_code.responses import block, message
from remit.clients.claude_code.runs import SubagentRun
from remit.clients.claude_code.subagents import keep, outcome_of
from remit.gate.delegations import add_failure_warning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.claude_code.project import ProjectContext
    from remit.clients.claude_code.responses import Answer

#: The end of a transcript that is read for the last message.
_MAX_TAIL = 4_000_000


def teammate_idle(payload: object, context: ProjectContext) -> Answer | None:
    """TeammateIdle: check the teammate's last message like the report of a subagent."""
    agent = text(payload, "agent_type") or text(payload, "teammate_name")
    return _check(payload, context, agent, text(payload, "agent_id") or f"teammate {text(payload, 'teammate_name')}")


def task_completed(payload: object, context: ProjectContext) -> Answer | None:
    """TaskCompleted: check the claims of a teammate that completes a task; its report may follow later.

    The main agent's own list of tasks is not checked: its final answer is.
    """
    name = text(payload, "agent_type") or text(payload, "teammate_name")
    if not name or not (text(payload, "teammate_name") or text(payload, "agent_id")):
        return None
    return _check(payload, context, name, f"task {text(payload, 'task_id')} of {name}", profile=CLAIMS)


def _check(
    payload: object, context: ProjectContext, agent: str, run_id: str, profile: str | None = None
) -> Answer | None:
    run = SubagentRun(payload, agent, run_id)
    if not agent or not context.is_checked(agent):
        return None
    own = SubagentRun(payload, agent, text(payload, "agent_id")).transcript
    transcript = own if os.path.isfile(own) else text(payload, "transcript_path")
    report = last_message(transcript)
    earlier = results.latest_result(context.folder, run.session, run_id)
    if not report or (earlier is not None and earlier.digest == results.digest(report) and earlier.is_final):
        return None
    from remit.clients.claude_code.judging import judge

    attempt = 2 if earlier is not None and not earlier.is_final else 1
    judged = judge(report, context, agent, transcript, attempt, profile)
    would = outcome_of(judged, "returned" if attempt == 1 else "rejected")
    kept = keep(run, context, report, judged, would, attempt=attempt)
    if kept.outcome == "returned":
        return block(judged.correction)
    if kept.outcome in ("rejected", "failed"):
        with context.session(run.session) as state:
            add_failure_warning(state, agent)
        return message(f"remit: the last message of the teammate {agent[:80]} is not accepted; see `remit gate status`")
    return None


def last_message(transcript: str) -> str:
    """Return the text of the last message of an agent in a transcript, or ""."""
    try:
        with open(os.open(transcript, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MAX_TAIL))
            lines = file.read(_MAX_TAIL).split(b"\n")
    except (OSError, ValueError):
        return ""
    for line in reversed(lines):
        if b'"assistant"' in line and (found := _text_of(line)):
            return found
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
    return "\n".join(text(one, "text") for one in blocks if text(one, "type") == "text").strip()
