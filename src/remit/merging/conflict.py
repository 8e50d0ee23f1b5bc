"""Disagreements that a person must settle. They are listed even where the finding was filtered out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from remit.merging.model import SCALE, Conflict, MergedFinding, Statement

#: Scores this far apart are not the same opinion.
SCORE_GAP = 30.0


def conflicts_of(finding: MergedFinding, unscored: frozenset[str] = frozenset()) -> Iterable[Conflict]:
    """What agents disagree on about one finding; scores that nobody gave (`unscored`) are left apart."""
    mildest, *_, worst = SCALE
    low = [opinion.agent for opinion in finding.opinions if opinion.severity == mildest]
    high = [opinion.agent for opinion in finding.opinions if opinion.severity == worst]
    if low and high:
        one, other = max(high), min(low)
        why = f"{one} calls it {worst}, {other} {mildest}{_at(finding)}"
        yield Conflict("severity", name_of(finding), _agents(one, other), why)
    scored = [(opinion.confidence, opinion.agent) for opinion in finding.opinions if opinion.agent not in unscored]
    if len(scored) > 1:
        (least, other), (most, one) = min(scored), max(scored)
        if most - least >= SCORE_GAP:
            why = f"{one} is sure to {most:g}, {other} to {least:g}{_at(finding)}"
            yield Conflict("score", name_of(finding), _agents(one, other), why)


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


def presence(findings: Iterable[MergedFinding], statements: Sequence[Statement]) -> Iterable[Conflict]:
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
