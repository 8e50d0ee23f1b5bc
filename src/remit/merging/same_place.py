"""Which findings are the same: same file, same category, and places that overlap.

Two ranges are one place if they overlap by more than half of the shorter, which holds exactly when the
longer contains the middle of the shorter. So each range asks which longer ones contain its middle, and a
segment tree answers; the cost is n·log n even where all ranges lie on top of each other. Groups are
connected components, so the order of the inputs cannot matter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from remit.merging.model import Sighting


class Components:
    """Disjoint sets of indices."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, index: int) -> int:
        """The representative of an index's set."""
        root = index
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[index] != root:
            self._parent[index], index = root, self._parent[index]
        return root

    def join(self, one: int, other: int) -> int:
        """Make two sets one; the smaller index represents it."""
        low, high = sorted((self.find(one), self.find(other)))
        self._parent[high] = low
        return low


def group(sightings: Sequence[Sighting], window: int = 0) -> list[list[Sighting]]:
    """Sightings of the same finding, together; groups and their members in the order of the input."""
    components = Components(len(sightings))
    _join_equal(components, ((at, _same_code(s)) for at, s in enumerate(sightings) if s.fingerprint))
    placed: dict[tuple[str | None, str], list[int]] = defaultdict(list)
    unplaced: list[int] = []
    for at, sighting in enumerate(sightings):
        if sighting.opinion.line is None:
            unplaced.append(at)
        else:
            placed[(sighting.path, sighting.category)].append(at)
    _join_equal(components, ((at, _title(sightings[at])) for at in unplaced))
    for members in placed.values():
        _join_overlapping(components, sightings, members, window)
    groups: dict[int, list[Sighting]] = {}
    for at, sighting in enumerate(sightings):
        groups.setdefault(components.find(at), []).append(sighting)
    return list(groups.values())


def _title(sighting: Sighting) -> Hashable:
    """What makes two findings without a line the same."""
    return (sighting.path, sighting.category, " ".join(sighting.opinion.title.lower().split()))


def _same_code(sighting: Sighting) -> Hashable:
    return (sighting.path, sighting.category, sighting.fingerprint)


def _join_equal(components: Components, keyed: Iterable[tuple[int, Hashable]]) -> None:
    first: dict[Hashable, int] = {}
    for at, key in keyed:
        known = first.setdefault(key, at)
        if known != at:
            components.join(known, at)


def _join_overlapping(components: Components, sightings: Sequence[Sighting], members: list[int], window: int) -> None:
    spans: dict[tuple[int, int], int] = {}
    for at in members:
        first = sightings[at].opinion.line or 0
        known = spans.setdefault((first, max(first, sightings[at].end_line or first)), at)
        if known != at:
            components.join(known, at)
    ordered = sorted(spans)
    if window:
        reach, before = ordered[0][1], spans[ordered[0]]
        for span in ordered[1:]:
            if span[0] <= reach + window:
                components.join(before, spans[span])
            reach, before = max(reach, span[1]), spans[span]
    for cluster in _touching(ordered):
        tree = _Stabbing(components, sorted({first + last for first, last in cluster}))
        for first, last in sorted(cluster, key=lambda span: (span[0] - span[1], span)):
            tree.join_at(first + last, spans[(first, last)])
            tree.insert(2 * first, 2 * last, spans[(first, last)])


def _touching(ordered: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Runs of ranges that share lines; a range that shares none has nothing to be joined with."""
    cluster: list[tuple[int, int]] = []
    reach = 0
    for span in ordered:
        if cluster and span[0] > reach:
            if len(cluster) > 1:
                yield cluster
            cluster = []
        cluster.append(span)
        reach = max(reach, span[1]) if len(cluster) > 1 else span[1]
    if len(cluster) > 1:
        yield cluster


class _Stabbing:
    """A segment tree over the middles of all ranges (doubled, to be whole numbers)."""

    def __init__(self, components: Components, points: list[int]) -> None:
        self._components = components
        self._points = points
        self._size = 1 << max(0, len(points) - 1).bit_length()
        self._nodes: list[list[int]] = [[] for _ in range(2 * self._size)]

    def insert(self, low: int, high: int, index: int) -> None:
        """Remember a range for all points inside it."""
        left = bisect_left(self._points, low) + self._size
        right = bisect_left(self._points, high + 1) + self._size
        while left < right:
            if left & 1:
                self._nodes[left].append(index)
                left += 1
            if right & 1:
                right -= 1
                self._nodes[right].append(index)
            left >>= 1
            right >>= 1

    def join_at(self, point: int, index: int) -> None:
        """Join a range with every remembered one that contains its middle; each list shrinks to one."""
        node = bisect_left(self._points, point) + self._size
        while node:
            known = self._nodes[node]
            for other in known:
                self._components.join(index, other)
            del known[1:]
            node >>= 1
