"""A model's answer without a provider's protocol, and the interface of a protocol."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any, Protocol

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply; `input` excludes tokens read from or written to the cache on every protocol."""

    input: int = 10
    output: int = 5
    cache_read: int = 0
    cache_write: int = 0

    @property
    def whole_input(self) -> int:
        return self.input + self.cache_read + self.cache_write


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call; `arguments` is the JSON text that goes over the wire."""

    id: str
    name: str
    arguments: str
    #: Whether the tool takes free text (OpenAI's custom tools), and the group that it belongs to.
    is_custom: bool = False
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of the model. `stop` has Anthropic's values; the other protocols translate them."""

    id: str
    model: str
    text: str
    calls: tuple[Call, ...]
    usage: Usage
    stop: str
    chunks: int


@dataclass(frozen=True, slots=True)
class Fault:
    """The content of an error; `kind` and `code` override the defaults of the status."""

    status: int
    message: str
    kind: str | None = None
    code: str | None = None


class Wire(Protocol):
    """One provider's protocol."""

    def opening(self, body: Json) -> tuple[str, str]:
        """Return the system prompt and the first user message."""
        ...

    def turn(self, body: Json) -> int:
        """Return the number of turns of the model in this conversation."""
        ...

    def answer(self, reply: Reply) -> Json:
        """Return the body of a reply that is not streamed."""
        ...

    def events(self, reply: Reply) -> list[bytes]:
        """Return the frames of a streamed reply."""
        ...

    def error(self, fault: Fault) -> Json:
        """Return the body of an error."""
        ...

    def error_event(self, fault: Fault) -> bytes:
        """Return the frame of an error inside a stream."""
        ...


def frame(data: object, event: str | None = None) -> bytes:
    """Return one server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str, count: int) -> list[str]:
    """Split a text into at most `count` pieces of similar length; no piece is empty."""
    count = max(1, min(count, len(text)))
    cuts = [len(text) * number // count for number in range(count + 1)]
    return [text[start:end] for start, end in itertools.pairwise(cuts) if end > start]


def plain(content: object) -> str:
    """Return the text of a content that is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block["text"]) for block in blocks if isinstance(block, dict) and "text" in block)
