"""The findings of a merge while it is made, in a temporary file.

`StoredDrafts` has the rows and the findings in an SQLite database that has no name and is removed when it is closed. It
gives the findings unique ids and puts them in the order of the report. A merge of many rows then has `StoredFindings`,
which read a finding when it is needed; the findings of other merges are in memory.
"""

from __future__ import annotations

import sqlite3
import weakref
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import overload

import msgspec

from remit.contract.findings import Severity
from remit.merging.arranging import (
    SEVERITY_RANKS,
    Arranged,
    Tally,
    location_key,
    settle_ties,
)
from remit.merging.merge_data import MergedFinding, ReportedFinding
from remit.merging.naming import id_parts, leading_opinion, naming_order, naming_prefix, new_names

_SEVERITIES = {rank: severity for severity, rank in SEVERITY_RANKS.items()}
#: Rows that are written or read at a time.
_BATCH = 1000
#: Rows that are merged at a time, if no file has more: so few that they stay in the caches of the processor.
_TOGETHER = 200
#: The largest number that the database compares; the whole key decides between larger ones.
_LARGEST = 1 << 62
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA temp_store = FILE;
PRAGMA cache_size = -16384;
CREATE TABLE rows (path BLOB, data BLOB);
CREATE TABLE findings (
    at INTEGER PRIMARY KEY, id TEXT, folded BLOB, agents BLOB, path BLOB, line INTEGER, is_rule INTEGER,
    is_dropped INTEGER, rank INTEGER, confidence REAL, members INTEGER, is_dismissed INTEGER, data BLOB
);
CREATE TABLE taken (name BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE places (is_dropped INTEGER, place INTEGER, at INTEGER, PRIMARY KEY (is_dropped, place)) WITHOUT ROWID;
"""
_INSERT = "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE = (
    "UPDATE findings SET id = ?, folded = ?, agents = ?, path = ?, line = ?, is_rule = ?, is_dropped = ?, rank = ?,"
    " confidence = ?, members = ?, is_dismissed = ?, data = ? WHERE at = ?"
)
Change = Callable[[MergedFinding], MergedFinding]
_decode_row = msgspec.msgpack.Decoder(ReportedFinding).decode
_decode_finding = msgspec.msgpack.Decoder(MergedFinding).decode
_encode_packed = msgspec.msgpack.Encoder().encode


class StoredDrafts:
    """Findings and rows in a temporary database, which only this process can open."""

    def __init__(self, in_memory: int | None = None) -> None:
        """Make an empty database. The findings of more rows than `in_memory` are not read into memory."""
        # Without a name it is a file that SQLite removes at once. One thread at a time uses it.
        self.database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self.database.close)  # a merge may read it as long as it exists
        self.database.executescript(_SCHEMA)
        #: How many findings were added, which is the number of the next one.
        self.count = 0
        self._in_memory = in_memory
        self._rows = 0
        self._waiting: list[tuple[object, ...]] = []

    def add_rows(self, rows: Iterable[ReportedFinding]) -> None:
        """Store rows of an input."""
        with self._transaction():
            added = self.database.executemany(
                "INSERT INTO rows VALUES (?, ?)", ((_path_key(row), _encode(row)) for row in rows)
            )
        self._rows += max(0, added.rowcount)

    def row_batches(self) -> Iterator[list[ReportedFinding]]:
        """Yield the rows, sorted by file; all rows of a file are in one batch. No finding has rows of two files."""
        rows: list[ReportedFinding] = []
        last: bytes | None = None
        for path, data in self.database.execute("SELECT path, data FROM rows ORDER BY path"):
            if path != last and len(rows) >= _TOGETHER:
                yield rows
                rows = []
            last = path
            rows.append(_decode_row(data) if data[:1] != b"{" else msgspec.json.decode(data, type=ReportedFinding))
        if rows:
            yield rows

    def add(self, findings: Iterable[MergedFinding]) -> None:
        """Add findings; their numbers follow each other."""
        for finding in findings:
            self._waiting.append((self.count, *_columns(finding)))
            self.count += 1
            if len(self._waiting) == _BATCH:
                self._flush()

    def _flush(self) -> None:
        with self._transaction():
            self.database.executemany(_INSERT, self._waiting)
        self._waiting = []

    def name_all(self) -> None:
        """Give the findings unique ids, once all of them are added.

        A second SEC-001 is SEC2-001, a second result of a tool's rule B608 is B608-2, and a finding without an id is
        F-001. The first is the first by agent, path and line, so that severities and scores do not change an id.
        """
        self._flush()
        self.database.execute("DROP TABLE rows")
        self.database.execute("INSERT INTO taken SELECT DISTINCT folded FROM findings")
        rows = self.database.execute(
            "SELECT at, id, is_rule, folded, agents, path, line FROM findings ORDER BY folded, agents, path, line"
        )
        keyed = (
            ((folded, agents, path, line), (number, id_parts(own_id, is_rule=bool(is_rule))))
            for number, own_id, is_rule, folded, agents, path, line in rows
        )
        ordered = settle_ties(keyed, lambda keyed_row: naming_order(self.finding(keyed_row[0])))
        with self._transaction():
            for _, alike in groupby(ordered, key=lambda keyed_row: keyed_row[1].folded):
                for number, name in new_names(alike, self._take):
                    self.database.execute("UPDATE findings SET id = ? WHERE at = ?", (name, number))

    def _take(self, name: str) -> bool:
        taken = self.database.execute("INSERT OR IGNORE INTO taken VALUES (?)", (_bytes(name),))
        return taken.rowcount == 1

    def id_of(self, number: int) -> str:
        """Return the id of a finding."""
        return str(self.database.execute("SELECT id FROM findings WHERE at = ?", (number,)).fetchone()[0])

    def finding(self, number: int) -> MergedFinding:
        """Return a finding by its number."""
        return decoded(*self.database.execute("SELECT id, data FROM findings WHERE at = ?", (number,)).fetchone())

    def arranged(self) -> Arranged:
        """Return the findings in the order of the report: by severity, then by confidence, then by location."""
        self._flush()
        self.database.execute("DELETE FROM places")
        rows = self.database.execute(
            "SELECT at, is_dropped, rank, confidence, path, line FROM findings"
            " ORDER BY is_dropped, rank, confidence DESC, path, line"
        )
        keyed = ((key, (number, key[0])) for number, *key in rows)
        ordered = settle_ties(keyed, lambda keyed_row: location_key(self.finding(keyed_row[0])))
        lengths = [0, 0]
        with self._transaction():
            for number, is_dropped in ordered:
                self.database.execute("INSERT INTO places VALUES (?, ?, ?)", (is_dropped, lengths[is_dropped], number))
                lengths[is_dropped] += 1
        kept, dropped = (StoredFindings(self, bool(is_dropped), 0, length) for is_dropped, length in enumerate(lengths))
        tallies = kept.tally(), dropped.tally()
        if self._in_memory is not None and self._rows > self._in_memory:
            return Arranged(kept, dropped, *tallies)
        return Arranged(tuple(kept), tuple(dropped), *tallies)

    def revised(self, change: Change) -> Arranged:
        """Change the findings file by file, and return them."""
        ordered = self.database.execute("SELECT at FROM findings ORDER BY path, line")
        numbers = array("q", (number for (number,) in ordered))
        with self._transaction():
            for number in numbers:
                finding = self.finding(number)
                changed = change(finding)
                if changed is not finding:
                    self.database.execute(_UPDATE, (*_columns(changed), number))
        return self.arranged()

    def annotate(self, annotation: Callable[[MergedFinding], bytes | None]) -> None:
        """Store a text for each finding, in the order of path, line and report. None: nothing is stored."""
        self.database.execute("CREATE TABLE IF NOT EXISTS notes (at INTEGER PRIMARY KEY, note BLOB)")
        self.database.execute("DELETE FROM notes")
        rows = self.database.execute(
            "SELECT at, id, data FROM findings JOIN places USING (at) ORDER BY path, line, places.is_dropped, place"
        )
        with self._transaction():
            for number, own_id, data in rows:
                note = annotation(decoded(own_id, data))
                if note is not None:
                    self.database.execute("INSERT INTO notes VALUES (?, ?)", (number, note))

    def annotated(self) -> Iterator[tuple[MergedFinding, bytes]]:
        """Yield the findings that have a text, in the order of the report."""
        rows = self.database.execute(
            "SELECT id, data, note FROM places JOIN findings USING (at) JOIN notes USING (at)"
            " ORDER BY places.is_dropped, place"
        )
        for own_id, data, note in rows:
            yield decoded(own_id, data), note

    def _transaction(self) -> sqlite3.Connection:
        self.database.execute("BEGIN")
        return self.database


class StoredFindings(Sequence[MergedFinding]):
    """Findings of a merge in the order of the report, which are read when they are needed. A slice is one of them."""

    def __init__(self, drafts: StoredDrafts, is_dropped: bool, start: int, stop: int) -> None:  # noqa: FBT001
        self.drafts = drafts
        self._is_dropped = is_dropped
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return max(0, self._stop - self._start)

    @overload
    def __getitem__(self, place: int) -> MergedFinding: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[MergedFinding]: ...
    def __getitem__(self, index: int | slice) -> MergedFinding | Sequence[MergedFinding]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[place] for place in range(start, stop, step)]
            return StoredFindings(self.drafts, self._is_dropped, self._start + start, self._start + max(start, stop))
        place = range(self._start, self._stop)[index]
        return next(iter(self[place - self._start : place - self._start + 1]))

    def __iter__(self) -> Iterator[MergedFinding]:
        for start in range(self._start, self._stop, _BATCH):
            rows = self.drafts.database.execute(
                "SELECT id, data FROM places JOIN findings USING (at)"
                " WHERE places.is_dropped = ? AND place BETWEEN ? AND ? ORDER BY place",
                (self._is_dropped, start, min(start + _BATCH, self._stop) - 1),
            )
            yield from (decoded(*row) for row in rows.fetchall())

    def tally(self) -> Tally:
        """Count the findings, without reading them."""
        rows = self.drafts.database.execute(
            "SELECT rank, count(*), sum(members), sum(is_dismissed) FROM places JOIN findings USING (at)"
            " WHERE places.is_dropped = ? AND place BETWEEN ? AND ? GROUP BY rank",
            (self._is_dropped, self._start, self._stop - 1),
        ).fetchall()
        severities: Counter[Severity | None] = Counter({_SEVERITIES[rank]: count for rank, count, _, _ in rows})
        return Tally(severities, sum(row[2] for row in rows), sum(row[3] for row in rows))


def severities_of(findings: Sequence[MergedFinding]) -> Counter[Severity | None]:
    """Return how many findings of each severity there are."""
    if isinstance(findings, StoredFindings):
        return findings.tally().severities
    return Counter(finding.severity for finding in findings)


def decoded(own_id: str, data: bytes) -> MergedFinding:
    """Return a stored finding with the id that it was given."""
    finding = _decode_finding(data) if data[:1] != b"{" else msgspec.json.decode(data, type=MergedFinding)
    return finding if finding.id == own_id else msgspec.structs.replace(finding, id=own_id)


def _columns(finding: MergedFinding) -> tuple[object, ...]:
    agents, path, line = naming_prefix(finding)
    return (
        finding.id,
        _bytes(finding.id.upper()),
        # Compares as the tuple does: no name has these two bytes, and the end is before any name.
        b"".join(_bytes(agent).replace(b"\0", b"\0\xff") + b"\0\1" for agent in agents) + b"\0\0",
        _bytes(path),
        max(-_LARGEST, min(line, _LARGEST)),
        bool(finding.opinions and leading_opinion(finding).rule),
        finding.reason is not msgspec.UNSET,
        SEVERITY_RANKS[finding.severity],
        finding.confidence,
        len(finding.members),
        "dismissed" in finding.flags,
        _encode(finding),
    )


def _encode(value: ReportedFinding | MergedFinding) -> bytes:
    """Return a row or a finding as bytes. Lines of an earlier merge may be too large for the fast format."""
    try:
        return _encode_packed(value)
    except OverflowError:
        return msgspec.json.encode(value)


def _path_key(row: ReportedFinding) -> bytes:
    return b"" if row.path is None else b"/" + _bytes(row.path)


def _bytes(text: str) -> bytes:
    """Return text in a form that the database compares as Python compares the text."""
    return text.encode("utf-8", "surrogatepass")
