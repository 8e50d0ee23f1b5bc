"""Do the hooks fire? The very entries of a settings file are run with recorded payloads, and their answers compared.

It happens in a scratch project, so nothing of a real session is touched or counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from remit.clients.claude_code.payload import missing
from remit.clients.claude_code.setup.hook_entries import NO_SERVER

_PAYLOADS = Path(__file__).with_name("payloads")
#: An answer of ours is never longer.
_MOST_ANSWER = 4 * 1024 * 1024
_ABSENT = object()
#: What a hook needs of the environment; the rest could change its settings.
_VARIABLES = ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "LANG")


class Case(NamedTuple):
    """A recorded payload, what its answer proves, and what the answer says: nothing, anything, or these things."""

    name: str
    proves: str
    says: str | list[list[Any]]
    payload: dict[str, Any]

    @property
    def event(self) -> str:
        """The event, as the payload names it."""
        return str(self.payload.get("hook_event_name", ""))


class Outcome(NamedTuple):
    """A case and what was wrong with its answer; empty: nothing."""

    case: Case
    problem: str


def recorded() -> list[Case]:
    """The payloads that come with the package, in the order of a session."""
    files = sorted(_PAYLOADS.glob("*.json"))
    return [Case(file.stem, **json.loads(file.read_text(encoding="utf-8"))) for file in files]


def self_test(entries: Mapping[str, Mapping[str, Any]], cases: Iterable[Case] | None = None) -> list[Outcome]:
    """Run each case through the entry of its event. `entries`: event -> our entry in the settings."""
    with tempfile.TemporaryDirectory(prefix="remit-self-test-") as folder:
        project = Path(folder).resolve() / "project"
        project.mkdir()
        (project / "app.py").write_text("ANSWER = 42\n", encoding="utf-8")
        # It also ends the search for a configuration file, so that nobody else's is found.
        (project / "remit.toml").write_text('[gate]\nmode = "standard"\n', encoding="utf-8")
        return [Outcome(case, _problem(case, entries.get(case.event), project)) for case in cases or recorded()]


def _problem(case: Case, entry: Mapping[str, Any] | None, project: Path) -> str:
    if lacking := missing(case.event, case.payload):
        return f"the payload of {case.event} lacks {', '.join(lacking)}, which the answer relies on"
    if entry is None:
        return f"there is no hook for {case.event}"
    text = json.dumps(case.payload).replace("@PROJECT@", str(project)).replace("@HOME@", str(project.parent / "home"))
    try:
        data = _posted(entry, text) if entry.get("type") == "http" else _run(entry, text, project)
    except _NoAnswer as error:
        return str(error)
    try:
        answer = json.loads(data) if data.strip() else {}
    except ValueError:
        return f"the answer is not JSON: {data[:80]!r}"
    if not isinstance(answer, dict):
        return f"the answer is not an object: {data[:80]!r}"
    return next(_differences(case, answer), "")


class _NoAnswer(Exception):
    """The hook did not answer; the message says why."""


def _run(entry: Mapping[str, Any], text: str, project: Path) -> bytes:
    command = [str(entry.get("command", "")), *map(str, entry.get("args", ()))]
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            capture_output=True,
            cwd=project,
            env={**variables, "CLAUDE_PROJECT_DIR": str(project)},
            timeout=float(entry.get("timeout", 60)),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _NoAnswer(f"no answer within {error.timeout:g} s") from error
    except (OSError, ValueError) as error:
        raise _NoAnswer(f"{command[0]} cannot be started: {getattr(error, 'strerror', None) or error}") from error
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise _NoAnswer(f"it ended with exit code {done.returncode}: {last[:200]}")
    return done.stdout[:_MOST_ANSWER]


def _posted(entry: Mapping[str, Any], text: str) -> bytes:
    url = str(entry.get("url", ""))
    request = urllib.request.Request(  # noqa: S310 (our own entry, which is a loopback address)
        url, data=text.encode(), headers={"content-type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=min(float(entry.get("timeout", 60)), 60)) as answer:
            data: bytes = answer.read(_MOST_ANSWER)
            return data
    except (urllib.error.URLError, OSError, ValueError) as error:
        why = getattr(error, "reason", error)
        raise _NoAnswer(f"{url} does not answer ({why}); {NO_SERVER}") from error


def _differences(case: Case, answer: Mapping[str, Any]) -> Iterator[str]:
    """What is not as it should be, the worst first."""
    told = str(answer.get("systemMessage", ""))
    if "could not" in told:
        yield told
    if _at(answer, "hookSpecificOutput.permissionDecision") == "allow" or answer.get("decision") == "approve":
        yield "the answer allows the call over the head of the person"
    if case.says == "nothing" and answer:
        yield f"it should say nothing, and says {json.dumps(answer)[:200]}"
    for place, how, wanted in case.says if isinstance(case.says, list) else ():
        found = _at(answer, place)
        if found is _ABSENT:
            yield f"{place} is missing in the answer {json.dumps(answer)[:200]}"
        elif not _holds(found, how, wanted):
            yield f"{place} should {_WORDS[how]} {wanted!r}, and is {json.dumps(found)[:200]}"


_WORDS = {"is": "be", "holds": "hold", "lacks": "not hold"}


def _holds(found: object, how: str, wanted: object) -> bool:
    if how == "is":
        return found == wanted
    return (str(wanted) in json.dumps(found, ensure_ascii=False)) is (how == "holds")


def _at(answer: object, place: str) -> object:
    for key in place.split("."):
        if not isinstance(answer, Mapping) or key not in answer:
            return _ABSENT
        answer = answer[key]
    return answer
