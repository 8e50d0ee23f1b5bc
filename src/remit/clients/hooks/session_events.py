"""Handle the events of a session: start, prompt, end."""

from __future__ import annotations

import os

from remit.clients.hooks import results
from remit.clients.hooks.notices import state_notice, task_notification
from remit.clients.hooks.payload import text
from remit.clients.hooks.project import ProjectContext
from remit.clients.hooks.responses import Answer, add_context, merge, message
from remit.clients.hooks.session_progress import record_prompt
from remit.gate.reverse_patch import remove_old_patches
from remit.gate.session_store import read_session, remove_old_sessions

#: The client delivers the output of a background task as a prompt that begins with this.
_NOTIFICATION = "<task-notification>"
#: The tags of a notification are at its beginning, before the report.
_NOTIFICATION_HEAD = 4000
#: What the file HEAD of a repository contains if a branch is checked out, and how much of it is read.
_ON_BRANCH = "ref: refs/heads/"
_MAX_HEAD = 1000


def prompt_submitted(payload: object, context: ProjectContext) -> Answer | None:
    """UserPromptSubmit: open a new window for a user's prompt; add the verdict to the report of a background task."""
    prompt = text(payload, "prompt").lstrip()
    if prompt.startswith(_NOTIFICATION):
        notice = task_notification(prompt[:_NOTIFICATION_HEAD], text(payload, "session_id"), context)
        return add_context("UserPromptSubmit", notice) if notice else None
    with context.session(text(payload, "session_id")) as state:
        state.open_window("prompt")
        state.prompts += 1
        if not state.title:
            state.open_with(prompt, branch_of(context.project))
        state.final_returned = state.final_told = False
        record_prompt(context, state)
        has_notice = any(entry.untold for entry in state.delegations.values())
    if not has_notice:
        return None
    # A report that came after the last answer reaches the model with this prompt.
    from remit.clients.hooks.teams import untold_notices  # late: few prompts come after a report

    notice = untold_notices(text(payload, "session_id"), context)
    return add_context("UserPromptSubmit", notice) if notice else None


def branch_of(project: str) -> str:
    """Return the branch that is checked out in a folder, or an empty text."""
    git = os.path.join(project, ".git")
    try:
        if os.path.isfile(git):  # a linked work tree
            with open(git, encoding="utf-8") as file:
                git = os.path.join(project, file.read(_MAX_HEAD).removeprefix("gitdir:").strip())
        with open(os.path.join(git, "HEAD"), encoding="utf-8") as file:
            head = file.read(_MAX_HEAD).strip()
    except (OSError, ValueError):
        return ""
    return head.removeprefix(_ON_BRANCH) if head.startswith(_ON_BRANCH) else ""


def session_started(payload: object, context: ProjectContext) -> Answer | None:
    """SessionStart: name settings that are not read; after a compaction or resumption, give the model the state."""
    notes: list[str] = context.compiled.get("notes") or []
    answer = message("\n".join(f"remit: {note}" for note in notes)) if notes else None
    if text(payload, "source") not in ("compact", "resume") or not context.settings.denies:
        return answer
    state = read_session(context.folder, text(payload, "session_id"))
    return merge(answer, add_context("SessionStart", state_notice(state, context)) if state is not None else None)


def session_ended(_: object, context: ProjectContext) -> Answer | None:
    """SessionEnd: remove expired files of earlier sessions."""
    remove_old_sessions(context.folder)
    remove_old_patches(context.folder)
    results.remove_expired(context.folder)
    return None
