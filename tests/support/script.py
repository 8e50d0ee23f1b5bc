"""Scripts of the model server: the conversation of a request and the answer at each of its turns.

A script is `{"conversations": {marker: [turn, …]}}`. The marker is searched in the system prompt, then in the first
user message, as whole words; the longest match wins, and "" matches all other requests. The turn is the number of
model messages in the request, so an answer without text and tools, which no client sends back, is requested again.
A turn is the content of the answer,
    text, tools [{name, input | raw, id, custom, namespace, find}], usage {input, output, cache_read, cache_write},
    stop, chunks
    (`find` is a pattern: $1, $2 … in the input are what its group matches in the request, each value once)
and how it is sent, in this order:
    delay     seconds before anything
    gate      a name: nothing is sent until that gate is opened
    fail      {status, message, type, code, retry_after, after, times, then}: an error; `after` N events of a stream,
              an error inside it; `times` N requests, then the turn `then` or, without one, this turn
    malformed "json", "shape" or "html"
    stall     true: as a gate, called `until` (default "release"), after `after` events of a stream
    truncate  the connection is cut after N events; `clean` ends the answer as if it were complete
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from support.wire import Call, Fault, Reply, Usage

RELEASE = "release"
_SAYS = {"text", "tools", "usage", "stop", "chunks"}
_COMES = {"delay", "gate", "fail", "malformed", "stall", "until", "after", "truncate", "clean"}
_FAILS = {"status", "message", "type", "code", "retry_after", "after", "times", "then"}


class Unscripted(LookupError):
    """The script has nothing for this request."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in place of an answer."""

    fault: Fault
    retry_after: float | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Turn:
    """What happens at one turn of one conversation."""

    reply: Reply
    delay: float
    gate: str | None
    stall: str | None
    stall_after: int
    failure: Failure | None
    malformed: str | None
    truncate: int | None
    clean: bool


class Script:
    """A running script; it counts the scripted failures."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._conversations: dict[str, list[Mapping[str, Any]]] = dict(data["conversations"])
        self._failed: Counter[tuple[str, int, int]] = Counter()
        for marker, turns in self._conversations.items():
            for number, turn in enumerate(turns):
                _check(turn, f"conversation {marker!r}, turn {number}")

    def marker(self, system: str, user: str) -> str:
        """Return the conversation that a request belongs to."""
        for text in (system, user):
            found = [marker for marker in self._conversations if marker and _has_words(text, marker)]
            if found:
                return max(found, key=len)
        if "" in self._conversations:
            return ""
        known = ", ".join(map(repr, self._conversations))
        message = f"no marker of the script ({known}) is in the system prompt or the first user message: {user[:200]!r}"
        raise Unscripted(message)

    def turn(self, marker: str, number: int, model: str, request: str = "") -> Turn:
        """Return the turn for a request, whose text is searched by `find`, and count its failure."""
        turns = self._conversations[marker]
        if number >= len(turns):
            message = f"conversation {marker!r} has {len(turns)} turns, turn {number} (counted from 0) is beyond them"
            raise Unscripted(message)
        data = self._after_failures(turns[number], marker, number)
        return _turn(data, _reply(data, marker, number, model, request))

    def _after_failures(self, data: Mapping[str, Any], marker: str, number: int, depth: int = 0) -> Mapping[str, Any]:
        if "fail" not in data:
            return data
        fail = data["fail"]
        goes_on = "then" in fail or "text" in data or "tools" in data
        key = (marker, number, depth)
        if goes_on and self._failed[key] >= fail.get("times", 1):
            rest = fail.get("then") or {name: value for name, value in data.items() if name != "fail"}
            return self._after_failures(rest, marker, number, depth + 1)
        self._failed[key] += 1
        return data


def _has_words(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def _check(turn: Mapping[str, Any], where: str) -> None:
    """Refuse unknown keys: a typo could make a test pass for the wrong reason."""
    wrong = set(turn) - _SAYS - _COMES
    fail = turn.get("fail", {})
    wrong |= set(fail) - _FAILS
    wrong |= {
        key
        for tool in turn.get("tools", ())
        for key in set(tool) - {"name", "input", "raw", "id", "custom", "namespace", "find"}
    }
    if wrong:
        message = f"{where}: unknown {', '.join(sorted(wrong))}"
        raise ValueError(message)
    if not turn:
        message = f"{where} says nothing"
        raise ValueError(message)
    if turn.get("malformed", "json") not in {"json", "shape", "html"}:
        message = f"{where}: malformed is json, shape or html"
        raise ValueError(message)
    if "then" in fail:
        _check(fail["then"], f"{where}, then")


def _turn(data: Mapping[str, Any], reply: Reply) -> Turn:
    return Turn(
        reply=reply,
        delay=data.get("delay", 0),
        gate=data.get("gate"),
        stall=data.get("until", RELEASE) if data.get("stall") else None,
        stall_after=data.get("after", 0),
        failure=_failure(data["fail"]) if "fail" in data else None,
        malformed=data.get("malformed"),
        truncate=data.get("truncate"),
        clean=data.get("clean", False),
    )


def _failure(data: Mapping[str, Any]) -> Failure:
    message = data.get("message", f"scripted failure {data['status']}")
    fault = Fault(data["status"], message, data.get("type"), data.get("code"))
    return Failure(fault, data.get("retry_after"), data.get("after"))


def _arguments(tool: Mapping[str, Any], request: str) -> str:
    text: str = tool["raw"] if "raw" in tool else json.dumps(tool.get("input", {}))
    found = dict.fromkeys(re.findall(tool["find"], request)) if "find" in tool else {}
    for at, value in enumerate(found, 1):
        text = text.replace(f"${at}", value)
    return text


def _reply(data: Mapping[str, Any], marker: str, number: int, model: str, request: str) -> Reply:
    calls = tuple(
        Call(
            id=tool.get("id") or f"call_{_digest(marker, number, index)}",
            name=tool["name"],
            arguments=_arguments(tool, request),
            is_custom=tool.get("custom", False),
            namespace=tool.get("namespace", ""),
        )
        for index, tool in enumerate(data.get("tools", ()))
    )
    return Reply(
        id=_digest(marker, number),
        model=model,
        text=data.get("text", ""),
        calls=calls,
        usage=Usage(**data.get("usage", {})),
        stop=data.get("stop") or ("tool_use" if calls else "end_turn"),
        chunks=data.get("chunks", 1),
    )


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
