"""The decision: a call, what is remembered of its session, and the settings in; allow, deny, ask or warn out."""

from __future__ import annotations

import json
import time

from remit.errors import UsageError
from remit.gate.delegations import judge_launch, judge_tools, open_delegations
from remit.gate.model import LONGEST_NAME, Decision, ToolUse
from remit.gate.ruling import Ruling, worst
from remit.gate.session import SessionState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from remit.gate.model import ToolUse
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings

EDITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
READING = ("Read", "NotebookRead")
#: All of them run the command line that they are given.
SHELLS = ("Bash", "Monitor", "PowerShell")
#: Mode -> what a broken rule of level 1, 2 and 3 leads to; level 0 is well.
_ANSWERS: dict[str, tuple[str, str, str, str]] = {
    "standard": ("allow", "deny", "warn", "allow"),
    "strict": ("allow", "deny", "ask", "allow"),
}


def decide(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Decision:
    """The answer to a call before it is made. What is let through is counted in the state; a denied call is not.

    It never raises: an error of ours is a decision whose `fault` says what happened.
    """
    return with_fault_policy(lambda: _rule(call, state, settings, project), call, state, settings)


def decide_stop(state: SessionState, settings: GateSettings, what: str = "answer", *, shown_lines: int = 0) -> Decision:
    """The answer to a change of phase or a final answer (`what`), which waits for open delegations."""
    from remit.gate.model import ToolUse as Made  # late: only a type elsewhere

    return with_fault_policy(lambda: _judge_finish(state, settings, what, shown_lines), Made(what), state, settings)


def with_fault_policy(
    judge: Callable[[], Ruling], call: ToolUse, state: SessionState, settings: GateSettings, *, after: bool = False
) -> Decision:
    """A ruling as a decision, recorded; an error of ours as one too. `after` the call there are only warnings."""
    state.updated = time.time()
    try:
        return _answer(judge(), call, state, settings, after=after)
    except Exception as error:  # noqa: BLE001 - a hook that dies says nothing at all to the person
        return _fault(error, call, state, settings)


def _rule(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    if call.agent_id:
        return _of_subagent(call, state, settings, project)
    if call.tool in READING:
        from remit.gate.reads import from_read_tool, judge_reads

        return judge_reads(from_read_tool(call), call, state, settings, project)
    if call.tool in EDITING:
        from remit.gate.writes import judge_edit

        return judge_edit(call, state, settings, project)
    if call.tool in SHELLS:
        from remit.gate.command_line import judge_command

        return judge_command(call, state, settings, project)
    if call.tool in ("Grep", "Glob"):
        return _of_search(call, state, settings, project)
    if call.tool == "Agent":
        return judge_launch(call, state, project)
    return Ruling()


def _of_search(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    from remit.gate.reads import from_glob_tool, from_grep_tool, judge_reads, judge_search

    search = from_grep_tool(call) if call.tool == "Grep" else from_glob_tool(call)
    rulings, reads = judge_search(search, call, settings, project)
    if reads and not any(ruling.level == 1 for ruling in rulings):
        counted = judge_reads(reads, call, state, settings, project)
        for ruling in rulings:
            ruling.apply = counted.apply
        rulings.append(counted)
    return worst(rulings) or Ruling()


def _of_subagent(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """Of a subagent's calls: the tools of its definition, the files that others write, and what only remit writes."""
    refused = judge_tools(call, settings)
    if refused is not None:
        return refused
    if call.tool in EDITING:
        from remit.gate.writes import judge_subagent_edit

        return judge_subagent_edit(call, state, settings, project)
    if call.tool in SHELLS:
        from remit.gate.command_line import judge_subagent_command

        return judge_subagent_command(call, state, settings, project)
    return Ruling()


def _judge_finish(state: SessionState, settings: GateSettings, what: str, shown_lines: int) -> Ruling:
    waiting = open_delegations(state)
    if waiting:
        reason = (
            f"{len(waiting)} of the delegations are open ({', '.join(waiting[:5])}): wait for their results before "
            + ("the next phase" if what == "phase" else "the answer")
        )
        return Ruling(1, "synthesize-early", reason)
    most = settings.limits["presentation_lines"]
    if shown_lines > most:
        return Ruling(2, "presentation-size", f"{shown_lines} lines are shown to the user, and {most} are the most")
    return Ruling()


def _answer(ruling: Ruling, call: ToolUse, state: SessionState, settings: GateSettings, *, after: bool) -> Decision:
    exempt = _exempt(ruling, settings) if ruling.level in (1, 2) else None
    level = 0 if exempt else ruling.level
    observing = settings.mode == "observe"
    answer = _ANSWERS["standard" if observing else settings.mode][level]
    answer = "ask" if ruling.asks and not exempt else answer
    answer = "warn" if after and answer == "ask" else answer
    if answer != "deny" and ruling.apply is not None:
        ruling.apply(state)
    elif observing and ruling.observed is not None:
        ruling.observed(state)
    decision = Decision(
        "allow" if observing else answer,
        settings.mode,
        would=answer if observing else None,
        rule=ruling.rule,
        reason=exempt or ruling.reason + ruling.detail,
        delegate_to=None if exempt else ruling.delegate_to,
        exception="project" if exempt else ruling.exception,
        window=(len(state.window.files), state.window.lines),
    )
    if exempt:
        state.record_exception("project", ruling.paths, state.updated)
    _record(decision, ruling, call, state)
    return decision


def _exempt(ruling: Ruling, settings: GateSettings) -> str | None:
    """The reason of the project's own exception, if one holds today for every path."""
    if not settings.exceptions:
        return None
    from remit.globs import matches_glob

    today = time.strftime("%Y-%m-%d")
    for entry in settings.exceptions:
        here = all(any(matches_glob(path, glob) for glob in entry.paths) for path in ruling.paths)
        if entry.rule == ruling.rule and here and (ruling.paths or "**" in entry.paths) and today <= entry.expires:
            return f"an exception of this project until {entry.expires}: {entry.reason}"
    return None


def _record(decision: Decision, ruling: Ruling, call: ToolUse, state: SessionState) -> None:
    """What was decided, for people who ask later. A call of which nothing is to be said leaves no entry."""
    if not (decision.rule or decision.exception or decision.reason):
        return
    state.decisions.append(
        {
            "at": round(state.updated, 3),
            "tool": call.tool[:80],
            "agent": call.agent_type[:80] if call.agent_id else "",
            "decision": decision.decision,
            "would": decision.would,
            "rule": decision.rule,
            "reason": decision.reason.removesuffix(ruling.detail)[: 2 * LONGEST_NAME],
            "paths": [path[:LONGEST_NAME] for path in ruling.paths[:8]],
            "lines": ruling.lines,
            "exception": decision.exception,
            "delegate_to": decision.delegate_to,
            "id": call.tool_use_id,
        }
    )


def _fault(error: Exception, call: ToolUse, state: SessionState, settings: GateSettings) -> Decision:
    """An error of ours, told by its type and place: its text may hold content of the call."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
    fault = f"{type(error).__name__} in {place}"
    closed = settings.on_fault == "closed" and settings.mode != "observe"
    reason = f"remit's gate could not judge this call ({fault}); please report it. The call was " + (
        "denied, as gate.on_fault asks" if closed else "let through"
    )
    decision = Decision(
        "deny" if closed else "allow" if settings.mode == "observe" else "warn",
        settings.mode,
        would="warn" if settings.mode == "observe" else None,
        rule="fault",
        reason=reason,
        window=(len(state.window.files), state.window.lines),
        fault=fault,
    )
    _record(decision, Ruling(1, "fault", reason), call, state)
    return decision


def read_payload(data: bytes) -> dict[str, Any]:
    """A payload that can be judged: of a tool call, or of the end of a turn."""
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"standard input is no JSON: {error}; a hook's payload is expected there") from error
    if not isinstance(payload, dict):
        raise UsageError(f"a payload is a JSON object, not {type(payload).__name__}")
    if not isinstance(payload.get("tool_name"), str) and payload.get("hook_event_name") != "Stop":
        raise UsageError("the payload holds no tool call: tool_name is missing, or is no text")
    return payload


def dry_run(payload: dict[str, Any], state: SessionState | None, settings: GateSettings, project: str) -> Decision:
    """What would be decided now, in a session with this state; without one, in a fresh session."""
    state = state or SessionState()
    if "tool_name" not in payload:
        return decide_stop(state, settings)
    return decide(ToolUse.from_payload(payload), state, settings, project)
