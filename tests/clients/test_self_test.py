"""The self-test: it runs the entries of a settings file and describes their problems."""

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

from remit.clients.claude_code.setup import CLIENT as CLAUDE_CODE
from remit.clients.claude_code.setup import EVENTS, SelfTestCase, hook_entries, recorded_cases, self_test
from remit.clients.hooks.hook_events import handle_event
from remit.clients.hooks.payload import RELIED_ON, missing
from remit.clients.hooks.responses import encode
from remit.clients.setup.install import apply_install, plan_install
from remit.clients.setup.target import state_problem

pytestmark = pytest.mark.process

CASES = {case.name: case for case in recorded_cases()}
SCRIPT = "import sys; sys.stdin.read(); "


@pytest.fixture(autouse=True)
def client_on_path(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program with the name of the client on PATH."""
    program = tmp_path_factory.mktemp("bin") / "claude"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}")


def entry(program: str) -> dict[str, Any]:

    return {"type": "command", "command": sys.executable, "args": ["-I", "-S", "-c", program], "timeout": 20}


def problem(name: str, program: str) -> str:
    """Return the problem that the self-test finds for a program and one case."""
    case = CASES[name]
    (outcome,) = self_test({case.event: entry(program)}, [case])
    return outcome.problem


def test_there_is_a_recorded_payload_for_every_event() -> None:
    assert {case.event for case in CASES.values()} == set(EVENTS)


def test_every_recorded_payload_has_the_fields_that_answers_use() -> None:
    assert {name: missing(case.event, case.payload) for name, case in CASES.items()} == {name: [] for name in CASES}


def test_recorded_payloads_contain_no_real_paths() -> None:
    text = json.dumps([case.payload for case in CASES.values()])
    assert "/home/" not in text
    assert "@PROJECT@" in text


def test_the_entries_of_an_install_answer_correctly_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert [(outcome.case.name, outcome.problem) for outcome in self_test(hook_entries()) if outcome.problem] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if isinstance(case.expected, list)])
def test_a_missing_answer_is_detected(name: str) -> None:
    assert "is missing in the answer {}" in problem(name, SCRIPT)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.expected == "nothing"])
def test_an_unexpected_answer_is_detected(name: str) -> None:
    assert "expected no answer" in problem(name, SCRIPT + """print('{"systemMessage": "hello"}')""")


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
            "approves the call without asking the user",
        ),
        (SCRIPT + """print('{"decision": "approve"}')""", "approves the call without asking the user"),
    ],
)
def test_the_problem_of_an_entry_is_described(program: str, why: str) -> None:
    assert why in problem("02-prompt", program)


def test_a_question_instead_of_a_denial_is_detected() -> None:
    asks = """print('{"hookSpecificOutput": {"permissionDecision": "ask"}}')"""
    assert "should be 'deny', but is \"ask\"" in problem("05-edit-of-code", SCRIPT + asks)


def test_a_report_that_is_not_withheld_is_detected() -> None:
    passes = "import json; given = json.load(sys.stdin); "
    passes += "print(json.dumps({'hookSpecificOutput': {'updatedToolOutput': given['tool_response']}}))"
    assert "should not contain 'ANSWER is 42'" in problem("11-report-arrives", "import sys; " + passes)


def test_a_timeout_is_detected() -> None:
    slow = {**entry("import threading; threading.Event().wait()"), "timeout": 0.3}
    (outcome,) = self_test({"UserPromptSubmit": slow}, [CASES["02-prompt"]])
    assert outcome.problem == "no answer within 0.3 s"


def test_a_missing_program_is_detected() -> None:
    gone = {**entry(""), "command": "/nowhere/python"}
    (outcome,) = self_test({"UserPromptSubmit": gone}, [CASES["02-prompt"]])
    assert outcome.problem == "/nowhere/python cannot be started: No such file or directory"


def test_an_event_without_a_hook_is_detected() -> None:
    (outcome,) = self_test({}, [CASES["02-prompt"]])
    assert outcome.problem == "there is no hook for UserPromptSubmit"


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_missing_field_of_a_payload_is_named(case: SelfTestCase) -> None:
    for name in RELIED_ON[case.event]:
        less = case._replace(payload={key: value for key, value in case.payload.items() if key != name})
        (outcome,) = self_test(hook_entries(), [less])
        assert outcome.problem == f"the payload of {case.event} lacks {name}, which the answer needs"


@contextmanager
def served() -> Iterator[str]:
    """Answer hooks over HTTP on loopback, as a server would."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = encode(handle_event(given, project=given["cwd"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(reply)

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
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # requests to this machine use no proxy
    with served() as url:
        outcomes = self_test(hook_entries(url))
    assert [(outcome.case.name, outcome.problem) for outcome in outcomes if outcome.problem] == []


def test_http_hooks_without_a_server_are_detected() -> None:
    with served() as url:
        pass
    outcomes = self_test(hook_entries(url), [CASES["02-prompt"]])
    assert "does not answer" in outcomes[0].problem
    assert "start it with `remit serve`" in outcomes[0].problem


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return folder


def install(project: Path) -> Path:
    place = CLAUDE_CODE.find_target(project, is_user=False)
    apply_install(plan_install(place))
    return place.settings


def test_the_doctor_reports_that_nothing_is_installed(project: Path) -> None:
    (fact,) = CLAUDE_CODE.facts(project)
    assert fact.level == "good"
    assert "not installed here" in fact.words


def test_the_doctor_reports_that_hooks_work(project: Path) -> None:
    settings = install(project)
    (fact,) = CLAUDE_CODE.facts(project)
    assert fact.level == "good"
    assert fact.words == f"the hooks in {settings} work: {len(CASES)} recorded payloads were answered correctly"


def changed(settings: Path, event: str, **fields: Any) -> None:
    """Change one of Remit's entries."""
    values = json.loads(settings.read_text(encoding="utf-8"))
    values["hooks"][event][0]["hooks"][0].update(fields)
    settings.write_text(json.dumps(values), encoding="utf-8")


def test_the_doctor_names_missing_hooks(project: Path) -> None:
    settings = install(project)
    values = json.loads(settings.read_text(encoding="utf-8"))
    values["hooks"] = {"Stop": values["hooks"]["Stop"]}
    settings.write_text(json.dumps(values), encoding="utf-8")
    facts = list(CLAUDE_CODE.facts(project))
    assert {fact.level for fact in facts} == {"bad"}
    reply = " ".join(fact.words for fact in facts)
    assert f"{settings} lacks hooks for SessionStart, UserPromptSubmit" in reply
    assert "there is no hook for SessionStart" in reply
    assert "more of 21 recorded payloads" in reply


def test_the_doctor_names_hooks_of_another_installation(project: Path) -> None:
    changed(install(project), "Stop", command="/nowhere/python")
    (fact,) = CLAUDE_CODE.facts(project)
    assert fact.level == "bad"
    assert "starts '/nowhere/python' for Stop. It belongs to another installation" in fact.words


@pytest.mark.parametrize(
    "hook",
    [
        {"command": "/bin/sh", "args": ["-c", "touch STOLEN", "remit/surfaces/hooks/entry.py"]},
        {"command": sys.executable, "args": ["-c", "open('STOLEN', 'w')", "remit/surfaces/hooks/entry.py"]},
        {"command": sys.executable, "args": ["-I", "-S", "{project}/remit/surfaces/hooks/entry.py", "SessionStart"]},
    ],
)
def test_the_doctor_runs_no_code_of_a_clone(project: Path, hook: dict[str, Any]) -> None:
    planted = project / "remit/surfaces/hooks/entry.py"
    planted.parent.mkdir(parents=True)
    stolen = project / "STOLEN"
    planted.write_text(f"open({str(stolen)!r}, 'w')\n", encoding="utf-8")
    text = json.dumps({"type": "command", **hook})
    text = text.replace("{project}", str(project)).replace("STOLEN", str(stolen))
    settings = {"hooks": {"SessionStart": [{"hooks": [json.loads(text)]}]}}
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text(json.dumps(settings), encoding="utf-8")
    facts = list(CLAUDE_CODE.facts(project))
    assert any("and was not run" in fact.words for fact in facts)
    assert not stolen.exists()


@pytest.mark.parametrize("url", ["http://example.com/hooks/claude-code", "http://127.0.0.1:1/x/hooks/claude-code"])
def test_the_doctor_sends_nothing_to_other_machines(project: Path, url: str) -> None:
    changed(install(project), "Stop", type="http", url=url)
    assert any(
        f"starts '{url}' for Stop" in fact.words or "not run" in fact.words for fact in CLAUDE_CODE.facts(project)
    )


@pytest.mark.parametrize("file", ["project/.claude/settings.local.json", "home/.claude/settings.json"])
def test_the_doctor_reports_only_that_hooks_are_switched_off(project: Path, tmp_path: Path, file: str) -> None:
    install(project)
    settings = tmp_path / file
    settings.parent.mkdir(exist_ok=True)
    there = json.loads(settings.read_text(encoding="utf-8")) if settings.exists() else {}
    settings.write_text(json.dumps({"disableAllHooks": True, **there}), encoding="utf-8")
    (fact,) = CLAUDE_CODE.facts(project)
    assert fact.level == "bad"
    assert fact.words == f"nothing is checked: {settings} switches all hooks off (disableAllHooks)"


def test_the_doctor_ignores_disabled_hooks_without_an_install(project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text('{"disableAllHooks": true}', encoding="utf-8")
    (fact,) = CLAUDE_CODE.facts(project)
    assert fact.level == "good"
    assert "not installed here" in fact.words


def test_the_doctor_names_a_folder_of_the_project_that_cannot_be_used(project: Path) -> None:
    settings = install(project)
    gate = project / ".remit/gate"
    shutil.rmtree(gate)
    gate.write_text("in the way", encoding="utf-8")
    (fact,) = CLAUDE_CODE.facts(project)
    assert fact.level == "bad"
    assert f"the hooks in {settings} do not work in this project: {gate} must be a folder" in fact.words


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
    (fact,) = CLAUDE_CODE.facts(project)
    assert fact.level == "bad"
    assert f"{folder} cannot be written: Permission denied; calls are not checked" in fact.words


def test_the_doctor_names_a_file_of_the_gate_that_is_another_users(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(project)
    theirs = project / ".remit/gate/a-session.lock"
    theirs.touch()
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(theirs) and may(path, mode))
    (fact,) = CLAUDE_CODE.facts(project)
    assert (fact.level, f"{theirs} cannot be read and written" in fact.words) == ("bad", True)


def test_the_doctor_leaves_no_file_in_the_project(project: Path) -> None:
    install(project)
    before = sorted(project.rglob("*"))
    assert state_problem(CLAUDE_CODE.find_target(project, is_user=False)) == ""
    assert sorted(project.rglob("*")) == before


def test_the_doctor_names_settings_that_it_cannot_read(project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text("{", encoding="utf-8")
    facts = list(CLAUDE_CODE.facts(project))
    assert facts[0].level == "bad"
    assert "not valid JSON" in facts[0].words
