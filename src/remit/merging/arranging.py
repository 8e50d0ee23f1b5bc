"""The order of the findings in a report, and their counts.

A merge of many findings does not fit into the caches of a processor: each pass over them in another order than that of
their creation takes longer for each finding than over a few. Findings are therefore known by their numbers, and sorted
once by path and line. All other orders are made of lists of numbers that are filled in this order.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, compress, count, islice
from operator import eq
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from remit.contract.findings import Severity
from remit.merging.model import SCALE, MergedFinding

#: The worst severity first, a missing one last.
SEVERITY_RANKS: dict[Severity | None, int] = {severity: -at for at, severity in enumerate(SCALE)} | {None: 1}
#: Without an object for each, so that many of them fit into the caches of a processor.
Numbers: TypeAlias = "array[int]"
no_numbers = partial(array, "i")
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


def compact(numbers: list[int]) -> Sequence[int]:
    """Return numbers without their objects, which may be anywhere in memory."""
    try:
        return array("q", numbers)
    except OverflowError:
        return numbers


class Places:
    """The order of findings by path and line. A finding is known by its number, its index in `findings`."""

    def __init__(self, findings: Sequence[MergedFinding], order: Numbers) -> None:
        self._order = order
        #: Of the findings that are on one line with others: a number of this line.
        self._shared: dict[int, int] = {}
        lines = compact([finding.line or 0 for finding in findings])
        ordered = [lines[at] for at in order]
        for place in compress(count(1), map(eq, ordered, islice(ordered, 1, None))):
            one, other = order[place - 1], order[place]
            if (findings[one].path or "") == (findings[other].path or ""):
                self._shared[other] = self._shared.setdefault(one, one)

    def put(self, lists: Sequence[Numbers]) -> None:
        """Append the number of each finding to its list, in the order of the places: no list has to be sorted."""
        for at in self._order:
            lists[at].append(at)

    def settled(self, numbers: Sequence[int], whole: Callable[[int], Any]) -> Iterable[int]:
        """Return numbers that are sorted by their places; sort those on one line by the whole key."""
        if len(numbers) == 1:
            return numbers
        shared = self._shared
        lines = [shared[at] for at in numbers if at in shared]
        if len(set(lines)) == len(lines):
            return numbers
        return settle_ties(((shared.get(at, ~at), at) for at in numbers), whole)


def sorted_places(findings: Sequence[MergedFinding]) -> Places:
    """Sort findings by path and line."""
    places = [(finding.path or "", finding.line or 0) for finding in findings]
    return Places(findings, array("i", sorted(range(len(places)), key=places.__getitem__)))


def arrange(findings: Sequence[MergedFinding], places: Places | None = None) -> Arranged:
    """Return findings in the order of the report, counted: by severity, then by confidence, then by location."""
    places = places or sorted_places(findings)
    kept, dropped = _Alike(), _Alike()
    lists: list[Numbers] = []
    unset = msgspec.UNSET
    for finding in findings:
        alike = kept if finding.reason is unset else dropped
        lists.append(alike.numbers[finding.severity][finding.confidence])
        alike.rows += len(finding.members)
        if finding.flags:
            alike.dismissed += "dismissed" in finding.flags
    places.put(lists)
    return Arranged(kept.ordered(findings, places), dropped.ordered(findings, places), kept.tally(), dropped.tally())


class _Alike:
    """Kept or dropped findings by severity and confidence, which many of them share."""

    def __init__(self) -> None:
        self.numbers: dict[Severity | None, dict[float, Numbers]] = defaultdict(partial(defaultdict, no_numbers))
        self.rows = 0
        self.dismissed = 0

    def ordered(self, findings: Sequence[MergedFinding], places: Places) -> tuple[MergedFinding, ...]:
        by_severity = sorted(self.numbers.items(), key=lambda item: SEVERITY_RANKS[item[0]])
        by_score = (own for _, scores in by_severity for _, own in sorted(scores.items(), reverse=True))
        settled = (places.settled(own, lambda at: location_key(findings[at])) for own in by_score)
        return tuple(map(findings.__getitem__, chain.from_iterable(settled)))

    def tally(self) -> Tally:
        severities = {severity: sum(map(len, scores.values())) for severity, scores in self.numbers.items()}
        return Tally(Counter(severities), self.rows, self.dismissed)


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
    own = (finding.category, finding.id, finding.title, path is None, line is None, finding.agents, reason)
    return (path or "", line or 0, end_line, *own)
