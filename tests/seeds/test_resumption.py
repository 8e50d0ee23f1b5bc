"""What the source documents require of the progress file: several plans, open questions, and why work failed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.place import CUT, MakePlace, failed, says, signed, system_text

pytest_plugins = ("support.running", "support.place")
pytestmark = pytest.mark.process
SCOUT = "---\nname: scout\ntools: Read\nkind: exploration\n---\nYou scout.\n"
PLANNER = "---\nname: planner\ntools: Read\nkind: design\n---\nYou plan.\n"
BLOCKED = signed("design", "planner").replace(
    "### Next Steps", "### Blockers\n- no price list | Resolution: ask sales\n\n### Next Steps"
)
PLAN = """name = "{name}"
[[phase]]
name = "design"
[[phase.delegation]]
agent = "planner"
task = "{task}"
"""


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tools": [{"name": name, "input": arguments}]}


def test_an_orchestrator_sees_what_was_read_in_place_of_a_failed_context_loader(make_place: MakePlace) -> None:
    loader = {"agent": "scout", "task": "task alpha", "loads_context": True, "scope": ["app/login.py"]}
    look = {"agent": "scout", "task": "task beta"}
    short = {"question": "what follows?", "file_path": "app/session.py", "offset": 6, "limit": 5}
    turns = [
        call("Delegate", phase="load", delegations=[{**loader, "model": "haiku"}]),
        call("Delegate", phase="look", delegations=[look]),
        call("Lookup", **short),
        call("Lookup", **{**short, "offset": 1, "limit": 100}),
        {"text": "I know enough."},
    ]
    reads = [{"name": "Read", "input": {"file_path": f"app/{name}.py"}} for name in ("login", "session", "store")]
    found = [{"tools": reads}, {"text": signed("exploration", "scout")}]
    place = make_place(You_are_an_orchestrator=turns, alpha=says(failed("scout")), beta=found)
    long = place.project / "app/session.py"
    long.write_text(long.read_text("utf-8") + "# more\n" * 100, encoding="utf-8")
    ran = place("run", "orchestrator", "look after it", REMIT_PLUGIN_PATH=place.plugin("team", scout=SCOUT))
    assert ran.code == 0, ran.err
    mine = [one for one in place.model.requests if one["marker"] == "You are an orchestrator"]
    answer = json.dumps(mine[-1]["body"]["messages"])
    assert '<file path=\\\\"app/login.py\\\\" lines=' in answer or '<file path=\\"app/login.py\\" lines=' in answer
    assert "which was read in place of scout" in answer
    assert len(place.told("task alpha")) == 2, "a FAILED report is retried once"
    assert "it reported FAILED: pytest is not installed" in answer
    verified, refused = mine[-1]["body"]["messages"][-3]["content"][0], mine[-1]["body"]["messages"][-1]["content"][0]
    assert "def open_session" in json.dumps(verified), "a short read around a cited line needs no declaration"
    assert "reread-analysed" in json.dumps(refused)
    told = system_text(mine[0])
    assert "- a lookup: the value of one setting, such as CACHE_TTL" in told
    assert "- not a lookup, delegate it to code-explorer: a summary of a document" in told
    assert "- scout: " in told, "agents of plugins are offered"
    assert "- product-manager (model opus): " in told
    [delegate] = [tool for tool in mine[0]["body"]["tools"] if tool["name"] == "Delegate"]
    fields = delegate["input_schema"]["properties"]["delegations"]["items"]["properties"]
    assert "haiku for a lookup" in fields["model"]["description"]
    models = {one["body"]["model"] for one in place.model.requests if one["marker"] == "alpha"}
    assert all("haiku" in model for model in models)


def test_an_open_question_of_an_orchestrator_is_in_the_progress_file_and_the_exit_code(make_place: MakePlace) -> None:
    asks = [call("Ask", question="Which currency?"), {"text": "I wait for the currency."}, {"text": "In euros then."}]
    place = make_place(You_are_an_orchestrator=asks, beta=says(BLOCKED), gamma=says(BLOCKED))
    place.remit.environment["REMIT_PLUGIN_PATH"] = place.plugin("team", planner=PLANNER)
    ran = place("run", "orchestrator", "price it")
    assert ran.code == 1, "a question is open"
    assert "question 1" in ran.out
    assert "Which currency?" in ran.out
    # A plan that runs meanwhile does not hide the question.
    assert place("plan", "run", place.plan(PLAN.format(name="prices", task="task beta"))).code == 0
    assert place.progress["status"] == "blocked"
    shown = place("plan", "progress")
    assert shown.code == 1
    assert "question 1 (job 1): Which currency?" in shown.out
    resumed = place("plan", "progress", "--resume")
    assert (resumed.code, resumed.out) == (
        1,
        "Answer the questions of job 1: `remit plan questions`, then `remit plan answer ID …`\n",
    )
    assert place("plan", "answer", "1", "text", "--why", "euros").code == 0
    assert place("plan", "progress").code == 0
    assert place.progress["status"] == "in_progress"
    assert place("worker", "--until-idle").code == 0
    assert place.progress["status"] == "completed"
    assert place("plan", "progress", "--resume").out.startswith("Nothing is open")


def test_cancelling_an_orchestrator_that_waits_closes_its_questions(make_place: MakePlace) -> None:
    asks = [call("Ask", question="Which currency?"), {"text": "I wait."}]
    place = make_place(You_are_an_orchestrator=asks)
    assert place("run", "orchestrator", "price it").code == 1
    assert place("jobs", "cancel", "1").code == 0
    assert place("plan", "questions").out == "no open questions\n"
    assert place("plan", "progress").code == 0


def test_the_progress_file_has_key_files_decisions_and_blockers_of_every_plan(make_place: MakePlace) -> None:
    place = make_place(beta=says(BLOCKED), gamma=[CUT])
    place.remit.environment["REMIT_PLUGIN_PATH"] = place.plugin("team", planner=PLANNER)
    assert place("plan", "run", place.plan(PLAN.format(name="prices", task="task beta"))).code == 0
    failing = PLAN.format(name="taxes", task="task gamma") + "critical = true\n"
    assert place("plan", "run", place.plan(failing)).code == 1
    context = place.progress["resumptionContext"]
    assert "app/login.py:7" in context["keyFiles"]
    assert any("keep the expiry time next to the user" in one for one in context["decisions"])
    assert "plan 1, phase design: continue" in context["decisions"]
    assert "planner: no price list (resolution: ask sales)" in context["blockers"]
    assert any(one.startswith("question 1 (plan 2): planner: it ended with truncated") for one in context["blockers"])
    assert (
        context["nextAction"] == "Answer the questions of plan 2: `remit plan questions`, then `remit plan answer ID …`"
    )
    assert [(one["key"], one["status"]) for one in place.progress["work"]] == [
        ("plan 1", "completed"),
        ("plan 2", "blocked"),
    ]
    [warning] = place.progress["warnings"]
    assert warning.startswith(
        "Agent planner failed, results may be incomplete (plan 2, design, planner): it ended with"
    )
    assert warning.endswith("it is critical and has failed 2 times")
