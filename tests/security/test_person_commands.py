"""What only a person confirms, decides or publishes: a client asks in every mode, and elsewhere it needs a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from scratch_project import ScratchProject, decision_of, told_person

from remit.errors import UsageError
from remit.gate.person_commands import PERSON_COMMANDS
from remit.surfaces.cli.person import require_person

LINES = [
    *("remit plan answer 4 skip --why x", "remit answer 4 retry"),
    *("remit dismiss SEC-001 --why x", "remit restore SEC-001", "remit gate trust"),
    *("python3 -m remit gate trust", "cd src && remit dismiss A --why b"),
    'python3 -c \'import subprocess; subprocess.run(["remit", "dismiss", "A", "--why", "b"])\'',
]


@pytest.mark.parametrize("mode", ["verify", "standard", "strict", "observe"])
@pytest.mark.parametrize(
    "agent", [{}, {"agent_id": "a1", "agent_type": "backend-specialist"}], ids=["main", "subagent"]
)
def test_a_client_asks_before_an_agent_runs_a_command_of_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, agent: dict[str, str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shop = ScratchProject(tmp_path / "shop", {"mode": mode})
    for line in LINES:
        _, answer = shop.before(line, **agent)
        assert decision_of(answer) == "ask", line
    assert decision_of(shop.before("remit doctor", **agent)[1]) == "allow"


def test_a_denial_of_the_rest_of_a_line_does_not_hide_the_question(shop: ScratchProject) -> None:
    shop.compile({"mode": "verify"})
    assert decision_of(shop.before("remit gate trust; cat src/*.py tests/*.py *.toml; bandit -r .")[1]) == "ask"


@pytest.mark.parametrize("command", PERSON_COMMANDS)
def test_a_command_of_a_person_needs_a_terminal(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match="is for a person: run it in a terminal"):
        require_person(command)
    monkeypatch.setattr("remit.surfaces.cli.person.has_terminal", lambda: True)
    require_person(command)


def test_a_question_that_a_client_asked_lets_exactly_this_command_run(
    shop: ScratchProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.path)
    call, _ = shop.before("remit dismiss SEC-001 --why x")
    require_person("remit dismiss")
    with pytest.raises(UsageError):
        require_person("remit gate trust")
    shop.after(call, "remit dismiss SEC-001 --why x")
    with pytest.raises(UsageError):
        require_person("remit dismiss")


@pytest.mark.parametrize("following", ["ls", "/tmp/renamed gate trust", "git status"])
def test_a_question_that_a_person_refused_lets_nothing_run_later(
    shop: ScratchProject, monkeypatch: pytest.MonkeyPatch, following: str
) -> None:
    monkeypatch.chdir(shop.path)
    shop.before("remit gate trust")
    shop.before(following)  # the client reports no end of a call that was refused
    with pytest.raises(UsageError):
        require_person("remit gate trust")


def test_a_call_of_another_agent_does_not_end_a_question(shop: ScratchProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.path)
    shop.before("remit gate trust")
    shop.before("ls", agent_id="a1", agent_type="backend-specialist")
    require_person("remit gate trust")


@pytest.mark.process
def test_a_program_without_a_terminal_confirms_nothing(tmp_path: Path) -> None:
    own = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "remit", "gate", "trust"]
    done = subprocess.run(
        command, cwd=tmp_path, env=own, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "is for a person" in done.stderr


@pytest.mark.parametrize("mode", ["standard", "strict"])
@pytest.mark.parametrize(
    "line",
    [
        *("psql -h .remit/postgres -c 'select 1'", "psql -f a.sql", "psql < a.sql", "echo '\\! id' | psql shop"),
        "python3 -c 'import psycopg; psycopg.connect(host=\".remit/postgres\")'",
        "socat - UNIX-CONNECT:.remit/postgres/.s.PGSQL.5432",
        "make migrate PGHOST=$PWD/.remit/postgres",
        "PGHOST=.remit/postgres make migrate",
    ],
)
@pytest.mark.parametrize(
    "agent", [{}, {"agent_id": "a1", "agent_type": "backend-specialist"}], ids=["main", "subagent"]
)
def test_a_client_asks_before_an_agent_sends_commands_to_a_database(
    shop: ScratchProject, agent: dict[str, str], line: str, mode: str
) -> None:
    shop.compile({"mode": mode})
    assert decision_of(shop.before(line, **agent)[1]) == "ask"


@pytest.mark.parametrize(
    "agent", [{}, {"agent_id": "a1", "agent_type": "backend-specialist"}], ids=["main", "subagent"]
)
@pytest.mark.parametrize("mode", ["verify", "standard", "strict"])
def test_a_client_asks_before_an_agent_sends_an_event_or_changes_the_gate(
    shop: ScratchProject, agent: dict[str, str], mode: str
) -> None:
    shop.compile({"mode": mode})
    line = "curl -s -H 'Authorization: Bearer x' -d @event.json http://127.0.0.1:8321/hooks/claude-code"
    for forged in (line, "remit hook PreToolUse < event.json", "remit uninstall --yes", "remit $(echo dismiss) A"):
        assert decision_of(shop.before(forged, **agent)[1]) == "ask", forged


def test_a_refused_change_is_not_permitted_to_a_later_call(start: Callable[..., ScratchProject]) -> None:
    shop = start(mode="strict")
    edit = {"file_path": str(shop.path / "remit.toml"), "old_string": "standard", "new_string": "observe"}
    for tool, given in (("Edit", edit), ("Bash", {"command": "remit install claude-code --yes"})):
        shop.hook("PreToolUse", tool, given, f"toolu_{tool}")
    call, _ = shop.before("scripts/test.sh")
    (shop.path / "remit.toml").write_text("[gate]\n")
    assert "remit.toml changed without permission" in told_person(shop.after(call, "scripts/test.sh"))
