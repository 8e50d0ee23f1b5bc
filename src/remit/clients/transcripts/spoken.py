"""The texts of the assistant and of the person in a session, from the lines of its transcript."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from remit.clients.transcripts.calls import TranscriptLine, table_of, text_of

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
