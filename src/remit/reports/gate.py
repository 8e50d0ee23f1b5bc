"""Decisions of the gate for people, and in fixed JSON shapes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from remit.gate import log
from remit.gate.memory import State
from remit.gate.rules import words_of
from remit.reports.layout import Line, Piece
from remit.reports.visible import cut, visible, width, wrapped

STYLES = {"allow": "green", "warn": "yellow", "ask": "yellow", "deny": "bold red"}


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


def log_shape(state: State, *, denied: bool) -> dict[str, Any]:
    """The decisions of a session, oldest first."""
    rows = [{**entry, "cost": log.cost(entry)} for entry in log.entries(state, denied=denied)]
    return {"schema": "remit.gate-log/1", "session": state.session, "denied": log.spared(state), "decisions": rows}


def log_lines(state: State, columns: int, *, denied: bool) -> Iterator[Line]:
    """What was decided, why, and what it would have cost."""
    shown = log.entries(state, denied=denied)
    refused, spared = log.entries(state, denied=True), log.spared(state)
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
    words = visible("  ".join(str(word) for word in told if word))
    room = columns - 9 - width(answer) - 2
    yield [
        Piece(f"{clock(entry.get('at'))} ", "dim"),
        Piece(f"{answer}  ", style),
        Piece(words if width(words) <= room else cut(words, room - 2) + " …", "bold"),
    ]
    yield from paragraph(str(entry.get("reason") or ""), columns, 9)
    more = _cost_words(entry)
    if log.is_denied(dict(entry)) or entry.get("rule"):
        more = [*more, f"remit gate why {entry['id']}"] if entry.get("id") else more
    yield from paragraph(" · ".join(more), columns, 9, "dim")


def _cost_words(entry: Mapping[str, Any]) -> list[str]:
    cost = log.cost(dict(entry))
    if log.is_denied(dict(entry)):
        if cost["tokens"] is None:
            return []
        return [f"would have cost about {cost['tokens']:,} tokens ({number_of(cost['lines'], 'line')})"]
    return [f"saved about {cost['saved']:,} tokens against a delegation"] if cost["saved"] else []


def why_shape(entry: Mapping[str, Any] | None, rule: str, session: str | None) -> dict[str, Any]:
    """One decision with its rule's words; without an entry the rule alone."""
    words = words_of(rule)
    return {
        "schema": "remit.gate-why/1",
        "session": session,
        "decision": {**entry, "cost": log.cost(dict(entry))} if entry is not None else None,
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
        Piece(visible(answer), style),
        Piece(visible(f"  {what}" if what else ""), "bold"),
        Piece(visible(more), "dim"),
    ]


def _head(state: State, words: str, columns: int) -> Line:
    room = columns - width(words) - 11
    return [Piece("session ", "bold"), Piece(cut(visible(state.session), room)), Piece(f"  {words}", "dim")]


def paragraph(text: str, columns: int, indent: int = 2, style: str = "") -> Iterator[Line]:
    """Untrusted text in rows."""
    for row in wrapped(visible(text), columns, indent) if text.strip() else ():
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
