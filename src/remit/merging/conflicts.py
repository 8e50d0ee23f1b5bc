"""Conflicts between agents, which a person decides: severities, scores, compliance, and denied findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from remit.merging.merge_data import SCALE, Conflict, MergedFinding, ReportedFinding, ReportedStatement

#: Scores at least this far apart are a conflict.
SCORE_GAP = 30.0
Denials = dict[tuple[str, int], list[ReportedStatement]]


def unscored_agents(rows: Sequence[ReportedFinding]) -> frozenset[str]:
    """Return the agents that gave no score for any of their rows."""
    scored = {row.opinion.agent for row in rows if not row.unscored}
    return frozenset(row.opinion.agent for row in rows) - scored


def conflicts_of(finding: MergedFinding, unscored: frozenset[str] = frozenset()) -> list[Conflict]:
    """Return the conflicts about one finding; agents without a score (`unscored`) are excluded."""
    conflicts: list[Conflict] = []
    opinions = finding.opinions
    mildest, worst = SCALE[0], SCALE[-1]
    low = high = opinions[0].confidence
    is_mild = is_bad = False
    for opinion in opinions:
        is_mild = is_mild or opinion.severity == mildest
        is_bad = is_bad or opinion.severity == worst
        if opinion.confidence < low:
            low = opinion.confidence
        elif opinion.confidence > high:
            high = opinion.confidence
    if is_mild and is_bad:
        first = max([opinion.agent for opinion in opinions if opinion.severity == worst])
        other = min([opinion.agent for opinion in opinions if opinion.severity == mildest])
        why = f"{first} calls it {worst}, {other} {mildest}{_at(finding)}"
        conflicts.append(Conflict("severity", name_of(finding), _agents(first, other), why))
    if high - low >= SCORE_GAP:
        scored = [(opinion.confidence, opinion.agent) for opinion in opinions if opinion.agent not in unscored]
        (lowest, other), (highest, first) = min(scored, default=(0.0, "")), max(scored, default=(0.0, ""))
        if highest - lowest >= SCORE_GAP:
            why = f"{first} gives it {highest:g}, {other} {lowest:g}{_at(finding)}"
            conflicts.append(Conflict("score", name_of(finding), _agents(first, other), why))
    return conflicts


def name_of(finding: MergedFinding) -> str:
    """Return the name that a conflict uses for a finding: its id, else its location, else its title."""
    if finding.id:
        return finding.id
    return f"{finding.path}:{finding.line}" if finding.path else finding.title


def _at(finding: MergedFinding) -> str:
    """Return the location as text: two agents may use one id for two findings."""
    return f" (at {finding.path}:{finding.line})" if finding.path and finding.line else ""


def _agents(*names: str) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def compliance_conflicts(statements: Sequence[ReportedStatement]) -> Iterable[Conflict]:
    """Yield a conflict for each standard with PASS and FAIL; case and white space are ignored."""
    verdicts_of: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    written: dict[str, str] = {}
    for statement in statements:
        if statement.kind == "compliance" and statement.says in ("PASS", "FAIL"):
            name = " ".join(statement.subject.split())
            verdicts_of[name.lower()][statement.says].add(statement.agent)
            written[name.lower()] = min(name, written.get(name.lower(), name))
    for subject, verdicts in sorted(verdicts_of.items()):
        if len(verdicts) == 2:
            passed, failed = sorted(verdicts["PASS"]), sorted(verdicts["FAIL"])
            why = f"PASS by {', '.join(passed)}; FAIL by {', '.join(failed)}"
            yield Conflict("compliance", written[subject], _agents(*passed, *failed), why)


def denials(statements: Sequence[ReportedStatement]) -> Denials:
    """Return the UNVERIFIED claims by location."""
    by_location: Denials = defaultdict(list)
    for statement in statements:
        if statement.kind == "claim" and statement.says == "UNVERIFIED" and statement.path and statement.line:
            by_location[(statement.path, statement.line)].append(statement)
    return by_location


def presence_conflicts(finding: MergedFinding, denied: Denials) -> Iterable[Conflict]:
    """Yield a conflict for each UNVERIFIED claim at the location of a finding."""
    if finding.path is None or finding.line is None:
        return
    last = min(finding.end_line or finding.line, finding.line + 10_000)
    here = [claim for line in range(finding.line, last + 1) for claim in denied.get((finding.path, line), ())]
    for claim in sorted(here, key=lambda claim: (claim.agent, claim.subject)):
        why = f"{claim.agent} could not verify: {claim.subject}{_at(finding)}"
        yield Conflict("presence", name_of(finding), _agents(claim.agent, *finding.agents), why)
