"""The decision: a call, what is remembered of its session, and the settings in; allow, deny, ask or warn out."""

from __future__ import annotations

import time

from remit.gate.delegations import judge_launch, judge_tools, still_open
from remit.gate.model import LONGEST_NAME, Decision, Ruling, worst

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.gate.memory import State
    from remit.gate.model import Call
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


def decide(call: Call, state: State, settings: GateSettings, project: str) -> Decision:
    """The answer to a call before it is made. What is let through is counted in the state; a denied call is not.

    It never raises: an error of ours is a decision whose `fault` says what happened.
    """
    return guarded(lambda: _rule(call, state, settings, project), call, state, settings)


def finish(state: State, settings: GateSettings, what: str = "answer", *, shown_lines: int = 0) -> Decision:
    """The answer to a change of phase or a final answer (`what`), which waits for open delegations."""
    from remit.gate.model import Call as Made  # late: only a type elsewhere

    return guarded(lambda: _judge_finish(state, settings, what, shown_lines), Made(what), state, settings)


def guarded(
    judge: Callable[[], Ruling], call: Call, state: State, settings: GateSettings, *, after: bool = False
) -> Decision:
    """A ruling as a decision, recorded; an error of ours as one too. `after` the call there are only warnings."""
    state.updated = time.time()
    try:
        return _answer(judge(), call, state, settings, after=after)
    except Exception as error:  # noqa: BLE001 - a hook that dies says nothing at all to the person
        return _fault(error, call, state, settings)


def _rule(call: Call, state: State, settings: GateSettings, project: str) -> Ruling:
    if call.agent_id:
        return _of_subagent(call, state, settings, project)
    if call.tool in READING:
        from remit.gate.reads import judge_reads, of_read_tool

        return judge_reads(of_read_tool(call), call, state, settings, project)
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


def _of_search(call: Call, state: State, settings: GateSettings, project: str) -> Ruling:
    from remit.gate.reads import judge_reads
    from remit.gate.searches import judge_search, of_glob_tool, of_grep_tool

    search = of_grep_tool(call) if call.tool == "Grep" else of_glob_tool(call)
    rulings, reads = judge_search(search, call, settings, project)
    if reads and not any(ruling.level == 1 for ruling in rulings):
        counted = judge_reads(reads, call, state, settings, project)
        for ruling in rulings:
            ruling.apply = counted.apply
        rulings.append(counted)
    return worst(rulings) or Ruling()


def _of_subagent(call: Call, state: State, settings: GateSettings, project: str) -> Ruling:
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


def _judge_finish(state: State, settings: GateSettings, what: str, shown_lines: int) -> Ruling:
    waiting = still_open(state)
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


def _answer(ruling: Ruling, call: Call, state: State, settings: GateSettings, *, after: bool) -> Decision:
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
    from remit.gate.paths import fits

    today = time.strftime("%Y-%m-%d")
    for entry in settings.exceptions:
        here = all(any(fits(path, glob) for glob in entry.paths) for path in ruling.paths)
        if entry.rule == ruling.rule and here and (ruling.paths or "**" in entry.paths) and today <= entry.expires:
            return f"an exception of this project until {entry.expires}: {entry.reason}"
    return None


def _record(decision: Decision, ruling: Ruling, call: Call, state: State) -> None:
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


def _fault(error: Exception, call: Call, state: State, settings: GateSettings) -> Decision:
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
