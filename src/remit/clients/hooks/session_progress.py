"""Record a session in the project's progress file: its prompts, delegations, failures and next action.

No content of a prompt or a report is written, apart from a failure and blockers that a report states. A file that
cannot be written is a warning of the session and nothing else: the client's work does not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from remit.clients.hooks.project import ProjectContext
from remit.errors import RemitError
from remit.failure_policy import BLOCKER, RETRY_FIRST, failure_note
from remit.gate.delegation import Delegation
from remit.gate.session import SessionState
from remit.orchestrate.progress_file import (
    add_facts,
    now_text,
    record_event,
    replace_warning,
    set_delegations,
    set_work,
)

#: Client -> its name for a person, and the command that resumes a session, if it has one.
_CLIENTS = {
    "claude-code": ("Claude Code", "claude --resume {session}"),
    "codex": ("Codex", "codex resume {session}"),
    "copilot": ("Copilot CLI", "copilot --resume {session}"),
    "opencode": ("opencode", "opencode --session {session}"),
}
#: State of a delegation -> the verdict on its report.
_VERDICTS = {"accepted": "accept", "rejected": "reject"}
#: Key files of one report.
_MAX_FILES = 10
_GAP = "the orchestrator may read a few files instead, go on without it, or ask the user"
_INSTEAD = "the orchestrator read instead: "


def record_prompt(context: ProjectContext, state: SessionState) -> None:
    """Record that the user sent a prompt: a new phase begins."""
    phase = f"prompt {state.prompts}"

    def change(progress: dict[str, Any]) -> None:
        progress.update(currentPhase=phase, currentTask=f"{_name(state, context)}: {phase}")

    _write(context, state, phase, "started", change)


def record_delegation(
    context: ProjectContext, state: SessionState, key: str, cause: str = "", reviews: Sequence[str] = ()
) -> None:
    """Record the start or the end of a delegation: the cause of a failure, or why a report needs a review."""
    entry = state.delegations.get(key)
    if entry is None:
        return

    notes = [f"Agent {entry.agent}: {' '.join(review.split())} ({_where(state, key)})" for review in reviews]

    def change(progress: dict[str, Any]) -> None:
        if entry.has_failed:
            _set_warning(progress, state, key, cause)
        if entry.state == "accepted":
            files = [f"{path}:{lines[0]}" for path, lines in state.cited.items() if lines]
            add_facts(progress, "keyFiles", files[-_MAX_FILES:])
            progress["warnings"] += [note for note in notes if note not in progress["warnings"]]

    more = {"agent": entry.agent, **({"cause": cause} if entry.has_failed and cause else {})}
    blockers = [note for note, reason in zip(notes, reviews, strict=True) if reason.startswith(BLOCKER)]
    _write(context, state, f"delegation {entry.agent}", entry.state, change, more, blockers=blockers)


def record_fallback(context: ProjectContext, state: SessionState) -> None:
    """Record which files the orchestrator reads in place of a failed delegation."""
    entries = ((key, entry) for key, entry in state.delegations.items() if entry.allows_fallback and entry.fallback)
    for key, entry in entries:
        mark, files = f" ({_where(state, key)}): ", ", ".join(entry.fallback or ())

        def change(progress: dict[str, Any], mark: str = mark, note: str = f"; {_INSTEAD}{files}") -> None:
            progress["warnings"] = [
                _without_action(warning) + note if mark in str(warning) else warning for warning in progress["warnings"]
            ]

        _write(
            context,
            state,
            f"fallback read for {entry.agent}",
            "allowed",
            change,
            {"agent": entry.agent, "files": files},
        )


def _without_action(warning: str) -> str:
    """Return the warning of a failure without what may follow or was read instead."""
    return warning.partition(f"; {_INSTEAD}")[0].removesuffix(f"; {_GAP}")


def record_stop(context: ProjectContext, state: SessionState) -> None:
    """Record that the orchestrator has answered the prompt."""
    _write(context, state, f"prompt {state.prompts}", "answered", None, is_done=True)


def _write(
    context: ProjectContext,
    state: SessionState,
    action: str,
    result: str,
    change: Any,
    more: dict[str, str] | None = None,
    *,
    blockers: Sequence[str] = (),
    is_done: bool = False,
) -> None:
    event = {"action": action, "status": result, "session": state.session, **(more or {})}

    def set_session(progress: dict[str, Any]) -> None:
        sessions = progress["sessions"]
        if not any(isinstance(session, dict) and session.get("id") == state.session for session in sessions):
            sessions.append({"id": state.session, "client": _CLIENTS[context.client][0], "started": now_text()})
        set_delegations(progress, _delegations(state), keys=("session",))
        if change is not None:
            change(progress)
        _complete_warnings(progress, state)
        waiting = [delegation.agent for delegation in state.delegations.values() if delegation.is_open]
        is_open = bool(waiting) or not is_done
        works = [
            work for work in progress.get("work") or () if isinstance(work, dict) and work.get("key") == _key(state)
        ]
        reported = [str(blocker) for work in works for blocker in work.get("blockers") or ()]
        set_work(
            progress,
            _key(state),
            name=_name(state, context),
            status="in_progress" if is_open else "completed",
            position=f"prompt {state.prompts} of {_name(state, context)}",
            nextAction=_next_action(state, context, waiting, is_done=is_done),
            blockers=list(dict.fromkeys([*reported, *blockers])),
        )

    try:
        names = {"workspace": f"session-{_short(state)}", "project": Path(context.project).name}
        record_event(Path(context.progress), event, set_session, **names)
    except (RemitError, OSError) as error:
        state.warn(f"the progress file cannot be written: {type(error).__name__}")


def _delegations(state: SessionState) -> list[dict[str, Any]]:
    return [
        {
            "session": state.session,
            "call": key,
            "agent": delegation.agent,
            "state": delegation.state,
            "verdict": _VERDICTS.get(delegation.state),
        }
        for key, delegation in state.delegations.items()
    ]


def _set_warning(progress: dict[str, Any], state: SessionState, key: str, cause: str) -> None:
    """Add the warning of a failure: the agent, the cause and what may follow."""
    entry, where = state.delegations[key], _where(state, key)
    details = f"{cause or 'it ended without a report'}; {_action(entry)}"
    replace_warning(progress, entry.agent, where, failure_note(entry.agent, where, details))


def _complete_warnings(progress: dict[str, Any], state: SessionState) -> None:
    """Add warnings of failures that no event reported, and mark those as resolved whose retry was accepted."""
    known = "\n".join(map(str, progress["warnings"]))
    for key, entry in state.delegations.items():
        if entry.has_failed and f" ({_where(state, key)}): " not in known:
            _set_warning(progress, state, key, "")
        if entry.state == "accepted" and entry.retry_of in state.delegations:
            where = _where(state, entry.retry_of)
            note = failure_note(entry.agent, where, "the retry was accepted", is_resolved=True)
            if note not in known:
                replace_warning(progress, entry.agent, where, note)


def _where(state: SessionState, key: str) -> str:
    return f"{_key(state)}, {key}"


def _action(entry: Delegation) -> str:
    """Return what follows a failure, for its warning."""
    if entry.may_be_retried:
        return "it may be retried once with a reduced scope"
    return _GAP


def _next_action(state: SessionState, context: ProjectContext, waiting: list[str], *, is_done: bool) -> str:
    if waiting:
        return f"Wait for {', '.join(dict.fromkeys(waiting))}"
    failed = [delegation.agent for delegation in state.delegations.values() if delegation.may_be_retried]
    if failed and not is_done:
        return f"Decide about {failed[-1]}, which failed: {RETRY_FIRST}, or go on without it"
    resume = f"`{_CLIENTS[context.client][1].format(session=state.session)}`"
    return f"Send the next prompt, or resume the session with {resume}" if is_done else f"Follow the session: {resume}"


def _short(state: SessionState) -> str:
    return state.session[:8]


def _key(state: SessionState) -> str:
    return f"session {_short(state)}"


def _name(state: SessionState, context: ProjectContext) -> str:
    return f"{_CLIENTS[context.client][0]} session {_short(state)}"
