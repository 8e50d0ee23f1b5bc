"""Group rows that report the same finding.

Rows are compared only inside a cluster: rows of one file whose lines touch, or that quote the same code, or that have
the same title and no line. In a cluster:

1. Rows of one agent with the same rule or title are one problem.
2. Problems of different agents with the same rule or title are one finding, in any category.
3. Problems of different agents in one category are one finding because of their location alone, unless an agent has
   several problems there: then only titles decide.

Two problems of one agent are never one finding. The best matches are joined first and ties follow the content of the
rows, so the order of the inputs does not matter. Each row is compared with a limited number of others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from remit.merging.merge_data import ReportedFinding
from remit.merging.titles import SAME_TITLE, folded_title, title_similarity

#: In a larger cluster, a row is compared with this many neighbours, and with rows that share a rare word of its title.
_NEIGHBOURS = 24
_MAX_POSTINGS = 12
_RARE_WORDS = 2

Near = Callable[[ReportedFinding, ReportedFinding], bool]
Order = Callable[[ReportedFinding], Any]


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

    def join(self, first: int, other: int) -> None:
        """Join two sets; the smaller index represents the result."""
        low, high = sorted((self.find(first), self.find(other)))
        self._parent[high] = low

    def __contains__(self, index: int) -> bool:
        return index in self._parent

    def sets(self) -> dict[int, list[int]]:
        """Return the sorted set of every joined index."""
        sets: dict[int, list[int]] = {}
        for index in sorted(self._parent):
            sets[index] = sets.get(self.find(index), [])
            sets[index].append(index)
        return sets


def group_findings(rows: Sequence[ReportedFinding], order: Order, window: int = 0) -> Iterable[list[int]]:
    """Yield the indices of the rows of each finding that has more than one, sorted by content.

    `order` is a key by the content of a row that begins with `place_key`. Rows of different files are never in one
    group. Rows are compared when they are needed, and combined while they are in the caches of the processor.
    """
    files: dict[str, list[int]] = defaultdict(list)
    others: list[int] = []
    mixed: set[str] = set()
    firsts: list[int] = []
    lasts: list[int] = []
    for index, row in enumerate(rows):
        first, last, path = row.opinion.line, row.end_line, row.path
        files[path or ""].append(index)
        if first is None or path is None or row.reason:
            mixed.add(path or "")
            first = first or 0
            others.append(index)
        elif row.fingerprint:
            others.append(index)
        firsts.append(first)
        lasts.append(first if last is None or last < first else last)
    joined = Components()
    _join_equal(joined, ((index, key) for index in others for key in _shared_keys(rows[index])))
    clusters: list[list[int]] = []
    for path, unsorted in sorted(files.items()):
        file_rows = sorted(unsorted, key=firsts.__getitem__)
        for located in _located(file_rows, rows) if path in mixed else (file_rows,):
            for cluster in _touching(located, firsts, lasts, window):
                if others and any(index in joined for index in cluster):
                    for index in cluster:
                        joined.join(cluster[0], index)
                else:
                    clusters.append(cluster)
    clusters += [cluster for index, cluster in joined.sets().items() if cluster[0] == index]
    near = _near(window)
    return (numbers for cluster in clusters for numbers in _split(cluster, rows, order, near))


def _located(indices: Iterable[int], rows: Sequence[ReportedFinding]) -> Iterable[list[int]]:
    """Return the rows of a file that have a line, by the reason why they are dropped."""
    located: dict[str, list[int]] = defaultdict(list)
    for index in indices:
        row = rows[index]
        if row.path is not None and row.opinion.line is not None:
            located[row.reason].append(index)
    return located.values()


def _split(cluster: list[int], rows: Sequence[ReportedFinding], order: Order, near: Near) -> Iterable[list[int]]:
    """Return the rows of each finding of a cluster that has more than one, sorted by content."""
    if len(cluster) == 2:
        is_one = _is_one_finding(rows[cluster[0]], rows[cluster[1]], near)
        return (_by_content(cluster, rows, order),) if is_one else ()
    cluster = _by_content(cluster, rows, order)
    members = [rows[index] for index in cluster]
    findings = _agreements(members, near) if _is_one_each(members) else _findings(members, near)
    return [[cluster[member] for member in members] for members in findings if len(members) > 1]


def _is_one_each(rows: Sequence[ReportedFinding]) -> bool:
    """Return whether each row of a small cluster is of another agent, and no earlier merge joined rows."""
    agents = {row.opinion.agent for row in rows if not row.is_merged}
    return len(agents) == len(rows) <= _NEIGHBOURS + 1


def _agreements(rows: Sequence[ReportedFinding], near: Near) -> Iterable[list[int]]:
    """Split a cluster of one row of each agent: the outcome of `_findings`, in which no row keeps another out."""
    sets = [[index] for index in range(len(rows))]
    for other in range(1, len(rows)):
        for earlier in range(other):
            low, high = sets[earlier], sets[other]
            if low is not high and _is_one_finding(rows[earlier], rows[other], near):
                low += high
                for index in high:
                    sets[index] = low
    return [sorted(row_set) for index, row_set in enumerate(sets) if min(row_set) == index]


def place_key(row: ReportedFinding) -> tuple[int, int, bool, str, str]:
    """Return the beginning of the sort key of a row, which nearly always decides."""
    opinion, last = row.opinion, row.end_line
    return opinion.line or 0, last or 0, last is None, opinion.agent, opinion.id


def _by_content(cluster: list[int], rows: Sequence[ReportedFinding], order: Order) -> list[int]:
    if len(cluster) == 2:
        first, last = rows[cluster[0]].opinion.line or 0, rows[cluster[1]].opinion.line or 0
        if first != last:
            return cluster if first < last else cluster[::-1]
    keys = {index: place_key(rows[index]) for index in cluster}
    if len(set(keys.values())) == len(keys):
        return sorted(cluster, key=keys.__getitem__)
    return sorted(cluster, key=lambda index: order(rows[index]))


def merge_of_row(row: ReportedFinding) -> str:
    """Return the mark of the earlier merge that a row comes from; empty for a row of an input."""
    return row.fingerprint.rpartition(":")[0] if row.is_merged else ""


def group_by_mark(rows: Sequence[ReportedFinding], order: Order) -> Iterable[list[int]]:
    """Group rows that all come from one earlier merge, whose findings are kept as they are."""
    marked: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        marked[row.fingerprint].append(index)
    return [sorted(alike, key=lambda index: order(rows[index])) for alike in marked.values() if len(alike) > 1]


def _shared_keys(row: ReportedFinding) -> Iterator[Hashable]:
    """Yield the keys of rows that are compared although their lines differ: quoted code, or a title without a line."""
    if row.fingerprint:
        yield (row.path if not row.is_merged else None, row.reason, row.fingerprint)
    if row.opinion.line is None or row.path is None:
        yield (row.path, row.reason, "", folded_title(row.opinion.title))


def _join_equal(components: Components, keyed: Iterable[tuple[int, Hashable]]) -> None:
    first: dict[Hashable, int] = {}
    for index, key in keyed:
        other = first.setdefault(key, index)
        if other != index:
            components.join(other, index)


def _touching(indices: list[int], firsts: Sequence[int], lasts: Sequence[int], window: int) -> Iterator[list[int]]:
    """Yield the rows of one file, sorted by their first lines, that share lines or are `window` lines apart."""
    if not indices:
        return
    start, reach = 0, lasts[indices[0]]
    for place, index in enumerate(indices):
        if firsts[index] > reach + window:
            if place - start > 1:
                yield indices[start:place]
            start, reach = place, lasts[index]
        elif lasts[index] > reach:
            reach = lasts[index]
    if len(indices) - start > 1:
        yield indices[start:]


def _near(window: int) -> Near:
    """Return whether two rows of a cluster are at one location."""

    def near(first: ReportedFinding, other: ReportedFinding) -> bool:
        if first.fingerprint and first.fingerprint == other.fingerprint:
            return True
        line, other_line = first.opinion.line, other.opinion.line
        if first.path is None or line is None or other.path is None or other_line is None:
            return line == other_line and folded_title(first.opinion.title) == folded_title(other.opinion.title)
        last, other_last = first.end_line, other.end_line
        if line == other_line and (last is None or other_last is None):
            return True
        last = line if last is None or last < line else last
        other_last = other_line if other_last is None or other_last < other_line else other_last
        shared = min(last, other_last) - max(line, other_line) + 1
        shorter = min(last - line, other_last - other_line) + 1
        return shared * 2 > shorter or bool(window and 1 - shared <= window)

    return near


def _span(row: ReportedFinding) -> tuple[int, int]:
    first, last = row.opinion.line or 0, row.end_line
    return first, first if last is None or last < first else last


def _is_one_finding(finding: ReportedFinding, other: ReportedFinding, near: Near) -> bool:
    """Return whether a cluster of two rows, as most are, is one finding: the outcome of `_findings`, but faster."""
    if finding.fingerprint and finding.fingerprint == other.fingerprint and finding.is_merged:
        return True
    may_agree = finding.opinion.agent != other.opinion.agent and finding.category == other.category
    return near(finding, other) and (may_agree or same_problem(finding, other) >= SAME_TITLE)


def _findings(rows: Sequence[ReportedFinding], near: Near) -> Iterator[list[int]]:
    """Split a cluster, sorted by content, into findings: the indices of their rows."""
    problems = Components()
    for index in range(len(rows)):
        problems.find(index)
    titles: list[tuple[float, int, int]] = []
    places: list[tuple[int, int]] = []
    for first, other in sorted(set(_candidates(rows))):
        a, b = rows[first], rows[other]
        if not near(a, b):
            continue
        alike = same_problem(a, b)
        if a.opinion.agent == b.opinion.agent:
            if alike >= SAME_TITLE:
                problems.join(first, other)
            elif a.category == b.category:
                places.append((first, other))
        elif alike >= SAME_TITLE:
            titles.append((-alike, first, other))
        if a.opinion.agent != b.opinion.agent and a.category == b.category:
            places.append((first, other))
    findings = _Findings(rows, problems)
    findings.join_marked()
    for _, first, other in sorted(titles):
        findings.join(first, other)
    findings.join_places(places)
    return findings.groups()


def same_problem(finding: ReportedFinding, other: ReportedFinding) -> float:
    """Return how similar the subjects of two rows are, from 0 to 100. Rules of one tool decide before titles."""
    a, b = finding.opinion, other.opinion
    if a.rule and b.rule:
        if a.rule == b.rule:
            return 100.0
        if a.agent == b.agent:
            return 0.0
    return title_similarity(folded_title(a.title), folded_title(b.title))


def _candidates(rows: Sequence[ReportedFinding]) -> Iterator[tuple[int, int]]:
    """Yield the pairs to compare: all of a small cluster, a limited number for each row of a large one."""
    by_place = sorted(range(len(rows)), key=lambda index: (*_span(rows[index]), index))
    yield from _neighbours(by_place, _NEIGHBOURS)
    if len(rows) <= _NEIGHBOURS + 1:
        return
    buckets: dict[Hashable, list[int]] = defaultdict(list)
    words: dict[str, list[int]] = defaultdict(list)
    for index in by_place:
        row = rows[index]
        title = folded_title(row.opinion.title)
        for key in (
            (row.opinion.agent, row.opinion.rule),
            (row.opinion.agent, "", title),
            ("", title),
            row.fingerprint,
        ):
            buckets[key].append(index)
        for word in set(title.split()) | ({row.opinion.rule} if row.opinion.rule else set()):
            words[word].append(index)
    for bucket in buckets.values():
        yield from _neighbours(bucket, 2)
    for index, row in enumerate(rows):
        title_words = {*folded_title(row.opinion.title).split(), row.opinion.rule}
        rare = sorted((len(words[word]), word) for word in title_words if 1 < len(words.get(word, ())) <= _MAX_POSTINGS)
        for _, word in rare[:_RARE_WORDS]:
            yield from ((min(index, other), max(index, other)) for other in words[word] if other != index)


def _neighbours(ordered: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    for position, index in enumerate(ordered):
        for other in ordered[position + 1 : position + 1 + count]:
            yield min(index, other), max(index, other)


class _Findings:
    """Joins problems into findings that have at most one problem of each agent."""

    def __init__(self, rows: Sequence[ReportedFinding], problems: Components) -> None:
        self._rows = rows
        self._problem = [problems.find(index) for index in range(len(rows))]
        self._sets = Components()
        self._agents: dict[int, dict[str, int]] = {}
        for index, problem in enumerate(self._problem):
            self._sets.join(problem, index)
            self._agents[problem] = {rows[problem].opinion.agent: problem}

    def join_marked(self) -> None:
        """Join the rows of one finding of an earlier merge."""
        first: dict[str, int] = {}
        for index, row in enumerate(self._rows):
            if row.is_merged:
                self._join(first.setdefault(row.fingerprint, index), index)

    def join(self, first: int, other: int) -> None:
        """Join two findings, unless an agent would have two problems in the result."""
        a, b = (self._sets.find(self._problem[index]) for index in (first, other))
        if a == b:
            return
        fewer, more = sorted((self._agents[a], self._agents[b]), key=len)
        if all(more.get(agent, problem) == problem for agent, problem in fewer.items()):
            self._join(first, other)

    def _join(self, first: int, other: int) -> None:
        a, b = self._sets.find(self._problem[first]), self._sets.find(self._problem[other])
        if a != b:
            self._sets.join(a, b)
            fewer, more = sorted((self._agents.pop(a), self._agents.pop(b)), key=len)
            more.update(fewer)  # the smaller into the larger: a copy each time would be quadratic
            self._agents[self._sets.find(a)] = more

    def join_places(self, places: Sequence[tuple[int, int]]) -> None:
        """Join what is at one location, where no agent has several problems."""
        around: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for pair in places:
            for index in pair:
                for other in pair:
                    problem = self._problem[other]
                    around[self._problem[index]][self._rows[other].opinion.agent].add(problem)
        crowded = {index for index, agents in around.items() if any(len(problems) > 1 for problems in agents.values())}
        free = [
            (self._sets.find(self._problem[first]), self._sets.find(self._problem[other]))
            for first, other in places
            if self._problem[first] not in crowded and self._problem[other] not in crowded
        ]
        joined = Components()
        for first, other in free:
            joined.join(first, other)
        for root, members in joined.sets().items():
            if root == members[0] and self._is_one_finding(members):
                for member in members[1:]:
                    self._join(root, member)

    def _is_one_finding(self, sets: Sequence[int]) -> bool:
        problems = [(agent, problem) for root in sets for agent, problem in self._agents[root].items()]
        return len({agent for agent, _ in problems}) == len(set(problems))

    def groups(self) -> Iterator[list[int]]:
        """Yield the indices of the rows of each finding, in the order of the cluster."""
        for index, members in self._sets.sets().items():
            if members[0] == index:
                yield members
