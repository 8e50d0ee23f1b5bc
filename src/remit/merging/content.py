"""The parts of a merge other than findings: what explorers, architects, implementers and failed agents reported.

Each entry names its agent. `combine_sections` puts the sections of all inputs together: entries of one agent keep
their order, equal ones are listed once, and the order of the inputs does not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from remit.evidence.model import Outcome


class AgentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of one result."""

    agent: str
    status: str
    kind: str
    text: str
    #: The claimed confidence of the whole result.
    confidence: float | None = None


class EntryPoint(msgspec.Struct, frozen=True):
    """A row of Entry Points."""

    entry: str
    location: str
    type: str


class Exploration(msgspec.Struct, frozen=True, kw_only=True):
    """What an explorer found."""

    agent: str
    entry_points: tuple[EntryPoint, ...] = ()
    flow: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    #: Whether its report was rejected: only what holds of it is here.
    partial: bool | msgspec.UnsetType = msgspec.UNSET


class PatternUse(msgspec.Struct, frozen=True):
    """A row of Pattern Analysis."""

    pattern: str
    example: str
    recommendation: str


class MapEntry(msgspec.Struct, frozen=True):
    """A row of an Implementation Map."""

    component: str
    path: str
    action: str


class Design(msgspec.Struct, frozen=True, kw_only=True):
    """What an architect recommends."""

    agent: str
    architecture: str = ""
    map: tuple[MapEntry, ...] = ()
    sequence: tuple[str, ...] = ()
    patterns: tuple[PatternUse, ...] = ()
    tradeoffs: tuple[str, ...] = ()
    #: Whether its report was rejected: only what holds of it is here.
    partial: bool | msgspec.UnsetType = msgspec.UNSET


class Statement(msgspec.Struct, frozen=True):
    """The statement of one agent."""

    agent: str
    text: str


class DesignDifference(msgspec.Struct, frozen=True):
    """A file or component that designs describe differently, with each description."""

    subject: str
    statements: tuple[Statement, ...]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A file that an agent reports as created or modified."""

    agent: str
    path: str
    claim: str
    text: str = ""
    lines: str = ""
    outcome: Outcome = "unchecked"
    #: Whether its report was rejected: only what holds of it is here.
    partial: bool | msgspec.UnsetType = msgspec.UNSET


class AgentTests(msgspec.Struct, frozen=True, kw_only=True):
    """The Test Results of an agent: what it says of each run, by the test files that it names, else its command."""

    agent: str
    text: str
    runs: dict[str, bool] = {}


class AgentBlocker(msgspec.Struct, frozen=True):
    """An obstacle that an agent reports, and what would resolve it."""

    agent: str
    text: str
    resolution: str = ""


class Citation(msgspec.Struct, frozen=True):
    """Why an agent cites a location."""

    agent: str
    item: str
    relevance: str
    #: Whether its report was rejected: only what holds of it is here.
    partial: bool | msgspec.UnsetType = msgspec.UNSET


class CitedLocation(msgspec.Struct, frozen=True, kw_only=True):
    """A location of Key References, once, with the agents that cite it."""

    location: str
    path: str | None = None
    line: int | None = None
    end_line: int | None = None
    outcome: Outcome = "unchecked"
    agents: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()


class AgentError(msgspec.Struct, frozen=True, kw_only=True):
    """The Error Details of a failed agent, or what could not be read of an input."""

    agent: str
    type: str = ""
    message: str = ""
    occurred_at: str = ""
    recoverable: str = ""
    attempted: tuple[str, ...] = ()
    root_cause: str = ""
    recovery_options: tuple[str, ...] = ()


class ComplianceRow(msgspec.Struct, frozen=True):
    """A row of a Compliance Check."""

    agent: str
    standard: str
    status: str
    notes: str


class ClaimRow(msgspec.Struct, frozen=True):
    """A claim that a verification checked."""

    agent: str
    claim: str
    location: str
    outcome: str


class Note(msgspec.Struct, frozen=True):
    """Any other part of a result, under its heading."""

    agent: str
    heading: str
    text: str


class Sections(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the inputs report besides findings."""

    summaries: tuple[AgentSummary, ...] = ()
    explorations: tuple[Exploration, ...] = ()
    designs: tuple[Design, ...] = ()
    differences: tuple[DesignDifference, ...] = ()
    changes: tuple[Change, ...] = ()
    tests: tuple[AgentTests, ...] = ()
    blockers: tuple[AgentBlocker, ...] = ()
    next_steps: tuple[Statement, ...] = ()
    references: tuple[CitedLocation, ...] = ()
    errors: tuple[AgentError, ...] = ()
    compliance: tuple[ComplianceRow, ...] = ()
    claims: tuple[ClaimRow, ...] = ()
    notes: tuple[Note, ...] = ()


NO_SECTIONS = Sections()
#: The sections whose entries belong to one agent each; the others are computed from all of them.
_OWN = tuple(name for name in Sections.__struct_fields__ if name not in ("differences", "references"))

Entry = TypeVar("Entry")


def combine_sections(parts: Iterable[Sections]) -> Sections:
    """Combine the sections of all inputs; the order of the inputs does not matter."""
    present = [part for part in parts if part is not NO_SECTIONS and part != NO_SECTIONS]
    if not present:
        return NO_SECTIONS
    lists: dict[str, Any] = {name: _joined(getattr(part, name) for part in present) for name in _OWN}
    references = _cited_once(reference for part in present for reference in part.references)
    return Sections(**lists, references=references, differences=tuple(_differences(lists["designs"])))


def _joined(lists: Iterable[Sequence[Any]]) -> tuple[Any, ...]:
    """Join lists of entries by agent. The entries of one agent in one input keep their order."""
    chunks: list[tuple[str, bytes, list[Any]]] = []
    for entries in lists:
        by_agent: dict[str, list[Any]] = defaultdict(list)
        for entry in entries:
            by_agent[entry.agent].append(entry)
        chunks += [
            (agent, msgspec.json.encode(agent_entries), agent_entries) for agent, agent_entries in by_agent.items()
        ]
    chunks.sort(key=lambda chunk: chunk[:2])
    every = [entry for _, _, agent_entries in chunks for entry in agent_entries]
    return tuple({msgspec.json.encode(entry): entry for entry in every}.values())


def _cited_once(references: Iterable[CitedLocation]) -> tuple[CitedLocation, ...]:
    """List each location once, with all its citations, sorted by location."""
    by_place: dict[tuple[str, str | None, int | None, int | None], list[CitedLocation]] = defaultdict(list)
    for reference in references:
        place = "" if reference.path is not None else reference.location
        by_place[place, reference.path, reference.line, reference.end_line].append(reference)
    listed = []
    for same in by_place.values():
        citations = sorted({citation for reference in same for citation in reference.citations}, key=_citation_order)
        best = min(
            same,
            key=lambda reference: (
                reference.outcome not in ("verified", "exists"),
                reference.outcome,
                reference.location,
            ),
        )
        agents = tuple(sorted({citation.agent for citation in citations}))
        listed.append(msgspec.structs.replace(best, agents=agents, citations=tuple(citations)))
    return tuple(
        sorted(
            listed,
            key=lambda reference: (
                reference.path is None,
                reference.path or "",
                reference.line or 0,
                reference.location,
            ),
        )
    )


def _citation_order(citation: Citation) -> tuple[str, str, str, bool]:
    return citation.agent, citation.item, citation.relevance, citation.partial is True


def _differences(designs: Sequence[Design]) -> Iterable[DesignDifference]:
    """Yield the files and components that the maps of two agents describe differently."""
    files: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    components: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    written: dict[str, str] = {}
    for design in designs:
        for row in design.map:
            if row.path:
                files[row.path][design.agent].add(f"{row.component}: {row.action}".strip(": "))
            if row.component and row.path:
                folded = " ".join(row.component.lower().split())
                written[folded] = min(row.component, written.get(folded, row.component))
                components[folded][design.agent].add(row.path)
    for path, by_agent in sorted(files.items()):
        yield from _differing(path, by_agent)
    for folded, by_agent in sorted(components.items()):
        yield from _differing(written[folded], by_agent)


def _differing(subject: str, by_agent: dict[str, set[str]]) -> Iterable[DesignDifference]:
    texts = {agent: sorted(statements) for agent, statements in sorted(by_agent.items())}
    if len({tuple(map(str.lower, statements)) for statements in texts.values()}) > 1:
        yield DesignDifference(
            subject, tuple(Statement(agent, "; ".join(agent_texts)) for agent, agent_texts in texts.items())
        )
