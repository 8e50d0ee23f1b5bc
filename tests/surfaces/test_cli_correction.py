"""`remit run` sends a report that does not hold back, once, before it prints it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.commands import ANTHROPIC, Commands
from support.model_process import RemoteServer, model_process
from support.running import tools

pytest_plugins = ("support.running",)
READ = tools(("Read", {"file_path": "app.py"}))
FALSE = {"text": "The port is set in app.py:90."}
FALSE_AGAIN = {"text": "It really is in app.py:91."}
TRUE = {"text": "The port is set in app.py:1."}
DEFINED = "---\nname: mechanic\ntools: Read\n---\nYou mend things.\n"
Begin = Callable[..., tuple[Commands, RemoteServer]]


@pytest.fixture
def begin(address: str, project: Path, tmp_path: Path) -> Iterator[Begin]:
    """The command in a project with a definition, and a model that gives some answers."""
    (project / "app.py").write_text("PORT = 8080\n", encoding="utf-8")
    (project / ".claude/agents").mkdir(parents=True)
    (project / ".claude/agents/mechanic.md").write_text(DEFINED, encoding="utf-8")
    with ExitStack() as stack:

        def begun(*turns: dict[str, Any]) -> tuple[Commands, RemoteServer]:
            model = stack.enter_context(model_process({"conversations": {"": list(turns)}}, tmp_path))
            return Commands(address, project, tmp_path / "data", model.url), model

        yield begun


def corrections(model: RemoteServer) -> list[int]:
    """The requests whose last message asks for a correction."""
    asked = [json.dumps(one["body"]["messages"][-1]) for one in model.requests]
    return [number for number, message in enumerate(asked) if "resend the COMPLETE result" in message]


@pytest.mark.parametrize("agent", ["mechanic", "nobody-knows", "mechanic --no-contract"])
def test_a_false_report_is_sent_back_once_and_the_true_one_is_printed(begin: Begin, agent: str) -> None:
    remit, model = begin(READ, FALSE, TRUE)
    name, *options = agent.split()
    ran = remit("run", name, "Where is the port?", "--model", ANTHROPIC, *options)
    assert ran.code == 0, ran.out + ran.err
    assert TRUE["text"] in ran.out
    assert FALSE["text"] not in ran.out
    assert "remit: the result of job 1 is sent back once" in ran.err
    assert corrections(model) == [2]
    assert len(model.requests) == 3


def test_a_second_false_report_is_printed_with_what_is_false(begin: Begin) -> None:
    remit, model = begin(READ, FALSE, FALSE_AGAIN)
    ran = remit("run", "mechanic", "Where is the port?", "--model", ANTHROPIC)
    assert ran.code == 1
    assert FALSE_AGAIN["text"] in ran.out
    assert "L1 reference-out-of-range line 1: app.py:91" in " ".join(ran.out.split())
    assert corrections(model) == [2]
    assert ran.err.count("checked: ") == 2, "no event is shown twice"


def test_a_true_report_is_not_sent_back(begin: Begin) -> None:
    remit, model = begin(READ, TRUE)
    ran = remit("run", "mechanic", "Where is the port?", "--model", ANTHROPIC)
    assert ran.code == 0, ran.out + ran.err
    assert "sent back" not in ran.err
    assert corrections(model) == []
