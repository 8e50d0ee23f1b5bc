"""What a model says, apart from any provider's protocol, and what a protocol has to be able to do with it."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any, Protocol

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply; `input` is what came neither from the cache nor went into it, on every protocol."""

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


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of the model. `stop` is in Anthropic's words; the other protocols translate."""

    id: str
    model: str
    text: str
    calls: tuple[Call, ...]
    usage: Usage
    stop: str
    chunks: int


@dataclass(frozen=True, slots=True)
class Fault:
    """What an error says of itself; `kind` and `code` only where a script wants others than the status's own."""

    status: int
    message: str
    kind: str | None = None
    code: str | None = None


class Wire(Protocol):
    """One provider's protocol."""

    def opening(self, body: Json) -> tuple[str, str]:
        """The system prompt and the first user message."""
        ...

    def turn(self, body: Json) -> int:
        """How many turns the model has had in this conversation."""
        ...

    def answer(self, reply: Reply) -> Json:
        """The body of a reply that is not streamed."""
        ...

    def events(self, reply: Reply) -> list[bytes]:
        """The frames of a streamed reply."""
        ...

    def error(self, fault: Fault) -> Json:
        """The body of an error."""
        ...

    def error_event(self, fault: Fault) -> bytes:
        """The frame of an error inside a stream."""
        ...


def frame(data: object, event: str | None = None) -> bytes:
    """One server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str, count: int) -> list[str]:
    """The text in so many pieces, as even as they go; never an empty one."""
    count = max(1, min(count, len(text)))
    cuts = [len(text) * number // count for number in range(count + 1)]
    return [text[start:end] for start, end in itertools.pairwise(cuts) if end > start]


def plain(content: object) -> str:
    """The text of a content that is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block["text"]) for block in blocks if isinstance(block, dict) and "text" in block)
