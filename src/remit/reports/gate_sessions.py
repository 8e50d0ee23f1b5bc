"""Decisions and sessions of the gate as text and in their JSON shapes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from remit.gate import log
from remit.gate.session import SessionState
from remit.gate.settings import VERIFY, GateSettings
from remit.reports.layout import (
    Line,
    Piece,
    cut_width,
    display_width,
    escape_control,
    format_count,
    wrap_text,
)

STYLES = {"allow": "green", "warn": "yellow", "ask": "yellow", "deny": "bold red"}
OUTCOME_STYLES = {"accepted": "green", "returned": "yellow", "rejected": "bold red", "failed": "bold red"}
#: The number of violations of a result that are shown.
MAX_VIOLATIONS = 3
#: The tool of a decision on a final answer: the answer goes back, and no call is denied.
_ANSWER = "answer"


def log_shape(state: SessionState, *, denied: bool) -> dict[str, Any]:
    """Return the decisions of a session, oldest first."""
    rows = [{**entry, "cost": log.exception_cost(entry)} for entry in log.log_entries(state, denied=denied)]
    return {
        "schema": "remit.gate-log/1",
        "session": state.session,
        "denied": log.saved_tokens(state),
        "decisions": rows,
    }


def log_lines(state: SessionState, columns: int, *, denied: bool) -> Iterator[Line]:
    """Yield the decisions of a session with their reasons and costs."""
    entries = log.log_entries(state, denied=denied)
    refused, saved = log.log_entries(state, denied=True), log.saved_tokens(state)
    returned = [entry for entry in refused if entry.get("tool") == _ANSWER]
    counts = [f"{len(refused) - len(returned)} denied"] if len(refused) > len(returned) or not returned else []
    counts += [f"{_count(len(returned), 'answer')} sent back"] if returned else []
    yield from _head(state, f"{_count(len(state.decisions), 'decision')}, {', '.join(counts)}", columns)
    if not entries:
        yield [Piece("no denied calls" if denied else "no recorded decisions", "dim")]
    for entry in entries:
        yield from _entry_lines(entry, columns)
    if saved["lines"]:
        text = f"the denied reads would have cost an estimated {saved['tokens']:,} tokens ({saved['lines']:,} lines)"
        yield from paragraph(text, columns, 0, "bold")


def _entry_lines(entry: Mapping[str, Any], columns: int) -> Iterator[Line]:
    answer, style = _answer(entry)
    what = str(entry.get("rule") or entry.get("exception") or "")
    facts = [entry.get("tool"), f"by {entry['agent']}" if entry.get("agent") else "", what, *_paths(entry)]
    text = escape_control("  ".join(str(fact) for fact in facts if fact))
    width = columns - 9 - display_width(answer) - 2
    yield [
        Piece(f"{clock(entry.get('at'))} ", "dim"),
        Piece(f"{answer}  ", style),
        Piece(text if display_width(text) <= width else cut_width(text, width - 2) + " …", "bold"),
    ]
    yield from paragraph(str(entry.get("reason") or ""), columns, 9)
    yield from _statement_lines(entry, columns, 9)
    delegate = f"delegate to: {entry['delegate_to']}" if entry.get("delegate_to") else ""
    yield from paragraph(" · ".join(filter(None, [*_cost_texts(entry), delegate])), columns, 9, "dim")


def _statement_lines(entry: Mapping[str, Any], columns: int, indent: int) -> Iterator[Line]:
    """Yield the untrue statements of an answer, each with its proof."""
    for statement in entry.get("statements") or ():
        text = f"“{statement['text']}”: {statement['proof']}"
        yield from paragraph(text, columns, indent + 2, STYLES["warn"])


def _cost_texts(entry: Mapping[str, Any]) -> list[str]:
    cost = log.exception_cost(dict(entry))
    if log.is_denied(dict(entry)):
        if cost["tokens"] is None:
            return []
        return [f"estimated cost: {cost['tokens']:,} tokens ({_count(cost['lines'], 'line')})"]
    return [f"estimated saving against a delegation: {cost['saved']:,} tokens"] if cost["saved"] else []


def declared_shape(session: str, kind: str, paths: Sequence[str], why: str, missing: Sequence[str]) -> dict[str, Any]:
    """Return a new declaration; `missing` are files that do not exist."""
    row = {"session": session, "kind": kind, "paths": list(paths), "why": why, "missing": list(missing)}
    return {"schema": "remit.gate-declare/1", **row}


def declared_lines(shape: Mapping[str, Any], effect: str, columns: int) -> Iterator[Line]:
    """Yield the text of a declare shape."""
    text = f"declared {shape['kind']} of {', '.join(shape['paths'])} for session {shape['session']}: {effect}"
    yield from paragraph(text, columns, 0)
    if shape["missing"]:
        yield from paragraph(f"not found: {', '.join(shape['missing'])}", columns, 0, "yellow")


def _answer(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the decision and its style. A final answer is sent back, not denied."""
    decision = str(entry.get("decision") or "?")
    is_returned = decision == "deny" and entry.get("tool") == _ANSWER
    return "send back" if is_returned else decision, STYLES.get(decision, "")


def _head(state: SessionState, summary: str, columns: int) -> Iterator[Line]:
    """Yield the whole id, with which other commands find the session, and the summary, which may need its own row."""
    session = escape_control(state.session)
    if display_width(f"session {session}  {summary}") <= columns:
        yield [Piece("session ", "bold"), Piece(session), Piece(f"  {summary}", "dim")]
        return
    first, *rows = wrap_text(session, columns, 8)
    yield [Piece("session ", "bold"), Piece(first[8:])]
    yield from ([Piece(row)] for row in rows)
    yield from paragraph(summary, columns, style="dim")


def paragraph(text: str, columns: int, indent: int = 2, style: str = "") -> Iterator[Line]:
    """Yield the rows of an untrusted text."""
    for row in wrap_text(escape_control(text), columns, indent) if text.strip() else ():
        yield [Piece(row, style)]


def _paths(entry: Mapping[str, Any]) -> list[str]:
    return texts(entry.get("paths"))


def texts(value: object) -> list[str]:
    """Return the items of a stored list as text."""
    return [str(item) for item in value] if isinstance(value, list | tuple) else []


def clock(timestamp: object) -> str:
    """Return the local time of a stored timestamp; dashes if it is invalid."""
    try:
        return time.strftime("%H:%M:%S", time.localtime(float(timestamp)))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, OSError):
        return "--:--:--"


def _count(value: object, word: str) -> str:
    """Return a stored number with its noun; 0 if it is not a number."""
    return format_count(value if isinstance(value, int) else 0, word)


def status_shape(
    state: SessionState,
    settings: GateSettings,
    results: Sequence[Mapping[str, Any]],
    sessions: Sequence[Mapping[str, Any]],
    *,
    project: str,
    today: str,
) -> dict[str, Any]:
    """Return the state of a session; `results` are its reports with verdicts, `sessions` all recorded sessions."""
    return {
        "schema": "remit.gate-status/1",
        **log.session_summary(state),
        "project": project,
        "mode": state.mode,
        "started": state.started,
        "updated": state.updated,
        "results": list(results),
        "delegation_costs": log.delegation_costs(results),
        "project_exceptions": [
            {
                "rule": exception.rule,
                "paths": list(exception.paths),
                "reason": exception.reason,
                "expires": exception.expires,
                "expired": exception.expires < today,
            }
            for exception in settings.exceptions
        ],
        "sessions": list(sessions),
    }


def status_lines(shape: Mapping[str, Any], columns: int) -> Iterator[Line]:
    """Yield the text of a status shape."""
    yield [
        Piece("session ", "bold"),
        Piece(cut_width(escape_control(str(shape["session"])), columns - 36)),
        Piece(f"  mode {shape['mode']}", "dim"),
        Piece(f"  {clock(shape['updated'])}", "dim"),
    ]
    yield from _facts(shape, columns)
    yield from _result_lines(shape["results"], str(shape["project"]), columns)
    for entry in shape["declarations"]:
        text = f"declared {entry.get('kind')}: {', '.join(texts(entry.get('paths')))} ({entry.get('why')})"
        yield from paragraph(text, columns)
    for entry in shape["project_exceptions"]:
        until = f"expired on {entry['expires']}" if entry["expired"] else f"until {entry['expires']}"
        text = f"project exception: {entry['rule']} in {', '.join(entry['paths'])} {until} ({entry['reason']})"
        yield from paragraph(text, columns, style="yellow" if entry["expired"] else "")
    for warning in shape["warnings"]:
        yield from paragraph(f"warning: {warning}", columns, style="yellow")
    others = [str(session["session"]) for session in shape["sessions"] if session["session"] != shape["session"]]
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        yield from paragraph(f"other sessions (--session): {', '.join(others[:3])}{more}", columns, style="dim")


def untrue_shape(sessions: Iterable[SessionState], since: float, period: str) -> dict[str, Any]:
    """Return how many untrue statements were stopped in some sessions, and how many got through."""
    counts = [state.untrue_since(since) for state in sessions if state.updated >= since]
    return {
        "schema": "remit.gate-untrue/1",
        "since": period,
        "sessions": len(counts),
        "stopped": sum(stopped for stopped, _ in counts),
        "got_through": sum(passed for _, passed in counts),
    }


def untrue_text(counts: Mapping[str, Any]) -> str:
    """Return the counts as a sentence."""
    stopped = format_count(counts["stopped"], "untrue statement")
    return f"{stopped} {'was' if counts['stopped'] == 1 else 'were'} stopped, {counts['got_through']} got through"


def untrue_lines(shape: Mapping[str, Any], columns: int) -> Iterator[Line]:
    """Yield the text of an untrue shape."""
    yield [Piece(untrue_text(shape), "bold")]
    yield from paragraph(
        f"in {format_count(shape['sessions'], 'session')} since {shape['since']}", columns, style="dim"
    )


def _facts(shape: Mapping[str, Any], columns: int) -> Iterator[Line]:
    window, denied, used, costs = shape["window"], shape["denied"], shape["exceptions"], shape["delegation_costs"]
    closed = f"; closed: {window['closed']}" if window["closed"] else ""
    read = f"{_count(window['files'], 'file')}, {_count(window['lines'], 'line')}"
    open_ones = [str(delegation["agent"]) for delegation in shape["delegations"] if delegation["state"] == "open"]
    states = _counts([str(delegation["state"]) for delegation in shape["delegations"]])
    reads = shape["mode"] != VERIFY  # there they are not limited
    facts = {
        "window": f"{read} read directly; opened by: {window['why']}{closed}" if reads else "",
        "decisions": _decision_counts(shape["answers"], has_denials=reads),
        "rules": _table(shape["rules"]),
        "denied": f"reads of {_count(denied['lines'], 'line')}, estimated at {denied['tokens']:,} tokens"
        if denied["lines"]
        else "",
        "exceptions": f"{_table(used['used'])}; {_saving(used['used'], costs)}" if used["used"] and reads else "",
        "untrue": untrue_text(shape["untrue"]) if any(shape["untrue"].values()) else "",
        "analysed": f"{_count(shape['analysed'], 'file')} covered by accepted results" if shape["analysed"] else "",
        "delegations": _table(states) + (f"; open: {', '.join(open_ones)}" if open_ones else ""),
        "their cost": ", ".join(f"{agent} about {tokens:,} tokens" for agent, tokens in costs.items()),
    }
    margin = 2 + max([12, *(len(label) + 1 for label, fact in facts.items() if fact)])
    for label, fact in facts.items():
        for number, row in enumerate(wrap_text(escape_control(fact), columns, margin) if fact else ()):
            start = Piece(f"  {label}".ljust(margin) if number == 0 else "", "bold")
            yield [start, Piece(row[margin:] if number == 0 else row)]


def _decision_counts(answers: Mapping[str, int], *, has_denials: bool) -> str:
    """Return the number of each decision. In `verify` no call is denied: only a final answer is sent back."""
    if has_denials:
        return _table(answers) or "none recorded"
    return f"{_count(answers['deny'], 'answer')} sent back" if answers.get("deny") else ""


def _saving(used: Mapping[str, int], costs: Mapping[str, int]) -> str:
    """Return the estimated saving of exceptions, and what a delegation was counted with."""
    tokens, explorer, cost = log.estimated_saving(used, costs)
    counted = f"; a delegation to {explorer} cost about {cost:,} here" if explorer else ""
    return f"estimated saving: {tokens:,} tokens{counted}"


def _result_lines(results: Sequence[Mapping[str, Any]], project: str, columns: int) -> Iterator[Line]:
    if results:
        yield [Piece("  results", "bold")]
    last = {result["agent_id"]: result for result in results}
    for result in results:
        yield _result_line(result, columns)
        # Only the last report of an agent has details: earlier ones were corrected.
        if result is last[result["agent_id"]] and (violations := _relevant_violations(result)):
            for violation in violations[:MAX_VIOLATIONS]:
                yield from paragraph(_violation_text(violation), columns, 6, "yellow")
            if len(violations) > MAX_VIOLATIONS:
                yield [Piece(f"      and {len(violations) - MAX_VIOLATIONS} more", "dim")]
            if result.get("changed"):
                yield from paragraph(f"it has edited {', '.join(result['changed'])}", columns, 6, "yellow")
            # On one line of any length, so that it can be copied.
            if result["path"]:
                path = escape_control(str(result["path"]).removeprefix(project.rstrip("/") + "/"))
                yield [Piece(f"      {path}", "dim")]


def _relevant_violations(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the violations of a report; of an accepted one, those above level L3."""
    violations: list[Mapping[str, Any]] = report["violations"]
    return [each for each in violations if each.get("level") != "L3"] if report["verdict"] == "accept" else violations


def _violation_text(violation: Mapping[str, Any]) -> str:
    return f"{violation.get('level')} {violation.get('rule')} line {violation.get('line')}: {violation.get('message')}"


def _result_line(report: Mapping[str, Any], columns: int) -> Line:
    outcome = str(report["outcome"])
    name = cut_width(escape_control(str(report["agent"])), 28)
    attempt = f"attempt {report['attempt']}" if report["attempt"] != 1 else ""
    details = ", ".join(text for text in (str(report["verdict"] or ""), attempt) if text)
    return [
        Piece(f"    {clock(report.get('at'))} ", "dim"),
        Piece(f"{name}{' ' * max(1, 29 - display_width(name))}"),
        Piece(f"{outcome:<10}", OUTCOME_STYLES.get(outcome, "")),
        Piece(cut_width(escape_control(details), columns - 53), "dim"),
    ]


def _counts(words: Sequence[str]) -> dict[str, int]:
    return {word: words.count(word) for word in dict.fromkeys(words)}


def _table(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items())
