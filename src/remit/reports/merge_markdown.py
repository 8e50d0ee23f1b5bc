"""A merge as a result in the contract: a report that `remit check` accepts, of kind generic and as a review.

It vouches only for what it cites. A finding whose evidence failed keeps its row without a place, and the
place it claimed is told in words; where that breaks a rule that may be overridden, the override says why.
Words of agents hold no references (see `merge_words`), code is quoted from the checkout where there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from remit.contract.headings import BOXES
from remit.contract.model import (
    Block,
    Blocker,
    Count,
    ErrorDetails,
    Item,
    Items,
    KeyReference,
    Result,
    Row,
    Table,
    Text,
    Tick,
)
from remit.contract.render import render
from remit.merging.model import MERGED_AGENT, Merge, MergedFinding
from remit.reports.merge_decision import broken_words, contract_word
from remit.reports.merge_entries import Entry, Lines, entries_of, quoted
from remit.reports.merge_parts import SEVERITIES, Subjects, counted, joined, place_of, score, severity_of
from remit.reports.merge_score import confidence_of, justification_of, uncertainty_of
from remit.reports.merge_words import agent, words
from remit.workspace.files import Workspace

#: A report is for reading; the JSON form holds everything.
_MAX_ROWS = 200
_MAX_LINES = 200
_MAX_FILES = 10
_MAX_DROPPED = 10
_MERGE_AGAIN = "To merge this with other results, take its JSON form: only that keeps every agent's opinion."
_BOX_WORDS = {
    "references_valid": "every cited place comes from the merge, which looked it up or could not",
    "snippets_accurate": "code is copied from the checkout, or repeated as an agent's words",
    "no_invented_paths": "a place whose evidence failed is not cited",
    "evidence_documented": "each finding names its place and the agents that say so",
}


def merge_markdown(merge: Merge, workspace: Workspace | None = None) -> str:
    """The merged report. With a checkout, its places are looked up once more and the code there is quoted."""
    return render(merged_result(merge, workspace))


def merged_result(merge: Merge, workspace: Workspace | None = None) -> Result:
    """The report as a result."""
    lines = Lines(workspace)
    entries = entries_of(merge.findings[:_MAX_ROWS], lines)
    failed = merge.status == "FAILED"
    confidence = None if failed else confidence_of(merge.findings)
    result = Result(
        agent=MERGED_AGENT,
        status=merge.status,
        summary=_summary(merge),
        findings=tuple(_blocks(merge, entries, lines)) if merge.findings or not failed else (),
        references=() if failed and not entries else tuple(_references(entries, lines)),
        confidence=confidence,
        justification=justification_of(confidence, entries),
        uncertainty=uncertainty_of(confidence, merge, entries),
        checklist=() if failed else tuple(_checklist()),
        severity_summary=tuple(_counts(entries)) if entries else (),
        blockers=tuple(_blockers(merge, lines)),
        error=_error(merge) if failed else None,
        attempted_actions=tuple(_attempts(merge, lines)) if failed else (),
        root_cause="Every agent's result says FAILED, is empty or is missing." if failed else "",
        recovery_options=("Run the agents again, one by one, and merge what they send",) if failed else (),
        next_steps=tuple(_next_steps(merge, lines)),
    )
    return quoted(result, entries, lines)


def _summary(merge: Merge) -> str:
    counts = merge.counts
    each = Counter(map(severity_of, merge.findings))
    kinds = joined([f"{each[name]} {name}" for name in SEVERITIES if each[name]])
    found = f"{counted(len(merge.findings), 'finding')}: {kinds}" if merge.findings else "no findings"
    left = f"; {counted(counts.dropped, 'finding')} left out" if counts.dropped else ""
    disputes = f"{counted(len(merge.conflicts), 'conflict')} to be settled by a person" if merge.conflicts else ""
    reasons = " and ".join(filter(None, [disputes, broken_words(merge)]))
    return (
        f"Merged {counted(len(merge.agents), 'result')} into {found}{left}. "
        f"The decision is {merge.decision}{f': {reasons}' if reasons else ''}."
    )


def _blocks(merge: Merge, entries: list[Entry], lines: Lines) -> Iterator[Block]:
    yield Block(heading="Issues Detected", content=(_issues(entries),))
    if entries:
        yield Block(heading="Issue Details", content=tuple(part for entry in entries for part in entry.details))
    if hidden := len(merge.findings) - len(entries):
        text = f"{counted(hidden, 'milder finding')} not listed here; the JSON form has all of them."
        yield Block(heading="Not Listed", content=(Text(text=text),))
    lost = [line for entry in entries if (line := entry.lost)]
    if lost:
        yield Block(heading="Places Not Cited", content=(_list(lost),))
    if merge.conflicts:
        yield Block(heading="Conflicts", content=tuple(_conflicts(merge, entries, lines)))
    agents = ((agent(one.agent), words(one.status, 20), contract_word(one)) for one in merge.agents)
    told = [*agents][:_MAX_LINES]
    if told:
        table = _table(("Agent", "Status", "Verdict"), iter(told), lines)
        yield Block(heading="Agents", content=(table, Text(text=_MERGE_AGAIN)))
    if merge.dropped:
        yield Block(heading="Left Out", content=(_list(list(_dropped(merge, lines))),))


def _issues(entries: list[Entry]) -> Table | Text:
    if not entries:
        return Text(text="No issues were found.")
    return Table(
        columns=("ID", "Issue", "File:Line", "Severity", "Confidence", "Category"),
        rows=tuple(entry.row for entry in entries),
    )


def _conflicts(merge: Merge, entries: list[Entry], lines: Lines) -> Iterator[Table | Text]:
    subjects, names = Subjects(merge), {id(entry.finding): entry.id for entry in entries}
    rows = (
        (
            conflict.kind,
            _about(subjects.of(conflict), names, conflict.finding),
            words(", ".join(conflict.agents)),
            words(conflict.why),
        )
        for conflict in merge.conflicts[:_MAX_LINES]
    )
    yield _table(("Kind", "About", "Agents", "Why"), rows, lines)
    if more := len(merge.conflicts[_MAX_LINES:]):
        yield Text(text=f"And {counted(more, 'more conflict')}.")


def _about(finding: MergedFinding | None, names: dict[int, str], name: str) -> str:
    """What a conflict is about: the finding as the report names it, and its title."""
    if finding is None:
        return words(name)
    name = names.get(id(finding), words(name))
    return f"{name}: {words(finding.title, 120)}" if finding.title else name


def _table(columns: tuple[str, ...], rows: Iterator[tuple[str, ...]], lines: Lines) -> Table:
    return Table(columns=columns, rows=tuple(Row(cells=tuple(map(lines.harmless, row))) for row in rows))


def _list(texts: list[str]) -> Items:
    return Items(items=tuple(Item(text=text) for text in texts))


def _dropped(merge: Merge, lines: Lines) -> Iterator[str]:
    for finding in merge.dropped[:_MAX_DROPPED]:
        reason = words(finding.reason) if isinstance(finding.reason, str) else "no reason given"
        name = " ".join(filter(None, [severity_of(finding), words(finding.id, 40)]))
        place = words(place_of(finding), 200) or "no place"
        yield lines.harmless(f"{name}: {words(finding.title, 120) or 'no title'}; {place}; {reason}")
    if more := len(merge.dropped[_MAX_DROPPED:]):
        yield f"and {more:,} more"


def _references(entries: list[Entry], lines: Lines) -> Iterator[KeyReference]:
    """The files with the worst findings first: where to begin to read."""
    files: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.place and entry.finding.path is not None:
            files.setdefault(entry.finding.path, []).append(entry)
    for own in list(files.values())[:_MAX_FILES]:
        worst = own[0]
        item = worst.id if len(own) == 1 else f"{worst.id} and {len(own) - 1} more"
        relevance = f"{counted(len(own), 'finding')} in this file, the worst {severity_of(worst.finding)}"
        yield KeyReference(item=item, location=worst.place, relevance=lines.harmless(relevance))
    if not files:
        yield KeyReference(item="None", location="-", relevance="-")


def _checklist() -> Iterator[Tick]:
    return (Tick(text=f"**{BOXES[key][0]}**: {said}", ticked=True) for key, said in _BOX_WORDS.items())


def _counts(entries: list[Entry]) -> Iterator[Count]:
    each = Counter(severity_of(entry.finding) for entry in entries)
    return (Count(severity=name.capitalize(), count=each[name]) for name in SEVERITIES if name != "unrated")


def _unfinished(merge: Merge) -> list[tuple[str, str]]:
    return [(agent(one.agent), words(one.status, 20)) for one in merge.agents if one.status != "SUCCESS"]


def _blockers(merge: Merge, lines: Lines) -> Iterator[Blocker]:
    if merge.status == "SUCCESS":
        return
    unfinished = _unfinished(merge)
    for name, status in unfinished[:_MAX_FILES]:
        what = "run it again" if status == "FAILED" else "let it finish, or accept the gap"
        yield Blocker(text=lines.harmless(f"{name} ended {status}"), resolution=what)
    if len(unfinished) > _MAX_FILES:
        yield Blocker(text=f"{len(unfinished) - _MAX_FILES} more agents did not finish", resolution="see Agents")
    if not unfinished:
        yield Blocker(text="There was nothing to merge", resolution="send at least one result")


def _error(merge: Merge) -> ErrorDetails:
    return ErrorDetails(
        type="AllAgentsFailed" if merge.agents else "NothingToMerge",
        message=f"none of {counted(len(merge.agents), 'result')} can be relied on",
        occurred_at="the merge of the results",
        recoverable="true",
    )


def _attempts(merge: Merge, lines: Lines) -> Iterator[str]:
    for name, status in _unfinished(merge)[:_MAX_FILES]:
        yield lines.harmless(f"Asked {name}: {status}")
    if not merge.agents:
        yield "Looked for results and found none"


def _next_steps(merge: Merge, lines: Lines) -> Iterator[str]:
    again = list(dict.fromkeys(name for name, status in _unfinished(merge) if status == "FAILED"))
    if merge.decision == "retry":
        yield lines.harmless(f"Run again: {', '.join(again[:_MAX_FILES]) or 'the agents'}")
    if merge.conflicts:
        yield f"Let a person settle {counted(len(merge.conflicts), 'conflict')}"
    elif merge.decision == "review":
        yield "Let a person look at what is incomplete or unsure"
    worst = merge.findings[0] if merge.findings else None
    if worst is not None:
        same = sum(finding.severity == worst.severity for finding in merge.findings)
        surest = score(max(finding.confidence for finding in merge.findings if finding.severity == worst.severity))
        yield f"Mend the {counted(same, f'{severity_of(worst)} finding')} first, the surest at {surest}"
    elif merge.decision == "continue":
        yield "Go on: there is nothing to mend"
