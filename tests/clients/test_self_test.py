"""The self-test: the entries of a settings file are run, and what is wrong with one is said."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from remit.clients.claude_code.events import handle_event
from remit.clients.claude_code.payload import RELIED_ON, missing
from remit.clients.claude_code.responses import encode
from remit.clients.claude_code.setup.health import SelfTestCase, client_facts, recorded_cases, self_test
from remit.clients.claude_code.setup.hook_entries import EVENTS, hook_entries
from remit.clients.claude_code.setup.install import apply_install, plan_install
from remit.clients.claude_code.setup.target import find_target, state_problem

pytestmark = pytest.mark.process

CASES = {case.name: case for case in recorded_cases()}
SCRIPT = "import sys; sys.stdin.read(); "


def entry(program: str) -> dict[str, Any]:

    return {"type": "command", "command": sys.executable, "args": ["-I", "-S", "-c", program], "timeout": 20}


def problem(name: str, program: str) -> str:
    """What the self-test says of an entry that is this program, for one case."""
    case = CASES[name]
    (outcome,) = self_test({case.event: entry(program)}, [case])
    return outcome.problem


def test_there_is_a_recorded_payload_for_every_event() -> None:
    assert {case.event for case in CASES.values()} == set(EVENTS)


def test_every_recorded_payload_has_the_fields_that_answers_rely_on() -> None:
    assert {name: missing(case.event, case.payload) for name, case in CASES.items()} == {name: [] for name in CASES}


def test_recorded_payloads_name_no_real_place() -> None:
    text = json.dumps([case.payload for case in CASES.values()])
    assert "/home/" not in text
    assert "@PROJECT@" in text


def test_the_entries_of_an_install_answer_as_they_should() -> None:
    assert [(outcome.case.name, outcome.problem) for outcome in self_test(hook_entries()) if outcome.problem] == []


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if isinstance(case.says, list)])
def test_an_entry_that_says_nothing_is_noticed_where_something_must_be_said(name: str) -> None:
    assert "is missing in the answer {}" in problem(name, SCRIPT)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.says == "nothing"])
def test_an_entry_that_speaks_where_nothing_may_be_said_is_noticed(name: str) -> None:
    assert "it should say nothing" in problem(name, SCRIPT + """print('{"systemMessage": "hello"}')""")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (SCRIPT + "print('hello')", "the answer is not JSON"),
        (SCRIPT + "print('[]')", "the answer is not an object"),
        (SCRIPT + "sys.exit('it broke')", "exit code 1: it broke"),
        (SCRIPT + "sys.exit(2)", "exit code 2"),
        (SCRIPT + """print('{"systemMessage": "remit could not answer"}')""", "remit could not answer"),
        (
            SCRIPT + """print('{"hookSpecificOutput": {"permissionDecision": "allow"}}')""",
            "allows the call over the head of the person",
        ),
        (SCRIPT + """print('{"decision": "approve"}')""", "allows the call over the head of the person"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(program: str, why: str) -> None:
    assert why in problem("02-prompt", program)


def test_a_denial_that_became_a_question_is_noticed() -> None:
    asks = """print('{"hookSpecificOutput": {"permissionDecision": "ask"}}')"""
    assert "should be 'deny', and is \"ask\"" in problem("05-edit-of-code", SCRIPT + asks)


def test_a_report_that_gets_through_is_noticed() -> None:
    passes = "import json; given = json.load(sys.stdin); "
    passes += "print(json.dumps({'hookSpecificOutput': {'updatedToolOutput': given['tool_response']}}))"
    assert "should not hold 'app.py:900'" in problem("11-report-arrives", "import sys; " + passes)


def test_an_entry_that_does_not_answer_in_time_is_noticed() -> None:
    slow = {**entry("import threading; threading.Event().wait()"), "timeout": 0.3}
    (outcome,) = self_test({"UserPromptSubmit": slow}, [CASES["02-prompt"]])
    assert outcome.problem == "no answer within 0.3 s"


def test_a_program_that_is_gone_is_noticed() -> None:
    gone = {**entry(""), "command": "/nowhere/python"}
    (outcome,) = self_test({"UserPromptSubmit": gone}, [CASES["02-prompt"]])
    assert outcome.problem == "/nowhere/python cannot be started: No such file or directory"


def test_an_event_without_a_hook_is_noticed() -> None:
    (outcome,) = self_test({}, [CASES["02-prompt"]])
    assert outcome.problem == "there is no hook for UserPromptSubmit"


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_payload_that_lacks_a_field_is_said_with_the_fields_name(case: SelfTestCase) -> None:
    for name in RELIED_ON[case.event]:
        less = case._replace(payload={key: value for key, value in case.payload.items() if key != name})
        (outcome,) = self_test(hook_entries(), [less])
        assert outcome.problem == f"the payload of {case.event} lacks {name}, which the answer relies on"


@contextmanager
def served() -> Iterator[str]:
    """Our answers over HTTP on loopback, as a server of ours would give them."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["content-length"])))
            said = encode(handle_event(given, project=given["cwd"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_hooks_over_http_answer_like_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # what is sent to this machine goes to no other
    with served() as url:
        outcomes = self_test(hook_entries(url))
    assert [(outcome.case.name, outcome.problem) for outcome in outcomes if outcome.problem] == []


def test_http_hooks_without_a_server_are_noticed() -> None:
    with served() as url:
        pass
    outcomes = self_test(hook_entries(url), [CASES["02-prompt"]])
    assert "does not answer" in outcomes[0].problem
    assert "a later version of remit brings the server" in outcomes[0].problem


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return folder


def install(project: Path) -> Path:
    place = find_target(project, is_user=False)
    apply_install(plan_install(place))
    return place.settings


def test_the_doctor_says_that_nothing_is_installed(project: Path) -> None:
    (fact,) = client_facts(project)
    assert fact.level == "good"
    assert "not under contract here" in fact.words


def test_the_doctor_proves_that_hooks_fire(project: Path) -> None:
    settings = install(project)
    (fact,) = client_facts(project)
    assert fact.level == "good"
    assert fact.words == f"the hooks in {settings} fire: {len(CASES)} recorded payloads were answered as they should be"


def changed(settings: Path, event: str, **fields: Any) -> None:
    """Change an entry of ours by hand."""
    values = json.loads(settings.read_text(encoding="utf-8"))
    values["hooks"][event][0]["hooks"][0].update(fields)
    settings.write_text(json.dumps(values), encoding="utf-8")


def test_the_doctor_says_which_hooks_are_missing(project: Path) -> None:
    settings = install(project)
    values = json.loads(settings.read_text(encoding="utf-8"))
    values["hooks"] = {"Stop": values["hooks"]["Stop"]}
    settings.write_text(json.dumps(values), encoding="utf-8")
    facts = list(client_facts(project))
    assert {fact.level for fact in facts} == {"bad"}
    said = " ".join(fact.words for fact in facts)
    assert f"{settings} lacks hooks for SessionStart, UserPromptSubmit" in said
    assert "there is no hook for SessionStart" in said
    assert "more of 19 recorded payloads" in said


def test_the_doctor_says_that_the_paths_are_those_of_another_install(project: Path) -> None:
    changed(install(project), "Stop", command="/nowhere/python")
    (fact,) = client_facts(project)
    assert fact.level == "bad"
    assert "starts '/nowhere/python' for Stop, which is not this install" in fact.words


@pytest.mark.parametrize(
    "hook",
    [
        {"command": "/bin/sh", "args": ["-c", "touch STOLEN", "remit/surfaces/hooks/entry.py"]},
        {"command": sys.executable, "args": ["-c", "open('STOLEN', 'w')", "remit/surfaces/hooks/entry.py"]},
        {"command": sys.executable, "args": ["-I", "-S", "{project}/remit/surfaces/hooks/entry.py", "SessionStart"]},
    ],
)
def test_the_doctor_runs_nothing_that_a_clone_brings(project: Path, hook: dict[str, Any]) -> None:
    planted = project / "remit/surfaces/hooks/entry.py"
    planted.parent.mkdir(parents=True)
    stolen = project / "STOLEN"
    planted.write_text(f"open({str(stolen)!r}, 'w')\n", encoding="utf-8")
    text = json.dumps({"type": "command", **hook})
    text = text.replace("{project}", str(project)).replace("STOLEN", str(stolen))
    settings = {"hooks": {"SessionStart": [{"hooks": [json.loads(text)]}]}}
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text(json.dumps(settings), encoding="utf-8")
    facts = list(client_facts(project))
    assert any("so it was not run" in fact.words for fact in facts)
    assert not stolen.exists()


@pytest.mark.parametrize("url", ["http://example.com/hooks/claude-code", "http://127.0.0.1:1/x/hooks/claude-code"])
def test_the_doctor_sends_nothing_to_other_machines(project: Path, url: str) -> None:
    changed(install(project), "Stop", type="http", url=url)
    assert any(f"starts '{url}' for Stop" in fact.words or "not run" in fact.words for fact in client_facts(project))


@pytest.mark.parametrize("file", ["project/.claude/settings.local.json", "home/.claude/settings.json"])
def test_the_doctor_says_that_hooks_are_switched_off_and_nothing_else(project: Path, tmp_path: Path, file: str) -> None:
    install(project)
    settings = tmp_path / file
    settings.parent.mkdir(exist_ok=True)
    there = json.loads(settings.read_text(encoding="utf-8")) if settings.exists() else {}
    settings.write_text(json.dumps({"disableAllHooks": True, **there}), encoding="utf-8")
    (fact,) = client_facts(project)
    assert fact.level == "bad"
    assert fact.words == f"not under contract: {settings} switches all hooks off (disableAllHooks)"


def test_the_doctor_does_not_mind_hooks_that_are_off_where_none_are_ours(project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text('{"disableAllHooks": true}', encoding="utf-8")
    (fact,) = client_facts(project)
    assert fact.level == "good"
    assert "not under contract here" in fact.words


def test_the_doctor_names_a_folder_of_the_project_that_cannot_be_used(project: Path) -> None:
    settings = install(project)
    gate = project / ".remit/gate"
    shutil.rmtree(gate)
    gate.write_text("in the way", encoding="utf-8")
    (fact,) = client_facts(project)
    assert fact.level == "bad"
    assert f"the hooks in {settings} cannot do their work in this project: {gate} must be a folder" in fact.words


@pytest.mark.parametrize("is_made", [True, False])
def test_the_doctor_names_a_folder_of_the_project_that_cannot_be_written(
    project: Path, monkeypatch: pytest.MonkeyPatch, is_made: bool
) -> None:
    install(project)
    folder = project / ".remit" / ("gate" if is_made else "")
    if not is_made:
        shutil.rmtree(folder / "gate")

    def refused(**given: Any) -> None:
        assert given["dir"] == folder
        raise PermissionError(13, "Permission denied", str(folder / "x"))

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    (fact,) = client_facts(project)
    assert fact.level == "bad"
    assert f"{folder} cannot be written: Permission denied; calls go through unchecked" in fact.words


def test_the_doctor_names_a_file_of_the_gate_that_is_another_users(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(project)
    theirs = project / ".remit/gate/a-session.lock"
    theirs.touch()
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(theirs) and may(path, mode))
    (fact,) = client_facts(project)
    assert (fact.level, f"{theirs} cannot be read and written" in fact.words) == ("bad", True)


def test_the_doctor_leaves_nothing_in_the_folder_that_it_looked_at(project: Path) -> None:
    install(project)
    before = sorted(project.rglob("*"))
    assert state_problem(find_target(project, is_user=False)) == ""
    assert sorted(project.rglob("*")) == before


def test_the_doctor_names_settings_that_it_cannot_read(project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text("{", encoding="utf-8")
    facts = list(client_facts(project))
    assert facts[0].level == "bad"
    assert "not valid JSON" in facts[0].words
