"""Drop the findings that a caller does not ask for: old ones, and those on unchanged lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from remit.merging.merge_data import Merge, MergedFinding
from remit.merging.titles import folded_title

Spans = Mapping[str, Sequence[tuple[int, int]]]


class Narrowing(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asks for."""

    #: The changed lines of each file since a commit; None: all lines.
    changed: dict[str, list[tuple[int, int]]] | None = None
    since: str = ""
    #: The revision at whose merge base dismissals count; empty: those of the checkout.
    base: str = ""
    #: An earlier merge, whose findings are known.
    baseline: Merge | None = None


NOTHING_NARROWED = Narrowing()


def narrowed(findings: Iterable[MergedFinding], narrowing: Narrowing) -> list[MergedFinding]:
    """Return all findings; those that are not asked for have a reason."""
    known = _known(narrowing.baseline) if narrowing.baseline is not None else frozenset()
    return [_judged(finding, narrowing, known) for finding in findings]


def _judged(finding: MergedFinding, narrowing: Narrowing, known: frozenset[tuple[object, ...]]) -> MergedFinding:
    if finding.reason is not msgspec.UNSET:
        return finding
    if narrowing.changed is not None and not _is_changed(finding, narrowing.changed):
        return replace(finding, reason=f"not on lines changed since {narrowing.since}")
    if known.intersection(_marks(finding)):
        return replace(finding, reason="already in the baseline")
    return finding


def _known(baseline: Merge) -> frozenset[tuple[object, ...]]:
    return frozenset(mark for finding in (*baseline.findings, *baseline.dropped) for mark in _marks(finding))


def _marks(finding: MergedFinding) -> Iterable[tuple[object, ...]]:
    yield finding.path, finding.category, folded_title(finding.title)
    if finding.line is not None:
        yield finding.path, finding.category, finding.line


def _is_changed(finding: MergedFinding, changed: Spans) -> bool:
    spans = changed.get(finding.path or "", ())
    if not spans or finding.line is None:
        return bool(spans)
    last = finding.end_line or finding.line
    index = bisect_right(spans, (last, 1 << 60))
    return any(first <= last and finding.line <= end for first, end in spans[max(0, index - 2) : index + 1])
