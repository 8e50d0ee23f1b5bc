"""The data of a merge. `Merge` is the fixed JSON shape `remit.merge/1`."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from remit.contract.findings import Severity
from remit.merging.content import NO_SECTIONS, Sections
from remit.workspace.languages import NOT_CODE

SCHEMA = "remit.merge/1"
#: The agent name of a merge that is written as a result (Markdown).
MERGED_AGENT = "Merged Review"

#: The status of an agent whose report was recorded and not checked: it changes neither status nor decision.
OBSERVED = "OBSERVED"
#: The status of an agent that a person skipped: what it reported is kept, and it changes neither status nor decision.
SKIPPED = "SKIPPED"
NOT_COUNTED = (OBSERVED, SKIPPED)
#: The flag of a finding of a rejected report: its claims hold, those of other parts do not.
PARTIAL = "partial"

MergeStatus = Literal["SUCCESS", "PARTIAL", "FAILED"]
MergeDecision = Literal["continue", "review", "retry"]
ConflictKind = Literal["severity", "score", "compliance", "presence", "self"]
CONFLICT_KINDS: tuple[ConflictKind, ...] = get_args(ConflictKind)
Policy = Literal["mean", "max", "floor"]

#: The points for agents that agree, however many they are.
FLAT_BONUS = 10.0
#: Starts the reason of a finding that is dropped because of its score.
LOW_SCORE = "confidence "
#: Starts the fingerprint of a row of an earlier merge.
MERGE_MARK = "merge:"
#: From the mildest to the worst.
SCALE: tuple[Severity, ...] = ("minor", "important", "critical")


class Opinion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One agent's statement on one finding; its severity and its score stay together."""

    agent: str
    id: str
    severity: Severity | None
    confidence: float
    line: int | None
    title: str
    details: str = ""
    #: What the agent stated, if the evidence changed it.
    claimed_path: str | None = None
    claimed_line: int | None = None
    claimed_confidence: float | None = None
    #: Why its evidence failed; empty if it holds or could not be checked.
    evidence: str = ""
    #: Flags of this opinion only: `unscored`, `relocated`, `revise`, …
    flags: tuple[str, ...] = ()
    #: The rule of a tool; empty for an agent, whose ids are only numbers.
    rule: str = ""


class Member(msgspec.Struct, frozen=True, gc=False, order=True):
    """A row of an input that is part of a finding."""

    agent: str
    id: str
    #: Its line, if that is not the line of the finding.
    line: int | msgspec.UnsetType | None = msgspec.UNSET


#: The flag of an opinion whose quoted code was compared with the file, and is there.
QUOTED = "quote-verified"


class ReportedFinding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One agent's finding, adjusted by its evidence, before it is grouped with others."""

    opinion: Opinion
    path: str | None
    end_line: int | None
    category: str
    verified: bool | None
    #: Flags that an earlier merge gave the whole finding.
    flags: tuple[str, ...] = ()
    #: Of the cited lines, if known: the same code is the same location even if its line changed.
    fingerprint: str = ""
    #: Why the row is dropped before it is compared: its tool suppressed it, or reports no fault.
    reason: str = ""
    #: The rows of an earlier merge that it represents; empty for a row of an input.
    members: tuple[Member, ...] = ()

    @property
    def unscored(self) -> bool:
        """Whether its agent gave no score."""
        return "unscored" in self.opinion.flags or "unscored" in self.flags

    @property
    def is_merged(self) -> bool:
        """Whether it comes from an earlier merge; then its fingerprint is the mark of its finding."""
        return self.fingerprint.startswith(MERGE_MARK)


class MergedFinding(msgspec.Struct, frozen=True, gc=False):
    """The statements of all agents on one location and category."""

    id: str
    path: str | None
    line: int | None
    end_line: int | None
    category: str
    severity: Severity | None
    title: str
    confidence: float
    max: float
    mean: float
    #: The share of the agents that answered which report it: 2 of 2 differs from 2 of 10.
    agreement: float
    agents: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    verified: bool | None
    flags: tuple[str, ...]
    #: Every row of the inputs that is part of it.
    members: tuple[Member, ...] = ()
    #: Of its path, rule or title, and code; the ID for `remit dismiss`. Empty before a checkout was looked at.
    fingerprint: str = ""
    #: Why it was dropped; unset if it was kept.
    reason: str | msgspec.UnsetType = msgspec.UNSET


class AgentReport(msgspec.Struct, frozen=True):
    """One input: its agent, its status and its verdict."""

    agent: str
    status: str
    verdict: str | None
    #: The kind of result, `tool` for SARIF; empty if nothing was sent.
    kind: str = ""
    #: The confidence of the whole result.
    confidence: float | None = None
    #: Whether it looked for issues: only then does a report without findings mean that none were found. None: unknown.
    looked: bool | None = None
    #: What is wrong with its status: it names none, or one that does not exist. Such a result counts as PARTIAL.
    problem: str | msgspec.UnsetType = msgspec.UNSET


class Conflict(msgspec.Struct, frozen=True):
    """A disagreement that a person decides."""

    kind: ConflictKind
    #: The id of the finding, or the standard.
    finding: str
    agents: tuple[str, ...]
    why: str


class Counts(msgspec.Struct, frozen=True):
    """Totals of a merge."""

    inputs: int
    findings: int
    dropped: int
    conflicts: int
    critical: int
    important: int
    minor: int
    unrated: int = 0
    #: The rows of all inputs: each is a member of one kept or dropped finding.
    rows: int = 0
    #: The dropped findings that a person dismissed.
    dismissed: int = 0


class LanguageCoverage(msgspec.Struct, frozen=True):
    """How many files of a language there are, how many each reviewer read, and how many no reviewer read."""

    language: str
    files: int
    read_by: dict[str, int]
    unread: int


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """One report made from many."""

    schema: Literal["remit.merge/1"] = "remit.merge/1"
    status: MergeStatus
    decision: MergeDecision
    agents: tuple[AgentReport, ...]
    findings: tuple[MergedFinding, ...]
    conflicts: tuple[Conflict, ...]
    dropped: tuple[MergedFinding, ...]
    sections: Sections = NO_SECTIONS
    #: Of a review; empty for other merges.
    coverage: tuple[LanguageCoverage, ...] = ()
    counts: Counts

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


class ReportedStatement(msgspec.Struct, frozen=True):
    """A compliance row or a verification claim; it takes part in conflicts only."""

    agent: str
    kind: Literal["compliance", "claim"]
    subject: str
    says: str
    path: str | None = None
    line: int | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one input contributes to the merge."""

    agent: str
    status: str
    verdict: str | None
    rows: tuple[ReportedFinding, ...] = ()
    statements: tuple[ReportedStatement, ...] = ()
    #: The open conflicts of a merged report in Markdown.
    conflicts: tuple[Conflict, ...] = ()
    #: The claimed confidence of the whole result.
    confidence: float | None = None
    #: See `AgentReport`.
    kind: str = ""
    looked: bool | None = None
    problem: str | msgspec.UnsetType = msgspec.UNSET
    sections: Sections = NO_SECTIONS


class MergeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a merge."""

    threshold: float = 80.0
    #: Whether a merge of one earlier merge keeps the threshold of that one, because the caller names none.
    keeps_threshold: bool = False
    policy: Policy = "mean"
    #: Expertise: "agent" or "agent/category" -> weight; the default is 1.
    weights: dict[str, float] = {}
    #: Findings at most this many lines apart are at one location.
    window: int = 0
    expect: tuple[str, ...] = ()

    def weight(self, agent: str, category: str) -> float:
        """Return the weight of an agent in a category."""
        return self.weights.get(f"{agent}/{category}", self.weights.get(agent, 1.0))
