"""Direct reads: quick lookups, and what else a read may be (state, verification, presentation, fallback)."""

from __future__ import annotations

import os

from remit.gate.delegations import failed_delegation
from remit.gate.model import LONGEST_NAME
from remit.gate.paths import classify, count_lines, locate
from remit.gate.ruling import Ruling
from remit.gate.settings import READ_CAP
from remit.globs import find_matches, is_glob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.model import ToolUse
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings

#: Lines before this one may be skipped by a read; a file has no more that we would count.
_LAST_LINE = 1_000_000
#: What people look for who look for secrets.
_SECRETS = ("passw", "secret", "api_key", "apikey", "api-key", "api[_", "token", "credential", "private key", "akia")
_SURE = ("akia", "private key", "ghp_", "xox[", "aws_secret", "sk_live")
_LONGEST_PATTERN = 10_000


class ReadRequest:
    """A file that a call reads: from line `first`, `lines` of it or, if None, to its end."""

    __slots__ = ("first", "lines", "path")

    def __init__(self, path: str, lines: int | None = None, first: int = 1) -> None:
        self.path = path
        self.lines = lines
        self.first = first


def from_read_tool(call: ToolUse) -> list[ReadRequest]:
    """What the client's own tool reads."""
    path = call.text("file_path") or call.text("notebook_path") or call.text("path")
    limit, offset = call.number("limit"), call.number("offset")
    return [ReadRequest(path, limit if limit is not None and limit > 0 else None, max(1, offset or 1))] if path else []


class _Trial:
    """The budget as it would be after the reads judged so far."""

    def __init__(self, call: ToolUse, state: SessionState, settings: GateSettings) -> None:
        self.call = call
        self.state = state
        self.settings = settings
        self.window = state.window.copy()
        self.failed, self.waiting = failed_delegation(state)
        self.fallback: dict[str, int] = dict(self.failed.fallback or {}) if self.failed else {}
        self.granted: dict[str, int] = {}
        self.used: list[tuple[str, str]] = []

    def apply(self, state: SessionState) -> None:
        """Count all of it."""
        state.window = self.window
        if self.failed is not None:
            self.failed.fallback = self.fallback
        for kind, name in self.used:
            state.record_exception(kind, (name,), state.updated)
        if self.granted and self.call.tool_use_id:
            grant: dict[str, Any] = {"kind": "read", "paths": self.granted, "at": state.updated}
            state.pending[self.call.tool_use_id] = grant


def judge_reads(
    reads: list[ReadRequest], call: ToolUse, state: SessionState, settings: GateSettings, project: str
) -> Ruling:
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
        ruling = _judge(trial, name, count_read_lines(read, place.real), read.first)
        if ruling is not None and ruling.level == 1:
            return ruling
        note = note or ruling
    exception = trial.used[-1][0] if trial.used else None
    names = tuple(dict.fromkeys(name for _, name in trial.used))
    if note is not None:
        note.apply, note.paths = trial.apply, names
        return note
    return Ruling(exception=exception, paths=names, lines=sum(trial.granted.values()), apply=trial.apply)


def count_read_lines(read: ReadRequest, real: str) -> int:
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


class SearchRequest:
    """Files under a root that a glob matches (an empty one: all), looked into for a pattern or, without one, listed."""

    __slots__ = ("glob", "lines", "pattern", "root")

    def __init__(self, root: str, glob: str = "", pattern: str | None = None, lines: int | None = None) -> None:
        self.root = root
        self.glob = glob
        self.pattern = pattern
        self.lines = lines


def from_grep_tool(call: ToolUse) -> SearchRequest:
    """What the client's Grep looks through."""
    glob = call.text("glob")
    if glob and "/" not in glob:
        glob = "**/" + glob  # as ripgrep takes it
    shown = call.text("output_mode") == "content"
    lines = call.number("head_limit") or None
    return SearchRequest(call.text("path") or ".", glob, call.text("pattern"), lines if shown else 1)


def from_glob_tool(call: ToolUse) -> SearchRequest:
    """What the client's Glob lists: the fixed beginning of its pattern is a folder."""
    parts = call.text("pattern").split("/")
    fixed = 0
    while fixed < len(parts) - 1 and not is_glob(parts[fixed]):
        fixed += 1
    folder = "/".join(parts[:fixed]) or ("/" if fixed else "")
    return SearchRequest(
        os.path.join(call.text("path") or ".", folder) if folder else call.text("path") or ".", "/".join(parts[fixed:])
    )


def judge_search(
    search: SearchRequest, call: ToolUse, settings: GateSettings, project: str
) -> tuple[list[Ruling], list[ReadRequest]]:
    """What rules say of a search, and, if it may be, the files that it reads."""
    place = locate(search.root, call.cwd, project)
    single = os.path.isfile(place.real)
    rulings = [ruling for ruling in [judge_pattern(search.pattern, settings, single=single)] if ruling]
    if any(ruling.level == 1 for ruling in rulings):
        return rulings, []
    if single:
        return rulings, [ReadRequest(place.real, search.lines)] if search.pattern is not None else []
    place.name += "/_"  # something in the folder
    if classify(place, settings) == "state":
        return [Ruling(exception="state", paths=(search.root[:200],))], []
    most = settings.limits["search_files"]
    found = find_matches(place.real, search.glob, most + 1) if place.real else []
    if found is None or len(found) > most:
        explorer = settings.agent("explore")
        many = "more files than can be looked through" if found is None else f"more than {most} files"
        reason = f"this search can touch {many}. Delegate it to {explorer}, or name a file"
        return [Ruling(1, "bulk-search", reason, delegate_to=explorer, paths=(place.name[:-2],))], []
    if search.pattern is None:
        return rulings, []
    return rulings, [ReadRequest(path, search.lines) for path in found]


def judge_pattern(pattern: str | None, settings: GateSettings, *, single: bool) -> Ruling | None:
    """A search for secrets is the auditor's; one such word in one file may be a lookup and is noted."""
    text = (pattern or "")[:_LONGEST_PATTERN].lower()
    hits = sum(word in text for word in _SECRETS)
    if not hits and not any(word in text for word in _SURE):
        return None
    auditor = settings.agent("security")
    if hits > 1 or not single or any(word in text for word in _SURE):
        reason = f"this is a search for secrets: security analysis is the work of {auditor}"
        return Ruling(1, "security-alone", reason, delegate_to=auditor)
    return Ruling(
        3, "security-alone", f"if this is security analysis, it is the work of {auditor}", delegate_to=auditor
    )
