"""The data of a merge. `Merge` is the fixed JSON shape `remit.merge/2`."""

from __future__ import annotations

from typing import Literal

import msgspec

from remit.contract.findings import Severity
from remit.evidence.model import Outcome
from remit.merging.content import NO_SECTIONS, Sections
from remit.workspace.languages import NOT_CODE

SCHEMA = "remit.merge/2"
#: More rows are an error: no person reads the report, and all of them are in memory.
MAX_FINDINGS = 200_000

#: The status of an agent whose report was recorded and not checked: it changes neither status nor decision.
OBSERVED = "OBSERVED"
#: The status of an agent that a person skipped: what it reported is kept, and it changes neither status nor decision.
SKIPPED = "SKIPPED"
NOT_COUNTED = (OBSERVED, SKIPPED)
#: The flag of a finding of a rejected report: its claims hold, those of other parts do not.
PARTIAL = "partial"
#: The flags of a finding whose quote or name was compared with the file, and is there.
QUOTED = "quote-verified"
NAMED = "name-verified"
#: The flag of a finding that a person dismissed, and of one of which the person saw only a part.
DISMISSED = "dismissed"
DISMISSED_BEFORE = "dismissed-before"

MergeStatus = Literal["SUCCESS", "PARTIAL", "FAILED"]
MergeDecision = Literal["continue", "review", "retry"]
ConflictKind = Literal["severity", "score", "compliance", "work", "presence", "self"]
Policy = Literal["mean", "max", "floor"]

#: The outcomes of evidence after which a row is no finding.
FAILED: frozenset[Outcome] = frozenset({"missing-file", "out-of-range", "mismatch"})
#: The points for agents that agree, however many they are.
BONUS = 10.0
#: The score of a row without one, where its text has no place for a score at all; in SARIF, too.
UNSCORED_TOOL = 80.0
#: Findings of at least this score are kept: the band "moderate" begins here.
THRESHOLD = 75.0
#: From the mildest to the worst.
SCALE: tuple[Severity, ...] = ("minor", "important", "critical")


def rank(severity: Severity | None) -> int:
    """Return how bad a severity is; a missing one is the least."""
    return SCALE.index(severity) if severity else -1


class Opinion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One agent's statement on one finding; its severity and its score stay together."""

    agent: str
    id: str
    severity: Severity | None
    #: The score after the evidence was checked.
    confidence: float
    #: The score that the agent gave; None: it gave none.
    claimed: float | None = None
    line: int | None
    title: str
    details: str = ""
    #: The rule of a tool; an agent has none, and its ids are only numbers.
    rule: str | msgspec.UnsetType = msgspec.UNSET
    #: The titles of further rows of the agent on this problem that do not match its title.
    also: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def titles(self) -> tuple[str, ...]:
        """Every title that the agent gave the problem."""
        return (self.title, *(self.also or ()))


class Member(msgspec.Struct, frozen=True, gc=False, order=True):
    """A row of an input that is part of a finding."""

    agent: str
    id: str


class ReportedFinding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One agent's finding, adjusted by its evidence, before it is grouped with others."""

    opinion: Opinion
    path: str | None
    end_line: int | None
    category: str
    verified: bool | None
    flags: tuple[str, ...] = ()
    #: Whether its result was accepted.
    accepted: bool = True
    #: Of the cited lines, if known: the same code is the same location even if its line changed.
    fingerprint: str = ""
    #: Why its evidence failed: then it is no finding.
    failure: str = ""
    #: Why the row is dropped before it is compared: its tool suppressed it, or reports no fault.
    reason: str = ""
    #: The rows of an earlier merge that it represents; empty for a row of an input.
    members: tuple[Member, ...] = ()

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last line; (0, 0) without a line."""
        first = self.opinion.line or 0
        return first, max(first, self.end_line or first)


class MergedFinding(msgspec.Struct, frozen=True, gc=False):
    """The statements of all agents on one problem."""

    id: str
    path: str | None
    line: int | None
    end_line: int | None
    category: str
    severity: Severity | None
    title: str
    confidence: float
    #: The best score of one agent, and the weighted mean of all.
    max: float
    mean: float
    #: The share of the agents that answered which report it: 2 of 2 differs from 2 of 10.
    agreement: float
    agents: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    #: Whether something of its evidence was compared or exists; None: nothing could be checked.
    verified: bool | None
    flags: tuple[str, ...]
    #: Every row of the inputs that is part of it.
    members: tuple[Member, ...] = ()
    #: Why it was dropped; unset if it was kept.
    reason: str | msgspec.UnsetType = msgspec.UNSET


class FailedRow(msgspec.Struct, frozen=True, order=True):
    """A row whose claims do not hold: it is no finding, and counts for nothing."""

    agent: str
    id: str
    title: str
    severity: Severity | None
    location: str
    why: str


class AgentReport(msgspec.Struct, frozen=True):
    """One input: its agent, its status and its verdict."""

    agent: str
    status: str
    verdict: str | None


class ConflictAnswer(msgspec.Struct, frozen=True):
    """What a person decided about a conflict."""

    keep: str
    why: str


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """A disagreement that a person decides."""

    id: str = ""
    kind: ConflictKind
    #: The id of the finding, the standard, or what the work is about.
    finding: str
    agents: tuple[str, ...]
    why: str
    answer: ConflictAnswer | None = None


class Counts(msgspec.Struct, frozen=True):
    """Totals of a merge."""

    inputs: int
    findings: int
    critical: int
    important: int
    minor: int
    unrated: int
    dropped: int
    #: The dropped findings that a person dismissed.
    dismissed: int
    failed: int
    conflicts: int
    #: The rows of all inputs that are members of a finding, kept or dropped.
    rows: int
    #: The results that looked for issues: without one, no finding does not mean no issue.
    looked: int


class LanguageCoverage(msgspec.Struct, frozen=True):
    """How many files of a language there are, how many each reviewer read, and how many no reviewer read."""

    language: str
    files: int
    read_by: dict[str, int]
    unread: int


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """One report made from many."""

    schema: Literal["remit.merge/2"] = "remit.merge/2"
    status: MergeStatus
    decision: MergeDecision
    agents: tuple[AgentReport, ...]
    findings: tuple[MergedFinding, ...]
    conflicts: tuple[Conflict, ...]
    failed: tuple[FailedRow, ...]
    dropped: tuple[MergedFinding, ...]
    sections: Sections = NO_SECTIONS
    #: Of a review; empty for other merges.
    coverage: tuple[LanguageCoverage, ...] = ()
    counts: Counts
    threshold: float

    @property
    def is_unread(self) -> bool:
        """Whether this is a review in which no reviewer read a file."""
        return bool(self.coverage) and all(coverage.unread == coverage.files for coverage in self.coverage)

    @property
    def is_mostly_unread(self) -> bool:
        """Whether this is a review in which no reviewer read most files of code."""
        code = [coverage for coverage in self.coverage if coverage.language not in NOT_CODE]
        return 2 * sum(coverage.unread for coverage in code) > sum(coverage.files for coverage in code)

    @property
    def is_empty(self) -> bool:
        """Whether this is a review without a file to review."""
        return bool(self.coverage) and not any(coverage.files for coverage in self.coverage)


class Denial(msgspec.Struct, frozen=True):
    """A claim that a verification could not verify; it takes part in conflicts only."""

    agent: str
    subject: str
    path: str
    line: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one input contributes to the merge."""

    agent: str
    status: str
    verdict: str | None
    rows: tuple[ReportedFinding, ...] = ()
    #: What of its other parts does not hold: entry points, steps, changes, runs.
    failed: tuple[FailedRow, ...] = ()
    denials: tuple[Denial, ...] = ()
    #: Its conflicts with itself, and those of an earlier merge.
    conflicts: tuple[Conflict, ...] = ()
    #: The claimed confidence of the whole result.
    confidence: float | None = None
    #: Whether it looked for issues.
    looked: bool = False
    sections: Sections = NO_SECTIONS


class MergeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a merge."""

    #: What the caller asks for; None: the threshold of an earlier merge that is the only input, else the usual one.
    threshold: float | None = None
    usual_threshold: float = THRESHOLD
    policy: Policy = "mean"
    #: "agent" or "agent/category" -> weight; the default is 1.
    weights: dict[str, float] = {}
    expect: tuple[str, ...] = ()
    #: The categories of other tools' rules.
    categories: dict[str, str] = {}

    @property
    def least(self) -> float:
        """The score from which a finding is kept."""
        return self.usual_threshold if self.threshold is None else self.threshold

    def weight(self, agent: str, category: str) -> float:
        """Return the weight of an agent in a category."""
        return self.weights.get(f"{agent}/{category}", self.weights.get(agent, 1.0))
