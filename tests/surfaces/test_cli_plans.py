"""`remit plan` as a person or a script meets them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support.commands import Commands, Ran
from support.model_process import RemoteServer, model_process

from remit.store.plans import Escalation
from remit.testing import result

pytest_plugins = ("support.running",)
HOSTILE = "\x1b[2J\x1b]0;owned\x07red \u202egnp.exe \r over"
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
#: The fixed shape, as the design has it.
PLAN_KEYS = ["schema", "id", "state", "phases", "escalations", "warnings", "merge", "report"]
PHASE_KEYS = ["name", "state", "decision", "delegations", "merge"]
DELEGATION_KEYS = ["agent", "state", "verdict", "retries", "warnings"]
MERGE_KEYS = [
    *("schema", "status", "decision", "agents", "findings", "conflicts", "failed", "dropped"),
    *("sections", "coverage", "counts", "threshold"),
]
READS = {"tools": [{"name": "Read", "input": {"file_path": path}} for path in ("app/login.py", "app/session.py")]}
CUT = {"text": f"half {HOSTILE}", "stop": "max_tokens"}
RESULT = result("generic").replace("Release Helper", "scout")
SCRIPT = {"conversations": {"task good": [READS, {"text": RESULT}], "task bad": [CUT], "try again": [CUT]}}
GOOD = 'agent = "scout"\ntask = "task good"\n'
LONG = "a long name " * 12
Remit = Callable[..., Ran]


class Place:
    """A project with the command in it."""

    def __init__(self, remit: Commands, model: RemoteServer) -> None:
        self.remit = remit
        self.model = model

    def plan(self, text: str, name: str = "plan.toml") -> str:
        (self.remit.project / name).write_text(text, encoding="utf-8")
        return name

    def shape(self, *words: str) -> Any:
        ran = self.remit(*words, "--format", "json")
        assert ran.out.startswith("{"), ran.err
        return json.loads(ran.out)


@pytest.fixture
def place(address: str, tmp_path: Path) -> Iterator[Place]:
    from remit.testing import project

    folder = tmp_path / "project"
    for source in project().rglob("*.py"):
        target = folder / source.relative_to(project())
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    agents = tmp_path / "team" / "agents"
    agents.mkdir(parents=True)
    (agents / "scout.md").write_text("---\nname: scout\ntools: Read\n---\nYou scout.\n", encoding="utf-8")
    with ExitStack() as stack:
        model = stack.enter_context(model_process(SCRIPT, tmp_path))
        remit = Commands(address, folder, tmp_path / "data", model.url)
        remit.environment["REMIT_PLUGIN_PATH"] = str(agents.parent)
        yield Place(remit, model)


def one_phase(*delegations: str, name: str = "look") -> str:
    return f"[[phase]]\nname = {json.dumps(name)}\n" + "".join(f"[[phase.delegation]]\n{one}" for one in delegations)


SURE = 'agent = "scout"\nname = "sure"\ntask = "task bad"\ncritical = true\n'
CRITICAL = f"name = {json.dumps(LONG)}\n" + one_phase(SURE, GOOD) + one_phase(GOOD, name="then " + LONG)


def narrow(text: str) -> None:
    for line in text.split("\n"):
        assert len(line) <= 80, line
        assert not RAW.search(line), line


def test_a_plan_runs_shows_its_shape_and_leaves_zero(place: Place) -> None:
    ran = place.remit("plan", "run", place.plan('name = "x"\n' + one_phase(GOOD, GOOD)), "--format", "json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert list(found) == PLAN_KEYS
    assert (found["schema"], found["id"], found["state"]) == ("remit.plan/1", 1, "finished")
    [phase] = found["phases"]
    assert list(phase) == PHASE_KEYS
    assert (phase["name"], phase["state"], phase["decision"]) == ("look", "finished", "continue")
    assert (
        phase["delegations"]
        == [{"agent": "scout", "state": "accepted", "verdict": "accept", "retries": 0, "warnings": []}] * 2
    )
    assert [list(one) for one in phase["delegations"]] == [DELEGATION_KEYS] * 2
    assert (found["escalations"], found["warnings"]) == ([], [])
    assert list(found["merge"]) == MERGE_KEYS
    assert found["merge"]["schema"] == "remit.merge/2"
    assert "scout accepted: job 1 was accepted" in ran.err, "who, what and why, where nothing can move"


def test_a_plan_that_waits_asks_and_goes_on_by_an_answer(place: Place) -> None:
    """From the first run to the end, as a person does it."""
    ran = place.remit("plan", "run", place.plan(CRITICAL))
    assert ran.code == 1
    narrow(ran.out)
    assert "? sure" in ran.out
    assert "remit plan answer 1 retry | skip --why … | cancel | text --why …" in ran.out
    assert not RAW.search(ran.err.replace("\n", ""))

    listed = place.remit("plan", "questions")
    narrow(listed.out)
    assert "question 1 (plan 1): sure: it ended with truncated" in " ".join(listed.out.split())
    shape = place.shape("plan", "questions")
    assert shape["schema"] == "remit.escalations/1"
    assert [(one["id"], one["plan"], one["agent"], one["answer"]) for one in shape["escalations"]] == [
        (1, 1, "scout", None)
    ]
    assert list(shape["escalations"][0]) == ["id", "plan", "agent", "reason", "answer", "words"]

    progress = place.remit("plan", "progress")
    narrow(progress.out.split("\n", 1)[1])
    assert "blocked" in progress.out
    assert "Agent scout failed, results may be incomplete" in progress.out
    assert place.remit("plan", "progress", "--resume").out == (
        "Answer the questions of plan 1: `remit plan questions`, then `remit plan answer ID …`\n"
    )

    answered = place.remit("plan", "answer", "1", "text", "--why", "try again")
    assert (answered.code, answered.out) == (0, "answered; continue with `remit plan run --resume 1`\n")
    again = place.remit("plan", "run", "--resume", "1")
    assert again.code == 1
    assert "question 2" in again.out
    assert place.shape("plan", "answer", "2", "skip", "--why", "enough") == {
        "schema": "remit.answer/1",
        "escalation": 2,
        "plan": 1,
        "answer": "skip",
        "next_action": "answered; continue with `remit plan run --resume 1`",
    }
    end = place.remit("plan", "run", "plan.toml", "--format", "json")
    found = json.loads(end.out)
    assert found["id"] == 1, "the same file goes on with the same plan"
    assert [one["state"] for part in found["phases"] for one in part["delegations"]] == [
        *("skipped", "accepted", "accepted")
    ]
    assert found["warnings"] == ["Agent scout failed, results may be incomplete"]
    assert [one["answer"] for one in found["escalations"]] == ["text", "skip"]
    assert end.code == 0
    assert place.remit("plan", "questions").out == "no open questions\n"
    assert len(place.shape("plan", "questions", "--all")["escalations"]) == 2


def test_what_agents_say_never_reaches_the_terminal_raw() -> None:
    from datetime import UTC, datetime

    from remit.orchestrate.delegating import PlanResult
    from remit.reports.plan_text import plan_lines, question_lines
    from remit.store.plans import Delegation, PhaseRow, PlanRow

    now = datetime.now(UTC)
    row = PlanRow(
        id=1,
        name=HOSTILE + LONG,
        digest="",
        document={},
        workspace="",
        state="waiting",
        outcome=None,
        created=now,
        finished=None,
    )
    one = Delegation(id=1, plan=1, phase=0, name=HOSTILE, agent=HOSTILE, state="failed", error=HOSTILE * 20)
    question = Escalation(
        id=1,
        plan=1,
        delegation=1,
        phase=0,
        reason=HOSTILE * 20,
        answer=None,
        words=None,
        is_applied=False,
        created=now,
        answered=None,
    )
    found = PlanResult(row, [PhaseRow(number=0, name=HOSTILE + LONG, state="running")], [one], [question])
    for lines in (plan_lines(found, {}, 80), question_lines([question], 80)):
        for line in lines:
            text = "".join(piece.text for piece in line)
            assert not RAW.search(text)
            assert len(text) <= 80


def test_a_dry_run_lists_the_delegations_and_dispatches_nothing(place: Place) -> None:
    text = f"name = {json.dumps(LONG)}\n" + one_phase(SURE, GOOD) + one_phase(GOOD, name="then")
    text = text.replace('name = "then"', 'name = "then"\ninputs = ["look"]')
    ran = place.remit("plan", "run", place.plan(text), "--dry-run")
    assert ran.code == 0
    narrow(ran.out)
    assert "dry run" in ran.out
    assert "sure (scout)  critical" in ran.out
    assert "task bad" in ran.out
    assert " then  at most 5 in parallel  with the results of look\n" in ran.out
    refused = place.remit("plan", "run", place.plan(text), "--dry-run", "--format", "json")
    assert (refused.code, "a dry run has no JSON form" in refused.err) == (2, True)
    assert place.model.requests == []
    assert place.shape("jobs", "list")["jobs"] == []


def test_a_plan_without_a_key_is_refused_before_it_starts(place: Place) -> None:
    del place.remit.environment["ANTHROPIC_API_KEY"]
    refused = place.remit("plan", "run", place.plan('name = "x"\n' + one_phase(GOOD)))
    assert (refused.code, "there is no key for anthropic: set ANTHROPIC_API_KEY" in refused.err) == (2, True)
    assert place.shape("jobs", "list")["jobs"] == []


def test_a_scope_that_does_not_exist_is_reported(place: Place) -> None:
    text = 'name = "x"\n' + one_phase(GOOD).replace("task =", 'scope = ["gone.py", "src/**"]\ntask =', 1)
    ran = place.remit("plan", "run", place.plan(text), "--dry-run")
    assert "the scope names what does not exist in" in ran.err
    assert "gone.py" in ran.err
    assert "src/**" not in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan", "run"], "pass either a FILE or --resume ID"),
        (["plan", "run", "plan.toml", "--resume", "1"], "pass either a FILE or --resume ID"),
        (["plan", "run", "nothing.toml"], "nothing.toml: No such file or directory"),
        (["plan", "run", "--resume", "99"], "there is no plan 99"),
        (["plan", "run", "unknown.toml"], "unknown.toml, line 5: there is no definition 'nobody'"),
        (["plan", "run", "cycle.toml"], "cycle.toml, line 3: the phase 'a' takes input from itself: 'a'"),
        (
            ["plan", "answer", "7", "retry"],
            "there is no open question 7; `remit plan questions` lists the open questions",
        ),
        (["plan", "answer", "7", "skip"], "skip needs --why"),
        (["plan", "answer", "7", "text", "--why", " "], "text needs --why"),
        (["plan", "progress"], "there is no progress file here"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(place: Place, words: list[str], said: str) -> None:
    place.plan(
        'name = "x"\n[[phase]]\nname = "a"\n[[phase.delegation]]\nagent = "nobody"\ntask = "go"\n', "unknown.toml"
    )
    place.plan(f'name = "x"\n[[phase]]\ninputs = ["a"]\nname = "a"\n[[phase.delegation]]\n{GOOD}', "cycle.toml")
    ran = place.remit(*words)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_new_begins_another_although_the_same_is_unfinished(place: Place) -> None:
    name = place.plan(CRITICAL)
    assert place.shape("plan", "run", name)["id"] == 1
    assert place.shape("plan", "run", name, "--new")["id"] == 2


def test_progress_shows_an_older_tools_file(place: Place) -> None:
    seed = {
        "project": "tea",
        "status": "in_progress",
        "currentTask": HOSTILE,
        "resumptionContext": {
            "nextAction": "Ask for the draft " + LONG,
            "blockers": ["no key", {"id": 1, "description": "no list"}],
            "recentDecisions": ["tax last", {"decision": "one currency"}],
        },
        "blockers": [{"description": "nobody answers"}],
        "warnings": [HOSTILE + LONG],
        "delegations": ["old", {"agent": "scout", "state": "accepted"}],
        "teamContext": {"leader": "main"},
    }
    file = place.remit.project / ".claude/workspaces/main/claude-progress.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(seed), encoding="utf-8")
    ran = place.remit("plan", "progress")
    assert ran.code == 0
    narrow(ran.out.split("\n", 1)[1])
    assert "no key; no list; nobody answers" in ran.out
    assert "tax last; one currency" in ran.out
    assert place.remit("plan", "progress", "--resume").out == f"Ask for the draft {LONG.strip()}\n"
    shape = place.shape("plan", "progress")
    assert (shape["schema"], shape["teamContext"]) == ("remit.progress/1", {"leader": "main"})
    other = place.remit("plan", "progress", "--file", str(file), "--resume")
    assert other.code == 0
    for value in ('"x"', "{"):
        file.write_text(value, encoding="utf-8")
        assert place.remit("plan", "progress").code == 2


@pytest.mark.parametrize("blockers", [None, "a word", 3, {"a": 1}, [None]])
def test_progress_reads_files_of_older_tools(place: Place, blockers: Any) -> None:
    file = place.remit.project / "p.json"
    file.write_text(json.dumps({"blockers": blockers, "resumptionContext": {"blockers": blockers}}), encoding="utf-8")
    ran = place.remit("plan", "progress", "--file", "p.json")
    assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
