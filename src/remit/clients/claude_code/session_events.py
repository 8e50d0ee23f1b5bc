"""The turns of a session: it starts, a prompt comes, the orchestrator stops, the conversation is compacted."""

from __future__ import annotations

import time

from remit.clients.claude_code.payload import flag, text
from remit.clients.claude_code.responses import add_context, block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.clients.claude_code.project import ProjectContext
    from remit.clients.claude_code.responses import Answer
    from remit.gate.session import SessionState

#: How the client hands over what a background task sent; no person wrote it.
_NOTIFICATION = "<task-notification>"
#: The tags of a notification stand at its beginning, before the report.
_NOTIFICATION_HEAD = 4000
_MOST_SHOWN = 5


def prompt_submitted(payload: object, desk: ProjectContext) -> Answer | None:
    """UserPromptSubmit: a person's prompt opens a window; of a background report it is said whether it was accepted."""
    prompt = text(payload, "prompt").lstrip()
    if prompt.startswith(_NOTIFICATION):
        from remit.clients.claude_code.notices import task_notification

        said = task_notification(prompt[:_NOTIFICATION_HEAD], text(payload, "session_id"), desk)
        return add_context("UserPromptSubmit", said) if said and not desk.observing else None
    with desk.session(text(payload, "session_id")) as state:
        state.open_window("prompt")
    return None


def main_agent_stopping(payload: object, desk: ProjectContext) -> Answer | None:
    """Stop: no final answer while a delegation is open. Said once: whoever then stops again is let go."""
    from remit.gate.decide import decide_stop

    if text(payload, "agent_id"):
        return None
    known: dict[str, Any] = payload if isinstance(payload, dict) else {}
    tasks = known.get("background_tasks")
    with desk.session(text(payload, "session_id")) as state:
        if isinstance(tasks, list):
            _close_interrupted(state, tasks)
        if flag(payload, "stop_hook_active"):
            return None
        decision = decide_stop(state, desk.settings)
    if decision.decision != "deny" or decision.fault:
        return None
    return block(
        f"remit ({decision.rule}): {decision.reason}. If nothing is left but to wait, say only that you wait, and "
        "draw no conclusions."
    )


def _close_interrupted(state: SessionState, tasks: list[object]) -> None:
    """In the foreground nothing runs when the orchestrator stops; what the client does not list has ended."""
    from remit.gate.delegations import close_delegation, is_same_agent, release_writes

    running = {text(task, "id") for task in tasks}
    kinds = [text(task, "agent_type") for task in tasks]
    for key, entry in list(state.delegations.items()):
        if entry.agent_id:
            alive = entry.agent_id in running
        else:
            alive = any(is_same_agent(entry.agent, kind) for kind in kinds if kind)
        if entry.is_open and not alive:
            close_delegation(state, key, "failed")
    for holder in set(state.locks.values()) - running:
        if holder not in state.delegations or not state.delegations[holder].is_open:
            release_writes(state, holder)


def session_started(payload: object, desk: ProjectContext) -> Answer | None:
    """SessionStart: the settings are compiled anew; what a compacted conversation forgot is said again."""
    from remit.clients.claude_code.project import refresh
    from remit.gate.session_store import read_session

    if not desk.renewed and not desk.notice:
        try:
            refresh(desk.project, force=True)
        except Exception as error:  # noqa: BLE001 - what was in force is still known
            desk.keep_in_force(error)
    if text(payload, "source") not in ("compact", "resume") or desk.observing:
        return None
    state = read_session(desk.folder, text(payload, "session_id"))
    return add_context("SessionStart", _survives(state, desk)) if state is not None else None


def _survives(state: SessionState, desk: ProjectContext) -> str:
    """The state in a few lines."""
    from remit.gate.delegations import open_delegations

    limits, window = desk.settings.limits, state.window
    read = f"{len(window.files)} of {limits['files']} files and {window.lines} of {limits['total']} lines were read"
    lines = [
        f"This session is under remit's gate (mode {desk.settings.mode}). Direct reads since the last prompt: {read}"
        + (f"; {window.closed}" if window.closed else "")
        + "."
    ]
    waiting = open_delegations(state)
    if waiting:
        lines.append(f"Open delegations: {_few(waiting)}. No final answer before their results.")
    if state.analysed:
        lines.append(f"{len(state.analysed)} files are covered by accepted results and are not read again.")
    declared = [f"{entry.get('kind')} {' '.join(map(str, entry.get('paths', ())))}" for entry in state.declarations]
    if declared:
        lines.append(f"Declared by a person: {_few(declared)}.")
    if state.warnings:
        lines.append(f"Warnings: {_few(state.warnings)}")
    return "\n".join(lines)


def _few(texts: list[str]) -> str:
    """The last few of them."""
    more = len(texts) - _MOST_SHOWN
    return "; ".join(entry[:200] for entry in texts[-_MOST_SHOWN:]) + (f" (and {more} more)" if more > 0 else "")


def before_compaction(payload: object, desk: ProjectContext) -> Answer | None:
    """PreCompact: the state is on disk when the conversation is cut."""
    with desk.session(text(payload, "session_id")) as state:
        state.updated = time.time()
    return None


def session_ended(_: object, desk: ProjectContext) -> Answer | None:
    """SessionEnd: what other sessions left long ago goes."""
    from remit.clients.claude_code import results
    from remit.gate.session_store import remove_old_sessions

    remove_old_sessions(desk.folder)
    results.remove_expired(desk.folder)
    return None
