"""`remit run orchestrator` as a person meets it: a whole task in three phases, and what it may use."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.commands import ANTHROPIC, Commands
from support.model_process import RemoteServer, model_process
from support.running import tools
from support.waiting import PATIENCE

from remit import testing
from remit.testing import result

pytest_plugins = ("support.running",)
ME = "You are an orchestrator"
READ = tools(*(("Read", {"file_path": path}) for path in ("app/login.py", "app/session.py")))
Begin = Callable[[dict[str, Any]], tuple[Commands, RemoteServer]]


@pytest.fixture
def begin(address: str, project: Path, tmp_path: Path) -> Iterator[Begin]:
    """The command in the project that the tests' results cite, with a scripted model."""
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
    text = result("generic").replace("Release Helper", agent)
    return {f"task of {agent} in {task}": [READ, {"text": text}]}


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

    ran = remit("run", "orchestrator", "mend the leak", "--model", ANTHROPIC)

    assert ran.code == 0, ran.err
    assert "All three phases are done." in ran.out
    told = str([one["body"]["messages"] for one in model.requests if ME in str(one["body"].get("system"))][-1])
    assert "refused (lookup-files): d.txt: 3 files were already read directly" in told
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

    ran = remit("run", "orchestrator", "mend the leak", "--model", ANTHROPIC, "--tree-max-tokens", "9500")

    assert "the tree's token budget is used up" in ran.out + ran.err
    assert not [one for one in model.requests if "task of code-explorer" in str(one["body"]["messages"][0])]


@pytest.mark.parametrize(
    "option", ["--max-cost", "--tree-max-cost", "--tree-max-tokens", "--tree-max-turns", "--tree-max-seconds"]
)
def test_a_limit_of_nothing_is_refused(begin: Begin, option: str) -> None:
    remit, _ = begin({ME: [{"text": "never asked"}]})
    ran = remit("run", "orchestrator", "mend the leak", "--model", ANTHROPIC, option, "0")
    assert ran.code == 2
    assert "must be greater than 0" in ran.err


TELL = tools(("Tell", {"text": "The first phase\x1b[2J is over.\n\nThe second begins."}))
SHOWN = "The first phase\u241b[2J is over."


def test_its_messages_are_shown_live_and_in_its_logs_and_escaped(begin: Begin) -> None:
    remit, _ = begin({ME: [TELL, {"text": "Done."}]})
    ran = remit("run", "orchestrator", "mend the leak", "--model", ANTHROPIC)
    for shown in (ran.err, remit("jobs", "logs", "1").out):
        lines = [line[9:] for line in shown.split("\n")]
        at = lines.index(SHOWN)
        assert lines[at : at + 3] == [SHOWN, "", "The second begins."]
        assert "\x1b" not in shown


def test_its_messages_stay_on_a_terminal_above_the_progress_line(begin: Begin) -> None:
    remit, _ = begin({ME: [TELL, {"text": "Done."}]})
    ours, theirs = pty.openpty()
    with remit.start("run", "orchestrator", "mend the leak", "--model", ANTHROPIC, stdin=theirs, stderr=theirs) as ran:
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
        os.close(ours)
        assert ran.wait(PATIENCE) == 0
    assert SHOWN in shown.decode("utf-8")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other side is closed
        return b""


def test_an_interrupt_leaves_the_job_to_a_worker_at_once(begin: Begin) -> None:
    """However long a worker may take to end."""
    remit, model = begin({ME: [{"text": "never said", "gate": "held"}]})
    words = ("run", "orchestrator", "mend the leak", "--model", ANTHROPIC)
    with remit.start(*words, env={"REMIT_SHUTDOWN_SECONDS": "600"}) as ran:
        model.wait("held")
        ran.send_signal(signal.SIGINT)
        out, err = ran.communicate(timeout=PATIENCE)
    assert (ran.returncode, out) == (130, "")
    assert "job 1 is left in the queue; `remit worker` continues it" in err
    assert remit("jobs", "show", "1", "--format", "json").json["state"] == "queued"


def test_what_it_asks_is_answered_and_not_resumed(begin: Begin) -> None:
    remit, _ = begin({ME: [tools(("Ask", {"question": "Which database?"})), {"text": "I wait."}]})
    remit("run", "orchestrator", "mend the leak", "--model", ANTHROPIC)
    assert "question 1 (plan 1): Which database?" in remit("plan", "questions").out
    resumed = remit("plan", "run", "--resume", "1")
    assert (resumed.code, resumed.out) == (2, "")
    assert "plan 1 is a question of job 1: list it with `remit plan questions`" in resumed.err


INVENTED = {"text": "I fixed the bug in `src/api/nope.ts:12`, committed it, and all 214 tests pass."}
NEVER_ASKED = {"text": "The security-auditor reviewed the change."}
HONEST = {"text": "I changed nothing, and no test ran."}


def asked_to_correct(model: RemoteServer) -> list[int]:
    """The requests whose last message asks for a correction."""
    asked = [json.dumps(one["body"]["messages"][-1]) for one in model.requests]
    return [number for number, message in enumerate(asked) if "final-claims" in message]


@pytest.mark.parametrize(
    ("false", "why"),
    [
        (INVENTED, "src/api/nope.ts:12"),
        (NEVER_ASKED, "security-auditor was not asked to do anything in this session"),
    ],
)
def test_a_false_answer_is_sent_back_once_and_then_printed_with_what_is_false(
    begin: Begin, false: dict[str, Any], why: str
) -> None:
    remit, model = begin({ME: [tools(lookup("app/login.py")), false, {"text": f"Again. {false['text']}"}]})
    (remit.project / "src/api").mkdir(parents=True)
    ran = remit("run", "orchestrator", "mend the leak", "--model", ANTHROPIC)
    assert ran.code == 1
    shown = " ".join(ran.out.split())
    assert "completed reject" in shown
    assert "L1 final-claims line 1: " in shown
    assert why in shown
    assert f"Again. {false['text']}" in ran.out
    assert "remit: the result of job 1 is sent back once" in ran.err
    assert asked_to_correct(model) == [2]
    assert len(model.requests) == 3


def test_an_answer_that_is_corrected_is_printed(begin: Begin) -> None:
    remit, model = begin({ME: [INVENTED, HONEST]})
    (remit.project / "src/api").mkdir(parents=True)
    ran = remit("run", "orchestrator", "mend the leak", "--model", ANTHROPIC)
    assert ran.code == 0, ran.out + ran.err
    assert HONEST["text"] in ran.out
    assert "final-claims" not in ran.out
    assert asked_to_correct(model) == [1]


def test_what_its_subagents_did_is_true(begin: Begin) -> None:
    answer = {"text": "The code-explorer found the login in `app/login.py:1`."}
    remit, model = begin(
        {ME: [delegate("explore", "code-explorer"), answer], **answered("explore", "code-explorer")},
    )
    ran = remit("run", "orchestrator", "mend the leak", "--model", ANTHROPIC)
    assert ran.code == 0, ran.out + ran.err
    assert asked_to_correct(model) == []
