"""Whether the hooks of an install answer recorded payloads correctly."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from remit.clients.hooks.hook_server import NO_SERVER
from remit.clients.hooks.payload import missing
from remit.clients.setup.hook_process import (
    MAX_ANSWER_BYTES,
    NoAnswer,
    decode_answer,
    payload_text,
    run_hook,
    scratch_project,
)

_PAYLOADS = Path(__file__).with_name("payloads")
_ABSENT = object()
_VERBS = {"is": "be", "contains": "contain", "lacks": "not contain"}


class SelfTestCase(NamedTuple):
    """A recorded payload, what its answer proves, and the expected answer: nothing, anything, or these fields."""

    name: str
    proves: str
    expected: str | list[list[Any]]
    payload: dict[str, Any]

    @property
    def event(self) -> str:
        """The event that the payload names."""
        return str(self.payload.get("hook_event_name", ""))


class SelfTestOutcome(NamedTuple):
    """A case and the problem of its answer; empty without a problem."""

    case: SelfTestCase
    problem: str


def recorded_cases() -> list[SelfTestCase]:
    """Return the recorded payloads of the package, in the order of a session."""
    files = sorted(_PAYLOADS.glob("*.json"))
    return [SelfTestCase(file.stem, **json.loads(file.read_text(encoding="utf-8"))) for file in files]


def self_test(
    entries: Mapping[str, Mapping[str, Any]], cases: Iterable[SelfTestCase] | None = None
) -> list[SelfTestOutcome]:
    """Send each case to the entry of its event. `entries` are Remit's entries in the settings, by event."""
    with scratch_project() as project:
        return [
            SelfTestOutcome(case, _problem(case, entries.get(case.event), project))
            for case in cases or recorded_cases()
        ]


def _problem(case: SelfTestCase, entry: Mapping[str, Any] | None, project: Path) -> str:
    if lacking := missing(case.event, case.payload):
        return f"the payload of {case.event} lacks {', '.join(lacking)}, which the answer needs"
    if entry is None:
        return f"there is no hook for {case.event}"
    text = payload_text(case.payload, project)
    try:
        if entry.get("type") == "http":
            answer = decode_answer(_post(entry, text))
        else:
            command = [str(entry.get("command", "")), *map(str, entry.get("args", ()))]
            answer = decode_answer(run_hook(command, text, project, float(entry.get("timeout", 60))))
    except NoAnswer as error:
        return str(error)
    return next(_differences(case, answer), "")


def _post(entry: Mapping[str, Any], text: str) -> bytes:
    url = str(entry.get("url", ""))
    own = entry.get("headers")
    headers = {str(name): str(value) for name, value in own.items()} if isinstance(own, dict) else {}
    request = urllib.request.Request(  # noqa: S310 (Remit's entry, which is a loopback address)
        url, data=text.encode(), headers={**headers, "content-type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=min(float(entry.get("timeout", 60)), 60)) as answer:
            data: bytes = answer.read(MAX_ANSWER_BYTES)
            return data
    except (urllib.error.URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise NoAnswer(f"{url} does not answer ({reason}); {NO_SERVER}") from error


def _differences(case: SelfTestCase, answer: Mapping[str, Any]) -> Iterator[str]:
    """Describe the differences from the expected answer, the worst first."""
    message = str(answer.get("systemMessage", ""))
    if "could not" in message:
        yield message
    if _at(answer, "hookSpecificOutput.permissionDecision") == "allow" or answer.get("decision") == "approve":
        yield "the answer approves the call without asking the user"
    if case.expected == "nothing" and answer:
        yield f"expected no answer, but got {json.dumps(answer)[:200]}"
    for field, comparison, wanted in case.expected if isinstance(case.expected, list) else ():
        value = _at(answer, field)
        if value is _ABSENT:
            yield f"{field} is missing in the answer {json.dumps(answer)[:200]}"
        elif not _matches(value, comparison, wanted):
            yield f"{field} should {_VERBS[comparison]} {wanted!r}, but is {json.dumps(value)[:200]}"


def _matches(value: object, comparison: str, wanted: object) -> bool:
    if comparison == "is":
        return value == wanted
    return (str(wanted) in json.dumps(value, ensure_ascii=False)) is (comparison == "contains")


def _at(answer: object, field: str) -> object:
    for key in field.split("."):
        if not isinstance(answer, Mapping) or key not in answer:
            return _ABSENT
        answer = answer[key]
    return answer
