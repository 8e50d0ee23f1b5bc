"""Read whole sessions: the statements of the assistant, and the calls that may show whether they are true.

The lines are read for the texts first. Most sessions state little, and only those that state something are read again
for their calls.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec

from remit.clients.transcripts.calls import LineFields, TranscriptLine, table_of, text_of
from remit.clients.transcripts.reading import MAX_LINE, decode, decode_line, numbered_lines, reader_of
from remit.evidence.judge_statements import AGENT_TOOLS
from remit.evidence.meant_tests import stated_failures
from remit.evidence.model import WorkStatement
from remit.evidence.read_statements import read_statements
from remit.evidence.receipts import Receipt

#: The agent of a text that no subagent wrote.
MAIN = "main"
#: Lines with their numbers; None for one that cannot be read.
_NumberedLines: TypeAlias = Iterable[tuple[int, TranscriptLine | None]]
_CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
#: The agent of Claude Code that summarizes a conversation: its file repeats texts of others.
_SUMMARIZER = "acompact"
_CLAUDE_NOTICES = ("<command-name>", "<local-command", "<task-notification>", "<system-reminder>", "Caveat: ")


class SpokenMessage(msgspec.Struct):
    """The message of a line of Claude Code, with its content as it is written."""

    content: msgspec.Raw = msgspec.Raw(b"null")
    model: str | None = None


class SpokenLine(LineFields):
    """The fields of a line that its texts need. What only the calls need is not decoded."""

    message: SpokenMessage | None = None
    payload: msgspec.Raw = msgspec.Raw(b"null")
    data: msgspec.Raw = msgspec.Raw(b"null")


class SpokenText(NamedTuple):
    """A text in a line: of the assistant, or of the person, who begins the next turn."""

    client: str
    words: str
    agent: str = MAIN
    model: str = ""
    #: What is equal in a copy of the line in another file; empty: unknown.
    key: str = ""
    #: Whether the person wrote it.
    is_asked: bool = False


class About(NamedTuple):
    """What a line states about its session; empty: nothing."""

    session: str = ""
    model: str = ""
    #: Whether the session continues another one, whose calls are not in the file.
    continues: bool = False
    #: The working directory.
    folder: str = ""


class _Block(msgspec.Struct):
    type: Any = None
    text: Any = None


class _Payload(msgspec.Struct):
    """The content of a line of Codex, as far as texts need it."""

    type: Any = None
    role: Any = None
    id: Any = None
    content: Any = None
    model: Any = None
    cwd: Any = None
    forked_from_id: Any = msgspec.UNSET


class _Data(msgspec.Struct):
    """The content of a line of Copilot CLI, as far as texts need it."""

    content: Any = None
    model: Any = None
    messageId: Any = None  # noqa: N815 - the client's name
    sessionId: Any = None  # noqa: N815 - the client's name
    selectedModel: Any = None  # noqa: N815 - the client's name
    context: Any = None


_NO_PAYLOAD = _Payload()
_NO_DATA = _Data()
_blocks = msgspec.json.Decoder(list[_Block])
_payload = msgspec.json.Decoder(_Payload)
_data = msgspec.json.Decoder(_Data)
#: The lines of Copilot CLI that state something about the session, or have a text.
_DATA = frozenset({"session.start", "assistant.message", "user.message"})


def texts_in(line: SpokenLine) -> Iterator[SpokenText]:
    """Yield the texts of a line of any client."""
    if line.type in _CODEX:
        if line.type == "response_item":
            yield from _of_codex(_payload_of(line))
    elif "." in line.type:
        yield from _of_copilot(line, _data_of(line))
    elif isinstance(line.info, dict) and isinstance(line.parts, list):
        yield from _of_opencode(line.info, line.parts)
    elif line.message is not None and line.type in ("assistant", "user"):
        yield from _of_claude_code(line)


def about(line: SpokenLine) -> About:
    """Return what a line states about its session."""
    if line.type in ("session_meta", "turn_context"):
        payload = _payload_of(line)
        if line.type == "session_meta":
            continues = payload.forked_from_id is not msgspec.UNSET
            return About(text_of(payload.id), continues=continues, folder=text_of(payload.cwd))
        return About(model=text_of(payload.model), folder=text_of(payload.cwd))
    if line.type == "session.start":
        data = _data_of(line)
        folder = text_of(table_of(data.context).get("cwd"))
        return About(text_of(data.sessionId), text_of(data.selectedModel), folder=folder)
    if isinstance(line.info, dict):
        model = text_of(line.info.get("modelID"))
        folder = text_of(table_of(line.info.get("path")).get("cwd"))
        return About(text_of(line.info.get("sessionID")), model, folder=folder)
    before = line.parentUuid or line.logicalParentUuid
    return About(line.sessionId or "", continues=before is not None or bool(line.isCompactSummary))


def _payload_of(line: SpokenLine) -> _Payload:
    try:
        return _payload.decode(line.payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _NO_PAYLOAD


def _data_of(line: SpokenLine) -> _Data:
    try:
        return _data.decode(line.data) if line.type in _DATA else _NO_DATA
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _NO_DATA


def _blocks_of(content: msgspec.Raw) -> list[tuple[str, str]]:
    """Return the types and texts of the blocks of a message of Claude Code; a plain text is one block."""
    try:
        return [(text_of(block.type), text_of(block.text)) for block in _blocks.decode(content)]
    except (msgspec.ValidationError, UnicodeDecodeError):
        pass
    except (msgspec.DecodeError, RecursionError):
        return []
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return []
    if isinstance(value, list):
        tables = map(table_of, value)
        return [(text_of(table.get("type")), text_of(table.get("text"))) for table in tables]
    return [("text", text_of(value))]


def _of_claude_code(line: SpokenLine) -> Iterator[SpokenText]:
    message = line.message
    if message is None or line.isApiErrorMessage or message.model == "<synthetic>":
        return
    if (line.agentId or "").startswith(_SUMMARIZER):
        return
    agent = f"subagent {line.agentId}" if line.agentId else "subagent" if line.isSidechain else MAIN
    for number, (kind, words) in enumerate(_blocks_of(message.content)):
        if kind != "text" or not words.strip():
            continue
        if line.type == "assistant":
            yield SpokenText("claude-code", words, agent, message.model or "", f"{line.uuid}/{number}")
        elif not line.isMeta and not words.lstrip().startswith(_CLAUDE_NOTICES):
            yield SpokenText("claude-code", words, agent, is_asked=True)


def _of_codex(payload: _Payload) -> Iterator[SpokenText]:
    if payload.type != "message" or not isinstance(payload.content, list):
        return
    for number, part in enumerate(payload.content):
        words = text_of(table_of(part).get("text"))
        if not words.strip():
            continue
        if payload.role == "assistant":
            key = text_of(payload.id)
            yield SpokenText("codex", words, key=f"{key}/{number}" if key else "")
        elif payload.role == "user" and not words.lstrip().startswith("<"):
            yield SpokenText("codex", words, is_asked=True)


def _of_copilot(line: SpokenLine, data: _Data) -> Iterator[SpokenText]:
    words = text_of(data.content)
    agent = f"subagent {line.agentId}" if line.agentId else MAIN
    if line.type == "assistant.message" and words.strip():
        yield SpokenText("copilot", words, agent, text_of(data.model), text_of(data.messageId))
    elif line.type == "user.message" and words.strip():
        yield SpokenText("copilot", words, agent, is_asked=True)


def _of_opencode(info: dict[str, Any], parts: list[Any]) -> Iterator[SpokenText]:
    is_asked = info.get("role") != "assistant"
    agent, model = text_of(info.get("agent")), text_of(info.get("modelID"))
    for part in map(table_of, parts):
        words = text_of(part.get("text")) if part.get("type") == "text" and not part.get("synthetic") else ""
        if words.strip():
            is_main = agent in ("", "build", "plan")
            yield SpokenText("opencode", words, MAIN if is_main else agent, model, text_of(part.get("id")), is_asked)


#: Statements of one session that are judged.
_MAX_STATEMENTS = 100_000
#: A longer text is cut: a statement is a sentence.
_MAX_TEXT = 200_000
_MAX_SHOWN = 20_000
#: The virtual machine of SQLite executes this many instructions in about 20 s: a view may have no end.
_MAX_STEPS = 1_000_000_000
_STEPS = 100_000
_MAX_MEMORY = 1024**3
_SESSIONS = "SELECT id, directory, parent_id, time_created FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data, time_created FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT id, data FROM part WHERE message_id = ? ORDER BY time_created, id"


class Said(NamedTuple):
    """A text of the assistant that states something, and how many calls came before it."""

    #: The text without its words.
    text: SpokenText
    statements: tuple[WorkStatement, ...]
    calls: int
    #: The number of the turn, which begins with a text of the person.
    turn: int
    time: str
    #: The number of its line in the file, from 1; 0: it is not in a file with lines.
    line: int = 0
    #: The numbers of failures that it states.
    failures: frozenset[int] = frozenset()


class Shown(NamedTuple):
    """A text of the person, which may have the output of a run, and how many calls came before it."""

    words: str
    calls: int


class CallPlace(NamedTuple):
    """Where a call begins."""

    path: str
    #: The number of its line in the file, from 1; 0: it is not in a file with lines.
    line: int = 0


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
    #: Whether the calls of its subagents are among the calls.
    has_subagents: bool = False
    #: Where the calls begin, in the order of the receipts: those of subagents are in other files.
    call_places: tuple[CallPlace, ...] = ()


def read_sessions(path: Path) -> Iterator[Session]:
    """Yield the sessions in a file. Raises OSError; a file without a session yields none."""
    if path.suffix == ".db":
        yield from _of_database(path)
        return
    session = _SpokenSession()
    for number, raw in numbered_lines(path):
        session.add(number, decode(raw, _spoken))
    if session.has_texts:
        yield session.with_calls(path.stem, str(path), lambda: _decoded_lines(path))


def _decoded_lines(path: Path) -> Iterator[tuple[int, TranscriptLine | None]]:
    return ((number, decode_line(raw)) for number, raw in numbered_lines(path))


_spoken = msgspec.json.Decoder(SpokenLine)


class _SpokenSession:
    """The texts of a session while its lines are read."""

    def __init__(self, folder: str = "", *, has_lines: bool = True) -> None:
        """`folder` is the working directory, if it is known; `has_lines`: the numbers are those of lines of a file."""
        self.has_texts = False
        self._has_lines = has_lines
        self._said: list[tuple[int, Said]] = []
        #: The texts of the person with the numbers of their lines, and the folders of the first line.
        self._shown: list[tuple[int, str]] = []
        self._statements = 0
        self._client = self._id = self._model = self._started = ""
        self._project = folder
        self._skipped = 0
        self._is_continued: bool | None = None

    def add(self, number: int, line: SpokenLine | None) -> None:
        """Add a line; None for one that cannot be read."""
        if line is None:
            self._skipped += 1
            return
        stated = about(line)
        self._id = self._id or stated.session
        self._model = stated.model or self._model
        self._started = self._started or line.timestamp or ""
        self._project = self._project or line.cwd or stated.folder
        if self._is_continued is None and (stated.session or line.message is not None):
            self._is_continued = stated.continues
        for text in texts_in(line):
            self._client = text.client
            self._model = text.model or self._model
            if text.is_asked:
                self._shown.append((number, text.words[:_MAX_SHOWN]))
                continue
            self.has_texts = True
            if self._statements >= _MAX_STATEMENTS:
                continue
            statements = tuple(read_statements(text.words[:_MAX_TEXT]))
            if statements:
                self._statements += len(statements)
                time, place = line.timestamp or "", number if self._has_lines else 0
                failures = stated_failures(text.words[:_MAX_TEXT])
                said = Said(text._replace(words=""), statements, 0, len(self._shown), time, place, failures)
                self._said.append((number, said))

    def with_calls(self, name: str, path: str, lines: Callable[[], _NumberedLines]) -> Session:
        """Return the session with its calls, which are read only if it states something. `name` is an id for it."""
        wanted = sorted({number for number, _ in (*self._said, *self._shown)}) if self._said else []
        counts, receipts, starts = _read_calls(lines(), wanted, path, self._client) if wanted else ({}, (), ())
        return Session(
            id=self._id or name,
            client=self._client,
            project=self._project,
            model=self._model,
            started=self._started,
            receipts=receipts,
            said=tuple(said._replace(calls=counts[number]) for number, said in self._said),
            turn_ends=(*(counts.get(number, 0) for number, _ in self._shown), len(receipts)),
            shown=tuple(Shown(words, counts.get(number, 0)) for number, words in self._shown),
            skipped=self._skipped,
            is_continued=bool(self._is_continued),
            call_places=tuple(CallPlace(path, start if self._has_lines else 0) for start in starts),
        )


def with_subagents(session: Session, paths: Iterable[Path]) -> Session:
    """Return a session with the calls of its subagents, each before the next call of the session. Raises OSError."""
    files = list(paths) if session.said else []
    if not files:
        return session
    others: list[tuple[Receipt, CallPlace]] = []
    for path in files:
        _, receipts, starts = _read_calls(_decoded_lines(path), [], str(path), session.client)
        others += zip(receipts, (CallPlace(str(path), start) for start in starts), strict=True)
    waiting = deque(sorted(others, key=lambda other: other[0].time or ""))
    merged: list[tuple[Receipt, CallPlace]] = []
    #: The number of calls before each call of the session.
    places: list[int] = []
    for receipt, place in zip(session.receipts, session.call_places, strict=True):
        while waiting and receipt.time and (waiting[0][0].time or "") < receipt.time:
            merged.append(waiting.popleft())
        places.append(len(merged))
        merged.append((receipt, place))
    places.append(len(merged) + len(waiting))
    merged += waiting
    asked = sum(receipt.tool in AGENT_TOOLS and not receipt.failed for receipt in session.receipts)
    return msgspec.structs.replace(
        session,
        receipts=tuple(receipt for receipt, _ in merged),
        said=tuple(said._replace(calls=places[said.calls]) for said in session.said),
        turn_ends=tuple(places[count] for count in session.turn_ends),
        shown=tuple(shown._replace(calls=places[shown.calls]) for shown in session.shown),
        has_subagents=len(files) >= asked,
        call_places=tuple(place for _, place in merged),
    )


def _read_calls(
    lines: _NumberedLines, wanted: list[int], path: str, client: str
) -> tuple[dict[int, int], tuple[Receipt, ...], tuple[int, ...]]:
    """Return the number of calls before each of the wanted lines, the calls, and the lines that begin them.

    The text of a message is before its calls. A command that ran in the background is where its end was read.
    """
    reader = reader_of(client, path)
    starts: list[int] = []
    ends: dict[str, int] = {}
    for number, line in lines:
        if line is None or not reader.add(line):
            continue
        starts += [number] * (reader.count - len(starts))
        while reader.ended_later:
            ends[reader.ended_later.pop()] = number
    receipts = reader.receipts
    calls = zip(reader.names, starts, strict=True)
    placed = sorted((ends.get(name, start), number, start) for number, (name, start) in enumerate(calls))
    places = [place for place, _, _ in placed]
    counts = {number: bisect_left(places, number) for number in wanted}
    return counts, tuple(receipts[number] for _, number, _ in placed), tuple(start for _, _, start in placed)


def _of_database(path: Path) -> Iterator[Session]:
    """Yield the sessions in a database of opencode, which is only read."""
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro{_locking(path)}", uri=True)
        try:
            _limit(connection)
            for name, folder, _, created in connection.execute(_SESSIONS):
                session = _SpokenSession(str(folder), has_lines=False)
                messages = partial(_messages, connection, str(name), created)
                for number, line in messages():
                    spoken = SpokenLine(timestamp=line.timestamp, info=line.info, parts=line.parts) if line else None
                    session.add(number, spoken)
                if session.has_texts:
                    yield session.with_calls(str(name), str(path), messages)
        finally:
            connection.close()
    except MemoryError as error:
        raise OSError("it takes too much memory to read") from error
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            raise OSError("it takes too long to read") from error
        raise OSError(f"not a database of opencode: {error}") from error


def _limit(connection: sqlite3.Connection) -> None:
    """Limit what the schema of a hostile database can do, use and take."""
    steps = count()
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LINE)
    connection.set_progress_handler(lambda: next(steps) * _STEPS > _MAX_STEPS, _STEPS)
    for setting in ("trusted_schema = OFF", "query_only = ON", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute(f"PRAGMA hard_heap_limit = {_MAX_MEMORY}")


def _locking(path: Path) -> str:
    """Return the option that keeps SQLite from creating files next to a database that no program has open."""
    is_open = any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal"))
    return "" if is_open else "&immutable=1"


def _messages(connection: sqlite3.Connection, session: str, created: object) -> _NumberedLines:
    for number, (name, data, time) in enumerate(connection.execute(_MESSAGES, (session,)), 1):
        info = _decoded(data)
        parts = [
            {**part, "id": part_name}
            for part_name, text in connection.execute(_PARTS, (name,))
            if (part := _decoded(text)) is not None
        ]
        if info is None:
            yield number, None
            continue
        yield number, TranscriptLine(timestamp=_iso(time or created), info={**info, "sessionID": session}, parts=parts)


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
