"""What a merge is made of, and what it says. `Merge` is the fixed JSON shape `remit.merge/1`."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from remit.contract.findings import Severity

SCHEMA = "remit.merge/1"
#: Whose result a merge is when it is written as one (Markdown).
MERGED_AGENT = "Merged Review"

MergeStatus = Literal["SUCCESS", "PARTIAL", "FAILED"]
MergeDecision = Literal["continue", "review", "retry"]
ConflictKind = Literal["severity", "score", "compliance", "presence"]
CONFLICT_KINDS: tuple[ConflictKind, ...] = get_args(ConflictKind)
Policy = Literal["mean", "max", "floor"]

#: From the mildest to the worst.
SCALE: tuple[Severity, ...] = ("minor", "important", "critical")


class Opinion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one agent says of one finding; its severity and its score stay together."""

    agent: str
    id: str
    severity: Severity | None
    confidence: float
    line: int | None
    title: str
    details: str = ""
    #: What the agent itself gave, where looking it up has changed it.
    claimed_path: str | None = None
    claimed_line: int | None = None
    claimed_confidence: float | None = None
    #: Why its evidence failed; empty: it holds, or nobody could look.
    evidence: str = ""
    #: What is so of this agent's word alone: `unscored`, `relocated`, `revise`, …
    flags: tuple[str, ...] = ()


class ReportedFinding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One agent's finding, adjusted by its evidence, before it is compared with others."""

    opinion: Opinion
    path: str | None
    end_line: int | None
    category: str
    verified: bool | None
    #: What an earlier merge said of the whole finding.
    flags: tuple[str, ...] = ()
    #: Of the cited lines, where they are known: the same code is the same place although the line moved.
    fingerprint: str = ""

    @property
    def unscored(self) -> bool:
        """Whether nobody gave its score."""
        return "unscored" in self.opinion.flags or "unscored" in self.flags


class MergedFinding(msgspec.Struct, frozen=True, gc=False):
    """What all agents say of one place and category."""

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
    #: Which share of the agents that answered name it: 2 of 2 is not 2 of 10.
    agreement: float
    agents: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    verified: bool | None
    flags: tuple[str, ...]
    #: For one that was filtered out: why.
    reason: str | msgspec.UnsetType = msgspec.UNSET


class AgentReport(msgspec.Struct, frozen=True):
    """One input: who sent it, how it ended, whether it keeps the contract."""

    agent: str
    status: str
    verdict: str | None


class Conflict(msgspec.Struct, frozen=True):
    """A disagreement for a person to settle."""

    kind: ConflictKind
    #: The id of the finding, or the standard.
    finding: str
    agents: tuple[str, ...]
    why: str


class Counts(msgspec.Struct, frozen=True):
    """How many of each."""

    inputs: int
    findings: int
    dropped: int
    conflicts: int
    critical: int
    important: int
    minor: int


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """One answer out of many."""

    schema: Literal["remit.merge/1"] = "remit.merge/1"
    status: MergeStatus
    decision: MergeDecision
    agents: tuple[AgentReport, ...]
    findings: tuple[MergedFinding, ...]
    conflicts: tuple[Conflict, ...]
    dropped: tuple[MergedFinding, ...]
    counts: Counts


class ReportedStatement(msgspec.Struct, frozen=True):
    """A compliance row or a verification claim: it takes part in conflicts only."""

    agent: str
    kind: Literal["compliance", "claim"]
    subject: str
    says: str
    path: str | None = None
    line: int | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one input brings to the merge."""

    agent: str
    status: str
    verdict: str | None
    sightings: tuple[ReportedFinding, ...] = ()
    statements: tuple[ReportedStatement, ...] = ()
    #: Of a merged report in Markdown: what it says is to be settled.
    conflicts: tuple[Conflict, ...] = ()
    #: The claimed confidence of the whole result.
    confidence: float | None = None


class MergeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to merge."""

    threshold: float = 80.0
    policy: Policy = "mean"
    #: Expertise: "agent" or "agent/category" -> weight; 1 where nothing is said.
    weights: dict[str, float] = {}
    #: Findings this many lines apart are still one place.
    window: int = 0
    expect: tuple[str, ...] = ()

    def weight(self, agent: str, category: str) -> float:
        """How much an agent's word counts in a category."""
        return self.weights.get(f"{agent}/{category}", self.weights.get(agent, 1.0))


def plain_value(value: Any) -> Any:
    """A value as JSON types."""
    return msgspec.to_builtins(value)
