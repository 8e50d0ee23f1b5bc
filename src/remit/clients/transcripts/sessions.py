"""Read whole sessions: the texts of the assistant, and the calls that may show whether they are true."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec

from remit.clients.transcripts.calls import AgentCalls, LineMessage, TranscriptLine, table_of, text_of
from remit.clients.transcripts.reading import MAX_LINE, decode_line, numbered_lines, reader_of
from remit.evidence.commands import start_reading
from remit.evidence.receipts import AGENT_TOOLS, Receipt

#: The agent of a text that no subagent wrote.
MAIN = "main"
_CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
#: The agent of Claude Code that summarizes a conversation: its file repeats texts of others.
_SUMMARIZER = "acompact"
_CLAUDE_NOTICES = ("<command-name>", "<local-command", "<task-notification>", "<system-reminder>", "Caveat: ")
#: The virtual machine of SQLite executes this many instructions in about 20 s: a view may have no end.
_MAX_STEPS = 1_000_000_000
_STEPS = 100_000
_MAX_MEMORY = 1024**3
_SESSIONS = "SELECT id, directory, parent_id, time_created FROM session ORDER BY time_created, id"
_MESSAGES = "SELECT id, data, time_created FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT id, data FROM part WHERE message_id = ? ORDER BY time_created, id"
_NumberedLines: TypeAlias = Iterable[tuple[int, TranscriptLine | None]]


class Said(NamedTuple):
    """A text of the assistant."""

    words: str
    agent: str
    time: str
    #: The number of its line in the file, from 1; 0: it is not in a file with lines.
    line: int
    #: The number of calls before it, and the number of its turn, which begins with a text of the person.
    calls: int
    turn: int
    #: What is equal in a copy of the line in another file; empty: unknown.
    key: str = ""


class CallPlace(NamedTuple):
    """Where a call begins: the file, and the number of its line from 1; 0: it is not in a file with lines."""

    path: str
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
    #: The number of lines that cannot be read.
    skipped: int = 0
    #: Whether the calls of its subagents are among the calls.
    has_subagents: bool = False
    #: Where the calls begin, in the order of the receipts: those of subagents are in other files.
    call_places: tuple[CallPlace, ...] = ()
    #: The last text of each subagent that made no call.
    without_call: tuple[Said, ...] = ()


class _Text(NamedTuple):
    """A text in a line, of the assistant or of the person."""

    client: str
    words: str
    key: str = ""
    is_asked: bool = False


def read_sessions(path: Path) -> Iterator[Session]:
    """Yield the sessions in a file. Raises OSError; a file without a text of an assistant yields none."""
    start_reading()
    if path.suffix == ".db":
        yield from _of_database(path)
        return
    session = _read_file(path)
    if session.said:
        yield session


def _read_file(path: Path) -> Session:
    reader = _Reader(str(path))
    for number, raw in numbered_lines(path):
        reader.add(number, decode_line(raw))
    return reader.session(path.stem)


def with_subagents(session: Session, paths: Iterable[Path]) -> Session:
    """Return a session with the calls of its subagents, each before the next call of the session. Raises OSError."""
    files = list(paths) if session.said else []
    read = [_read_file(path) for path in files]
    others = [pair for other in read for pair in zip(other.receipts, other.call_places, strict=True)]
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
        turn_ends=tuple(places[end] for end in session.turn_ends),
        has_subagents=bool(files) and len(files) >= asked,
        call_places=tuple(place for _, place in merged),
    )


class _Reader:
    """Reads the lines of one session. A command that ran in the background is where its end was read."""

    def __init__(self, path: str, folder: str = "", *, has_lines: bool = True) -> None:
        """`folder` is the working directory, if it is known; `has_lines`: the numbers are those of lines of a file."""
        self._path = path
        self._has_lines = has_lines
        self._all = [reader_of(client, path) for client in ("opencode", "copilot", "codex", "claude-code")]
        self._calls: AgentCalls | None = None
        self._client = self._id = self._model = self._started = ""
        self._project = folder
        self._default = MAIN
        self._said: list[Said] = []
        self._turns: list[int] = []
        #: The lines that begin each call, those that end the calls in the background, and the agents with a call.
        self._starts: list[int] = []
        self._ends: dict[str, int] = {}
        self._calling: set[str] = set()
        self._skipped = 0

    def add(self, number: int, line: TranscriptLine | None) -> None:
        """Add a line; None for one that cannot be read."""
        if line is None:
            self._skipped += 1
            return
        self._describe(line)
        agent = _agent_of(line) or self._default
        for text in _texts(line):
            self._client = text.client
            if text.is_asked:
                self._turns.append(number)
            else:
                place = number if self._has_lines else 0
                self._said.append(
                    Said(text.words, agent, line.timestamp or "", place, number, len(self._turns), text.key)
                )
        if self._calls is None:
            self._calls = next((reader for reader in self._all if reader.add(line)), None)
        else:
            self._calls.add(line)
        if self._calls is not None and self._calls.count > len(self._starts):
            self._starts += [number] * (self._calls.count - len(self._starts))
            self._calling.add(agent)
        while self._calls is not None and self._calls.ended_later:
            self._ends[self._calls.ended_later.pop()] = number

    def _describe(self, line: TranscriptLine) -> None:
        name, model, folder = _about(line)
        self._id, self._model = self._id or name, model or self._model
        self._project, self._started = self._project or line.cwd or folder, self._started or line.timestamp or ""
        if line.type == "session_meta" and table_of(line.payload).get("parent_thread_id"):
            self._default = "subagent"

    def session(self, name: str) -> Session:
        """Return the session. `name` is an id for one that states none."""
        names, receipts = (self._calls.names, self._calls.receipts) if self._calls is not None else ([], [])
        order = sorted((self._ends.get(names[call], start), call) for call, start in enumerate(self._starts))
        positions = [position for position, _ in order]
        said = tuple(text._replace(calls=bisect_left(positions, text.calls)) for text in self._said)
        without_call = {text.agent: text for text in said if text.agent not in {MAIN, *self._calling}}
        return Session(
            id=self._id or name,
            client=self._client,
            project=self._project,
            model=self._model,
            started=self._started,
            receipts=tuple(receipts[call] for _, call in order),
            said=said,
            turn_ends=(*(bisect_left(positions, number) for number in self._turns), len(order)),
            skipped=self._skipped,
            call_places=tuple(CallPlace(self._path, self._starts[call] if self._has_lines else 0) for _, call in order),
            without_call=tuple(without_call.values()),
        )


def _about(line: TranscriptLine) -> tuple[str, str, str]:
    """Return the id, the model and the working directory of a session, as far as a line states them."""
    payload, data, info = table_of(line.payload), table_of(line.data), table_of(line.info)
    if line.type == "session_meta":
        return text_of(payload.get("id")), "", text_of(payload.get("cwd"))
    if line.type == "turn_context":
        return "", text_of(payload.get("model")), text_of(payload.get("cwd"))
    if line.type == "session.start":
        folder = text_of(table_of(data.get("context")).get("cwd"))
        return text_of(data.get("sessionId")), text_of(data.get("selectedModel")), folder
    if info:
        folder = text_of(table_of(info.get("path")).get("cwd"))
        return text_of(info.get("sessionID")), text_of(info.get("modelID")), folder
    model = text_of(data.get("model")) or (line.message.model or "" if line.message is not None else "")
    return line.sessionId or "", model if model != "<synthetic>" else "", ""


def _agent_of(line: TranscriptLine) -> str:
    """Return the subagent of a line; empty for the main agent."""
    if line.agentId:
        return f"subagent {line.agentId}"
    agent = text_of(table_of(line.info).get("agent"))
    return "subagent" if line.isSidechain else "" if agent in ("build", "plan") else agent


def _texts(line: TranscriptLine) -> Iterator[_Text]:
    """Yield the texts of a line of any client."""
    if line.type in _CODEX:
        yield from _of_codex(table_of(line.payload)) if line.type == "response_item" else ()
    elif "." in line.type:
        data = table_of(line.data)
        words = text_of(data.get("content"))
        if line.type in ("assistant.message", "user.message") and words.strip():
            is_asked = line.type == "user.message"
            yield _Text("copilot", words, text_of(data.get("messageId")), is_asked=is_asked)
    elif isinstance(line.info, dict) and isinstance(line.parts, list):
        is_asked = line.info.get("role") != "assistant"
        for part in map(table_of, line.parts):
            words = text_of(part.get("text")) if part.get("type") == "text" and not part.get("synthetic") else ""
            if words.strip():
                yield _Text("opencode", words, text_of(part.get("id")), is_asked=is_asked)
    elif line.message is not None and line.type in ("assistant", "user"):
        yield from _of_claude_code(line, line.message)


def _of_claude_code(line: TranscriptLine, message: LineMessage) -> Iterator[_Text]:
    if line.isApiErrorMessage or message.model == "<synthetic>" or (line.agentId or "").startswith(_SUMMARIZER):
        return
    blocks = message.content if isinstance(message.content, list) else [{"type": "text", "text": message.content}]
    for number, block in enumerate(map(table_of, blocks)):
        words = text_of(block.get("text")) if block.get("type") == "text" else ""
        if not words.strip():
            continue
        if line.type == "assistant":
            yield _Text("claude-code", words, f"{line.uuid}/{number}" if line.uuid else "")
        elif not line.isMeta and not words.lstrip().startswith(_CLAUDE_NOTICES):
            yield _Text("claude-code", words, is_asked=True)


def _of_codex(payload: dict[str, Any]) -> Iterator[_Text]:
    parts = payload.get("content") if payload.get("type") == "message" else None
    for number, part in enumerate(parts if isinstance(parts, list) else ()):
        words = text_of(table_of(part).get("text"))
        if words.strip() and payload.get("role") == "assistant":
            key = text_of(payload.get("id"))
            yield _Text("codex", words, f"{key}/{number}" if key else "")
        elif words.strip() and payload.get("role") == "user" and not words.lstrip().startswith("<"):
            yield _Text("codex", words, is_asked=True)


def _of_database(path: Path) -> Iterator[Session]:
    """Yield the sessions in a database of opencode, which is only read."""
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro{_locking(path)}", uri=True)
        try:
            _limit(connection)
            for name, folder, _, created in connection.execute(_SESSIONS):
                reader = _Reader(str(path), str(folder), has_lines=False)
                for number, line in _messages(connection, str(name), created):
                    reader.add(number, line)
                session = reader.session(str(name))
                if session.said:
                    yield session
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
