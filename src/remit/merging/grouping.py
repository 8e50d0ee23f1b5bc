"""Group the rows that report one problem.

Only rows of one file at one place are compared: the same line, ranges that overlap, the same quoted code, or the same
title without a line. Of these:

1. Rows of one agent with the same rule or title are one problem.
2. Problems of different agents with the same rule or title are one finding, in any category.
3. Problems of different agents in one category are one finding because of their place alone, unless an agent has
   several problems there: then only titles decide.

A range of over ten lines is no place: it groups only by its title. Two problems of one agent are never one finding. The
best matches are joined first and ties follow the content of the rows, so the order of the inputs does not matter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise

from remit.merging.merge_data import ReportedFinding
from remit.merging.titles import SAME_TITLE, folded_title, title_similarity

#: A longer range is no place of its own.
MAX_PLACE = 10
#: With more rows at a place, each is compared with this many neighbours, and with those of an equal title or rule.
MAX_COMPARED = 100
_NEIGHBOURS = 8
Rows = Sequence[ReportedFinding]
Pair = tuple[int, int]


class Sets:
    """Disjoint sets of indices; the smallest index represents each."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, index: int) -> int:
        """Return the representative of an index's set."""
        parent = self._parent
        while parent[index] != index:
            parent[index] = index = parent[parent[index]]
        return index

    def join(self, first: int, other: int) -> None:
        """Join two sets."""
        low, high = sorted((self.find(first), self.find(other)))
        self._parent[high] = low

    def groups(self) -> list[list[int]]:
        """Return all sets, each sorted."""
        members: dict[int, list[int]] = defaultdict(list)
        for index in range(len(self._parent)):
            members[self.find(index)].append(index)
        return list(members.values())


def group_rows(rows: Iterable[ReportedFinding]) -> Iterator[list[ReportedFinding]]:
    """Yield the rows of each finding."""
    ordered = sorted(rows, key=row_order)
    files: dict[tuple[str | None, str], list[ReportedFinding]] = defaultdict(list)
    for row in ordered:
        files[row.path, row.reason].append(row)
    for same in files.values():
        pairs = {pair for pair in _candidates(same) if is_near(same[pair[0]], same[pair[1]])}
        clusters = Sets(len(same))
        for pair in pairs:
            clusters.join(*pair)
        near: dict[int, list[Pair]] = defaultdict(list)
        for pair in sorted(pairs):
            near[clusters.find(pair[0])].append(pair)
        for members in clusters.groups():
            yield from _split(same, members, near[members[0]])


def row_order(row: ReportedFinding) -> tuple[object, ...]:
    """Return the sort key of a row: all of its content, so that the order of the inputs does not matter."""
    o = row.opinion
    place = (row.path or "", o.line or 0, row.end_line or 0, row.path is None, o.line is None, row.end_line is None)
    words = (o.agent, o.id, o.title, o.details, o.confidence, o.severity or "", str(o.claimed), o.rule or "")
    rest = (row.category, row.reason, str(row.verified), row.flags, not row.accepted, row.fingerprint, row.members)
    return (*place, *words, *rest, o.titles)


def is_long(row: ReportedFinding) -> bool:
    """Return whether the range of a row is too long to be a place."""
    first, last = row.span
    return last - first >= MAX_PLACE


def is_near(one: ReportedFinding, other: ReportedFinding) -> bool:
    """Return whether two rows of a file are at one place."""
    line, other_line = one.opinion.line, other.opinion.line
    if one.fingerprint and one.fingerprint == other.fingerprint:
        return not (is_long(one) or is_long(other)) or is_same_problem(one, other)
    if one.path is None or line is None or other_line is None:
        return line == other_line and folded_title(one.opinion.title) == folded_title(other.opinion.title)
    (first, last), (begin, end) = one.span, other.span
    shared = min(last, end) - max(first, begin) + 1
    if is_long(one) or is_long(other):
        return shared > 0 and is_same_problem(one, other)
    return (line == other_line and None in (one.end_line, other.end_line)) or shared * 2 > min(
        last - first, end - begin
    ) + 1


def is_same_problem(one: ReportedFinding, other: ReportedFinding) -> bool:
    """Return whether two rows have the same rule or title."""
    return similarity(one, other) >= SAME_TITLE


def similarity(one: ReportedFinding, other: ReportedFinding) -> float:
    """Return how similar the subjects of two rows are, from 0 to 100. Rules of one tool decide before titles."""
    a, b = one.opinion, other.opinion
    if a.rule and b.rule:
        if a.rule == b.rule:
            return 100.0
        if a.agent == b.agent:
            return 0.0
    return title_similarity(folded_title(a.title), folded_title(b.title))


def _candidates(rows: Rows) -> Iterator[Pair]:
    """Yield the pairs of a file's rows, sorted by line, that may be at one place."""
    equal: dict[Hashable, list[int]] = defaultdict(list)
    short: list[int] = []
    long: list[int] = []
    for index, row in enumerate(rows):
        if row.fingerprint:
            equal["code", row.fingerprint].append(index)
        if row.path is None or row.opinion.line is None:
            equal["title", folded_title(row.opinion.title)].append(index)
        else:
            (long if is_long(row) else short).append(index)
    for indices in equal.values():
        yield from _all_or_equal(rows, indices)
    for indices in _touching(rows, short):
        yield from _all_or_equal(rows, indices)
    yield from _of_ranges(rows, short, long)


def _of_ranges(rows: Rows, short: Sequence[int], long: Sequence[int]) -> Iterator[Pair]:
    """Yield the pairs of each long range with what it overlaps; with many, only those of an equal title or rule."""
    firsts, begins = ([rows[index].span[0] for index in indices] for indices in (short, long))
    many: set[int] = set()
    for number, index in enumerate(long):
        first, last = rows[index].span
        inside = range(bisect_left(firsts, first - MAX_PLACE + 1), bisect_left(firsts, last + 1))
        reached = range(number + 1, bisect_left(begins, last + 1))
        if len(inside) + len(reached) > MAX_COMPARED:
            many.add(index)
            continue
        for other in (*(short[position] for position in inside), *(long[position] for position in reached)):
            yield min(index, other), max(index, other)
    if many:
        for same in _by_subject(rows, sorted((*short, *long))).values():
            yield from (pair for pair in _neighbours(same) if not many.isdisjoint(pair))


def _touching(rows: Rows, indices: Sequence[int]) -> Iterator[list[int]]:
    """Yield rows whose lines touch, one after the other."""
    cluster: list[int] = []
    reach = 0
    for index in indices:
        first, last = rows[index].span
        if cluster and first > reach:
            yield cluster
            cluster, reach = [], 0
        cluster.append(index)
        reach = max(reach, last)
    if cluster:
        yield cluster


def _all_or_equal(rows: Rows, indices: Sequence[int]) -> Iterator[Pair]:
    """Yield all pairs of a few rows; of many, the neighbours, and those of an equal title or rule."""
    if len(indices) <= MAX_COMPARED:
        yield from combinations(indices, 2)
        return
    yield from _neighbours(indices)
    for same in _by_subject(rows, indices).values():
        yield from pairwise(same)


def _neighbours(indices: Sequence[int]) -> Iterator[Pair]:
    for position, index in enumerate(indices):
        for other in indices[position + 1 : position + 1 + _NEIGHBOURS]:
            yield index, other


def _by_subject(rows: Rows, indices: Iterable[int]) -> dict[str, list[int]]:
    same: dict[str, list[int]] = defaultdict(list)
    for index in indices:
        for subject in _subjects(rows[index]):
            same[subject].append(index)
    return same


def _subjects(row: ReportedFinding) -> Iterator[str]:
    yield f"title {folded_title(row.opinion.title)}"
    if row.opinion.rule:
        yield f"rule {row.opinion.rule}"


def _split(rows: Rows, members: list[int], near: Sequence[Pair]) -> Iterator[list[ReportedFinding]]:
    """Yield the findings of rows that are near each other, each with at most one problem of an agent."""
    if len(members) == 1:
        yield [rows[members[0]]]
        return
    number = {index: position for position, index in enumerate(members)}
    cluster = [rows[index] for index in members]
    pairs = [(number[first], number[other]) for first, other in near]
    alike = {(a, b): score for a, b in pairs if (score := similarity(cluster[a], cluster[b])) >= SAME_TITLE}
    findings = _Findings(cluster, alike)
    for (a, b), _ in sorted(alike.items(), key=lambda item: (-item[1], item[0])):
        findings.join(a, b)
    findings.join_places(
        (a, b)
        for a, b in pairs
        if cluster[a].category == cluster[b].category and not (is_long(cluster[a]) or is_long(cluster[b]))
    )
    yield from ([cluster[index] for index in group] for group in findings.sets.groups())


class _Findings:
    """Joins problems into findings that have at most one problem of each agent."""

    def __init__(self, rows: Rows, alike: Iterable[Pair]) -> None:
        self._agents = [row.opinion.agent for row in rows]
        self._problems = Sets(len(rows))
        for a, b in alike:
            if self._agents[a] == self._agents[b]:
                self._problems.join(a, b)
        self.sets = Sets(len(rows))
        #: The agents of each finding, by its representative.
        self._of: dict[int, set[str]] = {}
        for members in self._problems.groups():
            for index in members:
                self.sets.join(members[0], index)
            self._of[members[0]] = {self._agents[members[0]]}

    def join(self, first: int, other: int) -> None:
        """Join two findings, unless an agent would have two problems in the result."""
        low, high = sorted((self.sets.find(first), self.sets.find(other)))
        if low != high and self._of[low].isdisjoint(self._of[high]):
            self.sets.join(low, high)
            fewer, more = sorted((self._of[low], self._of.pop(high)), key=len)
            more |= fewer  # in place: a copy each time would be quadratic
            self._of[low] = more

    def join_places(self, places: Iterable[Pair]) -> None:
        """Join what is at one place, where no agent has several problems."""
        places = list(places)
        around: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for pair in places:
            problems = {self._problems.find(index) for index in pair}
            for problem in problems:
                for each in problems:
                    around[problem][self._agents[each]].add(each)
        free = {problem for problem, agents in around.items() if all(len(found) == 1 for found in agents.values())}
        joined = Sets(len(self._agents))
        for a, b in places:
            if self._problems.find(a) in free and self._problems.find(b) in free:
                joined.join(self.sets.find(a), self.sets.find(b))
        for members in joined.groups():
            roots = [index for index in members if index in self._of]
            if sum(len(self._of[root]) for root in roots) == len(set().union(*(self._of[root] for root in roots))):
                for root in roots[1:]:
                    self.join(roots[0], root)
