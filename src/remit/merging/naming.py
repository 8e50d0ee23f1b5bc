"""Give the findings of a merge ids that differ: agents and tools number their rows alike."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from remit.merging.model import MergedFinding, Opinion

#: The id that an agent gives a row: `SEC-001`.
_ROW_ID = re.compile(r"([A-Za-z][A-Za-z0-9]{0,11})-(\d{1,6})")
#: Numbers the findings whose rows have no id: `F-001`.
_NO_ID = "F"
T = TypeVar("T")


#: The numbers of findings by their agents.
ByAgents = dict[tuple[str, ...], list[int]]
#: The same by their id and whether it is a tool's rule.
NotedIds = dict[tuple[str, bool], ByAgents]


def unique_ids(noted: NotedIds, findings: Sequence[MergedFinding], ranks: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield new ids for the findings that cannot keep theirs: ids differ in all letters and digits.

    A second SEC-001 is SEC2-001, a second result of a tool's rule B608 is B608-2, and a finding without an id is F-001.
    The first is the first by agent, path and line, so that severities and scores do not change an id. `ranks` are
    those of `Arrangement`.
    """
    by_id: dict[str, list[tuple[IdParts, ByAgents]]] = defaultdict(list)
    for (own_id, is_rule), by_agents in noted.items():
        own = id_parts(own_id, is_rule=is_rule)
        by_id[own.folded].append((own, by_agents))
    taken = set(by_id)

    def take(name: str) -> bool:
        return name not in taken and not taken.add(name)  # type: ignore[func-returns-value]

    naming = Naming(take)
    for _, alike in sorted(by_id.items()):
        own, by_agents = alike[0]
        parts: dict[int, IdParts] = {}
        if len(alike) > 1:
            parts = {at: one for one, numbers in alike for at in chain.from_iterable(numbers.values())}
            by_agents = _joined([numbers for _, numbers in alike])
        for _, numbers in sorted(by_agents.items()):
            for at in by_rank(numbers, ranks, lambda at: naming_order(findings[at])):
                name = naming.next(parts.get(at, own))
                if name is not None:
                    yield at, name


def _joined(parts: Iterable[ByAgents]) -> ByAgents:
    """Return the numbers by agents of ids that differ in case only, or are a rule and a row's id."""
    joined: ByAgents = defaultdict(list)
    for by_agents in parts:
        for agents, numbers in by_agents.items():
            joined[agents] += numbers
    return {agents: sorted(numbers) for agents, numbers in joined.items()}


def by_rank(numbers: Iterable[int], ranks: Sequence[int], whole: Callable[[int], Any]) -> Iterable[int]:
    """Sort numbers by their rank, which nearly always decides; those of equal rank by the whole key."""
    ordered = sorted(numbers, key=ranks.__getitem__)
    if len(set(map(ranks.__getitem__, ordered))) == len(ordered):
        return ordered
    return settle_ties(((ranks[at], at) for at in ordered), whole)


class Naming:
    """Names findings that come in the order of their ids, and of `naming_order` for each id.

    `take` takes a name in upper case, and returns whether it was free. All ids are taken from the start.
    """

    def __init__(self, take: Callable[[str], bool]) -> None:
        self._take = take
        self._folded: str | None = None
        self._times = 0

    def next(self, own: IdParts) -> str | None:
        """Return another name for the next finding; None if it keeps its id."""
        folded, before, after = own
        if folded != self._folded:
            self._folded, self._times = folded, 0
        while True:
            self._times += 1
            if self._times == 1 and folded:
                return None
            name = f"{before}{self._times}{after}" if folded else f"{before}{self._times:03}"
            if self._take(name.upper()):
                return name


class IdParts(NamedTuple):
    """An id in upper case, and what is before and after the number in an id for a second finding."""

    folded: str
    before: str
    after: str


@lru_cache(maxsize=4096)
def id_parts(own_id: str, *, is_rule: bool) -> IdParts:
    """Return the parts of an id. One that an agent gives a row has letters and digits; a tool's rule has any form."""
    found = None if is_rule else _ROW_ID.fullmatch(own_id)
    if found:
        return IdParts(own_id.upper(), found[1], f"-{found[2]}")
    return IdParts(own_id.upper(), f"{own_id or _NO_ID}-", "")


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


def naming_prefix(finding: MergedFinding) -> tuple[tuple[str, ...], str, int]:
    """Return the beginning of `naming_order`, which is fast to make."""
    return finding.agents, finding.path or "", finding.line or 0


def naming_order(finding: MergedFinding) -> tuple[object, ...]:
    """Return the key by which findings with one id are named."""
    location = (finding.path or "", finding.line or 0, finding.end_line or 0)
    absent = (finding.path is None, finding.line is None, finding.end_line is None)
    texts = tuple((one.agent, one.id, one.title, one.details, one.confidence) for one in finding.opinions)
    reason = finding.reason if isinstance(finding.reason, str) else ""
    return (finding.agents, *location, finding.category, finding.id, texts, absent, str(finding.members), reason)


def leading_opinion(finding: MergedFinding) -> Opinion:
    """Return the opinion that provides the title of a finding: the best-scored one."""
    if len(finding.opinions) == 1:
        return finding.opinions[0]
    return min(finding.opinions, key=lambda one: (-one.confidence, one.agent, one.id))
