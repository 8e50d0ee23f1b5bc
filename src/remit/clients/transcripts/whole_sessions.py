"""Read whole sessions: the calls, and between them the texts of the assistant."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from remit.clients.transcripts.calls import AgentCalls, TranscriptLine
from remit.clients.transcripts.reading import CLIENTS, decode_line, lines_of, reader_of
from remit.clients.transcripts.spoken import SpokenText, about, texts_in
from remit.evidence.receipts import Receipt

#: Texts of one session that are read.
_MAX_TEXTS = 200_000
_MAX_SHOWN = 20_000
_SESSIONS = "SELECT id, directory, parent_id, time_created FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data, time_created FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT id, data FROM part WHERE message_id = ? ORDER BY time_created, id"


class Said(NamedTuple):
    """A text of the assistant, and how many calls came before it."""

    text: SpokenText
    calls: int
    #: The number of the turn, which begins with a text of the person.
    turn: int
    time: str


class Shown(NamedTuple):
    """A text of the person, which may have the output of a run, and how many calls came before it."""

    words: str
    calls: int


class Session(msgspec.Struct, frozen=True):
    """A session, or the part of one that a file has."""

    id: str
    client: str
    #: The working directory.
    project: str
    model: str
    started: str
    receipts: tuple[Receipt, ...]
    said: tuple[Said, ...]
    #: The number of calls at the end of each turn.
    turn_ends: tuple[int, ...]
    #: The text of the person that begins each turn.
    shown: tuple[Shown, ...] = ()
    #: The number of lines that cannot be read.
    skipped: int = 0
    #: Whether the file does not have the session's first calls.
    is_continued: bool = False


def read_sessions(path: Path) -> Iterator[Session]:
    """Yield the sessions in a file. Raises OSError; a file without a session yields none."""
    if path.suffix == ".db":
        yield from _of_database(path)
        return
    session = _Session(str(path))
    for raw in lines_of(path):
        session.add(decode_line(raw))
    if (read := session.result(path.stem)) is not None:
        yield read


class _Session:
    """A session while its lines are read."""

    def __init__(self, path: str) -> None:
        self._readers: list[AgentCalls] = [reader_of(client, path) for client in CLIENTS]
        self._said: list[Said] = []
        self._turn_ends: list[int] = []
        self._shown: list[Shown] = []
        self._client = self._id = self._model = self._started = ""
        self._skipped = 0
        self._is_continued: bool | None = None

    def add(self, line: TranscriptLine | None) -> None:
        """Add a line; None for one that cannot be read."""
        if line is None:
            self._skipped += 1
            return
        stated = about(line)
        self._id = self._id or stated.session
        self._model = stated.model or self._model
        self._started = self._started or line.timestamp or ""
        if self._is_continued is None and (stated.session or line.message is not None):
            self._is_continued = stated.continues
        texts = list(texts_in(line))
        # The text of a message comes before its calls.
        calls = sum(reader.count for reader in self._readers)
        any(reader.add(line) for reader in self._readers)
        for text in texts:
            self._client = text.client
            self._model = text.model or self._model
            if text.is_asked:
                self._turn_ends.append(calls)
                self._shown.append(Shown(text.words[:_MAX_SHOWN], calls))
            elif len(self._said) < _MAX_TEXTS:
                self._said.append(Said(text, calls, len(self._turn_ends), line.timestamp or ""))

    def result(self, name: str, project: str = "") -> Session | None:
        """Return the session; None without a text of an assistant. `name` is its id if no line states one."""
        if not self._said:
            return None
        roots = [root for reader in self._readers for root in reader.roots]
        receipts = tuple(receipt for reader in self._readers for receipt in reader.receipts)
        return Session(
            id=self._id or name,
            client=self._client,
            project=project or next(iter(roots), ""),
            model=self._model,
            started=self._started,
            receipts=receipts,
            said=tuple(self._said),
            turn_ends=(*self._turn_ends, len(receipts)),
            shown=tuple(self._shown),
            skipped=self._skipped,
            is_continued=bool(self._is_continued),
        )


def _of_database(path: Path) -> Iterator[Session]:
    """Yield the sessions in a database of opencode, which is only read."""
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro{_locking(path)}", uri=True)
        try:
            for name, folder, _, created in connection.execute(_SESSIONS).fetchall():
                session = _Session(str(path))
                for line in _messages(connection, str(name), created):
                    session.add(line)
                if (read := session.result(str(name), str(folder))) is not None:
                    yield read
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise OSError(f"not a database of opencode: {error}") from error


def _locking(path: Path) -> str:
    """Return the option that keeps SQLite from creating files next to a database that no program has open."""
    is_open = any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal"))
    return "" if is_open else "&immutable=1"


def _messages(connection: sqlite3.Connection, session: str, created: object) -> Iterable[TranscriptLine | None]:
    for name, data, time in connection.execute(_MESSAGES, (session,)).fetchall():
        info = _decoded(data)
        parts = [
            {**part, "id": part_name}
            for part_name, text in connection.execute(_PARTS, (name,))
            if (part := _decoded(text)) is not None
        ]
        if info is None:
            yield None
            continue
        yield TranscriptLine(timestamp=_iso(time or created), info={**info, "sessionID": session}, parts=parts)


def _decoded(data: object) -> dict[str, object] | None:
    try:
        decoded = msgspec.json.decode(data) if isinstance(data, str | bytes) else None
    except (msgspec.DecodeError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None


def _iso(milliseconds: object) -> str:
    if not isinstance(milliseconds, int) or not 0 <= milliseconds < 10**14:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
