"""Which findings are the same: same file, same category, and places that overlap.

Two ranges are one place if they overlap by more than half of the shorter, which holds exactly when the
longer contains the middle of the shorter. So each range asks which longer ones contain its middle, and a
segment tree answers; the cost is n·log n even where all ranges lie on top of each other. Groups are
connected components, so the order of the inputs cannot matter.

Most findings meet no other: those that share no line with another are set aside by one pass over the
sorted ranges, and cost nothing more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from remit.merging.model import ReportedFinding


class Components:
    """Disjoint sets of indices. An index that was never joined is in none."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def find(self, index: int) -> int:
        """The representative of an index's set."""
        parent = self._parent
        root = index
        while (above := parent.setdefault(root, root)) != root:
            root = above
        while parent[index] != root:
            parent[index], index = root, parent[index]
        return root

    def join(self, one: int, other: int) -> None:
        """Make two sets one; the smaller index represents it."""
        low, high = sorted((self.find(one), self.find(other)))
        self._parent[high] = low

    def sets(self) -> dict[int, list[int]]:
        """For every index that was joined: its set, from the smallest index to the largest."""
        found: dict[int, list[int]] = {}
        for index in sorted(self._parent):
            found[index] = found.get(self.find(index), [])
            found[index].append(index)
        return found


#: First line, last line, and the index of the sighting: plain tuples of numbers, which sort fastest.
Span = tuple[int, int, int]


def group_findings(sightings: Sequence[ReportedFinding], window: int = 0) -> Iterator[list[ReportedFinding]]:
    """Sightings of the same finding, together; groups and their members in the order of the input."""
    components = Components()
    placed: dict[tuple[str | None, str], list[Span]] = defaultdict(list)
    marked: list[int] = []
    unplaced: list[int] = []
    for at, sighting in enumerate(sightings):
        first, last = sighting.opinion.line, sighting.end_line
        if first is None:
            unplaced.append(at)
        else:
            last = first if last is None or last < first else last
            placed[sighting.path, sighting.category].append((first, last, at))
        if sighting.fingerprint:
            marked.append(at)
    _join_equal(components, ((at, _same_code(sightings[at])) for at in marked))
    _join_equal(components, ((at, _title(sightings[at])) for at in unplaced))
    for spans in placed.values():
        spans.sort()
        for cluster in _touching(spans, window):
            if window:
                _join_all(components, cluster)
            else:
                _join_overlapping(components, cluster)
    together = components.sets()
    for at, sighting in enumerate(sightings):
        members = together.get(at)
        if members is None:
            yield [sighting]
        elif members[0] == at:
            yield [sightings[member] for member in members]


def _title(sighting: ReportedFinding) -> Hashable:
    """What makes two findings without a line the same."""
    return (sighting.path, sighting.category, " ".join(sighting.opinion.title.lower().split()))


def _same_code(sighting: ReportedFinding) -> Hashable:
    return (sighting.path, sighting.category, sighting.fingerprint)


def _join_equal(components: Components, keyed: Iterable[tuple[int, Hashable]]) -> None:
    first: dict[Hashable, int] = {}
    for at, key in keyed:
        known = first.setdefault(key, at)
        if known != at:
            components.join(known, at)


def _touching(spans: list[Span], window: int) -> Iterator[list[Span]]:
    """Runs of sorted ranges that share lines, or are no more than the window apart."""
    start, reach = 0, spans[0][1]
    for at, (first, last, _) in enumerate(spans):
        if first > reach + window:
            if at - start > 1:
                yield spans[start:at]
            start, reach = at, last
        elif last > reach:
            reach = last
    if len(spans) - start > 1:
        yield spans[start:]


def _join_all(components: Components, cluster: list[Span]) -> None:
    for _, _, at in cluster[1:]:
        components.join(cluster[0][2], at)


def _join_overlapping(components: Components, cluster: list[Span]) -> None:
    distinct: dict[tuple[int, int], int] = {}
    for first, last, at in cluster:
        known = distinct.setdefault((first, last), at)
        if known != at:
            components.join(known, at)
    if len(distinct) == 1:
        return
    if len(distinct) == 2:  # by far the most: they need no tree
        one, other = distinct
        if _are_one_place(one, other):
            components.join(distinct[one], distinct[other])
        return
    tree = _Stabbing(components, sorted({first + last for first, last in distinct}))
    for first, last in sorted(distinct, key=lambda span: (span[0] - span[1], span)):
        tree.join_at(first + last, distinct[first, last])
        tree.insert(2 * first, 2 * last, distinct[first, last])


def _are_one_place(one: tuple[int, int], other: tuple[int, int]) -> bool:
    shorter, longer = sorted((one, other), key=lambda span: span[1] - span[0])
    return 2 * longer[0] <= shorter[0] + shorter[1] <= 2 * longer[1]


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
