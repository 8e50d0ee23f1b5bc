"""What stays open after a phase of a plan: failures that do not block, blockers, and scores that need a question."""

from __future__ import annotations

import pytest
from support.place import CUT, MakePlace, Place, says, signed

pytest_plugins = ("support.running", "support.place")
pytestmark = pytest.mark.process
AGENTS = {"planner": "design", "helper": "generic"}
HELP = signed("generic", "helper")
BLOCKED = signed("design", "planner").replace(
    "### Next Steps", "### Blockers\n- no price list | Resolution: ask sales\n\n### Next Steps"
)
#: A result with a confidence under 60.
UNSURE = (
    HELP[: HELP.index("### Confidence\n")]
    + "### Confidence\n40 - only names were compared\n\n### Uncertainty\n- Which currency do the prices have?\n\n"
    + HELP[HELP.index("### Verification Completed") :]
)
LISTED = "planner: no price list (resolution: ask sales)"


@pytest.fixture
def make(make_place: MakePlace) -> MakePlace:
    """Make a place with a planner and a helper."""

    def made(**conversations: object) -> Place:
        place = make_place(**conversations)
        texts = {
            name: f"---\nname: {name}\ntools: Read\nkind: {kind}\n---\nYou work.\n" for name, kind in AGENTS.items()
        }
        place.remit.environment["REMIT_PLUGIN_PATH"] = place.plugin("team", **texts)
        return place

    return made


def plan(*steps: tuple[str, str, str]) -> str:
    """Return a plan of phases with one delegation each: the agent, its task, and further fields of the phase."""
    phases = (
        f'[[phase]]\nname = "phase {number}"\n{more}\n[[phase.delegation]]\nagent = "{agent}"\ntask = "{task}"\n'
        for number, (agent, task, more) in enumerate(steps, 1)
    )
    return 'name = "prices"\n' + "".join(phases)


def test_f9_a_lone_delegation_that_is_not_critical_fails_and_the_plan_goes_on(make: MakePlace) -> None:
    place = make(alpha=[CUT], beta=says(HELP))
    ran = place(
        "plan", "run", place.plan(plan(("planner", "task alpha", ""), ("helper", "task beta", 'inputs = ["phase 1"]')))
    )
    assert "it is not critical, so the work goes on without it" in ran.err
    assert ran.code == 1, "the plan is finished with a gap"
    assert place("plan", "questions").out == "no open questions\n"
    assert place.progress["status"] == "completed"
    [told] = place.told("task beta")
    assert "Agent planner failed, results may be incomplete." in told
    [warning] = place.progress["warnings"]
    assert warning.endswith("it is not critical, so the work goes on without it")
    assert "some results are missing" in place.progress["resumptionContext"]["nextAction"]


def test_f9_the_only_delegation_of_an_orchestrators_call_fails_and_the_orchestrator_goes_on(make: MakePlace) -> None:
    delegation = {"agent": "planner", "task": "task alpha"}
    call = {"tools": [{"name": "Delegate", "input": {"phase": "look", "delegations": [delegation]}}]}
    place = make(You_are_an_orchestrator=[call, {"text": "The plan is missing."}], alpha=[CUT])
    ran = place("run", "orchestrator", "price it")
    assert ran.code == 0, ran.err
    assert "The plan is missing." in ran.out
    assert place("plan", "questions").out == "no open questions\n"


def test_f22_blockers_of_an_earlier_phase_stay_until_a_person_resolves_them(make: MakePlace) -> None:
    place = make(alpha=says(BLOCKED.replace("SUCCESS", "PARTIAL")), beta=says(HELP))
    place("plan", "run", place.plan(plan(("planner", "task alpha", ""), ("helper", "task beta", ""))))
    assert place.progress["resumptionContext"]["blockers"] == [LISTED]
    assert LISTED in " ".join(place("plan", "progress").out.split())
    unknown = place("plan", "progress", "--resolved", "no such thing")
    assert (unknown.code, "no reported blocker contains" in unknown.err) == (2, True)
    resolved = place("plan", "progress", "--resolved", "price list")
    assert (resolved.code, resolved.err) == (0, f"resolved: {LISTED}\n")
    assert place.progress["resumptionContext"]["blockers"] == []


def test_a18_a_score_under_60_is_a_question_for_a_person(make: MakePlace) -> None:
    place = make(alpha=says(UNSURE), beta=says(HELP))
    reason = "a confidence under 60 (helper 40): Which currency do the prices have?"
    going_on = plan(("helper", "task alpha", ""), ("helper", "task beta", ""))
    ran = place("plan", "run", place.plan(going_on))
    assert ran.code == 1
    assert f"phase 1: {reason}; no person has reviewed this, and the plan continues" in ran.err
    assert any(reason in one for one in place.progress["warnings"])
    asking = plan(("helper", "task alpha", 'on_review = "ask"'), ("helper", "task beta", ""))
    stopped = place("plan", "run", place.plan(asking))
    assert stopped.code == 1
    shown = place("plan", "progress")
    assert shown.code == 1
    assert reason in " ".join(shown.out.split())
    assert len(place.told("task beta")) == 1, "the next phase waits for the answer"


def test_a18_a_score_under_60_at_the_end_of_a_plan_is_reported(make: MakePlace) -> None:
    place = make(alpha=says(UNSURE))
    ran = place("plan", "run", place.plan(plan(("helper", "task alpha", ""))))
    assert ran.code == 1
    [warning] = place.progress["warnings"]
    assert "a confidence under 60 (helper 40)" in warning
    assert "need a review" in place.progress["resumptionContext"]["nextAction"]
    merged = place.shape("merge", "--plan", "1")
    assert merged["decision"] == "review"
