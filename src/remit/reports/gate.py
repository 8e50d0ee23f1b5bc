"""Decisions of the gate for people, and in fixed JSON shapes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from remit.gate import log
from remit.gate.rules import describe_rule
from remit.gate.session import SessionState
from remit.gate.settings import GateSettings
from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control, wrap_text

STYLES = {"allow": "green", "warn": "yellow", "ask": "yellow", "deny": "bold red"}
OUTCOME_STYLES = {"accepted": "green", "returned": "yellow", "rejected": "bold red", "failed": "bold red"}
#: How many violations of a result are shown.
SHOWN = 3


class WindowShape(msgspec.Struct):
    """What was read directly since the budget was last renewed."""

    files: int
    lines: int


class DecisionShape(msgspec.Struct):
    """What the gate says of one call. In `observe` all is allowed, and `would` is what `standard` would have said."""

    decision: Literal["allow", "deny", "ask", "warn"]
    mode: Literal["observe", "standard", "strict"]
    would: Literal["allow", "deny", "ask", "warn"] | None
    rule: str | None
    reason: str
    delegate_to: str | None
    exception: str | None
    window: WindowShape
    schema: Literal["remit.decision/1"] = "remit.decision/1"


def decision_schema() -> dict[str, Any]:
    """JSON Schema of a decision."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(DecisionShape)}


def decision_lines(found: Mapping[str, Any], columns: int) -> Iterator[Line]:
    """A decision on a call that was only asked about."""
    yield _answer_line(found)
    yield from paragraph(str(found.get("reason") or ""), columns)
    if found.get("delegate_to"):
        yield from paragraph(f"delegate to: {found['delegate_to']}", columns, style="cyan")
    window = found.get("window") or {}
    yield [
        Piece(f"  window: {number_of(window.get('files'), 'file')}, {number_of(window.get('lines'), 'line')}", "dim")
    ]


def log_shape(state: SessionState, *, denied: bool) -> dict[str, Any]:
    """The decisions of a session, oldest first."""
    rows = [{**entry, "cost": log.exception_cost(entry)} for entry in log.log_entries(state, denied=denied)]
    return {
        "schema": "remit.gate-log/1",
        "session": state.session,
        "denied": log.saved_tokens(state),
        "decisions": rows,
    }


def log_lines(state: SessionState, columns: int, *, denied: bool) -> Iterator[Line]:
    """What was decided, why, and what it would have cost."""
    shown = log.log_entries(state, denied=denied)
    refused, spared = log.log_entries(state, denied=True), log.saved_tokens(state)
    # Where only observed, nothing was denied.
    word = "would have been denied" if any(entry.get("would") for entry in refused) else "denied"
    yield _head(state, f"{number_of(len(state.decisions), 'decision')}, {len(refused)} {word}", columns)
    if not shown:
        yield [Piece("nothing was denied" if denied else "nothing was decided that needs a word", "dim")]
    for entry in shown:
        yield from _entry_lines(entry, columns)
    if spared["lines"]:
        words = f"the denied reads would have cost about {spared['tokens']:,} tokens ({spared['lines']:,} lines)"
        yield from paragraph(words, columns, 0, "bold")


def _entry_lines(entry: Mapping[str, Any], columns: int) -> Iterator[Line]:
    answer, style = _answer(entry)
    what = str(entry.get("rule") or entry.get("exception") or "")
    told = [entry.get("tool"), f"by {entry['agent']}" if entry.get("agent") else "", what, *_paths(entry)]
    words = escape_control("  ".join(str(word) for word in told if word))
    room = columns - 9 - display_width(answer) - 2
    yield [
        Piece(f"{clock(entry.get('at'))} ", "dim"),
        Piece(f"{answer}  ", style),
        Piece(words if display_width(words) <= room else cut_width(words, room - 2) + " …", "bold"),
    ]
    yield from paragraph(str(entry.get("reason") or ""), columns, 9)
    more = _cost_words(entry)
    if log.is_denied(dict(entry)) or entry.get("rule"):
        more = [*more, f"remit gate why {entry['id']}"] if entry.get("id") else more
    yield from paragraph(" · ".join(more), columns, 9, "dim")


def _cost_words(entry: Mapping[str, Any]) -> list[str]:
    cost = log.exception_cost(dict(entry))
    if log.is_denied(dict(entry)):
        if cost["tokens"] is None:
            return []
        return [f"would have cost about {cost['tokens']:,} tokens ({number_of(cost['lines'], 'line')})"]
    return [f"saved about {cost['saved']:,} tokens against a delegation"] if cost["saved"] else []


def why_shape(entry: Mapping[str, Any] | None, rule: str, session: str | None) -> dict[str, Any]:
    """One decision with its rule's words; without an entry the rule alone."""
    words = describe_rule(rule)
    return {
        "schema": "remit.gate-why/1",
        "session": session,
        "decision": {**entry, "cost": log.exception_cost(dict(entry))} if entry is not None else None,
        "rule": {"name": rule, "level": f"L{words[0]}", "asks": words[1], "instead": words[2]} if words else None,
    }


def why_lines(found: Mapping[str, Any], columns: int) -> Iterator[Line]:
    """A why shape for people."""
    entry, rule = found["decision"], found["rule"]
    if entry is not None:
        yield _answer_line(entry, f"  {entry.get('tool')}  {clock(entry.get('at'))}")
        yield from paragraph(str(entry.get("reason") or ""), columns)
        yield from paragraph(f"files: {', '.join(_paths(entry))}" if _paths(entry) else "", columns, style="dim")
        yield from paragraph(" · ".join(_cost_words(entry)), columns, style="dim")
    if rule is not None:
        if entry is not None:
            yield []
        yield [Piece(rule["name"], "bold"), Piece(f"  {rule['level']}", "dim")]
        yield from paragraph(rule["asks"], columns)
        yield from paragraph(f"instead: {rule['instead']}", columns, style="cyan")
    delegate = entry.get("delegate_to") if entry is not None else None
    if delegate:
        yield from paragraph(f"delegate to: {delegate}", columns, style="cyan")


def declared_shape(session: str, kind: str, paths: Sequence[str], why: str, missing: Sequence[str]) -> dict[str, Any]:
    """A declaration that was made; `missing` are files that do not exist."""
    row = {"session": session, "kind": kind, "paths": list(paths), "why": why, "missing": list(missing)}
    return {"schema": "remit.gate-declare/1", **row}


def declared_lines(found: Mapping[str, Any], allows: str, columns: int) -> Iterator[Line]:
    """A declare shape for people."""
    words = f"declared {found['kind']} of {', '.join(found['paths'])} for session {found['session']}: {allows}"
    yield from paragraph(words, columns, 0)
    if found["missing"]:
        yield from paragraph(f"there is no {', '.join(found['missing'])} yet", columns, 0, "yellow")


def _answer(entry: Mapping[str, Any]) -> tuple[str, str]:
    """What was answered, and its style; in `observe` what would have been."""
    decision, would = str(entry.get("decision") or "?"), entry.get("would")
    if would and would != decision:
        return f"{decision} (would {would})", STYLES.get(str(would), "")
    return decision, STYLES.get(decision, "")


def _answer_line(entry: Mapping[str, Any], more: str = "") -> Line:
    answer, style = _answer(entry)
    what = str(entry.get("rule") or entry.get("exception") or "")
    return [
        Piece(escape_control(answer), style),
        Piece(escape_control(f"  {what}" if what else ""), "bold"),
        Piece(escape_control(more), "dim"),
    ]


def _head(state: SessionState, words: str, columns: int) -> Line:
    room = columns - display_width(words) - 11
    return [
        Piece("session ", "bold"),
        Piece(cut_width(escape_control(state.session), room)),
        Piece(f"  {words}", "dim"),
    ]


def paragraph(text: str, columns: int, indent: int = 2, style: str = "") -> Iterator[Line]:
    """Untrusted text in rows."""
    for row in wrap_text(escape_control(text), columns, indent) if text.strip() else ():
        yield [Piece(row, style)]


def _paths(entry: Mapping[str, Any]) -> list[str]:
    return texts(entry.get("paths"))


def texts(value: object) -> list[str]:
    """What a list on disk holds, as text."""
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


def clock(at: object) -> str:
    """The local time of something, as far as it has one."""
    try:
        return time.strftime("%H:%M:%S", time.localtime(float(at)))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, OSError):
        return "--:--:--"


def number_of(value: object, word: str) -> str:
    """A number and its word, in the plural where it has to be."""
    count = value if isinstance(value, int) else 0
    return f"{count:,} {word}{'s' * (count != 1)}"


def status_shape(
    state: SessionState,
    settings: GateSettings,
    results: Sequence[Mapping[str, Any]],
    sessions: Sequence[Mapping[str, Any]],
    *,
    project: str,
    today: str,
) -> dict[str, Any]:
    """A session at a glance: `results` are its reports and verdicts, `sessions` all that are recorded."""
    return {
        "schema": "remit.gate-status/1",
        **log.session_summary(state),
        "project": project,
        "mode": settings.mode,
        "started": state.started,
        "updated": state.updated,
        "results": list(results),
        "project_exceptions": [
            {
                "rule": one.rule,
                "paths": list(one.paths),
                "reason": one.reason,
                "expires": one.expires,
                "expired": one.expires < today,
            }
            for one in settings.exceptions
        ],
        "sessions": list(sessions),
    }


def status_lines(found: Mapping[str, Any], columns: int) -> Iterator[Line]:
    """A status shape for people."""
    yield [
        Piece("session ", "bold"),
        Piece(cut_width(escape_control(str(found["session"])), columns - 36)),
        Piece(f"  mode {found['mode']}", "dim"),
        Piece(f"  {clock(found['updated'])}", "dim"),
    ]
    yield from _facts(found, columns)
    yield from _result_lines(found["results"], str(found["project"]), columns)
    for one in found["declarations"]:
        words = f"declared {one.get('kind')}: {', '.join(texts(one.get('paths')))} ({one.get('why')})"
        yield from paragraph(words, columns)
    for one in found["project_exceptions"]:
        until = f"expired on {one['expires']}" if one["expired"] else f"until {one['expires']}"
        words = f"exception of the project: {one['rule']} in {', '.join(one['paths'])} {until} ({one['reason']})"
        yield from paragraph(words, columns, style="yellow" if one["expired"] else "")
    for words in found["warnings"]:
        yield from paragraph(f"warning: {words}", columns, style="yellow")
    others = [str(one["session"]) for one in found["sessions"] if one["session"] != found["session"]]
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        yield from paragraph(f"other sessions (--session): {', '.join(others[:3])}{more}", columns, style="dim")


def _facts(found: Mapping[str, Any], columns: int) -> Iterator[Line]:
    window, denied, used = found["window"], found["denied"], found["exceptions"]
    # Where only observed, nothing was denied.
    would = "would have been: " if found["mode"] == "observe" else ""
    closed = f"; closed: {window['closed']}" if window["closed"] else ""
    read = f"{number_of(window['files'], 'file')}, {number_of(window['lines'], 'line')}"
    open_ones = [str(one["agent"]) for one in found["delegations"] if one["state"] == "open"]
    states = _counts([str(one["state"]) for one in found["delegations"]])
    facts = {
        "window": f"{read} read directly; opened by: {window['why']}{closed}",
        "decisions": would + _table(found["answers"]) if found["answers"] else "none that needs a word",
        "rules": _table(found["rules"]),
        "denied": f"{would}reads of {number_of(denied['lines'], 'line')}, about {denied['tokens']:,} tokens"
        if denied["lines"]
        else "",
        "exceptions": f"{_table(used['used'])}; saved about {used['tokens_saved']:,} tokens" if used["used"] else "",
        "analysed": f"{number_of(found['analysed'], 'file')} covered by accepted results" if found["analysed"] else "",
        "delegations": _table(states) + (f"; open: {', '.join(open_ones)}" if open_ones else ""),
    }
    for label, words in facts.items():
        for number, row in enumerate(wrap_text(escape_control(words), columns, 14) if words else ()):
            yield [Piece(f"  {label:<12}" if number == 0 else "", "bold"), Piece(row[14:] if number == 0 else row)]


def _result_lines(results: Sequence[Mapping[str, Any]], project: str, columns: int) -> Iterator[Line]:
    if results:
        yield [Piece("  results", "bold")]
    last = {one["agent_id"]: one for one in results}
    for one in results:
        yield _result_line(one, columns)
        # What was sent back and sent again is told by what came of it.
        if one is last[one["agent_id"]] and (broken_ones := _telling(one)):
            for broken in broken_ones[:SHOWN]:
                words = f"{broken.get('level')} {broken.get('rule')} line {broken.get('line')}: {broken.get('message')}"
                yield from paragraph(words, columns, 6, "yellow")
            if len(broken_ones) > SHOWN:
                yield [Piece(f"      and {len(broken_ones) - SHOWN} more", "dim")]
            if one.get("changed"):
                yield from paragraph(f"it has written to {', '.join(one['changed'])}", columns, 6, "yellow")
            # In one piece, however long: people copy it.
            if one["path"]:
                where = escape_control(str(one["path"]).removeprefix(project.rstrip("/") + "/"))
                yield [Piece(f"      {where}", "dim")]


def _telling(one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What is wrong with a report; of an accepted one only what is more than advice."""
    found: list[Mapping[str, Any]] = one["violations"]
    return [each for each in found if each.get("level") != "L3"] if one["verdict"] == "accept" else found


def _result_line(one: Mapping[str, Any], columns: int) -> Line:
    outcome = str(one["outcome"])
    name = cut_width(escape_control(str(one["agent"])), 28)
    attempt = f"attempt {one['attempt']}" if one["attempt"] != 1 else ""
    would = f"would be {one['would']}" if outcome == "observed" and one.get("would") else ""
    words = ", ".join(word for word in (str(one["verdict"] or ""), attempt, would) if word)
    return [
        Piece(f"    {clock(one.get('at'))} ", "dim"),
        Piece(f"{name}{' ' * max(1, 29 - display_width(name))}"),
        Piece(f"{outcome:<10}", OUTCOME_STYLES.get(outcome, "")),
        Piece(cut_width(escape_control(words), columns - 53), "dim"),
    ]


def _counts(words: Sequence[str]) -> dict[str, int]:
    return {word: words.count(word) for word in dict.fromkeys(words)}


def _table(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items())
