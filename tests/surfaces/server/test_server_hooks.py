"""Hooks over HTTP: the same answers as the hook process, and only for an install with its secret."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from support.web import RunningSite

sys.path.insert(0, str(Path(__file__).parents[2] / "clients/hooks"))
from hooking import PAYLOADS, Hooks

from remit.clients.hooks import hook_server
from remit.clients.hooks.hook_server import absence_notice, is_answering
from remit.gate.record_store import store_path
from remit.gate.session import SessionState
from remit.gate.session_entries import Process
from remit.gate.session_store import list_sessions, open_session, read_session
from remit.gate.settings import GateSettings
from remit.lean_json import loads
from remit.surfaces.server.hooks import HookServer, is_supported

SECRET = "s3cret-of-this-install"
PATH = "/hooks/claude-code"
NAMES = sorted(file.name for file in PAYLOADS.iterdir())


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Hooks]:
    """Make a project under contract whose hooks have a secret."""

    def make(name: str, **gate: Any) -> Hooks:
        project = tmp_path / name
        (project / ".git").mkdir(parents=True)
        hooks = Hooks(project, {"mode": "standard", **gate})
        record = hooks.folder / "installed.json"
        record.write_text(json.dumps({"schema": "remit.installed/1", "http_secret": SECRET}))
        return hooks

    return make


def post(site: RunningSite, payload: object, secret: str = SECRET) -> httpx.Response:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return site.anonymous.post(PATH, content=body, headers={"authorization": f"Bearer {secret}"})


def without_times(text: str) -> str:
    """Return an answer without the times in the names of stored reports."""
    return re.sub(r"\d{8,}", "then", text)


def answer_of(response: httpx.Response) -> Any:
    assert response.status_code == 200
    return json.loads(response.content) if response.content else None


@pytest.mark.parametrize("mode", ["verify", "standard", "strict", "observe"])
def test_every_recorded_payload_gets_the_answer_of_the_process(
    site: RunningSite, start: Callable[..., Hooks], mode: str
) -> None:
    over_http, direct = start("one", mode=mode), start("two", mode=mode)
    for name in NAMES:  # in one session each, so that later answers depend on earlier ones
        expected = direct.say(direct.captured(name))
        found = answer_of(post(site, over_http.captured(name)))
        text = json.dumps(found).replace(str(over_http.project), str(direct.project))
        assert without_times(text) == without_times(json.dumps(expected)), name
    assert len(over_http.state.decisions) == len(direct.state.decisions)


@pytest.mark.parametrize("secret", ["wrong", SECRET + "x", SECRET[:-1]])
def test_a_request_without_the_secret_is_refused(site: RunningSite, start: Callable[..., Hooks], secret: str) -> None:
    hooks = start("one")
    assert post(site, hooks.captured("PreToolUse.Write.json"), secret).status_code == 401
    assert not (hooks.folder / "9f3279c5-453e-45ba-9d76-6896353ab6a1.json").exists()


def test_a_page_of_another_site_cannot_send_events(site: RunningSite, start: Callable[..., Hooks]) -> None:
    hooks = start("one")
    headers = {"authorization": f"Bearer {SECRET}", "origin": "https://evil.example"}
    answer = httpx.post(site.url + PATH, json=hooks.captured("PreToolUse.Read.json"), headers=headers)
    assert answer.status_code == 403


def test_a_new_secret_is_noticed(site: RunningSite, start: Callable[..., Hooks]) -> None:
    hooks = start("one")
    payload = hooks.captured("PreToolUse.Read.json")
    assert post(site, payload).status_code == 200
    (hooks.folder / "installed.json").write_text(json.dumps({"http_secret": "another-secret"}))
    assert post(site, payload).status_code == 401
    assert post(site, payload, "another-secret").status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_payload_that_cannot_be_read_is_explained_to_a_known_client(
    site: RunningSite, body: bytes, tmp_path: Path
) -> None:
    assert post(site, body).status_code == 401  # nothing names its project
    record = site.folder / ".remit/gate/installed.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps({"http_secret": SECRET}))
    try:
        assert "cannot be read" in answer_of(post(site, body))["systemMessage"]
    finally:
        record.unlink()


def test_processes_and_the_server_share_a_session(site: RunningSite, start: Callable[..., Hooks]) -> None:
    mixed, direct = start("one"), start("two")
    for number in range(8):  # until the budget of reads is used up
        about = {"tool_name": "Read", "tool_use_id": f"call-{number}", "tool_input": {"file_path": f"file-{number}.py"}}
        one = mixed.payload("PreToolUse", **about)
        found = mixed.process(json.dumps(one).encode()) if number in (1, 5) else answer_of(post(site, one))
        assert json.dumps(found) == json.dumps(direct.ask("PreToolUse", **about)), number
    assert len(mixed.state.decisions) == len(direct.state.decisions) > 0
    assert mixed.state.window.files == direct.state.window.files
    assert mixed.state.changes == [], "neither takes the file of the other for a change by something else"


def test_a_session_that_a_process_has_locked_delays_no_other(site: RunningSite, start: Callable[..., Hooks]) -> None:
    hooks = start("one")
    payload = hooks.captured("PreToolUse.Read.json")
    assert post(site, {**payload, "session_id": "free"}).status_code == 200
    answers: list[httpx.Response] = []
    with open_session(str(hooks.folder), "held"):
        headers = {"authorization": f"Bearer {SECRET}"}
        body = {**payload, "session_id": "held"}
        waiting = threading.Thread(
            target=lambda: answers.append(httpx.post(site.url + PATH, json=body, headers=headers, timeout=30))
        )
        waiting.start()
        assert post(site, {**payload, "session_id": "free", "tool_use_id": "other"}).status_code == 200
        assert answers == []
    waiting.join()
    assert answers[0].status_code == 200


@pytest.mark.parametrize("on_fault", ["open", "closed"])
def test_a_store_that_cannot_be_used_is_a_fault_for_the_settings_to_decide(
    start: Callable[..., Hooks], on_fault: str
) -> None:
    hooks = start("one", on_fault=on_fault)
    payload = hooks.captured("PreToolUse.Write.json")
    server = HookServer(hooks.project)
    hooks.say(payload)
    place = Path(store_path(str(hooks.folder)))
    place.rename(place.with_name("moved"))
    place.symlink_to("moved")
    expected = hooks.say(payload)
    status, body = server.answer(json.dumps(payload).encode(), f"Bearer {SECRET}".encode())
    assert (status, json.loads(body)) == (200, expected)


def test_the_states_that_a_server_keeps_are_the_stored_ones(start: Callable[..., Hooks]) -> None:
    hooks = start("one")
    server = HookServer(hooks.project)
    kept: set[str] = set()
    for name in NAMES:
        body = json.dumps(hooks.captured(name)).encode()
        secret = f"Bearer {SECRET}".encode()
        answer = server._answer_at_once(body, secret, (None, None)) or server.answer(body, secret)
        assert answer[0] == 200
        for (_, session), (record, state) in server._states._kept.items():
            kept.add(session)
            stored = read_session(str(hooks.folder), session)
            assert stored == SessionState.from_dict(loads(record.data)) == state, name
    assert kept


def test_a_store_that_is_removed_or_replaced_is_noticed(
    site: RunningSite, start: Callable[..., Hooks], tmp_path: Path
) -> None:
    hooks = start("one")
    payload = hooks.captured("PreToolUse.Read.json")
    session = payload["session_id"]
    store = Path(store_path(str(hooks.folder))).parent

    def ask(name: str) -> tuple[list[str], int]:
        """Send an event, and return the recorded calls and the changes by something else."""
        assert post(site, {**payload, "tool_use_id": name}).status_code == 200
        state = read_session(str(hooks.folder), session)
        assert state is not None
        return [entry.id for entry in state.decisions if entry.tool == "Read"], len(state.changes)

    assert ask("first") == (["first"], 0)
    shutil.copytree(store, tmp_path / "copy")
    assert ask("second") == (["first", "second"], 0)
    assert ask("third") == (["first", "second", "third"], 0)
    shutil.rmtree(store)
    assert ask("fourth") == (["fourth"], 1)
    shutil.rmtree(store)
    shutil.copytree(tmp_path / "copy", store)
    assert ask("fifth") == (["first", "fifth"], 1)
    store_file = store / "gate.sqlite"
    for file in store.iterdir():
        file.unlink()
    store_file.write_bytes(b"no database" * 1000)
    answer = answer_of(post(site, {**payload, "tool_use_id": "sixth"}))
    assert "guarded-state" in json.dumps(answer)
    assert ask("seventh") == (["sixth", "seventh"], 1)


def test_changed_settings_apply_to_the_next_call(site: RunningSite, start: Callable[..., Hooks]) -> None:
    hooks = start("one")

    def read(name: str) -> Any:
        fields = {"tool_name": "Read", "tool_use_id": name, "tool_input": {"file_path": name}}
        return answer_of(post(site, hooks.payload("PreToolUse", **fields)))

    assert read("a.py") is None
    hooks.compile({"mode": "standard", "limits": {"files": 0}})
    assert "lookup-files" in str(read("b.py"))


def test_fifty_sessions_at_once_get_their_own_answers(site: RunningSite, start: Callable[..., Hooks]) -> None:
    hooks = start("one")
    payload = hooks.captured("PreToolUse.Write.json")
    answers: dict[int, Any] = {}

    def send(number: int) -> None:
        answers[number] = answer_of(post(site, {**payload, "session_id": f"session-{number}"}))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    decisions = {one["hookSpecificOutput"]["permissionDecision"] for one in answers.values()}
    assert (len(answers), decisions) == (50, {"deny"})
    assert len(list_sessions(str(hooks.folder))) == 50


def test_a_client_learns_that_no_server_answers(site: RunningSite) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        free = f"http://127.0.0.1:{listener.getsockname()[1]}"
    assert is_answering(site.url)
    assert not is_answering(free)
    assert absence_notice(site.url, is_closed=True) is None
    assert "nothing is checked" in str(absence_notice(free, is_closed=False))
    assert "every call is denied" in str(absence_notice(free, is_closed=True))
    assert GateSettings().on_fault == "open"


def test_the_process_of_a_new_session_reports_it_to_the_user(site: RunningSite, start: Callable[..., Hooks]) -> None:
    hooks = start("one")
    import subprocess

    payload = json.dumps(hooks.captured("SessionStart.startup.json" if "SessionStart.startup.json" in NAMES else next(
        name for name in NAMES if name.startswith("SessionStart")))).encode()  # fmt: skip
    for server, is_reported in ((site.url, False), ("http://127.0.0.1:9", True)):
        done = subprocess.run(
            [*hooks.command("SessionStart"), server],
            input=payload,
            capture_output=True,
            env=hooks.environment(),
            check=True,
        )
        assert ("no server answers the hooks" in done.stdout.decode()) is is_reported


_CALL = """
import http.client, sys
address, body, secret = sys.argv[1:]
connection = http.client.HTTPConnection(address)
connection.request("POST", "/hooks/claude-code", body.encode(), {"Authorization": f"Bearer {secret}"})
print(connection.getresponse().status)
"""


def status_of_another_process(site: RunningSite, payload: object) -> int:
    """Send an event from a process that the client has started, as a program of an agent would."""
    import subprocess

    words = [sys.executable, "-c", _CALL, site.url.partition("://")[2], json.dumps(payload), SECRET]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


@pytest.mark.process
@pytest.mark.skipif(not is_supported(), reason="the system does not state who is at the other end of a connection")
def test_an_event_is_accepted_only_from_the_process_of_the_client(
    site: RunningSite, start: Callable[..., Hooks]
) -> None:
    hooks = start("one")
    payload = hooks.captured("PreToolUse.Read.json")
    assert status_of_another_process(site, payload) == 200, "no client is known"
    with open_session(str(hooks.folder), payload["session_id"]) as state:
        state.clients = [Process(number=os.getpid(), started=started(), name="client")]
    assert post(site, payload).status_code == 200
    assert status_of_another_process(site, payload) == 401, "the secret alone is not enough"
    for name in ("UserPromptSubmit", "SubagentStop", "PostToolUse"):  # a new window, a report, an effect
        assert status_of_another_process(site, {**payload, "hook_event_name": name}) == 401, name
    assert post(site, payload).status_code == 200


def started() -> str:
    return Path(f"/proc/{os.getpid()}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]


def test_the_start_of_a_session_records_the_client_and_does_not_replace_one_that_runs(
    start: Callable[..., Hooks],
) -> None:
    hooks = start("one")
    hook_server.note_client(str(hooks.project), "s")
    (client,) = hooks_state(hooks, "s").clients
    assert client.number in (os.getppid(), *ancestors())
    with open_session(str(hooks.folder), "s") as state:
        state.clients = [Process(number=os.getpid(), started=started(), name="client")]
    hook_server.note_client(str(hooks.project), "s")
    assert [one.number for one in hooks_state(hooks, "s").clients] == [os.getpid()]
    with open_session(str(hooks.folder), "s") as state:
        state.clients = [Process(number=os.getpid(), started="1", name="a client that has ended")]
    hook_server.note_client(str(hooks.project), "s")
    assert [one.number for one in hooks_state(hooks, "s").clients] == [client.number]


def hooks_state(hooks: Hooks, session: str) -> SessionState:
    state = read_session(str(hooks.folder), session)
    assert state is not None
    return state


def ancestors() -> list[int]:
    found, number = [], os.getppid()
    while number > 1:
        found.append(number)
        number = int(Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    return found


def test_a_large_payload_is_not_read_before_the_secret_is_known(site: RunningSite, start: Callable[..., Hooks]) -> None:
    hooks = start("one")
    payload = {**hooks.captured("PreToolUse.Read.json"), "more": "x" * 1_000_000}
    named = {"authorization": f"Bearer {SECRET}", "x-remit-project": str(hooks.project)}
    body = json.dumps(payload)
    assert site.anonymous.post(PATH, content=body, headers=named).status_code == 200
    assert site.anonymous.post(PATH, content=body, headers={**named, "authorization": "Bearer no"}).status_code == 401
    assert post(site, payload).status_code == 401, "without the folder of an install, 64 KB are read"


@pytest.mark.parametrize("link", ["installed.json", "gate", ".remit"])
def test_the_record_of_an_install_is_not_a_link(
    site: RunningSite, start: Callable[..., Hooks], tmp_path: Path, link: str
) -> None:
    hooks = start("one")
    payload = hooks.captured("PreToolUse.Read.json")
    assert post(site, payload).status_code == 200
    path = {"gate": hooks.folder, ".remit": hooks.folder.parent}.get(link, hooks.folder / link)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert post(site, payload).status_code == 401
