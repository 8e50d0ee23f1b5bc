"""The texts of the assistant and of the person in a session, from the lines of its transcript."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from remit.clients.transcripts.calls import table_of, text_of

#: The agent of a text that no subagent wrote.
MAIN = "main"
_CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
#: The agent of Claude Code that summarizes a conversation: its file repeats texts of others.
_SUMMARIZER = "acompact"
_CLAUDE_NOTICES = ("<command-name>", "<local-command", "<task-notification>", "<system-reminder>", "Caveat: ")


class SpokenMessage(msgspec.Struct):
    """The message of a line of Claude Code, with its content as it is written."""

    content: msgspec.Raw = msgspec.Raw(b"null")
    model: str | None = None


class SpokenLine(msgspec.Struct):
    """The fields of a line that its texts need. What only the calls need is not decoded."""

    type: str = ""
    message: SpokenMessage | None = None
    cwd: str | None = None
    timestamp: str | None = None
    sessionId: str | None = None  # noqa: N815 - the client's name
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815 - the client's name
    logicalParentUuid: str | None = None  # noqa: N815 - the client's name
    isCompactSummary: bool | None = None  # noqa: N815 - the client's name
    isSidechain: bool | None = None  # noqa: N815 - the client's name
    isMeta: bool | None = None  # noqa: N815 - the client's name
    isApiErrorMessage: bool | None = None  # noqa: N815 - the client's name
    payload: msgspec.Raw = msgspec.Raw(b"null")
    data: msgspec.Raw = msgspec.Raw(b"null")
    agentId: str | None = None  # noqa: N815 - the client's name
    info: Any = None
    parts: Any = None


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
