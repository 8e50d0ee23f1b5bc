"""Decide on a tool call from the session state and the settings: allow, deny, ask or warn."""

from __future__ import annotations

import time

from remit.gate.delegations import judge_launch, open_delegations
from remit.gate.project_paths import locate
from remit.gate.reads import from_glob_tool, from_grep_tool, from_read_tool, judge_reads, judge_search
from remit.gate.redaction import redacted
from remit.gate.ruling import Ruling, strictest
from remit.gate.session import SessionState
from remit.gate.session_entries import DecisionEntry, UntrueStatement
from remit.gate.tool_use import MAX_NAME_LENGTH, Decision, ToolUse
from remit.gate.writes import edited_path, judge_edit, write_class
from remit.globs import matches_glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.gate.settings import GateSettings

EDITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
READING = ("Read", "NotebookRead")
#: Paths that the log has of one decision.
_MAX_LOGGED = 200
#: Characters of an untrue statement and of its proof that are stored, and the answers of which they are stored.
_MAX_STATEMENT = 240
_MAX_ANSWERS = 10
#: Tools that change no file of the project.
_HARMLESS_TEXT = """
    LS Agent Task TaskCreate TaskUpdate TaskGet TaskList TaskOutput TaskStop TodoRead TodoWrite AskUserQuestion
    EnterPlanMode ExitPlanMode WebFetch WebSearch BashOutput KillShell KillBash SendMessage ToolSearch StructuredOutput
"""
HARMLESS = frozenset(_HARMLESS_TEXT.split())
#: Tools that run a command line.
SHELLS = ("Bash", "Monitor", "PowerShell")
#: The decision for level 0 (no rule is broken) to 3.
_ANSWERS = ("allow", "deny", "warn", "allow")


def may_change_files(tool: str) -> bool:
    """Return whether the effects of a tool are not stated in its input: all but tools that only read or edit."""
    return tool not in (*READING, *EDITING, "Grep", "Glob") and tool not in HARMLESS


def decide(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Decision:
    """Return the decision about a call before it is made. An allowed call is counted in the state.

    Never raises: after an error in the gate, the decision has a `fault`.
    """
    return with_fault_policy(lambda: _judge_call(call, state, settings, project), call, state, settings)


def _judge_call(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    """Judge a call, and note what it may write."""
    ruling = _judge(call, state, settings, project)
    if call.tool in EDITING or (call.tool not in SHELLS and may_change_files(call.tool)):
        ruling = _with_grant(ruling, call, settings, project)
    return ruling


def _with_grant(ruling: Ruling, call: ToolUse, settings: GateSettings, project: str) -> Ruling:
    """Let a ruling record, if it allows the call, which files may change."""
    count = ruling.apply

    def grant(state: SessionState) -> None:
        if count is not None:
            count(state)
        if call.tool not in EDITING:
            state.open_writer(call, [])
            return
        if ruling.written is None:
            target = locate(edited_path(call), call.cwd, project)
            ruling.written = (target.name[:MAX_NAME_LENGTH], write_class(target, settings))
        name, _ = ruling.written
        state.open_writer(call, [name])

    ruling.apply = grant
    return ruling


def decide_stop(
    state: SessionState, settings: GateSettings, what: str = "answer", *, shown_lines: int = 0, waits: bool = True
) -> Decision:
    """Return the decision about a final answer or a change of phase (`what`), which waits for open delegations.

    An answer that is already shown cannot be asked about, so its size is at most a warning.
    """
    return with_fault_policy(
        lambda: _judge_stop(state, settings, what, shown_lines, waits=waits), ToolUse(what), state, settings, after=True
    )


def decide_final(
    untrue: list[str], statements: list[UntrueStatement], state: SessionState, settings: GateSettings
) -> Decision:
    """Return the decision about a final answer that the record of the session does not support in these statements.

    `untrue` are the sentences for the model; the record keeps the statements, cut and without secrets.
    """

    def judge() -> Ruling:
        if not untrue:
            return Ruling()
        ruling = Ruling(1, "final-claims", _untrue_reason([entry.outcome for entry in statements]))
        ruling.detail = "".join(f"\n- {sentence}" for sentence in untrue)
        ruling.statements = [
            entry.copy(text=_kept_text(entry.text), proof=_kept_text(entry.proof)) for entry in statements
        ]
        return ruling

    decision = with_fault_policy(judge, ToolUse("answer"), state, settings, always=True)
    for earlier in [entry for entry in state.decisions if entry.statements][:-_MAX_ANSWERS]:
        earlier.statements = None
    return decision


def _untrue_reason(outcomes: list[str]) -> str:
    """Return what is wrong with an answer: the record shows the opposite of a statement, or nothing of it."""
    opposite = sum(outcome != "unseen" for outcome in outcomes)
    parts = [f"the record of this session contradicts {_statements(opposite)} of the answer"] if opposite else []
    if unseen := len(outcomes) - opposite:
        parts.append(f"no call of this session shows {_statements(unseen)} of the answer")
    return ", and ".join(parts)


def _statements(count: int) -> str:
    return "1 statement" if count == 1 else f"{count} statements"


def _kept_text(text: str) -> str:
    return redacted(text[: 2 * MAX_NAME_LENGTH])[:_MAX_STATEMENT]


def with_fault_policy(
    judge: Callable[[], Ruling],
    call: ToolUse,
    state: SessionState,
    settings: GateSettings,
    *,
    after: bool = False,
    always: bool = False,
) -> Decision:
    """Turn a ruling, or an error in the gate, into a recorded decision. `after` a call, warn instead of asking.

    With `always`, the decision has an effect in the mode `verify`, too.
    """
    state.updated = time.time()
    try:
        return _answer(judge(), call, state, settings, after=after, has_effect=always or settings.denies)
    except Exception as error:  # noqa: BLE001 - a hook that dies reports nothing to the user
        return _fault(error, call, state, settings)


def _judge(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    if call.tool in READING:
        return judge_reads(from_read_tool(call), call, state, settings, project)
    if call.tool in EDITING:
        return judge_edit(call, state, settings, project)
    if call.tool in SHELLS:
        return _judge_shell(call, state, settings, project)
    if call.tool in ("Grep", "Glob"):
        return _judge_search_tool(call, state, settings, project)
    if call.tool == "Agent":
        return judge_launch(call)
    return Ruling()


def _judge_search_tool(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    search = from_grep_tool(call) if call.tool == "Grep" else from_glob_tool(call)
    rulings, reads = judge_search(search, call, settings, project)
    if reads and not any(ruling.level == 1 for ruling in rulings):
        counted = judge_reads(reads, call, state, settings, project)
        for ruling in rulings:
            ruling.apply = counted.apply
        rulings.append(counted)
    return strictest(rulings) or Ruling()


def _judge_shell(call: ToolUse, state: SessionState, settings: GateSettings, project: str) -> Ruling:
    # Late: no other tool needs the reader of shell syntax.
    from remit.gate.command_line import judge_command

    return judge_command(call, state, settings, project)


def _judge_stop(state: SessionState, settings: GateSettings, what: str, shown_lines: int, *, waits: bool) -> Ruling:
    waiting = open_delegations(state) if waits else []
    if waiting:
        count = "1 delegation is" if len(waiting) == 1 else f"{len(waiting)} delegations are"
        following = "the next phase" if what == "phase" else "you answer"
        reason = f"{count} open ({', '.join(waiting[:5])}). Wait for the results before {following}"
        return Ruling(1, "synthesize-early", reason)
    limit = settings.limits["presentation_lines"]
    if shown_lines > limit:
        return Ruling(2, "presentation-size", f"{shown_lines} lines are shown to the user (limit: {limit})")
    return Ruling()


def _answer(
    ruling: Ruling, call: ToolUse, state: SessionState, settings: GateSettings, *, after: bool, has_effect: bool
) -> Decision:
    """Return the decision. Without an effect, the call is allowed and nothing is recorded."""
    exempt = _exempt(ruling, settings) if ruling.level in (1, 2) else None
    level = 0 if exempt else ruling.level
    answer = _ANSWERS[level]
    if ruling.asks_person and not exempt:
        answer = "warn" if after else "ask"
    if (answer != "deny" or not has_effect) and ruling.apply is not None:
        ruling.apply(state)
    if not has_effect:
        return Decision("allow", settings.mode)
    decision = Decision(
        answer,
        settings.mode,
        rule=ruling.rule,
        reason=exempt or ruling.reason + ruling.detail,
        delegate_to=None if exempt else ruling.delegate_to,
        exception="project" if exempt else ruling.exception,
    )
    decision.tells_person = ruling.tells_person and not exempt
    if exempt:
        state.record_exception("project", ruling.paths, state.updated)
    _record(decision, ruling, call, state)
    return decision


def _exempt(ruling: Ruling, settings: GateSettings) -> str | None:
    """Return the reason of the project's exception that covers all paths today, or None."""
    if not settings.exceptions:
        return None
    today = time.strftime("%Y-%m-%d")
    for entry in settings.exceptions:
        is_covered = all(any(matches_glob(path, glob) for glob in entry.paths) for path in ruling.paths)
        is_covered = is_covered and bool(ruling.paths or "**" in entry.paths)
        if entry.rule == ruling.rule and is_covered and today <= entry.expires:
            return f"an exception of this project until {entry.expires}: {entry.reason}"
    return None


def _record(decision: Decision, ruling: Ruling, call: ToolUse, state: SessionState) -> None:
    """Record a decision for the log, unless it has neither a rule nor an exception nor a reason."""
    if not (decision.rule or decision.exception or decision.reason):
        return
    entry = DecisionEntry(
        at=round(state.updated, 3),
        tool=call.tool[:80],
        decision=decision.decision,
        rule=decision.rule,
        reason=redacted(decision.reason.removesuffix(ruling.detail)[: 2 * MAX_NAME_LENGTH]),
        paths=[redacted(path[:MAX_NAME_LENGTH]) for path in ruling.paths[:_MAX_LOGGED]],
        lines=ruling.lines,
        exception=decision.exception,
        delegate_to=decision.delegate_to,
        id=call.tool_use_id,
    )
    if ruling.statements:
        entry.statements = ruling.statements
    state.decisions.append(entry)


def _fault(error: Exception, call: ToolUse, state: SessionState, settings: GateSettings) -> Decision:
    """Return the decision after an error in the gate. Only its type and position are kept: its text may be content."""
    position = ""
    trace = error.__traceback__
    while trace is not None:
        position = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
    fault = f"{type(error).__name__} in {position}"
    reason = (
        f"an error in remit's gate prevented a check of this call ({fault}). Please report it. The call was allowed"
    )
    decision = Decision(
        "warn" if settings.denies else "allow",
        settings.mode,
        reason=reason,
        fault=fault,
    )
    _record(decision, Ruling(reason=reason), call, state)
    return decision


def count_lines(answer: object) -> int:
    """Return the number of lines of an answer, which may be any value."""
    text = answer.strip() if isinstance(answer, str) else ""
    return text.count("\n") + 1 if text else 0
