"""Is the client under contract here, and do its hooks fire? Facts for `remit doctor`."""

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
from remit.clients.claude_code.setup.hook_entries import EVENTS, NO_SERVER, is_ours, is_this_install
from remit.clients.claude_code.setup.install import disabled_hooks, effective_settings
from remit.clients.claude_code.setup.settings_file import own_hooks, read_settings
from remit.clients.claude_code.setup.target import find_target, state_problem
from remit.dispatch.health import HealthFact
from remit.errors import RemitError

_WHAT = "claude code"
_MOST_PROBLEMS = 3
_PAYLOADS = Path(__file__).with_name("payloads")
#: An answer of ours is never longer.
_MOST_ANSWER = 4 * 1024 * 1024
_ABSENT = object()
#: What a hook needs of the environment; the rest could change its settings.
_VARIABLES = ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "LANG")
_WORDS = {"is": "be", "holds": "hold", "lacks": "not hold"}


def client_facts(project: Path | None = None) -> Iterator[HealthFact]:
    """Where hooks are installed, and whether each entry answers recorded payloads as it should."""
    here = find_target(project, is_user=False)
    installed: dict[Path, str] = {}
    paths = effective_settings(here)
    for path in paths:
        try:
            text = read_settings(path)
        except RemitError as error:
            yield HealthFact(_WHAT, "bad", str(error))
            continue
        if text is not None and own_hooks(text, is_ours):
            installed[path] = text
    off = disabled_hooks(paths)
    if not installed:
        yield HealthFact(_WHAT, "good", "not under contract here; `remit install claude-code` changes that")
    elif off:
        names = " and ".join(map(str, off))
        yield HealthFact(_WHAT, "bad", f"not under contract: {names} switches all hooks off (disableAllHooks)")
    else:
        for path, text in installed.items():
            yield from _facts_of(path, text, state_problem(here))


def _facts_of(path: Path, text: str, no_state: str) -> Iterator[HealthFact]:
    entries = own_hooks(text, is_ours)
    lacking = [event for event in EVENTS if event not in entries]
    if lacking:
        yield HealthFact(
            _WHAT, "bad", f"{path} lacks hooks for {', '.join(lacking)}; `remit install claude-code` adds them"
        )
    foreign = {event: entry for event, entry in entries.items() if not is_this_install(event, entry)}
    if foreign:
        first = next(iter(foreign.values()))
        what = str(first.get("command", first.get("url", "")))[:200]
        words = f"{path} starts {what!r} for {', '.join(foreign)}, which is not this install, so it was not run"
        yield HealthFact(_WHAT, "bad", f"{words}; `remit install claude-code` writes the paths of this one")
        return
    if no_state:
        words = f"the hooks in {path} cannot do their work in this project: {no_state}"
        yield HealthFact(_WHAT, "bad", f"{words}; calls go through unchecked until that is mended")
        return
    outcomes = self_test(entries)
    problems = [outcome for outcome in outcomes if outcome.problem]
    if not problems:
        words = f"the hooks in {path} fire: {len(outcomes)} recorded payloads were answered as they should be"
        yield HealthFact(_WHAT, "good", words)
    for outcome in problems[:_MOST_PROBLEMS]:
        yield HealthFact(_WHAT, "bad", f"{outcome.case.event} ({outcome.case.proves}): {outcome.problem}")
    if len(problems) > _MOST_PROBLEMS:
        yield HealthFact(
            _WHAT, "bad", f"and {len(problems) - _MOST_PROBLEMS} more of {len(outcomes)} recorded payloads"
        )


class SelfTestCase(NamedTuple):
    """A recorded payload, what its answer proves, and what the answer says: nothing, anything, or these things."""

    name: str
    proves: str
    says: str | list[list[Any]]
    payload: dict[str, Any]

    @property
    def event(self) -> str:
        """The event, as the payload names it."""
        return str(self.payload.get("hook_event_name", ""))


class SelfTestOutcome(NamedTuple):
    """A case and what was wrong with its answer; empty: nothing."""

    case: SelfTestCase
    problem: str


def recorded_cases() -> list[SelfTestCase]:
    """The payloads that come with the package, in the order of a session."""
    files = sorted(_PAYLOADS.glob("*.json"))
    return [SelfTestCase(file.stem, **json.loads(file.read_text(encoding="utf-8"))) for file in files]


def self_test(
    entries: Mapping[str, Mapping[str, Any]], cases: Iterable[SelfTestCase] | None = None
) -> list[SelfTestOutcome]:
    """Run each case through the entry of its event. `entries`: event -> our entry in the settings."""
    with tempfile.TemporaryDirectory(prefix="remit-self-test-") as folder:
        project = Path(folder).resolve() / "project"
        project.mkdir()
        (project / "app.py").write_text("ANSWER = 42\n", encoding="utf-8")
        # It also ends the search for a configuration file, so that nobody else's is found.
        (project / "remit.toml").write_text('[gate]\nmode = "standard"\n', encoding="utf-8")
        return [
            SelfTestOutcome(case, _problem(case, entries.get(case.event), project))
            for case in cases or recorded_cases()
        ]


def _problem(case: SelfTestCase, entry: Mapping[str, Any] | None, project: Path) -> str:
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


def _differences(case: SelfTestCase, answer: Mapping[str, Any]) -> Iterator[str]:
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
