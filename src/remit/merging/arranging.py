"""The order of the findings in a report, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from remit.contract.findings import Severity
from remit.merging.merge_data import SCALE, MergedFinding

#: The worst severity first, a missing one last.
SEVERITY_RANKS: dict[Severity | None, int] = {severity: -rank for rank, severity in enumerate(SCALE)} | {None: 1}
T = TypeVar("T")


class Tally(NamedTuple):
    """How many findings of each severity there are, how many rows they have, and how many were dismissed."""

    severities: Counter[Severity | None]
    rows: int
    dismissed: int


class Arranged(NamedTuple):
    """The kept and the dropped findings of a merge in the order of the report, counted."""

    kept: Sequence[MergedFinding]
    dropped: Sequence[MergedFinding]
    kept_tally: Tally
    dropped_tally: Tally


def arrange(findings: Iterable[MergedFinding]) -> Arranged:
    """Return findings that have their ids in the order of the report, counted."""
    kept: list[MergedFinding] = []
    dropped: list[MergedFinding] = []
    for finding in sorted(findings, key=report_key):
        (kept if finding.reason is msgspec.UNSET else dropped).append(finding)
    return Arranged(tuple(kept), tuple(dropped), tally_of(kept), tally_of(dropped))


def report_key(finding: MergedFinding) -> tuple[object, ...]:
    """Return the sort key of a finding: the kept ones first, by severity, then by confidence, then by location."""
    return (
        finding.reason is not msgspec.UNSET,
        SEVERITY_RANKS[finding.severity],
        -finding.confidence,
        *location_key(finding),
    )


def tally_of(findings: Sequence[MergedFinding]) -> Tally:
    """Count findings."""
    severities = Counter(finding.severity for finding in findings)
    dismissed = sum("dismissed" in finding.flags for finding in findings)
    return Tally(severities, sum(len(finding.members) for finding in findings), dismissed)


def settle_ties(keyed: Iterable[tuple[object, T]], whole: Callable[[T], Any]) -> Iterator[T]:
    """Yield what is sorted by the beginning of a key, which nearly always decides; equal ones by the whole key."""
    last: object = None
    equal: list[T] = []
    for key, item in keyed:
        if equal and key == last:
            equal.append(item)
            continue
        yield from equal if len(equal) < 2 else sorted(equal, key=whole)
        last, equal = key, [item]
    yield from equal if len(equal) < 2 else sorted(equal, key=whole)


def location_key(finding: MergedFinding) -> tuple[object, ...]:
    """Return a key that no two findings of a merge share: they would have been merged."""
    path, line, end_line = finding.path, finding.line, finding.end_line or 0
    reason = finding.reason if isinstance(finding.reason, str) else ""
    identity = (finding.category, finding.id, finding.title, path is None, line is None, finding.agents, reason)
    return (path or "", line or 0, end_line, *identity)
