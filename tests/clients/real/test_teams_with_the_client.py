"""Teammates of the real client, which starts them only in a terminal: their reports are held to the same rules."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import termios
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from real_client import ALLOWED, Stage, binary, text_of, under_contract
from scripts import GOOD, INVENTED, call, does, reads, says
from support.waiting import until

from remit.clients.hooks import results
from remit.clients.hooks.results import KeptResult

_LIE = f"The refund is at {INVENTED}."
_TRUE = "The order is written at shop/orders.py:26."


_TOOLS = f"{ALLOWED},TaskCreate,TaskUpdate"


def spawn(key: str, agent: str, name: str) -> dict[str, Any]:
    given = {"description": key, "prompt": f"{key}: please.", "subagent_type": agent, "name": name}
    return {"name": "Agent", "id": f"toolu_{key}", "input": given}


_CONVERSATIONS = {
    "begin-a-team": [
        does(call("task", "TaskCreate", subject="look", description="look at it", activeForm="looking")),
        does(
            spawn("mate-well", "code-explorer", "scout"),
            spawn("mate-lying", "general-purpose", "liar"),
            spawn("mate-closing", "general-purpose", "closer"),
        ),
        *(says(f"I wait ({number}).") for number in range(20)),
    ],
    "mate-well": [reads("well", GOOD), says("It is all fine."), says(GOOD)],
    "mate-lying": [says(_LIE), says(f"{_LIE} Really.")],
    "mate-closing": [
        does(call("look", "Read", file_path="shop/orders.py")),
        {"text": _LIE, **does(call("early", "TaskUpdate", taskId="1", status="completed"))},
        {"text": _TRUE, **does(call("late", "TaskUpdate", taskId="1", status="completed"))},
        says(_TRUE),
    ],
}


@contextlib.contextmanager
def terminal(stage: Stage, prompt: str) -> Iterator[None]:
    """Run the client in a terminal with a prompt until the block ends."""
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "teammateMode": "in-process",
        "customApiKeyResponses": {"approved": ["test-key"], "rejected": []},
        "projects": {str(stage.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (stage.home / ".claude.json").write_text(json.dumps(settings), encoding="utf-8")
    environment = stage.environment | {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1", "TERM": "xterm-256color"}
    command = [str(binary()), "--permission-mode", "acceptEdits", "--allowedTools", _TOOLS, "--", prompt]
    child, screen = pty.fork()
    if child == 0:  # pragma: no cover - another process
        os.chdir(stage.project)
        os.execve(command[0], command, environment)
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    ended = threading.Event()
    showing = threading.Thread(target=_drain, args=(screen, ended))
    showing.start()
    try:
        yield
    finally:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ended.set()
        showing.join()
        os.close(screen)


def _drain(screen: int, ended: threading.Event) -> None:
    """Read what the terminal shows until the client has ended, so that the client never waits for it."""
    with contextlib.suppress(OSError):
        while not ended.is_set():
            if select.select([screen], [], [], 0.1)[0]:
                os.read(screen, 65536)


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("team"), _CONVERSATIONS) as stage:
        (stage.home / ".claude").mkdir()
        write = f"cat > {stage.root}/idle-$$.json"
        hook = [{"hooks": [{"type": "command", "command": write}]}]
        (stage.home / ".claude/settings.json").write_text(json.dumps({"hooks": {"TeammateIdle": hook}}))
        with terminal(stage, "begin-a-team"):
            until(lambda: len(idle(stage)) == 3 and told(stage, "remit: the report of general-purpose"))
        yield stage


def idle(stage: Stage) -> list[dict[str, Any]]:
    """Return the events of teammates that became idle."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(stage.root.glob("idle-*.json"))]
    return [json.loads(text) for text in texts if text.rstrip().endswith("}")]


def told(stage: Stage, words: str) -> bool:
    """Return whether the lead has received these words."""
    return any(words in text_of(one["content"]) for one in stage.asked("begin-a-team")[-1]["messages"][2:])


def reports_of(stage: Stage, agent: str) -> list[KeptResult]:
    session = str(idle(stage)[0]["session_id"])
    return [one for one in results.list_results(str(stage.project / ".remit/gate"), session) if one.agent == agent]


def test_the_client_sends_an_event_when_a_teammate_becomes_idle(stage: Stage) -> None:
    names = {(one["teammate_name"], one["agent_type"]) for one in idle(stage)}
    assert names == {("scout", "scout"), ("liar", "liar"), ("closer", "closer")}


def test_a_teammate_completes_no_task_with_an_invented_location(stage: Stage) -> None:
    answers = stage.results("mate-closing")
    assert f"{INVENTED}: there is no such file" in answers["toolu_early"]
    assert "no such file" not in answers["toolu_late"]


def test_a_teammate_is_held_to_the_contract_of_its_definition_not_of_its_name(stage: Stage) -> None:
    [task] = [one for one in stage.asked("mate-well")[0]["messages"] if "mate-well" in text_of(one["content"])]
    assert "## Code Explorer Result" in text_of(task["content"])
    assert [(one.outcome, one.profile) for one in reports_of(stage, "code-explorer")] == [
        ("returned", "v2"),
        ("accepted", "v2"),
    ]


def test_the_lead_learns_that_claims_of_a_teammate_do_not_hold(stage: Stage) -> None:
    liar = [one for one in reports_of(stage, "general-purpose") if one.agent_id.startswith("aliar")]
    assert [(one.outcome, one.profile) for one in liar] == [("returned", "claims"), ("rejected", "claims")]
    assert told(stage, f"{INVENTED}: there is no such file")


def test_a_teammate_that_works_has_not_failed(stage: Stage) -> None:
    status = stage.remit("gate", "status", "--session", str(idle(stage)[0]["session_id"]))
    assert "2 accepted" in status
    assert "Agent code-explorer failed" not in status
