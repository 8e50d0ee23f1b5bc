"""Disagreements that a person must settle. They are listed even where the finding was filtered out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from remit.merging.model import SCALE, Conflict, MergedFinding, Statement

#: Scores this far apart are not the same opinion.
SCORE_GAP = 30.0

Denials = dict[tuple[str, int], list[Statement]]


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
            why = f"{one} gives it {most:g}, {other} {least:g}{_at(finding)}"
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
    """PASS and FAIL for the same standard, whatever its case and white space; told as one of them writes it."""
    said: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    written: dict[str, str] = {}
    for statement in statements:
        if statement.kind == "compliance" and statement.says in ("PASS", "FAIL"):
            name = " ".join(statement.subject.split())
            said[name.lower()][statement.says].add(statement.agent)
            written[name.lower()] = min(name, written.get(name.lower(), name))
    for subject, verdicts in sorted(said.items()):
        if len(verdicts) == 2:
            passed, failed = sorted(verdicts["PASS"]), sorted(verdicts["FAIL"])
            why = f"PASS by {', '.join(passed)}; FAIL by {', '.join(failed)}"
            yield Conflict("compliance", written[subject], _agents(*passed, *failed), why)


def denials(statements: Sequence[Statement]) -> Denials:
    """The claims that were found UNVERIFIED, by place."""
    at: Denials = defaultdict(list)
    for statement in statements:
        if statement.kind == "claim" and statement.says == "UNVERIFIED" and statement.path and statement.line:
            at[(statement.path, statement.line)].append(statement)
    return at


def presence(finding: MergedFinding, denied: Denials) -> Iterable[Conflict]:
    """A claim that was found UNVERIFIED at the place of a finding."""
    if finding.path is None or finding.line is None:
        return
    last = min(finding.end_line or finding.line, finding.line + 10_000)
    here = [claim for line in range(finding.line, last + 1) for claim in denied.get((finding.path, line), ())]
    for claim in sorted(here, key=lambda claim: (claim.agent, claim.subject)):
        why = f"{claim.agent} could not verify: {claim.subject}{_at(finding)}"
        yield Conflict("presence", name_of(finding), _agents(claim.agent, *finding.agents), why)
