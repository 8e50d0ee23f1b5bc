"""Give the findings of a merge ids that differ: agents and tools number their rows alike."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import NamedTuple, TypeVar

from remit.merging.arranging import Numbers, Places, no_numbers
from remit.merging.model import MergedFinding, Opinion

#: The id that an agent gives a row: `SEC-001`.
_ROW_ID = re.compile(r"([A-Za-z][A-Za-z0-9]{0,11})-(\d{1,6})")
#: Numbers the findings whose rows have no id: `F-001`.
_NO_ID = "F"
T = TypeVar("T")


class _Alike(NamedTuple):
    """The findings whose ids are the same in upper case."""

    forms: set[IdParts]
    #: Their numbers by agents, which are sorted: a list for each form of the id.
    numbers: dict[tuple[str, ...], list[Numbers]]


def unique_ids(findings: Sequence[MergedFinding], places: Places) -> Iterator[tuple[int, str]]:
    """Yield new ids for the findings that cannot keep theirs, by number: ids differ in all letters and digits.

    A second SEC-001 is SEC2-001, a second result of a tool's rule B608 is B608-2, and a finding without an id is F-001.
    The first is the first by agent, path and line, so that severities and scores do not change an id.
    """
    by_id = _by_id(findings, places)
    taken = set(by_id)
    are_apart = _are_apart(by_id)

    def take(name: str) -> bool:
        return name not in taken and not taken.add(name)  # type: ignore[func-returns-value]

    for _, (forms, by_agents) in sorted(by_id.items()):
        ordered = [
            at
            for lists in by_agents.values()
            for at in places.settled(
                lists[0] if len(lists) == 1 else _joined(lists, findings), lambda at: naming_order(findings[at])
            )
        ]
        names = _numbered(forms, len(ordered))
        if names and (are_apart or taken.isdisjoint(names)):
            taken.update(names if not are_apart else ())
            yield from zip(ordered[1:], names, strict=True)
        else:
            yield from new_names(((at, _parts_of(findings[at])) for at in ordered), take)


def _by_id(findings: Sequence[MergedFinding], places: Places) -> dict[str, _Alike]:
    """Return the numbers of the findings by id, in upper case; each list is in the order of `places`."""
    ids: dict[tuple[str, ...], dict[str, Numbers]] = defaultdict(partial(defaultdict, no_numbers))
    rules: dict[tuple[str, ...], dict[str, Numbers]] = defaultdict(partial(defaultdict, no_numbers))
    lists: list[Numbers] = []
    agents: tuple[str, ...] | None = None
    own_ids: dict[str, Numbers] = {}
    own_rules: dict[str, Numbers] = {}
    for finding in findings:
        if finding.agents is not agents:  # the findings of a report have the same ones
            agents = finding.agents
            own_ids, own_rules = ids[agents], rules[agents]
        opinions = finding.opinions
        rule = opinions[0].rule if len(opinions) == 1 else leading_rule(opinions)
        lists.append((own_rules if rule else own_ids)[finding.id])
    places.put(lists)
    found: dict[str, _Alike] = defaultdict(lambda: _Alike(set(), defaultdict(list)))
    for own in sorted({*ids, *rules}):
        for by_agents in (ids, rules):
            for own_id, numbers in by_agents[own].items():
                parts = id_parts(own_id, is_rule=by_agents is rules)
                forms, alike = found[parts.folded]
                forms.add(parts)
                alike[own].append(numbers)
    return found


def _joined(lists: Iterable[Numbers], findings: Sequence[MergedFinding]) -> list[int]:
    numbers = sorted(chain.from_iterable(lists))
    return sorted(numbers, key=lambda at: naming_prefix(findings[at]))


def _numbered(forms: Collection[IdParts], count: int) -> list[str]:
    """Return the new ids of findings with one id, if all of them are free; empty if they have to be made one by one."""
    (folded, before, after), *others = forms
    is_simple = folded and before == before.upper() and not others
    return [f"{before}{number}{after}" for number in range(2, count + 1)] if is_simple else []


def _are_apart(by_id: Mapping[str, _Alike]) -> bool:
    """Return whether no new id of one finding can be that of another: QA-001 and QA2-001 could both become QA21-001."""
    forms = [form for alike in by_id.values() for form in alike.forms]
    roots = {(form.before.rstrip("0123456789"), form.after) for form in forms if form.after}
    return len(roots) == len(forms) == len(by_id) and all(form.before == form.before.upper() for form in forms)


def _parts_of(finding: MergedFinding) -> IdParts:
    return id_parts(finding.id, is_rule=bool(leading_opinion(finding).rule))


def new_names(findings: Iterable[tuple[T, IdParts]], take: Callable[[str], bool]) -> Iterator[tuple[T, str]]:
    """Yield new ids for findings with one id, in `naming_order`; the first keeps it.

    `take` takes a name in upper case, and returns whether it was free. All ids are taken from the start.
    """
    number = 0
    for finding, (folded, before, after) in findings:
        while True:
            number += 1
            if number == 1 and folded:
                break
            name = f"{before}{number}{after}" if folded else f"{before}{number:03}"
            if take(name.upper()):
                yield finding, name
                break


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


def leading_rule(opinions: Sequence[Opinion]) -> str:
    """Return the rule of the opinion that provides the title of a finding; most have none."""
    for opinion in opinions:
        if opinion.rule:
            return _leading(opinions).rule
    return ""


def leading_opinion(finding: MergedFinding) -> Opinion:
    """Return the opinion that provides the title of a finding: the best-scored one."""
    opinions = finding.opinions
    return opinions[0] if len(opinions) == 1 else _leading(opinions)


def _leading(opinions: Sequence[Opinion]) -> Opinion:
    return min(opinions, key=lambda one: (-one.confidence, one.agent, one.id))
