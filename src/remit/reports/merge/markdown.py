"""Write a merge as a result under the contract: `remit check` accepts it as kind generic and as a review.

The report cites only verified locations. A finding whose evidence failed keeps its row without a location, and the
claimed location is described in text; an override states the reason if that breaks a rule. With a checkout, a location
in an agent's text that does not hold is written with character references: it looks the same, and is not a citation.
Code is quoted from the checkout if there is one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from statistics import fmean

from remit.checking import Options, check_text
from remit.contract.headings import BOXES
from remit.contract.render import render
from remit.contract.result_data import (
    Block,
    Blocker,
    Confidence,
    Content,
    Count,
    Item,
    Items,
    Justification,
    KeyReference,
    Result,
    Row,
    Table,
    Text,
    Tick,
)
from remit.evidence.sources import Sources
from remit.merging.merge_data import MERGED_AGENT, NOT_COUNTED, Merge, MergedFinding
from remit.reports.layout import format_count
from remit.reports.merge.decision import broken_text, contract_status, error_details, recovery_text, root_cause
from remit.reports.merge.entries import MarkdownEntry, SourceLines, add_quotes, entries_of
from remit.reports.merge.groups import FAILED_OUTCOMES, NOBODY_LOOKED, citing_agents, no_findings_text, section_groups
from remit.reports.merge.parts import (
    SEVERITIES,
    Subjects,
    join_words,
    location_of,
    safe_agent,
    safe_text,
    score,
    severity_of,
)
from remit.workspace.files import Workspace

#: A report is for reading; the JSON form has everything.
_MAX_ROWS = 200
_MAX_LINES = 200
_MAX_FILES = 10
_MAX_DROPPED = 10
#: The most entries of a section, and the most lines of one of them.
_MAX_ENTRIES = 20
_MAX_ENTRY_LINES = 30
#: The groups that are sections of a result.
_OWN_SECTIONS = frozenset({"Blockers", "References", "Next Steps"})
_BULLET = re.compile(r"\s*(?:[-*+]|(\d{1,3})[.)])\s+")
#: A location that holds, or that cannot be checked.
_NOT_FAILING = frozenset({"verified", "exists", "unchecked", "planned"})
#: The lines at the end of a location: `:12`, `:12-18`, `#L12`.
_LINES = re.compile(r"[:#]+(L?\d[\dL:,\s–-]*)$")
_LINE_START = re.compile(r"\s*(?:[-*+]|\d+[.)]|#+)?\s*")
_WITHHELD = "[a location that does not hold]"
_MERGE_AGAIN = "To merge this with other results, use the JSON form: only that keeps every agent's opinion."
_BOX_WORDS = {
    "references_valid": "every cited location comes from the merge, which checked it if it could",
    "snippets_accurate": "code is copied from the checkout, or repeated as an agent's text",
    "no_invented_paths": "a location whose evidence failed is not cited",
    "evidence_documented": "each finding names its location and the agents that report it",
}
#: The box about paths in a merge without a checkout.
_NOT_CHECKED = "the merge added no path; those of the agents were not checked, as there was no checkout"
NOTHING_FOUND = 70.0
#: A score of at least the first needs a justification; one below the second needs an uncertainty.
_JUSTIFY_FROM = 85
_UNCERTAIN_BELOW = 70


def merge_markdown(merge: Merge, workspace: Workspace | None = None) -> str:
    """Return the merged report. With a checkout, its locations are checked again and their code is quoted."""
    text = render(merged_result(merge, workspace))
    return text if workspace is None else _without_failing_claims(text, workspace)


def _without_failing_claims(text: str, workspace: Workspace) -> str:
    """Return a report in which the claims that do not hold are marked in the agents' words, and cited no more."""
    sources = Sources(workspace=workspace)
    for mark in (_marked, _withheld):
        failing: dict[int, list[str]] = defaultdict(list)
        for verdict in check_text(text, "-", Options(), sources):
            for claim in verdict.evidence.checked:
                if claim.outcome not in _NOT_FAILING:
                    failing[claim.at].append(claim.text)
        if not failing:
            break
        lines = text.split("\n")
        for line, claims in failing.items():
            lines[line - 1] = _without_claims(lines[line - 1], claims, mark)
        text = "\n".join(lines)
    return text


def _without_claims(line: str, claims: Iterable[str], mark: Callable[[str], str]) -> str:
    """Return a line with marks instead of its claims; one mark for all of its text if a claim is not found in it."""
    marker = _LINE_START.match(line)
    start = line[: marker.end()] if marker else ""
    parts = line[len(start) :].split("`")  # what is in code marks is cited by the report itself
    for claim in sorted(set(claims), key=len, reverse=True):
        if not any(claim in part for part in parts[::2]):
            return start + _WITHHELD
        parts[::2] = [part.replace(claim, mark(claim)) for part in parts[::2]]
    return start + "`".join(parts)


def _marked(claim: str) -> str:
    """Return a location as words: `cart.py:999` is `cart.py [999: does not hold]`."""
    return _LINES.sub(r" [\1: does not hold]", claim) if _LINES.search(claim) else _WITHHELD


def _withheld(_: str) -> str:
    return _WITHHELD


def merged_result(merge: Merge, workspace: Workspace | None = None) -> Result:
    """Return the report as a result."""
    lines = SourceLines(workspace)
    entries = entries_of(merge.findings[:_MAX_ROWS], lines)
    failed = merge.status == "FAILED"
    sections = merge.sections
    has_content = bool(
        merge.findings or merge.coverage or sections.explorations or sections.designs or sections.changes
    )
    confidence = None if failed else confidence_of(merge.findings)
    result = Result(
        agent=MERGED_AGENT,
        status=merge.status,
        summary=_summary(merge),
        findings=tuple(_blocks(merge, entries, lines)) if has_content or not failed else (),
        references=() if failed and not entries else tuple(_references(merge, entries, lines)),
        confidence=confidence,
        justification=justification_of(confidence, entries),
        uncertainty=uncertainty_of(confidence, merge, entries),
        checklist=() if failed else tuple(_checklist(merge, is_checked=workspace is not None)),
        severity_summary=tuple(_counts(entries)) if entries else (),
        blockers=tuple(_blockers(merge)),
        error=error_details(merge) if failed else None,
        attempted_actions=tuple(_attempts(merge)) if failed else (),
        root_cause=root_cause(merge) if failed else "",
        recovery_options=(recovery_text(merge),) if failed else (),
        next_steps=tuple(_next_steps(merge)),
    )
    return add_quotes(result, entries, lines)


def _summary(merge: Merge) -> str:
    counts = merge.counts
    each = Counter(map(severity_of, merge.findings))
    kinds = join_words([f"{each[name]} {name}" for name in SEVERITIES if each[name]])
    total = f"{format_count(len(merge.findings), 'finding')}: {kinds}" if merge.findings else "no findings"
    if not merge.findings and merge.agents and no_findings_text(merge) == NOBODY_LOOKED:
        total = "one report; no agent looked for issues"
    left = f"; {format_count(counts.dropped, 'finding')} dropped" if counts.dropped else ""
    disputes = f"{format_count(len(merge.conflicts), 'conflict')} for a person to decide" if merge.conflicts else ""
    reasons = " and ".join(filter(None, [disputes, broken_text(merge)]))
    return (
        f"Merged {format_count(len(merge.agents), 'result')} into {total}{left}. "
        f"The decision is {merge.decision}{f': {reasons}' if reasons else ''}."
    )


def _blocks(merge: Merge, entries: list[MarkdownEntry], lines: SourceLines) -> Iterator[Block]:
    yield Block(heading="Issues Detected", content=(_issues(merge, entries),))
    if entries:
        yield Block(heading="Issue Details", content=tuple(part for entry in entries for part in entry.details))
    if hidden := len(merge.findings) - len(entries):
        text = f"{format_count(hidden, 'finding')} of lower rank not listed; the JSON form has all of them."
        yield Block(heading="Not Listed", content=(Text(text=text),))
    lost = [line for entry in entries if (line := entry.lost)]
    if lost:
        yield Block(heading="Locations Not Cited", content=(_list(lost),))
    if merge.conflicts:
        yield Block(heading="Conflicts", content=tuple(_conflicts(merge, entries)))
    agents = ((safe_agent(agent.agent), safe_text(agent.status, 20), contract_status(agent)) for agent in merge.agents)
    yield from _section_blocks(merge)
    rows = [*agents][:_MAX_LINES]
    if rows:
        table = _table(("Agent", "Status", "Verdict"), rows)
        yield Block(heading="Agents", content=(table, Text(text=_MERGE_AGAIN)))
    if merge.dropped:
        yield Block(heading="Dropped", content=(_list(list(_dropped(merge))),))


def _section_blocks(merge: Merge) -> Iterator[Block]:
    """Yield what agents report besides findings. Blockers, references and next steps have their own sections."""
    for group in section_groups(merge):
        if group.heading in _OWN_SECTIONS:
            continue
        content: list[Content] = []
        for entry in group.entries[:_MAX_ENTRIES]:
            head = ": ".join(filter(None, [safe_agent(entry.who) if entry.who else "", safe_text(entry.head)]))
            texts = [line for line in (*entry.lines, *entry.code.split("\n")) if line.strip()]
            content.append(Text(text=head or safe_agent("")))
            content += _entry_content(texts[:_MAX_ENTRY_LINES])
            if entry.sides:
                agents = tuple(f"By {safe_agent(agent)}" for agent, _ in entry.sides)
                content.append(_table(agents, [tuple(safe_text(text) for _, text in entry.sides)]))
            if more := len(texts[_MAX_ENTRY_LINES:]):
                content.append(Text(text=f"And {format_count(more, 'more line')}."))
        if more := len(group.entries[_MAX_ENTRIES:]):
            content.append(Text(text=f"And {more:,} more; the JSON form has all of them."))
        yield Block(heading=group.heading, content=tuple(content))


def _entry_content(texts: list[str]) -> Iterator[Content]:
    """Yield lists of lines; a label such as `Build sequence:` is a paragraph before its list."""
    for is_label, same in groupby(texts, lambda line: line.endswith(":") and not _BULLET.match(line)):
        if is_label:
            yield from (Text(text=safe_text(line)) for line in same)
            continue
        for ordered, lines in groupby(same, _is_numbered):
            shown = filter(None, map(safe_text, map(_without_bullet, lines)))
            if items := tuple(Item(text=text) for text in shown):
                yield Items(items=items, ordered=ordered)


def _is_numbered(line: str) -> bool:
    match = _BULLET.match(line)
    return match is not None and match[1] is not None


def _without_bullet(line: str) -> str:
    match = _BULLET.match(line)
    return line[match.end() :] if match else line


def _issues(merge: Merge, entries: list[MarkdownEntry]) -> Table | Text:
    if not entries:
        return Text(text=no_findings_text(merge))
    return Table(
        columns=("ID", "Issue", "File:Line", "Severity", "Confidence", "Category"),
        rows=tuple(entry.row for entry in entries),
    )


def _conflicts(merge: Merge, entries: list[MarkdownEntry]) -> Iterator[Table | Text]:
    subjects = Subjects(merge)
    rows = (
        (
            conflict.kind,
            _about(subjects.numbered(conflict), entries, conflict.finding),
            safe_text(", ".join(conflict.agents)),
            safe_text(conflict.why),
        )
        for conflict in merge.conflicts[:_MAX_LINES]
    )
    yield _table(("Kind", "About", "Agents", "Why"), rows)
    if more := len(merge.conflicts[_MAX_LINES:]):
        yield Text(text=f"And {format_count(more, 'more conflict')}.")


def _about(subject: tuple[int, MergedFinding] | None, entries: list[MarkdownEntry], name: str) -> str:
    """Return the subject of a conflict: the finding's name in the report, and its title."""
    if subject is None:
        return safe_text(name)
    number, finding = subject
    name = entries[number].id if number < len(entries) else safe_text(name)
    return f"{name}: {safe_text(finding.title, 120)}" if finding.title else name


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    return Table(columns=columns, rows=tuple(Row(cells=row) for row in rows))


def _list(texts: list[str]) -> Items:
    return Items(items=tuple(Item(text=text.strip()) for text in texts))


def _dropped(merge: Merge) -> Iterator[str]:
    for finding in merge.dropped[:_MAX_DROPPED]:
        reason = safe_text(finding.reason) if isinstance(finding.reason, str) else "no reason given"
        name = " ".join(filter(None, [severity_of(finding), safe_text(finding.id, 40)]))
        location = safe_text(location_of(finding), 200) or "no location"
        yield f"{name}: {safe_text(finding.title, 120) or 'no title'}; {location}; {reason}"
    if more := len(merge.dropped[_MAX_DROPPED:]):
        yield f"and {more:,} more"


def _references(merge: Merge, entries: list[MarkdownEntry], lines: SourceLines) -> Iterator[KeyReference]:
    """Yield the files with the worst findings first, then the locations that agents name as key references."""
    files: dict[str, list[MarkdownEntry]] = {}
    for entry in entries:
        if entry.place and entry.finding.path is not None:
            files.setdefault(entry.finding.path, []).append(entry)
    for file_entries in list(files.values())[:_MAX_FILES]:
        worst = file_entries[0]
        item = worst.id if len(file_entries) == 1 else f"{worst.id} and {len(file_entries) - 1} more"
        relevance = f"{format_count(len(file_entries), 'finding')} in this file, the worst {severity_of(worst.finding)}"
        yield KeyReference(item=item, location=worst.place, relevance=relevance)
    cited = [reference for reference in merge.sections.references if (reference.path or "") not in files]
    for reference in cited[: _MAX_ENTRIES - min(len(files), _MAX_FILES)]:
        place = lines.cite(reference) if reference.outcome in ("verified", "exists", "relocated", "unchecked") else ""
        if place:
            first = reference.citations[0]
            relevance = safe_text(f"{first.relevance or 'cited'} ({citing_agents(reference)})")
            item = safe_text(first.item, 120) or "Location"
            yield KeyReference(item=item, location=place, relevance=relevance)
            files.setdefault(place, [])
    if not files:
        yield KeyReference(item="None", location="-", relevance="-")


def _checklist(merge: Merge, *, is_checked: bool) -> Iterator[Tick]:
    """Yield the boxes. Those of the merge itself are true; without a checkout, one states that it was not checked."""
    outcomes = [finding.verified for finding in merge.findings]
    outcomes += [reference.outcome not in ("unchecked", *FAILED_OUTCOMES) for reference in merge.sections.references]
    words = _BOX_WORDS if is_checked or all(outcomes) else {**_BOX_WORDS, "no_invented_paths": _NOT_CHECKED}
    yield from (Tick(text=f"**{BOXES[key][0]}**: {text}", ticked=True) for key, text in words.items())


def _counts(entries: list[MarkdownEntry]) -> Iterator[Count]:
    each = Counter(severity_of(entry.finding) for entry in entries)
    return (Count(severity=name.capitalize(), count=each[name]) for name in SEVERITIES if name != "unrated")


def _unfinished(merge: Merge) -> list[tuple[str, str]]:
    return [
        (safe_agent(agent.agent), safe_text(agent.status, 20))
        for agent in merge.agents
        if agent.status not in ("SUCCESS", *NOT_COUNTED)
    ]


def _blockers(merge: Merge) -> Iterator[Blocker]:
    for blocker in merge.sections.blockers[:_MAX_FILES]:
        text = safe_text(f"{blocker.agent}: {blocker.text}") or "a blocker without text"
        yield Blocker(text=text, resolution=safe_text(blocker.resolution))
    if merge.status == "SUCCESS":
        return
    unfinished = _unfinished(merge)
    for name, status in unfinished[:_MAX_FILES]:
        what = "run it again" if status == "FAILED" else "let it finish, or accept the gap"
        yield Blocker(text=f"{name} ended {status}", resolution=what)
    if len(unfinished) > _MAX_FILES:
        yield Blocker(text=f"{len(unfinished) - _MAX_FILES} more agents did not finish", resolution="see Agents")
    if merge.is_unread:
        yield Blocker(text=no_findings_text(merge).rstrip("."), resolution=recovery_text(merge))
    elif merge.is_mostly_unread:
        yield Blocker(
            text="Most of the code was not reviewed", resolution="Add a reviewer for the languages in Coverage"
        )
    elif not unfinished:
        yield Blocker(text="There is nothing to merge", resolution="send at least one result")


def _attempts(merge: Merge) -> Iterator[str]:
    for name, status in _unfinished(merge)[:_MAX_FILES]:
        yield f"Asked {name}: {status}"
    if merge.is_empty:
        yield "Looked for files and found none"
    elif not merge.agents:
        yield "Looked for results and found none"
    elif merge.is_unread:
        yield f"Started {format_count(len(merge.agents), 'reviewer')}"


def _next_steps(merge: Merge) -> Iterator[str]:
    again = list(dict.fromkeys(name for name, status in _unfinished(merge) if status == "FAILED"))
    if merge.decision == "retry":
        yield f"Run again: {', '.join(again[:_MAX_FILES]) or 'the agents'}"
    elif merge.is_unread:
        yield recovery_text(merge)
    if merge.conflicts:
        yield f"Ask a person to decide {format_count(len(merge.conflicts), 'conflict')}"
    elif merge.decision == "review" and not merge.is_unread:
        yield "Ask a person to look at the incomplete or uncertain parts"
    worst = merge.findings[0] if merge.findings else None
    if worst is not None:
        same = sum(finding.severity == worst.severity for finding in merge.findings)
        highest = score(max(finding.confidence for finding in merge.findings if finding.severity == worst.severity))
        yield f"Fix the {format_count(same, f'{severity_of(worst)} finding')} first (highest confidence {highest})"
    elif merge.decision == "continue":
        yield "Continue: there is nothing to fix"
    for next_step in merge.sections.next_steps[:_MAX_ENTRIES]:
        if step := safe_text(f"{next_step.agent}: {next_step.text}"):
            yield step


def confidence_of(findings: Sequence[MergedFinding]) -> Confidence:
    """Return the score with its reason and its parts."""
    if not findings:
        return Confidence(score=NOTHING_FOUND, reason="no findings, so the score of an unscored finding is used")
    holds = [finding.confidence for finding in findings if finding.verified]
    others = [finding.confidence for finding in findings if not finding.verified]
    verified = _mean(holds)
    inferred = _mean(others)
    combined = round((verified + inferred) / 2, 1) if others else verified
    return Confidence(
        score=combined,
        reason=f"the evidence of {len(holds)} of {format_count(len(findings), 'finding')} holds",
        verified=verified,
        verified_reason=f"mean of {format_count(len(holds), 'finding')} whose evidence holds" if holds else "none",
        inferred=inferred if others else "n/a",
        inferred_reason=f"mean of {format_count(len(others), 'finding')} unchecked or failed" if others else "",
        combined=combined,
    )


def _mean(scores: list[float]) -> float:
    return round(min(100.0, max(0.0, fmean(scores))), 1) if scores else 0.0


def justification_of(confidence: Confidence | None, entries: Sequence[MarkdownEntry]) -> Justification | None:
    """Return the justification of a high score."""
    if confidence is None or not isinstance(confidence.score, float) or confidence.score < _JUSTIFY_FROM:
        return None
    locations = {
        (entry.finding.path, entry.finding.line) for entry in entries if entry.place and entry.finding.verified
    }
    return Justification(
        score=confidence.score,
        evidence_count=float(len(locations)),
        method="Each agent's references and quotes were checked against the checkout before the scores were merged",
        blind_spots="Code that no agent read; agents of one kind may share a blind spot",
    )


def uncertainty_of(confidence: Confidence | None, merge: Merge, entries: Sequence[MarkdownEntry]) -> str:
    """Return the reasons for a low score."""
    if confidence is None or not isinstance(confidence.score, float) or confidence.score >= _UNCERTAIN_BELOW:
        return ""
    failed = sum(finding.verified is False for finding in merge.findings)
    unchecked = sum(finding.verified is None for finding in merge.findings)
    uncited = sum(not entry.place for entry in entries)
    return (
        f"The evidence of {format_count(failed, 'finding')} failed and that of {unchecked:,} could not be checked; "
        f"{uncited:,} are listed without a location. Which of them are real? A person should look at those locations."
    )
