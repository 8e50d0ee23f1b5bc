"""Make one finding of each group of rows: agreement, conflicts and names. The order of the rows does not matter."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from remit.contract.findings import Severity
from remit.merging.grouping import group_rows
from remit.merging.merge_data import (
    BONUS,
    NOT_COUNTED,
    SCALE,
    UNSCORED_TOOL,
    Conflict,
    Denial,
    Member,
    MergedFinding,
    MergeSettings,
    Opinion,
    Report,
    ReportedFinding,
    rank,
)
from remit.merging.titles import SAME_TITLE, folded_title, title_similarity

#: Scores at least this far apart are a conflict.
SCORE_GAP = 30.0
#: The flags of agreement, and the one of a conflict.
COMPUTED = frozenset({"agreed", "confirmed", "disputed"})
UNSCORED = "unscored"
#: The id that an agent gives a row: `SEC-001`.
_ROW_ID = re.compile(r"([A-Za-z][A-Za-z0-9]{0,11})-(\d{1,6})")
_MILDEST, _WORST = SCALE[0], SCALE[-1]


class Found(NamedTuple):
    """The findings of a merge in the order of the report, and the conflicts about them."""

    kept: tuple[MergedFinding, ...]
    dropped: tuple[MergedFinding, ...]
    conflicts: tuple[Conflict, ...]


def find(reports: Sequence[Report], settings: MergeSettings) -> Found:
    """Group the rows of all reports, combine each group, and name the findings and their conflicts."""
    answered = len({report.agent for report in reports if report.status not in ("FAILED", *NOT_COUNTED)})
    groups = list(group_rows(row for report in reports for row in report.rows))
    findings = _named([_combined(group, settings, answered) for group in groups])
    conflicts = [*_own(reports, findings), *_compliance(reports), *_work(reports), *_presence(findings, reports)]
    # What a tool suppressed disputes nothing.
    conflicts += _at_one_line(finding for finding, rows in zip(findings, groups, strict=True) if not rows[0].reason)
    conflicts += (conflict for finding in findings for conflict in conflicts_of(finding))
    disputed = {conflict.finding for conflict in conflicts if conflict.kind not in ("compliance", "work")}
    ordered = sorted((_disputed(f) if f.id in disputed else f for f in findings), key=report_order)
    return Found(
        kept=tuple(finding for finding in ordered if finding.reason is msgspec.UNSET),
        dropped=tuple(finding for finding in ordered if finding.reason is not msgspec.UNSET),
        conflicts=_numbered(conflicts),
    )


def report_order(finding: MergedFinding) -> tuple[object, ...]:
    """Return the sort key of a finding in a report: by severity, then by confidence, then by place."""
    return -rank(finding.severity), -finding.confidence, finding.path or "", finding.line or 0, finding.id


def _combined(rows: Sequence[ReportedFinding], settings: MergeSettings, answered: int) -> MergedFinding:
    by_agent: dict[str, list[ReportedFinding]] = defaultdict(list)
    for row in rows:
        by_agent[row.opinion.agent].append(row)
    opinions = tuple(_opinion(by_agent[agent]) for agent in sorted(by_agent))
    leader = min(rows, key=_leading)
    best = max(opinion.confidence for opinion in opinions)
    mean = _mean(opinions, leader.category, settings)
    confidence = _agreed(opinions, mean, best, settings)
    severity = _worst(opinion.severity for opinion in opinions)
    verified = {row.verified for row in rows}
    agreement = ("agreed",) if len(opinions) == 2 else ("confirmed",) if len(opinions) > 2 else ()
    finding = MergedFinding(
        id=leader.opinion.id,
        path=leader.path,
        line=leader.opinion.line,
        end_line=leader.end_line,
        category=leader.category,
        severity=severity,
        title=leader.opinion.title,
        confidence=confidence,
        max=best,
        mean=mean,
        agreement=round(len(opinions) / max(answered, len(opinions)), 4),
        agents=tuple(sorted(by_agent)),
        opinions=opinions,
        verified=True if True in verified else None,
        flags=tuple(sorted({*agreement, *_flags(rows, opinions)})),
        members=tuple(sorted(chain.from_iterable(row.members or (_member(row),) for row in rows))),
    )
    reason = rows[0].reason or ("" if is_kept(finding, settings.least) else low_score(finding, settings.least))
    return replace(finding, reason=reason) if reason else finding


def is_kept(finding: MergedFinding, threshold: float) -> bool:
    """Return whether the scores of a finding keep it: agreement never drops what one agent alone would keep."""
    is_tool = all(o.claimed is None and o.confidence >= UNSCORED_TOOL for o in finding.opinions)
    return max(finding.confidence, finding.max) >= threshold or finding.severity == _WORST or is_tool


def low_score(finding: MergedFinding, threshold: float) -> str:
    """Return why a finding is dropped for its score."""
    return f"confidence {finding.confidence + 0:g} is under {threshold:g}"  # + 0: -0.0 is written as 0


def _leading(row: ReportedFinding) -> tuple[object, ...]:
    """Return the sort key of a row: the first of a finding gives it id, title and place."""
    first, last = row.span
    size = last - first if row.opinion.line is not None else float("inf")
    opinion = row.opinion
    return -rank(opinion.severity), not row.accepted, size, -opinion.confidence, opinion.agent, opinion.id


def _opinion(rows: Sequence[ReportedFinding]) -> Opinion:
    """Combine the rows of one agent: its best score (a given one first), its worst severity, and all its texts."""
    if len(rows) == 1:
        return rows[0].opinion
    ordered = [row.opinion for row in sorted(rows, key=_leading)]
    leader = ordered[0]
    best = max(ordered, key=lambda opinion: (opinion.claimed is not None, opinion.confidence))
    also = other_titles(leader.title, (title for opinion in ordered for title in opinion.titles))
    return replace(
        leader,
        severity=_worst(opinion.severity for opinion in ordered),
        confidence=best.confidence,
        claimed=best.claimed,
        details=_texts(ordered),
        also=also or msgspec.UNSET,
    )


def other_titles(title: str, titles: Iterable[str]) -> tuple[str, ...]:
    """Return the titles that do not match a title."""
    folded = folded_title(title)
    return tuple(dict.fromkeys(other for other in titles if title_similarity(folded, folded_title(other)) < SAME_TITLE))


def titles_beside(finding: MergedFinding) -> tuple[str, ...]:
    """Return the titles that a report prints beside that of a finding: no agent hides what another one states."""
    return other_titles(finding.title, (title for opinion in finding.opinions for title in opinion.titles))


def _texts(ordered: Sequence[Opinion]) -> str:
    """Return the details of the first opinion and what the others add; each title and paragraph occurs once."""
    first, *others = ordered
    parts = dict.fromkeys(_paragraphs(first.details))
    for other in others:
        if other.title != first.title:
            parts[f"Also: {f'{other.id}: ' if other.id else ''}{other.title}"] = None
        parts |= dict.fromkeys(_paragraphs(other.details))
    return "\n\n".join(parts)


def _paragraphs(details: str) -> list[str]:
    """Split details into parts that can be omitted; fenced code may have empty lines, so it stays whole."""
    if "```" in details or "~~~" in details:
        return [details]
    return [part for part in details.split("\n\n") if part.strip()]


def _worst(severities: Iterable[Severity | None]) -> Severity | None:
    return max(severities, key=rank, default=None)


def _mean(opinions: Sequence[Opinion], category: str, settings: MergeSettings) -> float:
    weights = [settings.weight(opinion.agent, category) for opinion in opinions]
    scores = [opinion.confidence for opinion in opinions]
    total = sum(weights)
    if not total:
        weights, total = [1.0] * len(scores), float(len(scores))
    mean = sum(score * weight for score, weight in zip(scores, weights, strict=True)) / total
    return min(max(scores), max(min(scores), mean))  # not outside because of rounding


def _agreed(opinions: Sequence[Opinion], mean: float, best: float, settings: MergeSettings) -> float:
    bonus = BONUS if len(opinions) > 1 and not any(_disputes(opinions)) else 0.0
    lifted = min(100.0, mean + bonus)
    return {"mean": lifted, "max": min(100.0, best + bonus), "floor": max(lifted, best)}[settings.policy]


def _flags(rows: Iterable[ReportedFinding], opinions: Iterable[Opinion]) -> set[str]:
    flags = {flag for row in rows for flag in row.flags}
    return flags | {UNSCORED} if any(opinion.claimed is None for opinion in opinions) else flags - {UNSCORED}


def _member(row: ReportedFinding) -> Member:
    return Member(row.opinion.agent, row.opinion.id)


def _named(findings: Sequence[MergedFinding]) -> list[MergedFinding]:
    """Give each finding an id of its own, as agents and tools number alike: a second SEC-001 is SEC2-001."""
    taken = {finding.id.upper() for finding in findings}
    number: Counter[str] = Counter()
    named = list(findings)
    for index in sorted(range(len(named)), key=lambda index: _naming_order(named[index])):
        own = named[index].id
        while True:
            number[own.upper()] += 1
            count = number[own.upper()]
            if count == 1 and own:
                break
            name = _numbered_id(own, count, is_rule=bool(named[index].opinions[0].rule))
            if name.upper() not in taken:
                taken.add(name.upper())
                named[index] = replace(named[index], id=name)
                break
    return named


def _naming_order(finding: MergedFinding) -> tuple[object, ...]:
    place = (finding.path or "", finding.line or 0, finding.end_line or 0)
    return (finding.agents, *place, finding.category, finding.title)


def _numbered_id(own: str, number: int, *, is_rule: bool) -> str:
    match = None if is_rule else _ROW_ID.fullmatch(own)
    if match:
        return f"{match[1]}{number}-{match[2]}"
    return f"{own}-{number}" if own else f"F-{number:03}"


def _disputed(finding: MergedFinding) -> MergedFinding:
    return replace(finding, flags=tuple(sorted({*finding.flags, "disputed"})))


def _numbered(conflicts: Iterable[Conflict]) -> tuple[Conflict, ...]:
    ordered = sorted({replace(c, id="") for c in conflicts}, key=lambda c: (c.kind, c.finding, c.agents, c.why))
    return tuple(replace(conflict, id=f"conflict-{number}") for number, conflict in enumerate(ordered, 1))


def _at(path: str | None, line: int | None) -> str:
    return f" (at {path}:{line})" if path and line else ""


def _agents(*names: str) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


class _Dispute(NamedTuple):
    """What two agents say of one problem: the first is worse or surer."""

    kind: str
    first: str
    other: str
    said: str
    against: str


def _disputes(opinions: Sequence[Opinion]) -> Iterator[_Dispute]:
    """Yield the conflicts of severity and score. Agents without any score are no part of the latter."""
    bad = [opinion.agent for opinion in opinions if opinion.severity == _WORST]
    mild = [opinion.agent for opinion in opinions if opinion.severity == _MILDEST]
    if bad and mild:
        yield _Dispute("severity", max(bad), min(mild), f"calls it {_WORST}", _MILDEST)
    scored = [(opinion.confidence, opinion.agent) for opinion in opinions if opinion.claimed is not None]
    (high, first), (low, other) = max(scored, default=(0.0, "")), min(scored, default=(0.0, ""))
    if high - low >= SCORE_GAP:
        yield _Dispute("score", first, other, f"gives it {high:g}", f"{low:g}")


def conflicts_of(finding: MergedFinding) -> Iterator[Conflict]:
    """Yield the conflicts between the agents of a finding."""
    for kind, first, other, said, against in _disputes(finding.opinions):
        why = f"{first} {said}, {other} {against}{_at(finding.path, finding.line)}"
        yield Conflict(kind=kind, finding=finding.id, agents=_agents(first, other), why=why)  # type: ignore[arg-type]


def _at_one_line(findings: Iterable[MergedFinding]) -> Iterator[Conflict]:
    """Yield a conflict where findings of different agents begin at one line, and one is critical and one minor."""
    lines: dict[tuple[str, int], list[MergedFinding]] = defaultdict(list)
    for finding in findings:
        if finding.path and finding.line:
            lines[finding.path, finding.line].append(finding)
    for (path, line), here in lines.items():
        worst: dict[str, tuple[int, MergedFinding]] = {}
        for finding in here if len(here) > 1 else ():
            for opinion in finding.opinions:
                known = worst.get(opinion.agent)
                if known is None or rank(opinion.severity) > known[0]:
                    worst[opinion.agent] = (rank(opinion.severity), finding)
        bad = max((agent for agent, (level, _) in worst.items() if level == rank(_WORST)), default=None)
        mild = min((agent for agent, (level, _) in worst.items() if level == rank(_MILDEST)), default=None)
        if bad and mild and worst[bad][1] is not worst[mild][1]:
            one, other = worst[bad][1], worst[mild][1]
            why = f"{bad} calls {one.id} {_WORST}, {mild} calls {other.id} {_MILDEST}{_at(path, line)}"
            yield Conflict(kind="severity", finding=one.id, agents=_agents(bad, mild), why=why)


def _presence(findings: Iterable[MergedFinding], reports: Iterable[Report]) -> Iterator[Conflict]:
    """Yield a conflict for each UNVERIFIED claim at the place of a finding."""
    denied: dict[str, list[Denial]] = defaultdict(list)
    for denial in (denial for report in reports for denial in report.denials):
        denied[denial.path].append(denial)
    for finding in findings:
        for claim in denied.get(finding.path or "", ()):
            if finding.line and finding.line <= claim.line <= (finding.end_line or finding.line):
                why = f"{claim.agent} could not verify: {claim.subject}{_at(finding.path, finding.line)}"
                agents = _agents(claim.agent, *finding.agents)
                yield Conflict(kind="presence", finding=finding.id, agents=agents, why=why)


def _compliance(reports: Iterable[Report]) -> Iterator[Conflict]:
    """Yield a conflict for each standard with PASS and FAIL; case and white space are ignored."""
    said: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    written: dict[str, str] = {}
    for report in reports:
        for row in report.sections.compliance:
            name, outcome = " ".join(row.standard.split()), row.status.upper()
            if outcome in ("PASS", "FAIL"):
                said[name.lower()][outcome].add(row.agent)
                written[name.lower()] = min(name, written.get(name.lower(), name))
    for folded, outcomes in said.items():
        if len(outcomes) == 2:
            passed, failed = sorted(outcomes["PASS"]), sorted(outcomes["FAIL"])
            why = f"PASS by {', '.join(passed)}; FAIL by {', '.join(failed)}"
            agents = _agents(*passed, *failed)
            yield Conflict(kind="compliance", finding=written[folded], agents=agents, why=why)


#: The words of an action in an implementation map.
_DELETES = re.compile(r"\s*(?:delete|remove|drop)\b", re.IGNORECASE)
_CHANGES = re.compile(r"\s*(?:modify|change|edit|extend|update|add|create|rename|move)\b", re.IGNORECASE)


def _work(reports: Iterable[Report]) -> Iterator[Conflict]:
    """Yield a conflict where one agent says that a run passed and another that it failed, or one deletes a file that
    another one changes.
    """
    runs: dict[str, dict[bool, set[str]]] = defaultdict(lambda: defaultdict(set))
    files: dict[str, dict[bool, set[str]]] = defaultdict(lambda: defaultdict(set))
    for report in reports:
        for test in report.sections.tests:
            for subject, passed in test.runs.items():
                runs[subject][passed].add(test.agent)
        for design in report.sections.designs:
            for row in design.map:
                if row.path and (_DELETES.match(row.action) or _CHANGES.match(row.action)):
                    files[row.path][bool(_DELETES.match(row.action))].add(design.agent)
    for subject, said, words in (
        *((command, said, ("passed by", "failed by")) for command, said in runs.items()),
        *((path, said, ("deleted by", "changed by")) for path, said in files.items()),
    ):
        one, other = sorted(said[True]), sorted(said[False])
        if one and other and one != other:
            why = f"{words[0]} {', '.join(one)}; {words[1]} {', '.join(other)}"
            yield Conflict(kind="work", finding=subject, agents=_agents(*one, *other), why=why)


def _own(reports: Iterable[Report], findings: Sequence[MergedFinding]) -> Iterator[Conflict]:
    """Yield the conflicts that inputs state, under the names that their findings have in the merge."""
    stated = [conflict for report in reports for conflict in report.conflicts]
    names: dict[tuple[str, str], str] = {}
    for finding in findings if stated else ():
        for member in finding.members:
            names.setdefault((member.agent, member.id), finding.id)
        for opinion in finding.opinions:
            names.setdefault((opinion.agent, opinion.title), finding.id)
    for conflict in stated:
        named = (names[agent, conflict.finding] for agent in conflict.agents if (agent, conflict.finding) in names)
        yield replace(conflict, finding=next(named, conflict.finding))
