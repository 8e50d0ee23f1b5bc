"""A session under the gate at a glance: for people, and in a fixed JSON shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from remit.gate import log
from remit.gate.memory import State
from remit.gate.settings import GateSettings
from remit.reports.gate import clock, number_of, paragraph, texts
from remit.reports.layout import Line, Piece
from remit.reports.visible import cut, visible, width, wrapped

OUTCOME_STYLES = {"accepted": "green", "returned": "yellow", "rejected": "bold red", "failed": "bold red"}
#: How many violations of a result are shown.
SHOWN = 3


def status_shape(
    state: State,
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
        **log.status(state),
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
        Piece(cut(visible(str(found["session"])), columns - 36)),
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
        for number, row in enumerate(wrapped(visible(words), columns, 14) if words else ()):
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
                where = visible(str(one["path"]).removeprefix(project.rstrip("/") + "/"))
                yield [Piece(f"      {where}", "dim")]


def _telling(one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What is wrong with a report; of an accepted one only what is more than advice."""
    found: list[Mapping[str, Any]] = one["violations"]
    return [each for each in found if each.get("level") != "L3"] if one["verdict"] == "accept" else found


def _result_line(one: Mapping[str, Any], columns: int) -> Line:
    outcome = str(one["outcome"])
    name = cut(visible(str(one["agent"])), 28)
    attempt = f"attempt {one['attempt']}" if one["attempt"] != 1 else ""
    would = f"would be {one['would']}" if outcome == "observed" and one.get("would") else ""
    words = ", ".join(word for word in (str(one["verdict"] or ""), attempt, would) if word)
    return [
        Piece(f"    {clock(one.get('at'))} ", "dim"),
        Piece(f"{name}{' ' * max(1, 29 - width(name))}"),
        Piece(f"{outcome:<10}", OUTCOME_STYLES.get(outcome, "")),
        Piece(cut(visible(words), columns - 53), "dim"),
    ]


def _counts(words: Sequence[str]) -> dict[str, int]:
    return {word: words.count(word) for word in dict.fromkeys(words)}


def _table(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items())
