"""The sections of a merge in a form that the text, Markdown and HTML reports share: groups of entries by agent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from remit.contract.lines import bare_text
from remit.merging.content import Change, Citation, CitedLocation, Design, Exploration, Sections
from remit.merging.merge_data import LanguageCoverage, Merge
from remit.reports.layout import format_count

#: The outcomes of a location or change that are worth a word; the others hold, or could not be checked.
FAILED_OUTCOMES = ("missing-file", "out-of-range", "mismatch")


NOBODY_LOOKED = "No agent looked for issues."
NOT_REVIEWED = "NOT REVIEWED: no reviewer could read a file."
NOTHING_TO_REVIEW = "NOT REVIEWED: there is no file to review."


class SectionEntry(NamedTuple):
    """What one agent, or several, report: a head, lines below it, and preformatted text."""

    who: str
    head: str = ""
    lines: tuple[str, ...] = ()
    code: str = ""
    #: The statement of each agent, to be shown side by side.
    sides: tuple[tuple[str, str], ...] = ()


class SectionGroup(NamedTuple):
    """A part of the report; `note` explains its heading."""

    heading: str
    entries: tuple[SectionEntry, ...]
    note: str = ""


def section_groups(merge: Merge) -> list[SectionGroup]:
    """Return the parts of the report that have entries, in the order of reading."""
    sections = merge.sections
    groups = (
        SectionGroup("Errors", tuple(_errors(sections))),
        SectionGroup("Blockers", tuple(_blockers(sections))),
        SectionGroup("Coverage", tuple(_coverage(merge)), "files of each language, and who reviewed them"),
        SectionGroup("Summaries", tuple(_summaries(sections))),
        SectionGroup("Different Designs", tuple(_differences(sections)), "descriptions of one file or component"),
        SectionGroup("Designs", tuple(map(_design, sections.designs))),
        SectionGroup("Explorations", tuple(map(_exploration, sections.explorations))),
        SectionGroup("Changes", tuple(_changes(sections))),
        SectionGroup("Tests", tuple(_tests(sections))),
        SectionGroup("Verified Claims", tuple(_claims(sections))),
        SectionGroup("Compliance", tuple(_compliance(sections))),
        SectionGroup(
            "Notes", tuple(SectionEntry(note.agent, note.heading, _lines(note.text)) for note in sections.notes)
        ),
        SectionGroup("References", tuple(_references(sections)), "locations that agents name as key references"),
        SectionGroup("Next Steps", tuple(_next_steps(sections))),
    )
    return [group for group in groups if group.entries]


def no_findings_text(merge: Merge) -> str:
    """Return what an empty list of findings means: none were found, none were kept, or no agent looked."""
    if merge.is_unread:
        return NOTHING_TO_REVIEW if merge.is_empty else NOT_REVIEWED
    if merge.dropped:
        return "No findings were kept."
    if any(row.severity for row in merge.failed):
        return "No finding holds."
    return "No issues were found." if merge.counts.looked else NOBODY_LOOKED


def _lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text: those of prose without marks, those of fenced code unchanged."""
    lines, in_code = [], False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif line.strip():
            lines.append(line.rstrip() if in_code else bare_text(line))
    return tuple(lines)


def _listed(label: str, texts: Iterable[str], *, ordered: bool = False) -> list[str]:
    """Return a labelled list; nothing without entries."""
    marked = [f"{f'{number}.' if ordered else '-'} {' '.join(text.split())}" for number, text in enumerate(texts, 1)]
    return [f"{label}:", *marked] if marked else []


def _errors(sections: Sections) -> Iterator[SectionEntry]:
    for error in sections.errors:
        head = ": ".join(filter(None, [error.type, error.message])) or "it failed"
        lines = [
            f"Occurred at: {error.occurred_at}" if error.occurred_at else "",
            f"Recoverable: {error.recoverable}" if error.recoverable else "",
            f"Root cause: {' '.join(_lines(error.root_cause))}" if error.root_cause else "",
            *_listed("Attempted actions", error.attempted, ordered=True),
            *_listed("Recovery options", error.recovery_options, ordered=True),
        ]
        yield SectionEntry(error.agent, head, tuple(filter(None, lines)))


def _blockers(sections: Sections) -> Iterator[SectionEntry]:
    for blocker in sections.blockers:
        yield SectionEntry(
            blocker.agent, blocker.text, (f"Resolution: {blocker.resolution}",) if blocker.resolution else ()
        )


def _coverage(merge: Merge) -> Iterator[SectionEntry]:
    return (SectionEntry("", coverage_text(coverage)) for coverage in merge.coverage if coverage.files)


def coverage_text(coverage: LanguageCoverage) -> str:
    """Return who reviewed the files of a language, and how many were not reviewed."""
    count = format_count(coverage.files, "file")
    state = (
        "none reviewed"
        if coverage.unread == coverage.files
        else f"{coverage.unread:,} not reviewed"
        if coverage.unread
        else "reviewed"
    )
    readers = _with_numbers(coverage.read_by, coverage.files)
    reviewed = f" by {readers}" if not coverage.unread else f"; reviewed by {readers}" if readers else ""
    return f"{coverage.language}: {count}, {state}{reviewed}"


def _with_numbers(readers: dict[str, int], files: int) -> str:
    """Return the readers, each with the number of its files unless these are all."""
    return ", ".join(f"{reader} {number:,}" if number != files else reader for reader, number in readers.items())


def _summaries(sections: Sections) -> Iterator[SectionEntry]:
    for summary in sections.summaries:
        if summary.text:
            yield SectionEntry(summary.agent, "", _lines(summary.text))


def _differences(sections: Sections) -> Iterator[SectionEntry]:
    for difference in sections.differences:
        yield SectionEntry(difference.subject, sides=tuple((each.agent, each.text) for each in difference.statements))


def _design(design: Design) -> SectionEntry:
    lines = [
        *_lines(design.architecture),
        *_listed(
            "Implementation map", (f"{row.component}: {row.path or 'no file'}: {row.action}" for row in design.map)
        ),
        *_listed("Build sequence", design.sequence, ordered=True),
        *_listed("Patterns", (_dotted(row.pattern, row.example, row.recommendation) for row in design.patterns)),
        *_listed("Trade-offs", design.tradeoffs),
    ]
    return SectionEntry(_who(design), "", tuple(lines))


def _who(entry: Exploration | Design | Change | Citation) -> str:
    """Return the agent of an entry, with a mark if its report was rejected and only this part of it holds."""
    return f"{entry.agent} (rejected; only what holds)" if entry.partial is True else entry.agent


def citing_agents(place: CitedLocation) -> str:
    """Return the agents that cite a location."""
    return ", ".join(dict.fromkeys(map(_who, place.citations)))


def _exploration(exploration: Exploration) -> SectionEntry:
    lines = [
        *_listed("Entry points", (_dotted(row.entry, row.location, row.type) for row in exploration.entry_points)),
        *_listed("Execution flow", exploration.flow, ordered=True),
        *_listed("Architecture patterns", exploration.patterns),
        *_listed("Dependencies", exploration.dependencies),
    ]
    return SectionEntry(_who(exploration), "", tuple(lines))


def _dotted(*texts: str) -> str:
    return " · ".join(filter(None, texts))


def _changes(sections: Sections) -> Iterator[SectionEntry]:
    by_agent: dict[str, list[str]] = defaultdict(list)
    for change in sections.changes:
        state = f" ({change.outcome})" if change.outcome in FAILED_OUTCOMES else ""
        lines = f" [{change.lines} lines]" if change.lines.isdigit() else f" [{change.lines}]" if change.lines else ""
        by_agent[_who(change)].append(
            f"{change.claim} {change.path}{lines}{f': {change.text}' if change.text else ''}{state}"
        )
    return (SectionEntry(agent, "", tuple(lines)) for agent, lines in by_agent.items())


def _tests(sections: Sections) -> Iterator[SectionEntry]:
    for test in sections.tests:
        outcomes = set(test.runs.values())
        words = "reports failures" if False in outcomes else "reports that the tests passed" if outcomes else ""
        code = "\n".join(line for line in test.text.split("\n") if not line.lstrip().startswith(("```", "~~~")))
        yield SectionEntry(test.agent, words, (), code.strip("\n"))


def _claims(sections: Sections) -> Iterator[SectionEntry]:
    by_agent: dict[str, list[str]] = defaultdict(list)
    for claim in sections.claims:
        by_agent[claim.agent].append(
            f"{claim.outcome}: {claim.claim}{f' ({claim.location})' if claim.location else ''}"
        )
    return (SectionEntry(agent, "", tuple(lines)) for agent, lines in by_agent.items())


def _compliance(sections: Sections) -> Iterator[SectionEntry]:
    by_agent: dict[str, list[str]] = defaultdict(list)
    for check in sections.compliance:
        by_agent[check.agent].append(f"{check.status}: {check.standard}{f' ({check.notes})' if check.notes else ''}")
    return (SectionEntry(agent, "", tuple(lines)) for agent, lines in by_agent.items())


def _references(sections: Sections) -> Iterator[SectionEntry]:
    for reference in sections.references:
        state = f" ({reference.outcome})" if reference.outcome in FAILED_OUTCOMES else ""
        words = dict.fromkeys(": ".join(filter(None, [each.item, each.relevance])) for each in reference.citations)
        yield SectionEntry(citing_agents(reference), f"{reference.location}{state}", (" · ".join(filter(None, words)),))


def _next_steps(sections: Sections) -> Iterator[SectionEntry]:
    agents: dict[str, list[str]] = defaultdict(list)
    for step in sections.next_steps:
        agents[step.text].append(step.agent)
    return (SectionEntry(", ".join(_unique(names)), text) for text, names in agents.items())


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
