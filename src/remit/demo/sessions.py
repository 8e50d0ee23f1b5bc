"""Sessions of a client under contract for the demonstration: decisions of the gate, delegations and reports."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from remit.acceptance import judge_report
from remit.checking import Options
from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.results import keep_result
from remit.gate.delegation import Delegation
from remit.gate.session import SessionState
from remit.gate.session_entries import DecisionEntry, Declaration
from remit.gate.session_store import open_session
from remit.reports.formats import check_json

_SESSIONS = 4
#: Lines that each call reads or changes.
_LINES = 66


class SessionCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call of an orchestrator; with a rule, the gate denied it."""

    tool: str
    path: str
    rule: str = ""
    reason: str = ""
    delegate_to: str = ""


def write_sessions(root: Path, now: datetime, texts: Sequence[str], calls: Sequence[SessionCall]) -> None:
    """Write sessions into the gate's folder of a checkout. `texts` are reports of subagents."""
    folder = folder_of(str(root))
    for number in range(_SESSIONS):
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"session {number}"))
        started = (now - timedelta(hours=5 + 26 * number)).timestamp()
        with open_session(folder, name) as state:
            _fill(state, number, started, calls)
        for position, text in enumerate(texts[: 1 + number % len(texts)] if texts else ()):
            _keep(folder, name, root, text, f"agent-{position}", started + 300 + 60 * position)


def _fill(state: SessionState, number: int, started: float, calls: Sequence[SessionCall]) -> None:
    state.started, state.updated = started, started + 1800
    state.prompts = 3
    for position, call in enumerate(calls):
        state.decisions.append(
            DecisionEntry(
                at=started + 40 * position,
                tool=call.tool,
                decision="deny" if call.rule else "allow",
                rule=call.rule,
                reason=call.reason,
                paths=[call.path],
                lines=_LINES,
                id=f"toolu_{number:02}_{position:02}",
                delegate_to=call.delegate_to,
            )
        )
        if not call.rule and call.tool == "Read":
            state.window.add(call.path, _LINES)
    for position, agent in enumerate(("code-explorer", "backend-specialist")):
        entry = Delegation(agent, started + 240 + 60 * position, state="accepted" if position == 0 else "open")
        entry.agent_id = f"agent-{position}"
        state.delegations[f"toolu_{number:02}_agent_{position}"] = entry
    state.analysed["shop/orders.py"] = "code-explorer"
    if number % 2:
        state.declarations.append(
            Declaration(kind="edit", paths=["README.md"], why="a typing error in a heading", at=started + 60)
        )
    else:
        state.warn("the final answer claims a test run that is not in the record of this session")


def _keep(folder: str, session: str, root: Path, text: str, agent_id: str, at: float) -> None:
    judged = judge_report(text, Options(), root)
    agent = judged.verdicts[0].agent if judged.verdicts else "code-explorer"
    kept = keep_result(
        folder,
        session,
        agent=agent,
        agent_id=agent_id,
        outcome="accepted" if judged.is_accepted else "rejected",
        would="accepted" if judged.is_accepted else "rejected",
        text=text,
        check=check_json(list(judged.verdicts), str(root)),
        verdict=judged.decision,
        violations=judged.violations,
        files=judged.analysed_files,
        profile="v2",
        model="recorded",
        attempt=1,
        at=round(at, 3),
    )
    for ending in (".json", ".md", ".check.json"):
        if os.path.exists(kept.base + ending):  # noqa: PTH110 (a path as text)
            os.utime(kept.base + ending, (at, at))
