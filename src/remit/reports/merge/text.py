"""Print a merge for a terminal: the decision, the conflicts, what did not hold, then the findings, worst first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from remit.merging.findings import titles_beside
from remit.merging.merge_data import DISMISSED, Merge, MergedFinding, Opinion
from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control, format_count, wrap_text
from remit.reports.merge.decision import contract_status, decision_text, headline
from remit.reports.merge.groups import SectionEntry, no_findings_text, section_groups
from remit.reports.merge.parts import (
    MAX_TITLE,
    FoldedFinding,
    agreement,
    answered_agents,
    counts_of,
    evidence_state,
    excerpt,
    fold_findings,
    location_of,
    notes_of,
    opinion_details,
    opinions_by_score,
    score,
    severity_of,
    shown_flags,
    truncate_text,
)
from remit.workspace.files import Workspace

SEVERITY_STYLES = {"critical": "bold red", "important": "bold yellow", "minor": "cyan", "unrated": "dim"}
STATUS_STYLES = {"SUCCESS": "green", "PARTIAL": "yellow", "FAILED": "bold red"}
VERDICT_STYLES = {"accept": "green", "revise": "yellow", "reject": "bold red"}
DECISION_STYLES = {"continue": "bold green", "review": "bold yellow", "retry": "bold red"}
_EVIDENCE_STYLES = {True: "green", None: "dim"}
#: The most dropped findings that are shown; the JSON form has all of them.
_MAX_DROPPED = 20
#: More agents are listed after the findings.
_MAX_AGENTS = 12
#: The most entries of a section, and the most lines of an entry.
_MAX_ENTRIES = 20
_MAX_LINES = 25
#: Agents whose details are searched for the risk and the fix of a finding.
_MAX_SEARCHED = 5
#: The most cited lines that are shown per finding.
_MAX_SOURCE = 3
#: The most places of further findings of one kind that are shown.
_MAX_PLACES = 10
#: A title has its own lines if less than this many columns are left next to the id.
_MIN_TITLE = 24
#: A longer id has its own line.
_MAX_ID_WIDTH = 24
_MARGIN = " " * 6
#: The columns that one of several statements needs to be next to the others.
_MIN_SIDE = 30
_BULLET = re.compile(r"(?:-|\d{1,3}\.) ")


def merge_text_lines(merge: Merge, columns: int = 80, workspace: Workspace | None = None) -> Iterator[Line]:
    """Yield the lines of the report."""
    columns = max(columns, 40)
    for row in _wrapped(headline(merge), columns, ""):
        yield [Piece(row, DECISION_STYLES[merge.decision])]
    yield from ([Piece(row)] for row in _wrapped(escape_control(decision_text(merge)), columns, ""))
    yield []
    yield from _conflicts(merge, columns)
    yield from _failed(merge, columns)
    yield from _findings(merge, columns, workspace)
    many = len(merge.agents) > _MAX_AGENTS
    if not many:
        yield from _agents(merge, columns)
    yield from _sections(merge, columns)
    yield from _dropped(merge, columns)
    if many:
        yield from _agents(merge, columns)
    yield from _totals(merge)


def _fit(text: str, room: int) -> str:
    """Cut a line to the columns of a terminal; wide characters take two."""
    if display_width(text) <= room:
        return text
    while display_width(text) > room - 1:
        text = text[: max(1, len(text) - max(1, (display_width(text) - room) // 2))] if len(text) > 1 else ""
    return text.rstrip() + "…"


def _wrapped(text: str, columns: int, margin: str) -> list[str]:
    """Wrap text with a margin of spaces. No path is split, so that it can be copied."""
    if display_width(margin + text) <= columns:
        return [margin + text]
    return wrap_text(text, columns, len(margin), keeps_paths=True)


def _heading(words: str, note: str = "") -> Line:
    return [Piece(words, "bold"), Piece(f"  {note}" if note else "", "dim")]


def _agents(merge: Merge, columns: int) -> Iterator[Line]:
    yield _heading("Agents")
    names = [_fit(escape_control(report.agent), columns - 24) for report in merge.agents]
    longest = max(map(display_width, names), default=0)
    for name, report in zip(names, merge.agents, strict=True):
        yield [
            Piece(f"  {name}{' ' * (longest - display_width(name))}  "),
            Piece(f"{escape_control(report.status):<9}", STATUS_STYLES.get(report.status, "")),
            Piece(contract_status(report), VERDICT_STYLES.get(report.verdict or "", "dim")),
        ]
    if not names:
        yield [Piece("  none: there is nothing to merge", "dim")]
    yield []


def _conflicts(merge: Merge, columns: int) -> Iterator[Line]:
    if not merge.conflicts:
        return
    yield _heading("Conflicts", f"{len(merge.conflicts):,} for a person to decide")
    titles = {finding.id: finding.title for finding in (*merge.findings, *merge.dropped)}
    for conflict in merge.conflicts:
        named = (truncate_text(text, MAX_TITLE) for text in (conflict.finding, titles.get(conflict.finding, "")))
        first, *rest = _wrapped(escape_control("  ".join(filter(None, named))), columns, " " * 13)
        yield [Piece(f"  {conflict.kind:<11}", "bold yellow"), Piece(first[13:], "bold")]
        yield from ([Piece(row, "bold")] for row in rest)
        yield from ([Piece(row)] for row in _wrapped(escape_control(conflict.why), columns, " " * 13))
    yield []


def _failed(merge: Merge, columns: int) -> Iterator[Line]:
    if not merge.failed:
        return
    yield _heading("Claims that did not hold", f"{len(merge.failed):,}; these are no findings and count for nothing")
    for row in merge.failed:
        severity = row.severity or "unrated"
        words = "  ".join(filter(None, [row.id, truncate_text(row.title, MAX_TITLE)]))
        first, *rest = _wrapped(escape_control(words), columns, " " * 12)
        yield [Piece(f"  {severity:<10}", "dim"), Piece(first[12:])]
        yield from ([Piece(line)] for line in rest)
        why = f"{row.agent}: {truncate_text(row.why, 2 * MAX_TITLE)}{f' ({row.location})' if row.location else ''}"
        yield from ([Piece(line, "red")] for line in _wrapped(escape_control(why), columns, " " * 12))
    yield []


def _findings(merge: Merge, columns: int, workspace: Workspace | None) -> Iterator[Line]:
    if not merge.findings:
        yield _heading("Findings", no_findings_text(merge)[:-1].lower())
        yield []
        return
    entries = fold_findings(merge.findings)
    number = len(merge.findings)
    rules = f" of {format_count(len(entries), 'kind')}" if len(entries) != number else ""
    yield _heading("Findings", f"{number:,}{rules}, worst first")
    agents = answered_agents(merge)
    for entry in entries:
        yield from _finding(entry.finding, agents, columns, workspace)
        yield from _other_places(entry, columns)
        yield []


def _sections(merge: Merge, columns: int) -> Iterator[Line]:
    for group in section_groups(merge):
        yield _heading(group.heading, group.note)
        before = ""
        for entry in group.entries[:_MAX_ENTRIES]:
            yield from _entry(entry, columns, is_same=entry.who == before)
            before = entry.who
        if len(group.entries) > _MAX_ENTRIES:
            yield [Piece(f"  and {len(group.entries) - _MAX_ENTRIES:,} more; the JSON form has all of them", "dim")]
        yield []


def _entry(entry: SectionEntry, columns: int, *, is_same: bool) -> Iterator[Line]:
    if not is_same:
        yield [Piece(f"  {_fit(escape_control(entry.who), columns - 2)}", "cyan")]
    if entry.head:
        head = truncate_text(escape_control(" ".join(entry.head.split())), 2 * MAX_TITLE)
        yield from ([Piece(row)] for row in _wrapped(head, columns, " " * 4))
    for line in entry.lines[:_MAX_LINES]:
        words = truncate_text(escape_control(line), 2 * MAX_TITLE)
        hanging = " " * (words.index(" ") + 1) if _BULLET.match(words) else ""
        first, *rest = _wrapped(words, columns - len(hanging), _MARGIN)
        style = "dim" if entry.head else ""
        yield [Piece(first, style)]
        yield from ([Piece(f"{hanging}{row}", style)] for row in rest)
    yield from _sides(entry.sides[:_MAX_LINES], columns)
    code = entry.code.split("\n") if entry.code else []
    for line in code[:_MAX_LINES]:
        yield [Piece(_fit(_MARGIN + escape_control(line), columns), "dim")]
    hidden = max(0, len(entry.lines) - _MAX_LINES) + max(0, len(code) - _MAX_LINES)
    if hidden:
        yield [Piece(f"{_MARGIN}and {format_count(hidden, 'more line')}", "dim")]


def _sides(sides: Sequence[tuple[str, str]], columns: int) -> Iterator[Line]:
    """Yield the statements of agents: next to each other if there is room, else below each other."""
    texts = [
        (escape_control(agent), truncate_text(escape_control(" ".join(text.split())), 2 * MAX_TITLE))
        for agent, text in sides
    ]
    room = (columns - len(_MARGIN)) // max(1, len(texts)) - 2
    if room < _MIN_SIDE:
        for agent, text in texts:
            yield from ([Piece(row)] for row in _wrapped(f"{agent}: {text}", columns, _MARGIN))
        return
    blocks = [[cut_width(agent, room), *_wrapped(text, room, "")] for agent, text in texts]
    for number, row in enumerate(zip_longest(*blocks, fillvalue="")):
        cells = [cell + " " * (room - display_width(cell) + 2) for cell in row]
        yield [Piece((_MARGIN + "".join(cells)).rstrip(), "" if number else "bold")]


def _finding(finding: MergedFinding, agents: int, columns: int, workspace: Workspace | None) -> Iterator[Line]:
    severity, name = severity_of(finding), escape_control(finding.id)
    head = f"  {severity:<10}{score(finding.confidence):>5}  "
    # Then the title has its own lines: an id must not be cut, and a title needs some columns.
    is_long = display_width(name) > _MAX_ID_WIDTH or columns - len(head) - display_width(name) - 2 < _MIN_TITLE
    head += f"{name}  " if name and not is_long else ""
    rows = _wrapped(truncate_text(escape_control(finding.title), MAX_TITLE), columns, " " * display_width(head))
    first, *rest = ["", *rows] if is_long else rows
    yield [
        Piece(f"  {severity:<10}", SEVERITY_STYLES[severity]),
        Piece(f"{score(finding.confidence):>5}  ", "bold"),
        Piece(name, "bold cyan"),
        Piece(f"  {first.strip()}" if name and first else first.strip(), "bold"),
    ]
    for row in rest:
        yield [Piece(row, "bold")]
    for title in titles_beside(finding):
        also = escape_control(f"also stated there: {truncate_text(title, MAX_TITLE)}")
        yield from ([Piece(row, "bold")] for row in _wrapped(also, columns, _MARGIN))
    yield from _about(finding, agents, columns)
    for line in list(excerpt(finding, workspace, around=0))[:_MAX_SOURCE]:
        yield [Piece(f"{line.number:>12} │ ", "dim"), Piece(_fit(escape_control(line.text), columns - 15))]
    yield from _labels(finding, columns)
    for opinion in opinions_by_score(finding):
        severity_name = opinion.severity or "unrated"
        who = " ".join(filter(None, [escape_control(opinion.agent), _own_id(opinion, finding)]))
        notes = " · ".join(map(escape_control, notes_of(opinion)))
        is_short = notes and display_width(who) + 3 + display_width(notes) <= columns - 23
        who = f"{who} · {notes}" if is_short else who
        first, *rest = _wrapped(who, columns, " " * 23)
        yield [
            Piece(f"{_MARGIN}{severity_name:<10}", SEVERITY_STYLES[severity_name]),
            Piece(f"{score(opinion.confidence):>5}  "),
            Piece(first[23:], "dim"),
        ]
        yield from ([Piece(row, "dim")] for row in rest)
        if notes and not is_short:
            yield from ([Piece(row, "dim")] for row in _wrapped(notes, columns, " " * 23))


def _other_places(entry: FoldedFinding, columns: int) -> Iterator[Line]:
    """Yield the places of the equal findings, and what their titles state besides."""
    if not entry.others:
        return
    places = "place" if len(entry.others) == 1 else "places"
    yield [Piece(f"{_MARGIN}and {len(entry.others):,} more {places} of this kind:")]
    for other in entry.others[:_MAX_PLACES]:
        place = escape_control(location_of(other)) or "no location"
        yield [Piece(f"{_MARGIN}  "), Piece(place, "underline"), Piece(f"  {escape_control(other.id)}", "cyan")]
        if other.title != entry.finding.title:
            title = truncate_text(escape_control(other.title), MAX_TITLE)
            yield from ([Piece(row, "dim")] for row in _wrapped(title, columns, _MARGIN + " " * 4))
    if len(entry.others) > _MAX_PLACES:
        yield [Piece(f"{_MARGIN}  and {len(entry.others) - _MAX_PLACES:,} more; the JSON form has all of them", "dim")]


def _own_id(opinion: Opinion, finding: MergedFinding) -> str:
    """Return the id of the agent's row, which may be the id of another finding in this report."""
    name = escape_control(opinion.id)
    return f"(its {name})" if name and opinion.id != finding.id else name


def _labels(finding: MergedFinding, columns: int) -> Iterator[Line]:
    """Yield the risk, the fix and further statements, from the best-scored agent that gives them."""
    details = [opinion_details(opinion) for opinion in opinions_by_score(finding)[:_MAX_SEARCHED] if opinion.details]
    for name in ("risk", "fix", "also"):
        words = next((words for each in details if (words := getattr(each, name))), "")
        if words:
            label = f"{_MARGIN}{name.capitalize()}: "
            first, *rest = _wrapped(escape_control(truncate_text(words, MAX_TITLE)), columns, " " * len(label))
            yield [Piece(label, "dim"), Piece(first[len(label) :])]
            yield from ([Piece(row)] for row in rest)


def _about(finding: MergedFinding, agents: int, columns: int) -> Iterator[Line]:
    """Yield the location and the state of the evidence, on one line if they fit."""
    room = columns - len(_MARGIN)
    # Never cut: a reader of a pipe or a narrow screen needs the path, the line and the outcome.
    location = [
        Piece(escape_control(location_of(finding)), "underline") if finding.path else Piece("no location", "dim")
    ]
    state = escape_control(evidence_state(finding))
    notes = [
        f"{agreement(finding, agents)} agents",
        escape_control(finding.category),
        *map(escape_control, shown_flags(finding)),
    ]
    words = "".join(f" · {note}" for note in notes if note)
    rest = [Piece(state, _EVIDENCE_STYLES[finding.verified or None]), Piece(words, "dim")]
    if display_width(location[0].text) + 3 + display_width(state) + display_width(words) <= room:
        yield [Piece(_MARGIN), *location, Piece("   "), *rest]
        return
    yield [Piece(_MARGIN), *location]
    if display_width(state) > room:
        yield from (
            [Piece(row, _EVIDENCE_STYLES[finding.verified or None])] for row in _wrapped(state, columns, _MARGIN)
        )
        yield from ([Piece(_MARGIN + row, "dim")] for row in _joined([*filter(None, notes)], room))
        return
    first, *more = _joined([state, *filter(None, notes)], room)
    yield [Piece(_MARGIN), Piece(state, _EVIDENCE_STYLES[finding.verified or None]), Piece(first[len(state) :], "dim")]
    yield from ([Piece(_MARGIN + row, "dim")] for row in more)


def _joined(notes: Sequence[str], room: int) -> list[str]:
    """Join notes with dots, in as many lines as they need."""
    lines = [notes[0]]
    for note in notes[1:]:
        longer = f"{lines[-1]} · {note}"
        if display_width(longer) <= room:
            lines[-1] = longer
        else:
            lines += wrap_text(note, room, keeps_paths=True)
    return lines


def _dropped(merge: Merge, columns: int) -> Iterator[Line]:
    dismissed = [finding for finding in merge.dropped if DISMISSED in finding.flags]
    others = [finding for finding in merge.dropped if DISMISSED not in finding.flags]
    yield from _dropped_list("Dismissed", dismissed, columns)
    yield from _dropped_list("Dropped", others, columns)


def _reason(finding: MergedFinding) -> str:
    return escape_control(finding.reason) if isinstance(finding.reason, str) else "no reason given"


def _dropped_list(heading: str, findings: Sequence[MergedFinding], columns: int) -> Iterator[Line]:
    """Yield each finding of a short list, or how many findings a long one has for each reason."""
    if not findings:
        return
    yield _heading(heading, f"{len(findings):,}; the JSON form has all of them")
    if len(findings) > _MAX_DROPPED:
        reasons = Counter(map(_reason, findings))
        for reason, number in reasons.most_common(_MAX_DROPPED):
            first, *rest = _wrapped(truncate_text(reason, 2 * MAX_TITLE), columns, " " * 10)
            yield [Piece(f"{number:>8,}  "), Piece(first[10:], "dim")]
            yield from ([Piece(row, "dim")] for row in rest)
        if len(reasons) > _MAX_DROPPED:
            yield [Piece(f"  and {len(reasons) - _MAX_DROPPED:,} more reasons", "dim")]
        yield []
        return
    for finding in findings:
        words = "  ".join(
            filter(None, [escape_control(finding.id), truncate_text(escape_control(finding.title), MAX_TITLE)])
        )
        first, *rest = _wrapped(words, columns, " " * 12)
        severity = severity_of(finding)
        yield [Piece(f"  {severity:<10}", SEVERITY_STYLES[severity]), Piece(first[12:])]
        yield from ([Piece(row)] for row in rest)
        location = escape_control(location_of(finding)) or "no location"
        for row in _wrapped(f"{location}: {truncate_text(_reason(finding), 2 * MAX_TITLE)}", columns, " " * 12):
            yield [Piece(row, "dim")]
    yield []


def _totals(merge: Merge) -> Iterator[Line]:
    each = counts_of(merge.findings)
    words = f"{format_count(len(merge.findings), 'finding')}{f': {each}' if each else ''}"
    yield [Piece(words, "bold")]
    yield [Piece(f"of {format_count(merge.counts.inputs, 'result')}", "dim")]
