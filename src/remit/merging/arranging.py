"""The order of the findings in a report, and their counts.

A merge of many findings does not fit into the caches of a processor: each pass over them takes longer for each finding
than over a few. What sorts and counts them is therefore noted when they are made, and only these notes are sorted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from remit.contract.findings import Severity
from remit.merging.model import SCALE, MergedFinding
from remit.merging.naming import by_rank

#: The worst severity first, a missing one last.
SEVERITY_RANKS: dict[Severity | None, int] = {severity: -at for at, severity in enumerate(SCALE)} | {None: 1}


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


class Arrangement:
    """What sorts and counts the findings of a merge. They are added in the order of their numbers."""

    def __init__(self) -> None:
        self._by_file: dict[str, list[int]] = defaultdict(list)
        self._lines: list[int] = []
        self._kept, self._dropped = _Alike(), _Alike()

    def add(self, at: int, finding: MergedFinding) -> None:
        """Note a finding by its number."""
        self._by_file[finding.path or ""].append(at)
        self._lines.append(finding.line or 0)
        alike = self._kept if finding.reason is msgspec.UNSET else self._dropped
        alike.numbers[finding.severity, finding.confidence].append(at)
        alike.rows += len(finding.members)
        if finding.flags:
            alike.dismissed += "dismissed" in finding.flags

    def ranks(self) -> list[int]:
        """Return the rank of each finding by path and line; those on the same line have the same rank."""
        lines = self._lines
        ranks = [0] * len(lines)
        rank = 0
        for _, own in sorted(self._by_file.items()):
            last = None
            for at in sorted(own, key=lines.__getitem__):
                line = lines[at]
                rank += line != last
                ranks[at] = rank
                last = line
        return ranks

    def arranged(self, findings: Sequence[MergedFinding], ranks: Sequence[int]) -> Arranged:
        """Sort by severity, then by confidence, then by location, whose order is `ranks`."""
        kept, dropped = self._kept, self._dropped
        return Arranged(
            tuple(kept.ordered(findings, ranks)), tuple(dropped.ordered(findings, ranks)), kept.tally(), dropped.tally()
        )


def arrange(findings: Sequence[MergedFinding]) -> Arranged:
    """Return findings in the order of the report, counted."""
    arrangement = Arrangement()
    for at, finding in enumerate(findings):
        arrangement.add(at, finding)
    return arrangement.arranged(findings, arrangement.ranks())


class _Alike:
    """Kept or dropped findings by severity and confidence.

    Many findings share both: sorting within these groups is faster than comparing all of them.
    """

    def __init__(self) -> None:
        self.numbers: dict[tuple[Severity | None, float], list[int]] = defaultdict(list)
        self.rows = 0
        self.dismissed = 0

    def ordered(self, findings: Sequence[MergedFinding], ranks: Sequence[int]) -> Iterator[MergedFinding]:
        for _, own in sorted(self.numbers.items(), key=lambda item: (SEVERITY_RANKS[item[0][0]], -item[0][1])):
            yield from map(findings.__getitem__, by_rank(own, ranks, lambda at: location_key(findings[at])))

    def tally(self) -> Tally:
        severities: Counter[Severity | None] = Counter()
        for (severity, _), own in self.numbers.items():
            severities[severity] += len(own)
        return Tally(severities, self.rows, self.dismissed)


def location_key(finding: MergedFinding) -> tuple[object, ...]:
    """Return a key that no two findings of a merge share: they would have been merged."""
    path, line, end_line = finding.path, finding.line, finding.end_line or 0
    reason = finding.reason if isinstance(finding.reason, str) else ""
    own = (finding.category, finding.id, finding.title, path is None, line is None, finding.agents, reason)
    return (path or "", line or 0, end_line, *own)
