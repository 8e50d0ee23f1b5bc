"""Group rows that report the same finding: same file, same category, overlapping locations.

Two ranges are one location if they overlap by more than half of the shorter one, which is the case exactly when the
longer one contains the middle of the shorter one. A segment tree finds, for each range, the longer ranges that contain
its middle; the cost is n·log n even if all ranges overlap. Groups are connected components, so the order of the inputs
does not matter.

Most rows overlap with no other row. One pass over the sorted ranges sets them aside.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from remit.merging.model import ReportedFinding


class Components:
    """Disjoint sets of indices. An index that was never joined is in no set."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def find(self, index: int) -> int:
        """Return the representative of an index's set."""
        parent = self._parent
        root = index
        while (above := parent.setdefault(root, root)) != root:
            root = above
        while parent[index] != root:
            parent[index], index = root, parent[index]
        return root

    def join(self, one: int, other: int) -> None:
        """Join two sets; the smaller index represents the result."""
        low, high = sorted((self.find(one), self.find(other)))
        self._parent[high] = low

    def sets(self) -> dict[int, list[int]]:
        """Return the sorted set of every joined index."""
        found: dict[int, list[int]] = {}
        for index in sorted(self._parent):
            found[index] = found.get(self.find(index), [])
            found[index].append(index)
        return found


#: First line, last line and index of a row; tuples of numbers sort fastest.
Span = tuple[int, int, int]


def group_findings(rows: Sequence[ReportedFinding], window: int = 0) -> Iterator[list[ReportedFinding]]:
    """Yield groups of rows of the same finding, in the order of the input."""
    components = Components()
    located: dict[tuple[str | None, str], list[Span]] = defaultdict(list)
    marked: list[int] = []
    without_line: list[int] = []
    for at, row in enumerate(rows):
        first, last = row.opinion.line, row.end_line
        if first is None:
            without_line.append(at)
        else:
            last = first if last is None or last < first else last
            located[row.path, row.category].append((first, last, at))
        if row.fingerprint:
            marked.append(at)
    _join_equal(components, ((at, _same_code(rows[at])) for at in marked))
    _join_equal(components, ((at, _title(rows[at])) for at in without_line))
    for spans in located.values():
        spans.sort()
        for cluster in _touching(spans, window):
            if window:
                _join_all(components, cluster)
            else:
                _join_overlapping(components, cluster)
    together = components.sets()
    for at, row in enumerate(rows):
        members = together.get(at)
        if members is None:
            yield [row]
        elif members[0] == at:
            yield [rows[member] for member in members]


def _title(row: ReportedFinding) -> Hashable:
    """Return the key that two rows of one finding without a line share."""
    return (row.path, row.category, " ".join(row.opinion.title.lower().split()))


def _same_code(row: ReportedFinding) -> Hashable:
    return (row.path, row.category, row.fingerprint)


def _join_equal(components: Components, keyed: Iterable[tuple[int, Hashable]]) -> None:
    first: dict[Hashable, int] = {}
    for at, key in keyed:
        other = first.setdefault(key, at)
        if other != at:
            components.join(other, at)


def _touching(spans: list[Span], window: int) -> Iterator[list[Span]]:
    """Yield runs of sorted ranges that share lines or are at most `window` lines apart."""
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
        first_row = distinct.setdefault((first, last), at)
        if first_row != at:
            components.join(first_row, at)
    if len(distinct) == 1:
        return
    if len(distinct) == 2:  # the usual case needs no tree
        one, other = distinct
        if _is_one_location(one, other):
            components.join(distinct[one], distinct[other])
        return
    tree = _Stabbing(components, sorted({first + last for first, last in distinct}))
    for first, last in sorted(distinct, key=lambda span: (span[0] - span[1], span)):
        tree.join_at(first + last, distinct[first, last])
        tree.insert(2 * first, 2 * last, distinct[first, last])


def _is_one_location(one: tuple[int, int], other: tuple[int, int]) -> bool:
    shorter, longer = sorted((one, other), key=lambda span: span[1] - span[0])
    return 2 * longer[0] <= shorter[0] + shorter[1] <= 2 * longer[1]


class _Stabbing:
    """A segment tree over the middles of all ranges, doubled so that they are integers."""

    def __init__(self, components: Components, points: list[int]) -> None:
        self._components = components
        self._points = points
        self._size = 1 << max(0, len(points) - 1).bit_length()
        self._nodes: list[list[int]] = [[] for _ in range(2 * self._size)]

    def insert(self, low: int, high: int, index: int) -> None:
        """Add a range to all points inside it."""
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
        """Join a range with every added range that contains its middle; each list shrinks to one."""
        node = bisect_left(self._points, point) + self._size
        while node:
            ranges = self._nodes[node]
            for other in ranges:
                self._components.join(index, other)
            del ranges[1:]
            node >>= 1
