"""The rows and the findings of a merge while it is made.

`Drafts` gives the rows back file by file, gives the findings unique ids, and puts them in the order of the report. The
findings come in the order of path and line, and are known by their numbers in it: every other order is made of lists of
numbers that are filled in this order, so that only findings on one line have to be compared.

Of a merge of many rows, both are in temporary files without a name. Its findings are then `StoredFindings`, which are
read when they are needed.
"""

from __future__ import annotations

import heapq
import tempfile
import weakref
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Generic, TypeVar, overload

import msgspec

from remit.contract.findings import Severity
from remit.errors import EnvironmentBroken
from remit.merging.arranging import (
    SEVERITY_RANKS,
    Arranged,
    Tally,
    location_key,
    report_key,
    settle_ties,
    tally_of,
)
from remit.merging.merge_data import MergedFinding, ReportedFinding
from remit.merging.naming import IdParts, id_parts, leading_opinion, naming_order, new_names

#: Rows that are merged at a time, if no file has more: so few that they stay in the caches of the processor.
_TOGETHER = 200
T = TypeVar("T")
Place = tuple[str, int]
Change = Callable[[MergedFinding], MergedFinding]
#: The lines that a finding cites, and its fingerprint.
Note = tuple[str, str]
_encode_packed = msgspec.msgpack.Encoder().encode
_no_numbers = partial(array, "q")
_path_of_part = itemgetter(0)


class ListInFile(Generic[T]):
    """A list whose values are in a temporary file. One thread at a time uses it."""

    def __init__(self, kind: Any, length: int = 0) -> None:
        """Make a list; each of its first `length` values has to be set before it is read."""
        self._kind = kind
        self._decode = msgspec.msgpack.Decoder(kind).decode
        self._starts, self._sizes = (array("q", bytes(8 * length)) for _ in range(2))
        self._end = 0
        self._is_at_end = True
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it is open as long as the list exists)
        except OSError as error:
            raise _broken(error) from error
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[T]:
        return map(self.__getitem__, range(len(self)))

    def append(self, value: T) -> None:
        """Add a value."""
        self._starts.append(0)
        self._sizes.append(0)
        self[len(self._starts) - 1] = value

    def extend(self, values: Iterable[T]) -> None:
        """Add values."""
        for value in values:
            self.append(value)

    def __setitem__(self, index: int, value: T) -> None:
        try:
            data = _encode_packed(value)
        except OverflowError:  # lines of an earlier merge may be too large for the fast format
            data = msgspec.json.encode(value)
        try:
            if not self._is_at_end:
                self._file.seek(self._end)
                self._is_at_end = True
            self._file.write(data)
        except OSError as error:
            raise _broken(error) from error
        self._starts[index], self._sizes[index] = self._end, len(data)
        self._end += len(data)

    def __getitem__(self, index: int) -> T:
        self._is_at_end = False
        try:
            self._file.seek(self._starts[index])
            data = self._file.read(self._sizes[index])
        except OSError as error:  # also if the rest of what was written does not fit
            raise _broken(error) from error
        value: T = msgspec.json.decode(data, type=self._kind) if data[:1] in b"{[" else self._decode(data)
        return value


def _broken(error: OSError) -> EnvironmentBroken:
    why = error.strerror or str(error)
    return EnvironmentBroken(f"a temporary file cannot be written: {why}; free space, or name a folder with TMPDIR")


class Drafts:
    """The rows and the findings of a merge."""

    def __init__(self, in_memory: int | None = None) -> None:
        """Make an empty merge. Of more rows than `in_memory`, neither they nor their findings are in memory."""
        self._in_memory = in_memory
        self._rows = 0
        #: Rows by file that are in memory, and how many; the others are in sorted runs, file by file.
        self._by_file: defaultdict[str, list[ReportedFinding]] = defaultdict(list)
        self._waiting = 0
        self._runs: list[ListInFile[list[ReportedFinding]]] = []
        #: How many findings were added, which is the number of the next one.
        self.count = 0
        self._findings: list[MergedFinding] | ListInFile[MergedFinding] = []
        self._last: Place | None = None
        #: Of the findings that are on one line with others: the number of the first one.
        self._shared: dict[int, int] = {}
        #: The findings that have an id, which may be a rule of a tool, by agents.
        self._alike: dict[tuple[str, bool], dict[tuple[str, ...], array[int]]] = defaultdict(
            lambda: defaultdict(_no_numbers)
        )
        self._new_ids: dict[int, str] = {}
        self._order = _Order()
        self._notes: ListInFile[Note | None] | None = None

    @property
    def is_stored(self) -> bool:
        """Whether there are more rows than are kept in memory."""
        return self._in_memory is not None and self._rows > self._in_memory

    def add_rows(self, rows: Sequence[ReportedFinding]) -> None:
        """Add the rows of an input."""
        by_file = self._by_file
        for row in rows:
            by_file[row.path or ""].append(row)
        self._rows += len(rows)
        self._waiting += len(rows)
        if self._in_memory is not None and self._waiting > self._in_memory:
            self._store_rows()

    def _store_rows(self) -> None:
        run: ListInFile[list[ReportedFinding]] = ListInFile(list[ReportedFinding])
        run.extend(part for _, part in self._rows_in_memory())
        self._runs.append(run)
        self._waiting = 0

    def _rows_in_memory(self) -> Iterator[tuple[str, list[ReportedFinding]]]:
        for path in sorted(self._by_file):
            yield path, self._by_file.pop(path)

    def row_batches(self) -> Iterator[list[ReportedFinding]]:
        """Yield all rows once, sorted by file; those of a file are in one batch. No finding has rows of two files."""
        if self.is_stored:
            self._findings = ListInFile(MergedFinding)
        runs = (((part[0].path or "", part) for part in run) for run in self._runs)
        parts = heapq.merge(*runs, self._rows_in_memory(), key=_path_of_part)
        rows: list[ReportedFinding] = []
        for _, alike in groupby(parts, key=_path_of_part):
            if len(rows) >= _TOGETHER:
                yield rows
                rows = []
            for _, part in alike:
                rows += part
        if rows:
            yield rows
        self._runs = []

    def add(self, placed: Iterable[tuple[Place, MergedFinding]]) -> None:
        """Add findings with the places that they are sorted by; their numbers follow each other."""
        findings: list[MergedFinding] = []
        alike, last = self._alike, self._last
        for number, (place, finding) in enumerate(placed, self.count):
            if place == last:
                self._shared[number] = self._shared.setdefault(number - 1, number - 1)
            last = place
            opinions = finding.opinions
            rule = opinions[0].rule if len(opinions) == 1 else opinions and leading_opinion(finding).rule
            alike[finding.id, bool(rule)][finding.agents].append(number)
            findings.append(finding)
        self._findings.extend(findings)
        self._order.put(self.count, findings)
        self.count, self._last = self.count + len(findings), last

    def name_all(self) -> None:
        """Give the findings unique ids, once all of them are added.

        A second SEC-001 is SEC2-001, a second result of a tool's rule B608 is B608-2, and a finding without an id is
        F-001. The first is the first by agent, path and line, so that severities and scores do not change an id.
        """
        forms: dict[str, list[tuple[str, bool]]] = defaultdict(list)
        for own_id in self._alike:
            forms[own_id[0].upper()].append(own_id)
        taken = set(forms)

        def take(name: str) -> bool:
            return name not in taken and not taken.add(name)  # type: ignore[func-returns-value]

        for _, written in sorted(forms.items()):
            self._new_ids.update(new_names(self._by_agents(written), take))
        self._alike.clear()

    def _by_agents(self, forms: Sequence[tuple[str, bool]]) -> Iterator[tuple[int, IdParts]]:
        """Yield the findings whose ids are the same in upper case, in `naming_order`."""
        by_agents: dict[tuple[str, ...], dict[IdParts, array[int]]] = defaultdict(dict)
        for own_id, is_rule in forms:
            parts = id_parts(own_id, is_rule=is_rule)
            for agents, numbers in self._alike[own_id, is_rule].items():
                by_agents[agents].setdefault(parts, _no_numbers()).extend(numbers)
        for _, written in sorted(by_agents.items()):
            parts_of = {number: parts for parts, numbers in written.items() for number in numbers}
            for number in self._settled(sorted(parts_of), naming_order):
                yield number, parts_of[number]

    def _settled(self, numbers: Sequence[int], whole: Callable[[MergedFinding], Any]) -> Iterable[int]:
        """Return sorted numbers, those of findings on one line by a key."""
        shared = self._shared
        lines = [shared[number] for number in numbers if number in shared]
        if len(set(lines)) == len(lines):
            return numbers
        keyed = ((shared.get(number, number), number) for number in numbers)
        return settle_ties(keyed, lambda number: whole(self.finding(number)))

    def id_of(self, number: int) -> str:
        """Return the id of a finding."""
        return self._new_ids.get(number) or self._findings[number].id

    def finding(self, number: int) -> MergedFinding:
        """Return a finding with the id that it was given."""
        finding = self._findings[number]
        new_id = self._new_ids.get(number)
        if new_id is not None:
            msgspec.structs.force_setattr(finding, "id", new_id)  # it is of this merge only
        return finding

    def arranged(self) -> Arranged:
        """Return the findings in the order of the report: by severity, then by confidence, then by location."""
        self._order.settle(self._settled)
        tallies = self._order.tally(is_dropped=False), self._order.tally(is_dropped=True)
        kept, dropped = map(partial(StoredFindings, self), self._order.numbers, tallies)
        return Arranged(kept, dropped, *tallies) if self.is_stored else Arranged(tuple(kept), tuple(dropped), *tallies)

    def revised(self, change: Change) -> Arranged:
        """Change the findings file by file, and return them."""
        changed: list[MergedFinding] | ListInFile[MergedFinding] = ListInFile(MergedFinding) if self.is_stored else []
        self._order = _Order()
        for number in range(self.count):
            finding = change(self.finding(number))
            changed.append(finding)
            self._order.put(number, (finding,))
        self._findings = changed
        return self.arranged()

    def annotate(self, annotation: Callable[[MergedFinding], Note | None]) -> None:
        """Make a note for each finding, in the order of path, line and report. None: there is no note."""
        self._notes = notes = ListInFile[Note | None](Note | None, self.count)
        for number in self._settled(range(self.count), report_key):
            notes[number] = annotation(self.finding(number))

    def annotated(self) -> Iterator[tuple[MergedFinding, Note]]:
        """Yield the findings that have a note, in the order of the report."""
        notes = self._notes
        if notes is None:
            return
        for number in chain(*self._order.numbers):
            note = notes[number]
            if note is not None:
                yield self.finding(number), note


def place_of(finding: MergedFinding) -> Place:
    """Return the key by which findings are numbered."""
    return finding.path or "", finding.line or 0


class _Order:
    """The order of the findings in the report, by their numbers."""

    def __init__(self) -> None:
        #: The findings that are kept, or dropped, with one severity and score, which many of them share.
        self._alike: dict[tuple[bool, Severity | None, float], array[int]] = defaultdict(_no_numbers)
        #: The rows of the kept and of the dropped findings, and how many findings a person dismissed.
        self._rows = [0, 0]
        self._dismissed = [0, 0]
        #: The numbers of the kept and of the dropped findings, once they are settled.
        self.numbers = _no_numbers(), _no_numbers()

    def put(self, start: int, findings: Iterable[MergedFinding]) -> None:
        """Add findings whose numbers begin with `start`."""
        alike, rows, unset = self._alike, self._rows, msgspec.UNSET
        for number, finding in enumerate(findings, start):
            is_dropped = finding.reason is not unset
            alike[is_dropped, finding.severity, finding.confidence].append(number)
            rows[is_dropped] += len(finding.members)
            if finding.flags:
                self._dismissed[is_dropped] += "dismissed" in finding.flags

    def settle(self, settled: Callable[[Sequence[int], Callable[[MergedFinding], Any]], Iterable[int]]) -> None:
        """Sort the numbers."""
        self.numbers = _no_numbers(), _no_numbers()
        for key in sorted(self._alike, key=lambda key: (SEVERITY_RANKS[key[1]], -key[2])):
            self.numbers[key[0]].extend(settled(self._alike[key], location_key))

    def tally(self, *, is_dropped: bool) -> Tally:
        """Count the kept or the dropped findings."""
        severities: Counter[Severity | None] = Counter()
        for key, numbers in self._alike.items():
            if key[0] == is_dropped:
                severities[key[1]] += len(numbers)
        return Tally(severities, self._rows[is_dropped], self._dismissed[is_dropped])


class StoredFindings(Sequence[MergedFinding]):
    """Findings of a merge in the order of the report, which are read when they are needed. A slice is one of them."""

    def __init__(self, drafts: Drafts, numbers: array[int], tally: Tally | None = None) -> None:
        self.drafts = drafts
        self._numbers = numbers
        self._tally = tally

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> MergedFinding: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[MergedFinding]: ...
    def __getitem__(self, index: int | slice) -> MergedFinding | Sequence[MergedFinding]:
        if isinstance(index, slice):
            return StoredFindings(self.drafts, self._numbers[index])
        return self.drafts.finding(self._numbers[index])

    def __iter__(self) -> Iterator[MergedFinding]:
        return map(self.drafts.finding, self._numbers)

    def tally(self) -> Tally:
        """Count the findings."""
        if self._tally is None:
            self._tally = tally_of(self)
        return self._tally


def severities_of(findings: Sequence[MergedFinding]) -> Counter[Severity | None]:
    """Return how many findings of each severity there are."""
    if isinstance(findings, StoredFindings):
        return findings.tally().severities
    return Counter(finding.severity for finding in findings)
