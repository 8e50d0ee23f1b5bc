"""Direct reads: quick lookups, and what else a read may be (state, verification, presentation, fallback)."""

from __future__ import annotations

from remit.gate.delegations import to_fall_back_from
from remit.gate.model import LONGEST_NAME, Ruling
from remit.gate.paths import classify, count_lines, locate
from remit.gate.settings import READ_CAP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.memory import State
    from remit.gate.model import Call
    from remit.gate.settings import GateSettings

#: Lines before this one may be skipped by a read; a file has no more that we would count.
_LAST_LINE = 1_000_000


class Read:
    """A file that a call reads: from line `first`, `lines` of it or, if None, to its end."""

    __slots__ = ("first", "lines", "path")

    def __init__(self, path: str, lines: int | None = None, first: int = 1) -> None:
        self.path = path
        self.lines = lines
        self.first = first


def of_read_tool(call: Call) -> list[Read]:
    """What the client's own tool reads."""
    path = call.text("file_path") or call.text("notebook_path") or call.text("path")
    limit, offset = call.number("limit"), call.number("offset")
    return [Read(path, limit if limit is not None and limit > 0 else None, max(1, offset or 1))] if path else []


class _Trial:
    """The budget as it would be after the reads judged so far."""

    def __init__(self, call: Call, state: State, settings: GateSettings) -> None:
        self.call = call
        self.state = state
        self.settings = settings
        self.window = state.window.copy()
        self.failed, self.waiting = to_fall_back_from(state)
        self.fallback: dict[str, int] = dict(self.failed["fallback"]) if self.failed else {}
        self.granted: dict[str, int] = {}
        self.used: list[tuple[str, str]] = []

    def apply(self, state: State) -> None:
        """Count all of it."""
        state.window = self.window
        if self.failed is not None:
            self.failed["fallback"] = self.fallback
        for kind, name in self.used:
            state.record_exception(kind, (name,), state.updated)
        if self.granted and self.call.tool_use_id:
            grant: dict[str, Any] = {"kind": "read", "paths": self.granted, "at": state.updated}
            state.pending[self.call.tool_use_id] = grant


def judge_reads(reads: list[Read], call: Call, state: State, settings: GateSettings, project: str) -> Ruling:
    """All reads of a call, one after the other; they are counted together or not at all."""
    trial = _Trial(call, state, settings)
    note: Ruling | None = None
    for read in reads:
        place = locate(read.path, call.cwd, project)
        name = place.name[:LONGEST_NAME]
        kind = classify(place, settings)
        if kind == "state":
            trial.used.append(("state", name))
            continue
        if kind == "scratch" and place.real.startswith(("/dev/", "/proc/")):
            continue
        ruling = _judge(trial, name, lines_of(read, place.real), read.first)
        if ruling is not None and ruling.level == 1:
            return ruling
        note = note or ruling
    exception = trial.used[-1][0] if trial.used else None
    names = tuple(dict.fromkeys(name for _, name in trial.used))
    if note is not None:
        note.apply, note.paths = trial.apply, names
        return note
    return Ruling(exception=exception, paths=names, lines=sum(trial.granted.values()), apply=trial.apply)


def lines_of(read: Read, real: str) -> int:
    """How many lines a read takes: those asked for, as far as the file has them."""
    first = min(read.first, _LAST_LINE)
    most = READ_CAP if read.lines is None else min(read.lines, _LAST_LINE)
    return max(0, count_lines(real, first - 1 + most) - (first - 1))


def _judge(trial: _Trial, name: str, lines: int, first: int) -> Ruling | None:
    """One read of project content: a ruling if something is to be said, else it is counted on trial."""
    state, settings = trial.state, trial.settings
    kind = "lookup"
    if name in state.analysed:
        if not state.declared("verify", name):
            return _deny(
                trial,
                "reread-analysed",
                f"{name} is covered by the accepted result of {state.analysed[name]}: use that result. To look "
                f"once more, a person declares it: remit gate declare verify {name} --why ...",
                name,
                lines,
            )
        most = settings.limits["verify_files"]
        if name not in trial.window.verified:
            if len(trial.window.verified) >= most:
                return _deny(trial, "reread-analysed", f"{most} files were verified, which is the most", name, lines)
            trial.window.verified.append(name)
        kind = "verify"
    elif state.declared("presentation", name):
        return _present(trial, name, lines)
    elif _falls_back(trial, name, lines, first):
        trial.fallback[name] = trial.fallback.get(name, 0) + lines
        _count(trial, "fallback", name, lines)
        return None
    broken = trial.window.exceeded(name, lines, settings)
    if broken is not None:
        return _over(trial, broken, name, lines)
    _count(trial, kind, name, lines)
    return None


def _count(trial: _Trial, kind: str, name: str, lines: int) -> None:
    trial.window.add(name, lines)
    trial.granted[name] = trial.granted.get(name, 0) + lines
    trial.used.append((kind, name))


def _present(trial: _Trial, name: str, lines: int) -> Ruling | None:
    trial.window.presented += lines
    trial.used.append(("presentation", name))
    most = trial.settings.limits["presentation_lines"]
    if trial.window.presented <= most:
        return None
    reason = f"{trial.window.presented} lines would be read for presentation, and {most} are the most to show a user"
    return Ruling(2, "presentation-size", reason, exception="presentation", paths=(name,), lines=lines)


def _falls_back(trial: _Trial, name: str, lines: int, first: int) -> bool:
    if trial.failed is None:
        return False
    limits = trial.settings.limits
    fresh = name in trial.fallback or len(trial.fallback) < limits["fallback_files"]
    of_file = trial.fallback.get(name, 0) + lines
    return fresh and of_file <= limits["fallback_lines"] and first - 1 + lines <= limits["fallback_lines"]


def _over(trial: _Trial, broken: tuple[str, str], name: str, lines: int) -> Ruling:
    """A read beyond the budget; a failed delegation makes it a matter of falling back."""
    rule, why = broken
    limits = trial.settings.limits
    if trial.failed is not None:
        rule = "delegation-first"
        why = (
            f"after the failed delegation at most {limits['fallback_files']} files may be read, the first "
            f"{limits['fallback_lines']} lines of each ({len(trial.fallback)} were); and as a quick lookup: {why}"
        )
    elif trial.waiting:
        rule = "delegation-first"
        why = f"the delegation to {trial.waiting} failed once: retry it with a reduced scope before reading ({why})"
    return _deny(trial, rule, f"{name}: {why}", name, lines)


def _deny(trial: _Trial, rule: str, reason: str, name: str, lines: int) -> Ruling:
    explorer = trial.settings.agent("explore")
    if rule not in ("reread-analysed", "delegation-first"):
        reason += f". Delegate the reading to {explorer}"
    if rule in ("lookup-lines", "lookup-total"):
        reason += ", or read one section with offset and limit"
    return Ruling(1, rule, reason, delegate_to=explorer, paths=(name,), lines=lines)
