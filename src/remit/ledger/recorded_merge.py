"""What a merge leaves in the ledger and in the review queue."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from remit.acceptance import ReportJudgement
from remit.errors import UsageError
from remit.evidence.sources import open_sources
from remit.ledger.dismissing import stored_dismissals
from remit.ledger.items import AgentVersion, ItemOrigin, NewItem, items_of
from remit.ledger.ledger_entries import LedgerEntry, digest_parts
from remit.merging.adjust import build_report
from remit.merging.dismissals import Dismissal, apply_dismissals
from remit.merging.merge import merge_reports
from remit.merging.merge_data import Merge, MergeSettings
from remit.workspace import git


class MergeRecord(NamedTuple):
    """The entry of a merge, and its items for people."""

    entry: LedgerEntry
    items: list[NewItem]


def record_of(
    merge: Merge,
    origin: ItemOrigin,
    root: Path | None,
    versions: Mapping[str, AgentVersion] | None = None,
    key: str = "",
) -> MergeRecord:
    """Return what to store about a merge of results in a checkout. Without a key, equal merges have one entry.

    Findings get their fingerprints, and dismissed ones are not asked.
    """
    if root is not None:
        origin = origin._replace(project=origin.project or str(root), revision=git.head(root) or "")
    merged = apply_dismissals(merge, _dismissals(root), open_sources(root).workspace if root is not None else None)
    entry = LedgerEntry(
        key=key or f"merge-{digest_parts(origin.project, origin.revision, msgspec.json.encode(merge))}",
        source=origin.source,
        job=origin.job,
        plan=origin.plan,
        session=origin.session,
        project=origin.project,
        revision=origin.revision,
        kind="merge",
        status=merged.status,
        verdict=merged.decision,
        findings=merged.counts.findings,
    )
    return MergeRecord(entry, items_of(merged, origin, versions))


def items_of_report(
    judgement: ReportJudgement, agent: str, origin: ItemOrigin, root: Path, version: AgentVersion
) -> list[NewItem]:
    """Return the items of a report that is not part of a merge: of its findings, or of itself if it was rejected."""
    workspace = open_sources(root).workspace
    reports = [build_report(verdict, workspace, sender=agent) for verdict in judgement.verdicts]
    if judgement.decision == "revise":
        return []  # it is corrected first
    return record_of(merge_reports(reports, MergeSettings()), origin, root, {agent: version}).items


def _dismissals(root: Path | None) -> list[Dismissal]:
    try:
        return stored_dismissals(root)
    except UsageError:
        return []  # a file that cannot be read must not stop a plan; the report states the problem
