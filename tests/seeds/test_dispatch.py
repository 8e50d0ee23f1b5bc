"""Definitions take effect where the job runs, as the third source document asks; seen on the wire."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.place import READS, MakePlace, Place, says, signed, tools_of

from remit.registry.resolution import DEFAULT_SYSTEM

pytest_plugins = ("support.running", "support.place")
pytestmark = pytest.mark.process
NL = "---\nname: nl-to-shell\nallowed_tools: [Read, Grep]\n---\nTurn the request into a command, {version}.\n"
DONE = says(signed("generic", "nl-to-shell"))


def worker(place: Place, **environment: str) -> str:
    ran = place("worker", "--until-idle", **environment)
    assert ran.code == 0, ran.err
    return ran.err


def test_the_worker_that_claims_a_job_resolves_a_definition_that_its_submitter_lacks(make_place: MakePlace) -> None:
    place = make_place(alpha=DONE, beta=DONE)
    plugin = place.plugin("bag", **{"nl-to-shell": NL.format(version="first")})
    submitted = place("run", "--detach", "nl-to-shell", "task alpha")
    assert submitted.code == 0
    assert "there is no definition 'nl-to-shell' here; the worker of the job looks it up" in submitted.err
    worker(place, REMIT_PLUGIN_PATH=plugin)
    assert place.systems("task alpha")[0].startswith("Turn the request into a command, first.")
    assert tools_of(place.model.requests[0]) == ["Grep", "Read"], "not the worker's whole list"
    job = place.shape("jobs", "show", "1")
    assert (job["agent"], job["definition"]["plugin"]) == ("nl-to-shell", "bag")
    assert "resolved by its worker: definition nl-to-shell of plugin bag" in place("jobs", "logs", "1").out

    # The system prompt and the limits of the job still win, and the brief is pinned: a changed file has no effect.
    place("run", "--detach", "nl-to-shell", "task beta", "--system", "Only count.", "--max-tokens", "100000")
    worker(place, REMIT_PLUGIN_PATH=plugin)
    assert place.systems("task beta")[0].startswith("Only count.")
    assert place.rows("SELECT max_tokens, request ? 'resolve' FROM remit.jobs WHERE id = 2") == [(100000, False)]
    assert len({row[0] for row in place.rows("SELECT brief FROM remit.jobs")}) == 2


def test_the_submitter_definition_wins_over_a_missing_or_different_one_of_the_worker(make_place: MakePlace) -> None:
    place = make_place(alpha=DONE, beta=DONE)
    first = place.plugin("bag", version="1.0.0", **{"nl-to-shell": NL.format(version="first")})
    second = place.plugin("bag", version="2.0.0", **{"nl-to-shell": NL.format(version="second")})
    place("run", "--detach", "nl-to-shell", "task alpha", REMIT_PLUGIN_PATH=first)
    worker(place)
    place("run", "--detach", "nl-to-shell", "task beta", REMIT_PLUGIN_PATH=first)
    worker(place, REMIT_PLUGIN_PATH=second)
    for task in ("task alpha", "task beta"):
        assert place.systems(task)[0].startswith("Turn the request into a command, first."), task
    assert [row[0] for row in place.rows("SELECT DISTINCT definition ->> 'plugin' FROM remit.jobs")] == ["bag"]


def test_the_policy_of_the_worker_decides_on_an_unknown_name(make_place: MakePlace) -> None:
    place = make_place(alpha=DONE, beta=DONE, gamma=DONE)
    place("run", "--detach", "nobody", "task alpha")
    assert "there is no definition 'nobody'; the defaults are used" in worker(place)
    assert place.systems("task alpha")[0].startswith(DEFAULT_SYSTEM.split("\n")[0])
    assert place.shape("jobs", "show", "1")["outcome"] == "completed"

    strict = place("run", "--detach", "nobody", "task beta", "--policy", "strict")
    assert strict.code == 0, "only a worker can know the name"
    worker(place)
    place("run", "--detach", "nobody", "task gamma")
    worker(place, REMIT_POLICY="strict")
    for number in ("2", "3"):
        job = place.shape("jobs", "show", number)
        assert (job["outcome"], job["error"]) == ("error", "there is no definition 'nobody'"), number
    assert place.told("task beta") == place.told("task gamma") == []


def test_a_worker_of_the_previous_version_runs_the_provisional_brief(make_place: MakePlace) -> None:
    """A job that an older worker has begun keeps the brief that it began with."""
    place = make_place(alpha=DONE)
    plugin = place.plugin("bag", **{"nl-to-shell": NL.format(version="first")})
    place("run", "--detach", "nl-to-shell", "task alpha")
    [(request, brief)] = place.rows("SELECT request, brief FROM remit.jobs")
    assert request["resolve"] == {"policy": "open", "allow_tools": None}
    assert place.rows("SELECT brief ->> 'system_from' FROM remit.briefs WHERE digest = %s", brief) == [("default",)]
    place.rows("UPDATE remit.jobs SET turns = 1")
    worker(place, REMIT_PLUGIN_PATH=plugin)
    assert place.rows("SELECT brief FROM remit.jobs") == [(brief,)]


def test_a_job_without_a_definition_and_without_the_contract(make_place: MakePlace) -> None:
    text = "The shell command is `ls -l`. Log in at app/login.py:1."
    place = make_place(alpha=[READS, {"text": text}], beta=[READS, {"text": "It is at app/nowhere.py:7."}], gamma=DONE)
    ran = place("run", "task alpha", "--no-contract")
    assert ran.code == 0, ran.err
    assert place.systems("task alpha") == [DEFAULT_SYSTEM], "nothing is appended"
    wrong = place("run", "", "task beta", "--no-contract")
    assert wrong.code == 1
    assert "reference-missing-file" in wrong.out, "claims are checked"
    full = place("run", "task gamma", "--kind", "generic", "--profile", "v1")
    assert full.code == 0, full.err
    assert place.rows("SELECT request ->> 'kind', request ->> 'profile' FROM remit.jobs WHERE id = 3") == [
        ("generic", "v1")
    ]
    refused = place("run", "code-explorer")
    assert refused.code == 2
    assert "'code-explorer' is the name of a definition; add the task" in refused.err


def test_a_definition_with_contract_none_is_the_whole_prompt(make_place: MakePlace) -> None:
    place = make_place(alpha=[{"text": "ls -l"}])
    text = NL.format(version="first").replace("allowed_tools: [Read, Grep]", "tools: []\ncontract: none")
    plugin = place.plugin("bag", **{"nl-to-shell": text})
    ran = place("run", "nl-to-shell", "task alpha", REMIT_PLUGIN_PATH=plugin)
    assert ran.code == 0, ran.err + ran.out
    assert place.systems("task alpha") == ["Turn the request into a command, first."]
    explained = place.shape("agents", "explain", "nl-to-shell", REMIT_PLUGIN_PATH=plugin)
    assert (explained["contract"], explained["profile"]) == ("", "claims")


def test_a_report_under_another_name_is_sent_back_once_and_corrected(make_place: MakePlace) -> None:
    good = signed("generic", "code-explorer")
    place = make_place(alpha=says(good.replace("## code-explorer", "## security-auditor"), good))
    corrected = place("run", "code-explorer", "task alpha", "--kind", "generic")
    assert (corrected.code, "agent-mismatch" in corrected.out) == (0, False), corrected.out
    assert "You are Code Explorer." in place.systems("task alpha")[0], "it was told its name"
    assert place.shape("jobs", "show", "1")["verdict"] == "accept"
    again = place("jobs", "retry", "1")
    assert (again.code, "job 1 cannot be retried: it is completed" in again.err) == (2, True)


def test_a_folder_of_plugins_is_that_many_plugins(make_place: MakePlace) -> None:
    place = make_place(alpha=DONE)
    place.plugin("bag", **{"nl-to-shell": NL.format(version="first")})
    place.plugin("box", opener="---\nname: opener\ntools: Read\n---\nOpen.\n")
    refused = Path(place.plugin("bad", closer="---\nname: closer\n---\nClose.\n"))
    manifest = {"name": "bad", "version": "1", "plugin_version": "gbrain-plugin-v9"}
    (refused / "remit.plugin.json").unlink()
    (refused / "gbrain.plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
    parent = str(place.folder / "plugins")
    ran = place("agents", "explain", "opener", REMIT_PLUGIN_PATH=parent)
    assert "[plugins] loaded 'bag' v1.0.0 (1 subagents)" in ran.err
    assert "[plugins] loaded 'box' v1.0.0 (1 subagents)" in ran.err
    assert "plugin_version must be 'gbrain-plugin-v1', not 'gbrain-plugin-v9'" in ran.err
    names = {
        one["name"]: one["plugin"] for one in place.shape("agents", "list", REMIT_PLUGIN_PATH=parent)["definitions"]
    }
    assert (names["nl-to-shell"], names["opener"]) == ("bag", "box")
    assert "closer" not in names

    empty = place.folder / "empty"
    empty.mkdir()
    warned = place("agents", "explain", REMIT_PLUGIN_PATH=str(empty))
    assert f"plugin 'empty': it has no definitions: no Markdown file with frontmatter in {str(empty)!r}" in warned.err


def test_the_linter_warns_of_tools_outside_the_list_of_the_worker(make_place: MakePlace) -> None:
    place = make_place(alpha=DONE)
    text = "---\nname: fetcher\ntools: Read, WebFetch, mcp__x__y\n---\nFetch.\n"
    plugin = place.plugin("bag", fetcher=text)
    ran = place("agents", "check", plugin, "--worker-tools", "Read")
    assert ran.code == 0
    shown = " ".join(ran.out.split())
    assert "the tool 'WebFetch' is not allowed by this worker; it is withheld" in shown
    assert "the tool 'mcp__x__y' is not allowed by this worker; it is withheld" in shown
    assert "1 with warnings" in shown
    [found] = place.shape("agents", "check", plugin, "--worker-tools", "Read")["definitions"]
    assert (found["tools"], found["withheld"]) == (["Read"], ["WebFetch", "mcp__x__y"])
