"""Judge direct reads: quick lookups, state, verification, presentation and fallback reads, and searches."""

from __future__ import annotations

import os

from remit.gate.delegations import failed_delegation
from remit.gate.project_paths import classify, count_lines, locate
from remit.gate.ruling import Ruling
from remit.gate.session_entries import Grant
from remit.gate.settings import READ_CAP
from remit.gate.tool_use import MAX_NAME_LENGTH
from remit.globs import find_matches, is_glob
from remit.secrets.environment import CERTAIN_WORDS, SEARCH_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.session import SessionState
    from remit.gate.settings import GateSettings
    from remit.gate.tool_use import ToolUse

#: The last line of a file that is counted.
_LAST_LINE = 1_000_000
_MAX_PATTERN = 10_000


class ReadRequest:
    """A file that a call reads: `lines` lines from `first` on, or all if None."""

    def __init__(self, path: str, lines: int | None = None, first: int = 1) -> None:
        self.path = path
        self.lines = lines
        self.first = first


def from_read_tool(call: ToolUse) -> list[ReadRequest]:
    """Return what the client's Read tool reads."""
    path = call.text("file_path") or call.text("notebook_path") or call.text("path")
    limit, offset = call.number("limit"), call.number("offset")
    return [ReadRequest(path, limit if limit is not None and limit > 0 else None, max(1, offset or 1))] if path else []


class _Trial:
    """The budget after the reads that were judged so far."""

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
        """Count all reads in the state."""
        state.window = self.window
        if self.failed is not None:
            self.failed.fallback = self.fallback
        for kind, name in self.used:
            state.record_exception(kind, (name,), state.updated)
        if self.granted and self.call.tool_use_id:
            state.pending[self.call.tool_use_id] = Grant(kind="read", paths=self.granted, at=state.updated)


def judge_reads(
    reads: list[ReadRequest], call: ToolUse, state: SessionState, settings: GateSettings, project: str
) -> Ruling:
    """Judge all reads of a call. They are counted together or not at all."""
    trial = _Trial(call, state, settings)
    note: Ruling | None = None
    for read in reads:
        target = locate(read.path, call.cwd, project)
        name = target.name[:MAX_NAME_LENGTH]
        kind = classify(target, settings)
        if kind == "state":
            trial.used.append(("state", name))
            continue
        if kind == "scratch" and target.real.startswith(("/dev/", "/proc/")):
            continue
        ruling = _judge_read(trial, name, count_read_lines(read, target.real), read.first)
        if ruling is not None and ruling.level == 1:
            return ruling
        note = note or ruling
    exception = trial.used[-1][0] if trial.used else None
    names = tuple(dict.fromkeys(name for _, name in trial.used))
    if note is not None:
        note.apply, note.paths = trial.apply, names
        return note
    ruling = Ruling(exception=exception, paths=names, lines=sum(trial.granted.values()), apply=trial.apply)
    instead = ", ".join(dict.fromkeys(name for kind, name in trial.used if kind == "fallback"))
    if instead and trial.failed is not None:
        ruling.exception = "fallback"
        ruling.reason = f"{trial.failed.agent} failed, so the orchestrator reads {instead} in its place"
        ruling.tells_person = True
    return ruling


def count_read_lines(read: ReadRequest, real: str) -> int:
    """Return how many of the requested lines the file has."""
    first = min(read.first, _LAST_LINE)
    limit = READ_CAP if read.lines is None else min(read.lines, _LAST_LINE)
    return max(0, count_lines(real, first - 1 + limit) - (first - 1))


def _judge_read(trial: _Trial, name: str, lines: int, first: int) -> Ruling | None:
    """Judge one read of project content, or count it in the trial and return None."""
    state, settings = trial.state, trial.settings
    kind = "lookup"
    if name in state.analysed:
        section = settings.limits["verify_lines"]
        is_check = lines <= section and state.is_cited(name, first, first + max(lines, 1) - 1)
        if not is_check and not state.is_declared("verify", name):
            return _deny(
                trial,
                "reread-analysed",
                f"{name} is covered by the accepted result of {state.analysed[name]}; use that result. To verify it, "
                f"read at most {section} lines around a location that the result cites. A person can allow another "
                f"read: remit gate declare verify {name} --why ...",
                name,
                lines,
            )
        limit = settings.limits["verify_files"]
        if name not in trial.window.verified:
            if len(trial.window.verified) >= limit:
                reason = f"{limit} files were already verified, which is the limit"
                return _deny(trial, "reread-analysed", reason, name, lines)
            trial.window.verified.append(name)
        kind = "verify"
    elif state.is_declared("presentation", name):
        return _present(trial, name, lines)
    elif _is_fallback(trial, name, lines, first):
        trial.fallback[name] = trial.fallback.get(name, 0) + lines
        _count(trial, "fallback", name, lines)
        return None
    exceeded = trial.window.exceeded_limit(name, lines, settings.limits)
    if exceeded is not None:
        return _judge_excess(trial, exceeded, name, lines)
    _count(trial, kind, name, lines)
    return None


def _count(trial: _Trial, kind: str, name: str, lines: int) -> None:
    trial.window.add(name, lines)
    trial.granted[name] = trial.granted.get(name, 0) + lines
    trial.used.append((kind, name))


def _present(trial: _Trial, name: str, lines: int) -> Ruling | None:
    trial.window.presented += lines
    trial.used.append(("presentation", name))
    limit = trial.settings.limits["presentation_lines"]
    if trial.window.presented <= limit:
        return None
    reason = f"{trial.window.presented} lines would be read to show them to the user (limit: {limit})"
    return Ruling(1, "presentation-size", reason, paths=(name,), lines=lines)


def _is_fallback(trial: _Trial, name: str, lines: int, first: int) -> bool:
    if trial.failed is None:
        return False
    limits = trial.settings.limits
    has_room = name in trial.fallback or len(trial.fallback) < limits["fallback_files"]
    of_file = trial.fallback.get(name, 0) + lines
    return has_room and of_file <= limits["fallback_lines"] and first - 1 + lines <= limits["fallback_lines"]


def _judge_excess(trial: _Trial, exceeded: tuple[str, str], name: str, lines: int) -> Ruling:
    """Deny a read beyond the budget. After a failed delegation, state the limits of a fallback."""
    rule, why = exceeded
    limits = trial.settings.limits
    if trial.failed is not None:
        rule = "delegation-first"
        why = (
            f"after the failed delegation you may read at most {limits['fallback_files']} files, the first "
            f"{limits['fallback_lines']} lines of each ({len(trial.fallback)} files so far). As a quick lookup: {why}"
        )
    elif trial.waiting:
        rule = "delegation-first"
        why = f"the delegation to {trial.waiting} failed. Retry it with a reduced scope before you read files; {why}"
    return _deny(trial, rule, f"{name}: {why}", name, lines)


def _deny(trial: _Trial, rule: str, reason: str, name: str, lines: int) -> Ruling:
    explorer = trial.settings.agent("explore")
    if rule not in ("reread-analysed", "delegation-first"):
        reason += f". Delegate the reading to {explorer}"
    if rule in ("lookup-lines", "lookup-total"):
        reason += ", or read one section with offset and limit"
    return Ruling(1, rule, reason, delegate_to=explorer, paths=(name,), lines=lines)


class SearchRequest:
    """A search of the files under a root that a glob matches (empty: all). With the pattern None, they are listed."""

    def __init__(self, root: str, glob: str = "", pattern: str | None = None, lines: int | None = None) -> None:
        self.root = root
        self.glob = glob
        self.pattern = pattern
        self.lines = lines


def from_grep_tool(call: ToolUse) -> SearchRequest:
    """Return what the client's Grep tool searches."""
    glob = call.text("glob")
    if glob and "/" not in glob:
        glob = "**/" + glob  # as in ripgrep
    shows_content = call.text("output_mode") == "content"
    lines = call.number("head_limit") or None
    return SearchRequest(call.text("path") or ".", glob, call.text("pattern"), lines if shows_content else 1)


def from_glob_tool(call: ToolUse) -> SearchRequest:
    """Return what the client's Glob tool lists. The start of its pattern without wildcards is a folder."""
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
    """Judge a search. Return the rulings and, if it is allowed, the files that it reads."""
    target = locate(search.root, call.cwd, project)
    single = os.path.isfile(target.real)
    rulings = [ruling for ruling in [judge_pattern(search.pattern, settings, single=single)] if ruling]
    if any(ruling.level == 1 for ruling in rulings):
        return rulings, []
    if single:
        return rulings, [ReadRequest(target.real, search.lines)] if search.pattern is not None else []
    target.name += "/_"  # any file in the folder
    if classify(target, settings) == "state":
        return [Ruling(exception="state", paths=(search.root[:200],))], []
    limit = settings.limits["search_files"]
    matches = find_matches(target.real, search.glob, limit + 1) if target.real else []
    if matches is None or len(matches) > limit:
        explorer = settings.agent("explore")
        count = "too many files to list" if matches is None else f"more than {limit} files"
        reason = f"this search can read {count}. Delegate it to {explorer}, or name one file"
        return [Ruling(1, "bulk-search", reason, delegate_to=explorer, paths=(target.name[:-2],))], []
    if search.pattern is None:
        return rulings, []
    return rulings, [ReadRequest(path, search.lines) for path in matches]


def judge_pattern(pattern: str | None, settings: GateSettings, *, single: bool) -> Ruling | None:
    """Return a ruling for a search for secrets. One such word in a single file may be a lookup and is only noted."""
    text = (pattern or "")[:_MAX_PATTERN].lower()
    hits = sum(word in text for word in SEARCH_WORDS)
    if not hits and not any(word in text for word in CERTAIN_WORDS):
        return None
    auditor = settings.agent("security")
    if hits > 1 or not single or any(word in text for word in CERTAIN_WORDS):
        reason = f"this is a search for secrets. Delegate security analysis to {auditor}"
        return Ruling(1, "security-alone", reason, delegate_to=auditor)
    return Ruling(3, "security-alone", f"if this is security analysis, delegate it to {auditor}", delegate_to=auditor)
