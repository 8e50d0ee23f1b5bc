"""Tell the orchestrator, once, about reports that reach it without an event: those of teammates."""

from __future__ import annotations

from remit.clients.hooks import results
from remit.clients.hooks.delivery import new_conflicts
from remit.clients.hooks.notices import accepted_notice, rejected_notice
from remit.clients.hooks.project import ProjectContext
from remit.gate.session_store import read_session


def untold_notices(session: str, context: ProjectContext) -> str:
    """Return the notices about reports of teammates, once: what is not accepted, and conflicts; "" without one."""
    known = read_session(context.folder, session)
    if known is None or not any(entry.untold for entry in known.delegations.values()):
        return ""
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
