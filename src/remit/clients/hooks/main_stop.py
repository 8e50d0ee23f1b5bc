"""Judge the final answer when the orchestrator stops."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from remit.clients.hooks.deadline import TooSlow, before_deadline
from remit.clients.hooks.judging import is_readable
from remit.clients.hooks.payload import flag, text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import Answer, block, merge, message
from remit.clients.hooks.session_progress import record_stop
from remit.clients.hooks.teams import untold_notices
from remit.clients.transcripts.find import subagents_of
from remit.clients.transcripts.reading import has_printed, read_transcripts
from remit.errors import UsageError
from remit.evidence.receipts import Receipt
from remit.final_answer import MAX_CHARACTERS, AnsweredSession, FalseStatement, FinalAnswer
from remit.gate.decide import count_lines, decide_final, decide_stop
from remit.gate.delegations import close_delegation, is_same_agent, open_delegations
from remit.gate.session import SessionState
from remit.gate.session_entries import UntrueStatement
from remit.gate.session_store import read_session

#: Agents that a message about an early answer names.
_MAX_NAMED = 5
#: The agents that a client has of its own.
_CLIENTS_AGENTS = ("general-purpose", "Explore", "Plan")


def main_agent_stopping(payload: object, context: ProjectContext) -> Answer | None:
    """Stop: block a final answer while a delegation is open, or if the record of the session contradicts it.

    Each of the two blocks an answer once: an orchestrator that stops again may stop. An answer that is too long is
    reported to the user.
    """
    if text(payload, "agent_id"):
        return None
    fields: dict[str, Any] = payload if isinstance(payload, dict) else {}
    tasks = fields.get("background_tasks")
    with context.session(text(payload, "session_id")) as state:
        if isinstance(tasks, list):
            _close_interrupted(state, tasks)
        lines = count_lines(fields.get("last_assistant_message"))
        waits = not flag(payload, "stop_hook_active")
        decision = decide_stop(state, context.settings, shown_lines=lines, waits=waits)
    notice = untold_notices(text(payload, "session_id"), context)
    if notice:
        return block(notice)
    if decision.decision == "deny" and not decision.fault:
        return block(
            f"remit ({decision.rule}): {decision.reason}. If you can only wait, reply that you are waiting and draw no "
            "conclusions."
        )
    early = _early_message(payload, context)
    sent_back = _check_final_answer(payload, context)
    if sent_back is None:
        with context.session(text(payload, "session_id")) as state:
            record_stop(context, state)
    is_long = decision.decision == "warn" and decision.rule == "presentation-size"
    too_long = message(f"remit ({decision.rule}): {decision.reason}") if is_long else None
    return merge(sent_back, early, too_long)


def _early_message(payload: object, context: ProjectContext) -> Answer | None:
    """Tell the person that the answer was given again although a delegation is open. It is not blocked twice."""
    if not context.settings.denies or not flag(payload, "stop_hook_active"):
        return None
    with context.session(text(payload, "session_id")) as state:
        waiting = list(dict.fromkeys(open_delegations(state)))
        if not waiting:
            return None
        names = ", ".join(waiting[:_MAX_NAMED]) + (" and others" if len(waiting) > _MAX_NAMED else "")
        notice = f"the answer was given before {names} had reported, so it does not contain that result"
        state.warn(notice[:1].upper() + notice[1:])
    return message(f"remit (synthesize-early): {notice}")


def _check_final_answer(payload: object, context: ProjectContext) -> Answer | None:
    """Send an answer back, once for each prompt, if a claim of it is false.

    If the next answer is false, too, it passes, and the person gets a message.
    """
    answer, session = text(payload, "last_assistant_message"), text(payload, "session_id")
    known = read_session(context.folder, session)
    if known is None or known.final_told or not answer.strip():
        return None
    if len(answer) > MAX_CHARACTERS:
        return message(f"remit: this answer was not checked, because it has more than {MAX_CHARACTERS:,} characters")
    try:
        final = before_deadline(final_answer(answer, text(payload, "transcript_path"), known, context).check)
    except TooSlow as reason:
        return message(f"remit: this answer was not checked, because {reason}")
    unchecked = message(f"remit: {final.unchecked}") if final.unchecked else None
    if not final.false:
        return unchecked
    with context.session(session) as state:
        is_first = not state.final_returned
        state.final_returned, state.final_told = True, not is_first
        sentences = [claim.sentence for claim in final.false]
        state.count_untrue(f"prompt {state.prompts}", sentences, has_passed=not is_first)
        if not is_first:
            return merge(message(_repeated(final.false)), unchecked)
        kept = [UntrueStatement(text=claim.sentence, proof=claim.why, outcome=claim.outcome) for claim in final.false]
        decision = decide_final(
            [f'"{claim.sentence}": {claim.why}' for claim in final.false], kept, state, context.settings
        )
    if decision.decision != "deny" or decision.fault:
        return unchecked
    return block(
        f"remit ({decision.rule}): {decision.reason}\nCorrect or remove these statements, and give the complete answer "
        "again. State openly what was not done. If a statement is right, state how you know."
    )


def final_answer(answer: str, transcript: str, state: SessionState, context: ProjectContext) -> FinalAnswer:
    """Return a final answer with the record of its session."""
    session = AnsweredSession(
        calls=lambda: _calls(transcript),
        agents=(*context.contract, *_CLIENTS_AGENTS),
        asked=[entry.agent for entry in state.delegations.values()],
        has_subagents=lambda: bool(subagents_of(transcript)),
        has_printed=lambda name: any(has_printed(path, name) for path in _files(transcript)),
    )
    return FinalAnswer(answer, context.project, session)


def _files(transcript: str) -> list[str]:
    """Return the transcripts of a session and of its subagents; none if that of the session cannot be read."""
    return [transcript, *filter(is_readable, subagents_of(transcript))] if is_readable(transcript) else []


def _calls(transcript: str) -> list[Receipt] | None:
    paths = _files(transcript)
    if not paths:
        return None
    calls: list[Receipt] = []
    try:
        for read in read_transcripts(paths):
            if not read.is_known:
                return None
            calls += read.receipts
    except UsageError:
        return None
    return sorted(calls, key=attrgetter("time")) if all(call.time for call in calls) else calls


def _repeated(false: list[FalseStatement]) -> str:
    """Return the line for the person about an answer that was sent back and still is not true."""
    quoted = "; ".join(f'"{claim.sentence}" ({claim.why})' for claim in false)
    return f"remit: this answer was sent back once and still states what is not true: {quoted}"


def _close_interrupted(state: SessionState, tasks: list[object]) -> None:
    """Close delegations that the client does not list: nothing runs in the foreground when the orchestrator stops."""
    running = {text(task, "id") for task in tasks}
    agents = [text(task, "agent_type") for task in tasks]
    has_teammates = any(text(task, "type") == "teammate" for task in tasks)  # listed without name and agent
    for key, entry in list(state.delegations.items()):
        if entry.teammate:
            is_running = has_teammates
        elif entry.agent_id:
            is_running = entry.agent_id in running
        else:
            is_running = any(is_same_agent(entry.agent, agent) for agent in agents if agent)
        if entry.is_open and not is_running:
            close_delegation(state, key, "failed")
