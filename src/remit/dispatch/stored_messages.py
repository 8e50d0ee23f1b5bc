"""Messages of a conversation as they are stored: without the texts of the brief, and without secrets.

The running conversation keeps its messages unchanged. Only an attempt that continues after a crash reads stored ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)

from remit.secrets.scan import redact_all

#: In the metadata of a stored response: the ids of its tool calls whose arguments are incomplete.
_INCOMPLETE = "remit_incomplete_calls"


def stored_json(message: ModelMessage, *, is_redacting: bool) -> bytes:
    """Return a message as it is stored. The brief is stored once for all its jobs. For long messages, use a thread."""
    stored = _without_brief(message)
    if is_redacting:
        stored = _redacted_response(stored) if isinstance(stored, ModelResponse) else _redacted_request(stored)
    return ModelMessagesTypeAdapter.dump_json([stored])[1:-1]


def _without_brief(message: ModelMessage) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return message
    parts = [part for part in message.parts if not isinstance(part, SystemPromptPart)]
    return replace(message, parts=parts, instructions=None)


def _redacted_request(message: ModelRequest) -> ModelRequest:
    return replace(message, parts=[_with_content(part) for part in message.parts])


def _redacted_response(message: ModelResponse) -> ModelResponse:
    incomplete: list[str] = []
    parts = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            arguments = _redacted_arguments(part.args)
            if arguments != part.args:
                incomplete.append(part.tool_call_id)
            parts.append(replace(part, args=arguments))
        else:
            parts.append(_with_content(part))
    metadata = {**(message.metadata or {}), _INCOMPLETE: incomplete} if incomplete else message.metadata
    return replace(message, parts=parts, metadata=metadata)


def _with_content(part: Any) -> Any:
    """Return a part with the secrets in its text replaced. A signature of the original text becomes invalid."""
    content = getattr(part, "content", None)
    if not isinstance(content, str | list | dict):
        return part
    redacted = redact_all(content)
    if redacted == content:
        return part
    changed = replace(part, content=redacted)
    return replace(changed, signature=None) if isinstance(part, ThinkingPart) else changed


def _redacted_arguments(arguments: Any) -> Any:
    """Return the arguments of a tool call, which are JSON text or an object."""
    if not isinstance(arguments, str):
        return redact_all(arguments)
    try:
        decoded = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return redact_all(arguments)
    redacted = redact_all(decoded)
    return arguments if redacted == decoded else msgspec.json.encode(redacted).decode()


def read_messages(stored: Sequence[Any], system: tuple[str, ...], task: str) -> list[ModelMessage]:
    """Return stored messages as the model received them: with the system prompts, and with the task as it was given."""
    messages = ModelMessagesTypeAdapter.validate_python(stored)
    if not messages or not isinstance(messages[0], ModelRequest):
        return messages
    parts = list(messages[0].parts)
    for at, part in enumerate(parts):
        if isinstance(part, UserPromptPart):
            parts[at] = replace(part, content=task)
            break
    prompts = [SystemPromptPart(text) for text in system]
    return [replace(messages[0], parts=[*prompts, *parts]), *messages[1:]]


def incomplete_calls(messages: Sequence[ModelMessage]) -> frozenset[str]:
    """Return the ids of the last response's tool calls whose arguments are incomplete, because it was stored."""
    last = next((message for message in reversed(messages) if isinstance(message, ModelResponse)), None)
    found = (last.metadata or {}).get(_INCOMPLETE) if last is not None else None
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()
