"""Read whole sessions: the calls, and between them the texts of the assistant and of the person."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from remit.clients.transcripts.calls import AgentCalls, TranscriptLine, table_of, text_of
from remit.clients.transcripts.reading import CLIENTS, decode_line, lines_of, reader_of
from remit.evidence.receipts import Receipt

#: The agent of a text that no subagent wrote.
MAIN = "main"
_CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
#: The agent of Claude Code that summarizes a conversation: its file repeats texts of others.
_SUMMARIZER = "acompact"
_CLAUDE_NOTICES = ("<command-name>", "<local-command", "<task-notification>", "<system-reminder>", "Caveat: ")


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


def texts_in(line: TranscriptLine) -> Iterator[SpokenText]:
    """Yield the texts of a line of any client."""
    if isinstance(line.payload, dict) and line.type in _CODEX:
        yield from _of_codex(line, line.payload)
    elif isinstance(line.data, dict) and "." in line.type:
        yield from _of_copilot(line, line.data)
    elif isinstance(line.info, dict) and isinstance(line.parts, list):
        yield from _of_opencode(line.info, line.parts)
    elif line.message is not None and line.type in ("assistant", "user"):
        yield from _of_claude_code(line)


def about(line: TranscriptLine) -> About:
    """Return what a line states about its session."""
    if line.type == "session_meta" and isinstance(line.payload, dict):
        return About(text_of(line.payload.get("id")), continues="forked_from_id" in line.payload)
    if line.type == "turn_context" and isinstance(line.payload, dict):
        return About(model=text_of(line.payload.get("model")))
    if line.type == "session.start" and isinstance(line.data, dict):
        return About(text_of(line.data.get("sessionId")), text_of(line.data.get("selectedModel")))
    if isinstance(line.info, dict):
        model = text_of(line.info.get("modelID"))
        return About(text_of(line.info.get("sessionID")), model)
    before = line.parentUuid or line.logicalParentUuid
    return About(line.sessionId or "", continues=before is not None or bool(line.isCompactSummary))


def _of_claude_code(line: TranscriptLine) -> Iterator[SpokenText]:
    message = line.message
    if message is None or line.isApiErrorMessage or message.model == "<synthetic>":
        return
    if (line.agentId or "").startswith(_SUMMARIZER):
        return
    agent = f"subagent {line.agentId}" if line.agentId else "subagent" if line.isSidechain else MAIN
    blocks = message.content if isinstance(message.content, list) else [{"type": "text", "text": message.content}]
    for number, block in enumerate(blocks):
        words = text_of(table_of(block).get("text")) if table_of(block).get("type") == "text" else ""
        if not words.strip():
            continue
        if line.type == "assistant":
            yield SpokenText("claude-code", words, agent, message.model or "", f"{line.uuid}/{number}")
        elif not line.isMeta and not words.lstrip().startswith(_CLAUDE_NOTICES):
            yield SpokenText("claude-code", words, agent, is_asked=True)


def _of_codex(line: TranscriptLine, payload: dict[str, Any]) -> Iterator[SpokenText]:
    if line.type != "response_item" or payload.get("type") != "message":
        return
    role, content = payload.get("role"), payload.get("content")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        words = text_of(table_of(part).get("text"))
        if not words.strip():
            continue
        if role == "assistant":
            key = text_of(payload.get("id"))
            yield SpokenText("codex", words, key=f"{key}/{number}" if key else "")
        elif role == "user" and not words.lstrip().startswith("<"):
            yield SpokenText("codex", words, is_asked=True)


def _of_copilot(line: TranscriptLine, data: dict[str, Any]) -> Iterator[SpokenText]:
    words = text_of(data.get("content"))
    agent = f"subagent {line.agentId}" if line.agentId else MAIN
    if line.type == "assistant.message" and words.strip():
        yield SpokenText("copilot", words, agent, text_of(data.get("model")), text_of(data.get("messageId")))
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
