"""Give the findings of a merge ids that differ: agents and tools number their rows alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from remit.merging.merge_data import MergedFinding, Opinion

#: The id that an agent gives a row: `SEC-001`.
_ROW_ID = re.compile(r"([A-Za-z][A-Za-z0-9]{0,11})-(\d{1,6})")
#: Numbers the findings whose rows have no id: `F-001`.
_NO_ID = "F"
T = TypeVar("T")


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
    match = None if is_rule else _ROW_ID.fullmatch(own_id)
    if match:
        return IdParts(own_id.upper(), match[1], f"-{match[2]}")
    return IdParts(own_id.upper(), f"{own_id or _NO_ID}-", "")


def naming_order(finding: MergedFinding) -> tuple[object, ...]:
    """Return the key by which findings with one id are named."""
    location = (finding.path or "", finding.line or 0, finding.end_line or 0)
    absent = (finding.path is None, finding.line is None, finding.end_line is None)
    texts = tuple(
        (opinion.agent, opinion.id, opinion.title, opinion.details, opinion.confidence) for opinion in finding.opinions
    )
    reason = finding.reason if isinstance(finding.reason, str) else ""
    return (finding.agents, *location, finding.category, finding.id, texts, absent, str(finding.members), reason)


def leading_opinion(finding: MergedFinding) -> Opinion:
    """Return the opinion that provides the title of a finding: the best-scored one."""
    opinions = finding.opinions
    return opinions[0] if len(opinions) == 1 else _leading(opinions)


def _leading(opinions: Sequence[Opinion]) -> Opinion:
    return min(opinions, key=lambda opinion: (-opinion.confidence, opinion.agent, opinion.id))
