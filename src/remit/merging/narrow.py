"""Findings that are not shown now: known before, or not on changed lines. They are dropped, with the reason."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

import msgspec

from remit.merging.merge import recount
from remit.merging.model import Merge, MergedFinding

Spans = Mapping[str, Sequence[tuple[int, int]]]


def hide_known(merge: Merge, baseline: Merge) -> Merge:
    """Drop what an earlier merge already had."""
    titles = {(f.path, f.category, _folded(f.title)) for f in (*baseline.findings, *baseline.dropped)}
    lines = {(f.path, f.category, f.line) for f in (*baseline.findings, *baseline.dropped) if f.line is not None}

    def is_known(finding: MergedFinding) -> bool:
        place = (finding.path, finding.category, finding.line)
        return place in lines or (finding.path, finding.category, _folded(finding.title)) in titles

    return _drop(merge, is_known, "already in the baseline")


def only_changed(merge: Merge, changed: Spans, since: str) -> Merge:
    """Drop what does not stand on a line changed since a commit."""
    return _drop(merge, lambda finding: not _is_changed(finding, changed), f"not on lines changed since {since}")


def _is_changed(finding: MergedFinding, changed: Spans) -> bool:
    spans = changed.get(finding.path or "", ())
    if not spans or finding.line is None:
        return bool(spans)
    last = finding.end_line or finding.line
    at = bisect_right(spans, (last, 1 << 60))
    return any(first <= last and finding.line <= end for first, end in spans[max(0, at - 2) : at + 1])


def _drop(merge: Merge, unwanted: Callable[[MergedFinding], bool], reason: str) -> Merge:
    gone = [msgspec.structs.replace(finding, reason=reason) for finding in merge.findings if unwanted(finding)]
    kept = [finding for finding in merge.findings if not unwanted(finding)]
    return recount(merge, kept, [*merge.dropped, *gone])


def _folded(title: str) -> str:
    return " ".join(title.lower().split())
