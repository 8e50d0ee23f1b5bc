"""Disagreements that a person must settle. They are listed even where the finding was filtered out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from remit.merging.model import SCALE, Conflict, MergedFinding, Statement

#: Scores this far apart are not the same opinion.
SCORE_GAP = 30.0


def conflicts_of(finding: MergedFinding, unscored: frozenset[str] = frozenset()) -> Iterable[Conflict]:
    """What agents disagree on about one finding; scores that nobody gave (`unscored`) are left apart."""
    given = [opinion for opinion in finding.opinions if opinion.severity]
    if given:
        low = min(given, key=lambda opinion: (SCALE.index(opinion.severity or "minor"), opinion.agent))
        high = max(given, key=lambda opinion: (SCALE.index(opinion.severity or "minor"), opinion.agent))
        if SCALE.index(high.severity or "minor") - SCALE.index(low.severity or "minor") >= 2:
            why = f"{high.agent} calls it {high.severity}, {low.agent} {low.severity}{_at(finding)}"
            yield Conflict("severity", name_of(finding), _agents(high.agent, low.agent), why)
    scored = [opinion for opinion in finding.opinions if opinion.agent not in unscored]
    if len(scored) > 1:
        least = min(scored, key=lambda opinion: (opinion.confidence, opinion.agent))
        most = max(scored, key=lambda opinion: (opinion.confidence, opinion.agent))
        if most.confidence - least.confidence >= SCORE_GAP:
            why = f"{most.agent} is sure to {most.confidence:g}, {least.agent} to {least.confidence:g}{_at(finding)}"
            yield Conflict("score", name_of(finding), _agents(most.agent, least.agent), why)


def name_of(finding: MergedFinding) -> str:
    """How a conflict names its finding: its id, else its place, else its title."""
    if finding.id:
        return finding.id
    return f"{finding.path}:{finding.line}" if finding.path else finding.title


def _at(finding: MergedFinding) -> str:
    """Where it is: two agents may use one id for two things."""
    return f" (at {finding.path}:{finding.line})" if finding.path and finding.line else ""


def _agents(*names: str) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def compliance(statements: Sequence[Statement]) -> Iterable[Conflict]:
    """PASS and FAIL for the same standard."""
    said: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for statement in statements:
        if statement.kind == "compliance" and statement.says in ("PASS", "FAIL"):
            said[statement.subject][statement.says].add(statement.agent)
    for subject, verdicts in sorted(said.items()):
        if len(verdicts) == 2:
            passed, failed = sorted(verdicts["PASS"]), sorted(verdicts["FAIL"])
            why = f"PASS by {', '.join(passed)}; FAIL by {', '.join(failed)}"
            yield Conflict("compliance", subject, _agents(*passed, *failed), why)


def presence(findings: Sequence[MergedFinding], statements: Sequence[Statement]) -> Iterable[Conflict]:
    """A claim that was found UNVERIFIED at the place of a finding."""
    at: dict[tuple[str, int], list[Statement]] = defaultdict(list)
    for statement in statements:
        if statement.kind == "claim" and statement.says == "UNVERIFIED" and statement.path and statement.line:
            at[(statement.path, statement.line)].append(statement)
    if not at:
        return
    for finding in findings:
        if finding.path is None or finding.line is None:
            continue
        last = min(finding.end_line or finding.line, finding.line + 10_000)
        denied = [s for line in range(finding.line, last + 1) for s in at.get((finding.path, line), ())]
        for statement in sorted(denied, key=lambda s: (s.agent, s.subject)):
            why = f"{statement.agent} could not verify: {statement.subject}{_at(finding)}"
            yield Conflict("presence", name_of(finding), _agents(statement.agent, *finding.agents), why)
