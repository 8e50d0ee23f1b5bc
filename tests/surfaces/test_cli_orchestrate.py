"""`remit orchestrate` as a person meets it: a whole task in three phases, and what it may use."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.model_process import RemoteServer, model_process
from support.running import ANTHROPIC, Commands, tools

from remit import testing
from remit.testing import result

pytest_plugins = ("support.running",)
ME = "You are an orchestrator"
READ = tools(*(("Read", {"file_path": path}) for path in ("app/login.py", "app/session.py")))
Begin = Callable[[dict[str, Any]], tuple[Commands, RemoteServer]]


@pytest.fixture
def begin(address: str, project: Path, tmp_path: Path) -> Iterator[Begin]:
    """The command in the project that results of tests are about, beside a model that follows a script."""
    shutil.copytree(testing.project(), project, dirs_exist_ok=True)
    with ExitStack() as stack:

        def begun(conversations: dict[str, Any]) -> tuple[Commands, RemoteServer]:
            model = stack.enter_context(model_process({"conversations": conversations}, tmp_path))
            return Commands(address, project, tmp_path / "data", model.url), model

        yield begun


def delegate(phase: str, *agents: str) -> dict[str, Any]:
    wanted = [{"agent": one, "task": f"task of {one} in {phase}", "kind": "generic"} for one in agents]
    return tools(("Delegate", {"phase": phase, "delegations": wanted}))


def lookup(path: str) -> tuple[str, dict[str, Any]]:
    return "Lookup", {"question": "which port?", "file_path": path}


def answered(task: str, agent: str) -> dict[str, Any]:
    return {f"task of {agent} in {task}": [READ, {"text": result("generic")}]}


def test_a_task_of_three_phases_is_done_and_a_fourth_file_is_delegated(begin: Begin) -> None:
    remit, model = begin(
        {
            ME: [
                tools(*(lookup(f"{name}.txt") for name in "abc")),
                tools(lookup("d.txt")),
                delegate("explore", "code-explorer"),
                delegate("build", "backend-specialist"),
                delegate("test", "qa-engineer", "security-auditor"),
                {"text": "All three phases are done."},
            ],
            **answered("explore", "code-explorer"),
            **answered("build", "backend-specialist"),
            **answered("test", "qa-engineer"),
            **answered("test", "security-auditor"),
        }
    )
    for name in "abcd":
        (remit.project / f"{name}.txt").write_text(f"port of {name}\n", encoding="utf-8")

    ran = remit("orchestrate", "mend the leak", "--model", ANTHROPIC)

    assert ran.code == 0, ran.err
    assert "All three phases are done." in ran.out
    told = str([one["body"]["messages"] for one in model.requests if ME in str(one["body"].get("system"))][-1])
    assert "refused (lookup-files): d.txt: 3 files were read directly" in told
    assert "code-explorer" in told.partition("refused (lookup-files)")[2][:400]
    assert "port of d" not in told
    for phase in ("explore", "build", "test"):
        assert f"{phase}: SUCCESS, decision continue" in told


def test_an_orchestrator_and_its_subagents_share_a_budget(begin: Begin) -> None:
    dear = {"usage": {"input": 1_000, "output": 7_000}}
    remit, model = begin(
        {
            ME: [{**delegate("explore", "code-explorer"), **dear}, {"text": "Without the explorer, then."}],
            "task of code-explorer in explore": [{"text": "never asked"}],
        }
    )

    ran = remit("orchestrate", "mend the leak", "--model", ANTHROPIC, "--tree-max-tokens", "9500")

    assert "the tree's budget of tokens is used up" in ran.out + ran.err
    assert not [one for one in model.requests if "task of code-explorer" in str(one["body"]["messages"][0])]


@pytest.mark.parametrize("option", ["--max-cost", "--tree-max-cost", "--tree-max-tokens"])
def test_a_limit_of_nothing_is_refused(begin: Begin, option: str) -> None:
    remit, _ = begin({ME: [{"text": "never asked"}]})
    ran = remit("orchestrate", "mend the leak", "--model", ANTHROPIC, option, "0")
    assert (ran.code, ran.err) == (2, "remit: a limit must be more than nothing\n")
