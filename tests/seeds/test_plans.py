"""What the source documents require of plans: failures, fallbacks, reviews, and results that the user sees."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path

import pytest
from support.place import CUT, MakePlace, Place, failed, says, signed

from remit.orchestrate.delegating import first_version_digest
from remit.orchestrate.plan_file import read_plan

pytest_plugins = ("support.running", "support.place")
pytestmark = pytest.mark.process
AGENT = "---\nname: {name}\ntools: Read\nkind: {kind}\n---\nYou are the {name}.\n"
KINDS = {"auditor": "review", "checker": "review", "scout": "exploration", "planner": "design", "helper": "generic"}
REVIEW, DESIGN, HELP = signed("review", "auditor"), signed("design", "planner"), signed("generic", "helper")
AGAIN = "An earlier attempt failed"
#: The first finding of REVIEW, as a minor one.
MILD = (
    signed("review", "checker")
    .replace("| Critical | 95 |", "| Minor | 90 |")
    .replace("- Critical: 1", "- Critical: 0")
    .replace("- Minor: 1", "- Minor: 2")
)
#: A result with a confidence under 60.
UNSURE = (
    HELP[: HELP.index("### Confidence\n")]
    + "### Confidence\n50 - only names were compared\n\n### Uncertainty\n- uncertain: is it complete?\n\n"
    + HELP[HELP.index("### Verification Completed") :]
)


@pytest.fixture
def make(make_place: MakePlace) -> MakePlace:
    """Make a place with a team: auditor, scout, planner and helper."""

    def made(**conversations: object) -> Place:
        place = make_place(**conversations)
        agents = {name: AGENT.format(name=name, kind=kind) for name, kind in KINDS.items()}
        place.remit.environment["REMIT_PLUGIN_PATH"] = place.plugin("team", **agents)
        return place

    return made


def phase(name: str, *delegations: str, **fields: object) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    return "\n".join(["[[phase]]", f"name = {json.dumps(name)}", *lines, *delegations, ""])


def one(agent: str, task: str, **fields: object) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"agent": agent, "task": task, **fields}.items()]
    return "\n".join(["[[phase.delegation]]", *lines])


def plan(*phases: str, name: str = "the plan") -> str:
    return f"name = {json.dumps(name)}\n" + "".join(phases)


def test_a_critical_agent_that_reports_failed_is_retried_once_and_then_a_person_is_asked(make: MakePlace) -> None:
    place = make(alpha=says(failed("auditor")), beta=says(HELP))
    first = phase("audit", one("auditor", "task alpha", critical=True, scope=["app/login.py", "app/session.py"]))
    text = plan(first, phase("next", one("helper", "task beta")))
    ran = place("plan", "run", place.plan(text))
    assert ran.code == 1
    assert "it reported FAILED: pytest is not installed; it is retried once with a reduced scope" in ran.err
    assert "it is critical and has failed 2 times" in ran.err
    assert place.told("task beta") == [], "the next phase does not start"
    first_try, second_try = place.told("task alpha")
    assert AGAIN not in first_try
    assert "only app/login.py; not app/session.py" in second_try
    [question] = place.shape("plan", "questions")["escalations"]
    assert question["reason"].startswith("auditor: it reported FAILED")
    progress = place("plan", "progress")
    assert progress.code == 1, "a question is open"
    assert "question 1 (plan 1): auditor: it reported FAILED" in " ".join(progress.out.split())
    assert place.progress["delegations"][0]["state"] == "escalated"
    # What it reported stays in the report if a person continues without it.
    assert place("plan", "answer", "1", "skip", "--why", "it is not needed").code == 0
    assert place("plan", "run", "--resume", "1").code == 1
    merged = place.shape("merge", "--plan", "1")
    assert [(one["agent"], one["status"]) for one in merged["agents"]] == [
        ("auditor", "SKIPPED"),
        ("helper", "SUCCESS"),
    ]
    assert merged["sections"]["blockers"] != []
    assert merged["decision"] == "continue"
    assert "skipped by a person: auditor" in " ".join(place("merge", "--plan", "1").out.split())


def test_a_failure_that_is_not_recoverable_is_not_retried(make: MakePlace) -> None:
    place = make(alpha=says(failed("auditor", recoverable="false")), beta=says(HELP))
    critical = one("auditor", "task alpha", critical=True)
    ran = place("plan", "run", place.plan(plan(phase("audit", critical), phase("next", one("helper", "task beta")))))
    assert ran.code == 1
    assert len(place.told("task alpha")) == 1
    assert "(not recoverable); it is critical and has failed 1 time" in ran.err


def test_run_of_an_agent_that_reports_failed_exits_1_although_the_document_is_accepted(make: MakePlace) -> None:
    place = make(alpha=says(failed("auditor")), beta=says(HELP))
    ran = place("run", "auditor", "task alpha", "--format", "json")
    assert (ran.code, ran.json["verdict"], ran.json["status"]) == (1, "accept", "FAILED")
    assert "it reported FAILED: pytest is not installed" in place("jobs", "show", "1").out
    assert place("run", "helper", "task beta").code == 0


def test_a_failed_context_loader_is_retried_replaced_by_a_read_and_never_blocks_the_user(make: MakePlace) -> None:
    rejected = signed("exploration", "scout").replace("app/login.py:7", "app/nowhere.py:7")
    place = make(alpha=says(rejected, rejected), beta=says(HELP))
    # Not even a critical one blocks: what was read in its place is handed on.
    loader = one("scout", "task alpha", loads_context=True, critical=True, scope=["app/login.py"])
    text = plan(phase("load", loader), phase("use", one("helper", "task beta"), inputs=["load"]))
    ran = place("plan", "run", place.plan(text))
    assert "scout retried" in ran.err
    assert "scout replaced by its files" in ran.err
    assert "it was loading context, so the work goes on without it" in ran.err
    assert place("plan", "questions").out == "no open questions\n", "not even the only one of its phase blocks"
    [told] = place.told("task beta")
    assert '<file path="app/login.py" lines="1-' in told, "with its path intact"
    assert "which was read in place of scout" in told
    assert (place.project / "app/login.py").read_text("utf-8").splitlines()[0] in told
    assert '<result agent="scout" state="partial">' in told, "the claims that hold are handed on as partial"
    partial = told.partition('state="partial">')[2].partition("</result>")[0]
    assert "app/session.py:8" in partial
    assert "nowhere" not in partial
    logged = [entry for entry in place.progress["log"] if entry["action"] == "failure"]
    assert [(entry["agent"], entry["step"]) for entry in logged] == [
        ("scout", "retry"),
        ("scout", "fall-back"),
        ("scout", "gap"),
    ]
    assert all("its result was not accepted (reject)" in entry["cause"] for entry in logged)


def test_results_are_shown_after_each_phase_and_at_the_end_and_kept_in_a_report(make: MakePlace) -> None:
    place = make(alpha=says(REVIEW), beta=says(DESIGN))
    text = plan(phase("audit", one("auditor", "task alpha")), phase("design", one("planner", "task beta")))
    ran = place("plan", "run", place.plan(text))
    assert ran.code == 0, ran.err
    before, _, after = ran.err.partition("phase: design begins")
    assert "phase audit  decision continue" in before, "before the next phase starts"
    assert "Findings" in before
    assert "report: " in after
    for words in ("Findings", "keep the expiry time next to the user", "app/clock.py", "auditor", "planner"):
        assert words in " ".join(ran.out.split()), words
    shape = place.shape("plan", "run", "--resume", "1")
    assert [one["merge"]["schema"] for one in shape["phases"]] == ["remit.merge/2"] * 2
    assert [one["agent"] for one in shape["phases"][0]["merge"]["agents"]] == ["auditor"]
    report = json.loads(Path(shape["report"]["json"]).read_text("utf-8"))
    assert {one["agent"] for one in report["agents"]} == {"auditor", "planner"}
    assert Path(shape["report"]["html"]).exists()
    merged = place.shape("merge", "--plan", "1")
    assert merged["findings"] == report["findings"] != []
    assert merged["sections"]["designs"], "not only findings"
    nothing = place("merge", "--plan", "99")
    assert (nothing.code, nothing.err) == (2, "remit: there is no plan 99\n")


def test_a_phase_that_needs_a_review_is_reported_or_stops_the_plan(make: MakePlace) -> None:
    partial = REVIEW.replace("SUCCESS", "PARTIAL")
    place = make(alpha=says(partial), beta=says(HELP))
    audit, use = one("auditor", "task alpha"), phase("use", one("helper", "task beta"))
    ran = place("plan", "run", place.plan(plan(phase("audit", audit), use)))
    assert ran.code == 1
    assert "auditor reported PARTIAL; no person has reviewed this, and the plan continues" in ran.err
    assert "phase audit needs a review by a person, and no person was asked" in ran.out
    assert any("Phase audit of plan 1 needs a review" in one for one in place.progress["warnings"])
    asking = plan(phase("audit", audit, on_review="ask"), use, name="another")
    stopped = place("plan", "run", place.plan(asking))
    assert stopped.code == 1
    assert "a person has to review the results of audit: auditor reported PARTIAL" in " ".join(stopped.out.split())
    assert "Findings" in stopped.out, "the person who is asked sees the results"
    assert len(place.told("task beta")) == 1
    assert place("plan", "answer", "1", "skip", "--why", "it is fine").code == 0
    assert place("plan", "run", "--resume", "2").code == 1
    assert place.shape("plan", "run", "--resume", "2")["state"] == "finished"


def test_a_conflict_and_a_score_under_60_are_reported_or_stop_the_plan(make: MakePlace) -> None:
    place = make(alpha=says(REVIEW), beta=says(MILD), gamma=says(UNSURE), delta=says(HELP))
    both = (one("auditor", "task alpha"), one("checker", "task beta"))
    text = plan(
        phase("audit", *both), phase("guess", one("helper", "task gamma")), phase("use", one("helper", "task delta"))
    )
    ran = place("plan", "run", place.plan(text))
    assert ran.code == 1
    assert "audit: 1 conflict; no person has reviewed this, and the plan continues" in ran.err
    assert (
        "guess: a confidence under 60 (helper 50): uncertain: is it complete?; no person has reviewed this" in ran.err
    )
    assert len(place.told("task delta")) == 1
    shape = place.shape("plan", "run", "--resume", "1")
    assert [one["decision"] for one in shape["phases"]] == ["review", "review", "continue"]
    [conflict] = shape["phases"][0]["merge"]["conflicts"]
    assert (conflict["kind"], conflict["agents"]) == ("severity", ["auditor", "checker"])

    asking = plan(
        phase("audit", *both, on_review="ask"), phase("use", one("helper", "task delta")), name="ask about it"
    )
    assert place("plan", "run", place.plan(asking)).code == 1
    unsure = plan(phase("guess", one("helper", "task gamma"), on_review="ask"), name="ask about the score")
    assert place("plan", "run", place.plan(unsure)).code == 1
    assert len(place.told("task delta")) == 1, "nothing follows before a person has answered"
    asked = place("plan", "questions")
    assert asked.code == 1, "a question is open"
    reasons = " ".join(asked.out.split())
    assert "a person has to review the results of audit: 1 conflict" in reasons
    assert (
        "a person has to review the results of guess: a confidence under 60 (helper 50): uncertain: is it complete?"
        in reasons
    )
    for number in ("1", "2"):
        assert place("plan", "answer", number, "skip", "--why", "it is known").code == 0
    assert place("plan", "questions").code == 0
    assert place("plan", "questions", "--all").code == 0, "answered questions are not open"


def test_a_person_at_a_terminal_is_asked_before_the_next_phase(make: MakePlace) -> None:
    place = make(alpha=says(REVIEW.replace("SUCCESS", "PARTIAL")), beta=says(HELP))
    text = plan(phase("audit", one("auditor", "task alpha")), phase("use", one("helper", "task beta")))
    screen, terminal = os.openpty()
    reading = threading.Thread(target=_drain, args=(screen,))
    reading.start()
    with place.remit.start("plan", "run", place.plan(text), stdin=terminal, stderr=terminal) as process:
        out, _ = process.communicate()
    os.close(terminal)
    reading.join()
    assert process.returncode == 1
    assert "a person has to review the results of audit: auditor reported PARTIAL" in " ".join(out.split())
    assert place.told("task beta") == []
    assert place("plan", "progress").code == 1


def _drain(screen: int) -> None:
    """Read what a terminal shows until its last user has closed it."""
    with contextlib.suppress(OSError):
        while os.read(screen, 65536):
            pass
    os.close(screen)


def test_a_plan_begun_with_new_is_resumed_like_any_other(make: MakePlace) -> None:
    place = make(alpha=says(HELP))
    text = place.plan(plan(phase("use", one("helper", "task alpha"))))
    assert place("plan", "run", text).code == 0
    place("plan", "run", text, "--new", REMIT_STOP_AT="tool-ran:1", REMIT_TAKEOVER_SECONDS="1")
    assert [row[0] for row in place.rows("SELECT state FROM remit.plans ORDER BY id")] == ["finished", "running"]
    # Version 0.1.0 stored another digest, with a random part after it for a plan that was started with --new.
    earlier = first_version_digest(read_plan(place.project / text))
    place.rows("UPDATE remit.plans SET digest = %s WHERE id = 2", f"{earlier} 5ee0c1d2")
    again = place("plan", "run", text, REMIT_TAKEOVER_SECONDS="1")
    assert again.code == 0, again.err
    assert again.out.startswith("plan 2  ")
    assert place.rows("SELECT count(*) FROM remit.plans") == [(2,)]
    assert place.rows("SELECT count(*) FROM remit.jobs WHERE state <> 'finished'") == [(0,)]


def test_cancelling_a_plan_cancels_its_jobs_and_its_questions(make: MakePlace) -> None:
    place = make(alpha=[CUT], beta=[{"text": "never", "gate": "never"}], gamma=[CUT])
    both = phase("audit", one("auditor", "task alpha", critical=True), one("helper", "task beta"))
    with place.remit.start("plan", "run", place.plan(plan(both))) as driving:
        place.model.wait("never")
        cancelled = place("jobs", "cancel", "--plan", "1")
        assert (cancelled.code, cancelled.out) == (0, "plan 1 is cancelled\n")
        out, _ = driving.communicate()
        assert driving.returncode == 1
    assert "cancelled" in out
    assert {row[0] for row in place.rows("SELECT state FROM remit.jobs")} == {"finished"}
    assert place("plan", "questions").out == "no open questions\n"
    assert place.progress["status"] == "completed"
    assert place.progress["work"][0]["status"] == "cancelled"
    again = place("jobs", "cancel", "--plan", "1")
    assert (again.code, again.err) == (2, "remit: plan 1 is already cancelled\n")


def test_a_job_of_a_plan_has_its_own_system_prompt_profile_and_contract(make: MakePlace) -> None:
    place = make(alpha=[{"text": "ls -l"}], beta=says(HELP))
    free = one("helper", "task alpha", system="Answer with a command.", contract="none", allowed_tools=[])
    strict = one("helper", "task beta", name="second", profile="v1")
    ran = place("plan", "run", place.plan(plan(phase("use", free, strict))))
    assert ran.code == 0, ran.err + ran.out
    assert place.systems("task alpha") == ["Answer with a command."]
    assert place.rows("SELECT request ->> 'profile' FROM remit.jobs ORDER BY id") == [(None,), ("v1",)]
    wrong = place("plan", "run", place.plan('name = "x"\nsystem = "y"\n' + phase("use", one("helper", "go")), "w.toml"))
    assert wrong.code == 2
    assert "has no field 'system'; it is a field of a delegation" in " ".join(wrong.err.split())


def test_python_code_submits_and_delegates_with_a_system_prompt(make: MakePlace, tmp_path: Path) -> None:
    place = make(alpha=says(HELP), beta=says(HELP))
    code = """
import asyncio, remit
number = asyncio.run(remit.submit("helper", "task alpha", system="Only count."))
done = asyncio.run(remit.delegate("helper", "task beta", system="Only sum."))
print(number, done.state, done.error)
"""
    import subprocess
    import sys

    command = [sys.executable, "-c", code]
    # With the key of another provider, a worker loads its library as well.
    own = {name: value for name, value in place.remit.environment.items() if name != "OPENAI_API_KEY"}
    ran = subprocess.run(command, cwd=place.project, env=own, capture_output=True, text=True, check=False)
    assert ran.stdout == "1 accepted None\n", ran.stderr
    assert place("worker", "--until-idle").code == 0
    assert place.systems("task alpha")[0].startswith("Only count.")
    assert place.systems("task beta")[0].startswith("Only sum.")
