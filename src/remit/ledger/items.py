"""Review items: the findings, conflicts and results of a merge that a person decides.

A finding with conflicts is one item, so that a person decides it once. The key of an item comes from the finding itself
(its path, rule or title, and code), so a later report of the same finding does not make a second item. Items are stored
without secrets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from remit.contract.findings import Severity
from remit.ledger.ledger_entries import EntrySource, digest_parts
from remit.merging.conflicts import name_of
from remit.merging.merge import CLARIFY_BELOW
from remit.merging.merge_data import NOT_COUNTED, SCALE, AgentReport, Conflict, Merge, MergedFinding
from remit.secrets.scan import redact, redact_all

ItemKind = Literal["finding", "conflict", "result"]
#: Characters of a text that an item has.
MAX_TEXT = 2_000
_RESULT_RANK = 3


class AgentVersion(NamedTuple):
    """The definition and model of an agent, as far as they are known."""

    definition: str = ""
    model: str = ""


class ItemOpinion(msgspec.Struct, frozen=True, kw_only=True):
    """What one agent stated about a finding: the score after the check of its evidence, and the score it claimed."""

    agent: str
    definition: str = ""
    model: str = ""
    category: str = ""
    severity: str | None = None
    confidence: float
    claimed: float | None = None


class NewItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item that is not stored yet."""

    key: str
    kind: ItemKind
    #: The order: the lowest first.
    rank: int
    source: EntrySource
    title: str
    body: dict[str, Any]
    agents: tuple[str, ...]
    job: int | None = None
    plan: int | None = None
    session: str | None = None
    project: str = ""
    revision: str = ""
    fingerprint: str = ""
    category: str = ""
    severity: Severity | None = None
    path: str = ""
    line: int | None = None
    end_line: int | None = None
    confidence: float | None = None
    opinions: tuple[ItemOpinion, ...] = ()


class ItemOrigin(NamedTuple):
    """Where the items of a merge come from."""

    source: EntrySource
    job: int | None = None
    plan: int | None = None
    session: str | None = None
    project: str = ""
    revision: str = ""


def items_of(merge: Merge, origin: ItemOrigin, versions: Mapping[str, AgentVersion] | None = None) -> list[NewItem]:
    """Return the items of a merge whose findings have fingerprints: dropped and dismissed findings are not asked."""
    versions = versions or {}
    disputes: dict[str, list[Conflict]] = defaultdict(list)
    for conflict in merge.conflicts:
        disputes[conflict.finding].append(conflict)
    items = []
    for finding in merge.findings:
        conflicts = disputes.pop(name_of(finding), []) if "disputed" in finding.flags else []
        items.append(_finding_item(finding, conflicts, origin, versions))
    dropped = {name_of(finding) for finding in merge.dropped}
    items += [_conflict_item(conflicts, origin) for name, conflicts in disputes.items() if name not in dropped]
    return [*items, *_result_items(merge, origin)]


def _finding_item(
    finding: MergedFinding, conflicts: list[Conflict], origin: ItemOrigin, versions: Mapping[str, AgentVersion]
) -> NewItem:
    identity = finding.fingerprint or digest_parts(finding.path or "", str(finding.line), finding.title)
    rank = 2 * (len(SCALE) - 1 - SCALE.index(finding.severity) if finding.severity else len(SCALE))
    return NewItem(
        key=f"finding-{digest_parts(origin.project, identity)}",
        kind="conflict" if conflicts else "finding",
        rank=rank + (0 if conflicts else 1),
        title=redact(finding.title[:MAX_TEXT]),
        agents=finding.agents,
        body=redact_all({"finding": msgspec.to_builtins(finding), "conflicts": msgspec.to_builtins(conflicts)}),
        fingerprint=finding.fingerprint,
        category=finding.category,
        severity=finding.severity,
        path=finding.path or "",
        line=finding.line,
        end_line=finding.end_line,
        confidence=finding.confidence,
        opinions=tuple(_opinions(finding, versions)),
        **origin._asdict(),
    )


def _opinions(finding: MergedFinding, versions: Mapping[str, AgentVersion]) -> Iterator[ItemOpinion]:
    for opinion in finding.opinions:
        version = versions.get(opinion.agent, AgentVersion())
        stated = opinion.claimed_confidence if opinion.claimed_confidence is not None else opinion.confidence
        yield ItemOpinion(
            agent=opinion.agent,
            definition=version.definition,
            model=version.model,
            category=finding.category,
            severity=opinion.severity,
            confidence=opinion.confidence,
            # A score that the agent did not give is not calibrated.
            claimed=None if "unscored" in opinion.flags else stated,
        )


def _conflict_item(conflicts: list[Conflict], origin: ItemOrigin) -> NewItem:
    """Return an item for a conflict without a finding, such as a standard that one agent passes and another fails."""
    first = conflicts[0]
    agents = tuple(sorted({agent for conflict in conflicts for agent in conflict.agents}))
    return NewItem(
        key=f"conflict-{digest_parts(origin.project, first.kind, first.finding, *agents)}",
        kind="conflict",
        rank=2,
        title=redact(f"{first.finding}: {first.why}"[:MAX_TEXT]),
        agents=agents,
        body=redact_all({"conflicts": msgspec.to_builtins(conflicts)}),
        **origin._asdict(),
    )


def _result_items(merge: Merge, origin: ItemOrigin) -> Iterator[NewItem]:
    for report in merge.agents:
        why = _needs_person(report)
        if why:
            parts = (origin.project, str(origin.plan), str(origin.job), str(origin.session), report.agent, why)
            yield result_item(digest_parts(origin.revision, *parts), report.agent, why, report, origin)


def result_item(
    identity: str, agent: str, why: str, report: AgentReport, origin: ItemOrigin, text: str = ""
) -> NewItem:
    """Return an item for a result that needs a person."""
    return NewItem(
        key=f"result-{identity}",
        kind="result",
        rank=_RESULT_RANK,
        title=redact(f"{agent}: {why}"[:MAX_TEXT]),
        agents=(agent,),
        body=redact_all({"result": msgspec.to_builtins(report), "why": why, "text": text[: 10 * MAX_TEXT]}),
        confidence=report.confidence,
        **origin._asdict(),
    )


def _needs_person(report: AgentReport) -> str:
    """Return why a person has to look at a result; empty if the result needs none."""
    if report.status in NOT_COUNTED:
        return ""
    if report.status == "FAILED":
        return "the agent failed"
    if report.verdict == "reject":
        return "the result was rejected"
    if report.status == "PARTIAL":
        return "the result is partial"
    if report.confidence is not None and report.confidence < CLARIFY_BELOW:
        return f"the agent gives its result a confidence of {report.confidence:g}"
    return ""
