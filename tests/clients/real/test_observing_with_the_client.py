"""Observe mode in a session of the real client: nothing changes, and everything is recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from real_client import SPEC, Stage, git, under_contract
from scripts import BAD, GOOD, GOOD_WORDS, call, delegate, does, edit, says

_PATHS = ("shop/prices.py", SPEC, "README.md", "shop/config.py")
#: One call at a time: results of parallel calls are in the order in which the calls end.
_CONVERSATIONS = {
    "do-as-ever": [
        *(does(call(f"read_{at}", "Read", file_path=path)) for at, path in enumerate(_PATHS)),
        does(edit("code", "shop/prices.py", "SHIPPING = 395", "SHIPPING = 0")),
        does(call("sed", "Bash", command="sed -i s/4000/5000/ shop/prices.py", description="raise it")),
        does(edit("number", SPEC, "30 minutes", "60 minutes")),
        does(delegate("bad", "general-purpose", "trace-badly", run_in_background=False)),
        does(call("again", "Read", file_path="shop/orders.py")),
        says("Done."),
    ],
    "trace-badly": [does(call("opened", "Read", file_path="shop/orders.py")), says(BAD)],
    "launch-only": [does(delegate("behind", "general-purpose", "trace-behind", run_in_background=True)), says("Off.")],
    "trace-behind": [{"gate": "launched", **says(GOOD)}],
}


class Compared(NamedTuple):
    observed: Stage
    without: Stage


@pytest.fixture(scope="module")
def stages(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compared]:
    root = tmp_path_factory.mktemp("observing")
    with (
        under_contract(root / "one", _CONVERSATIONS, mode="observe") as observed,
        under_contract(root / "two", _CONVERSATIONS, mode="observe") as without,
    ):
        with observed.talk() as talk:
            talk.say("do-as-ever")
        with without.talk("--settings", json.dumps({"disableAllHooks": True})) as talk:
            talk.say("do-as-ever")
        yield Compared(observed, without)


#: Values that differ between two sessions: ids, names of agents, durations.
_CHANCE = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "SESSION"),
    (re.compile(r"\ba[0-9a-f]{16}\b"), "AGENT"),
    (re.compile(r"duration_ms: \d+"), "duration_ms: N"),
    (re.compile(r"cc_version=[^;]+; |cch=[0-9a-f]+;?"), ""),
)


def requests(stage: Stage, marker: str) -> list[str]:
    """Return the requests to the models, without paths and names of this session."""
    found = []
    for body in stage.asked(marker):
        text = json.dumps({name: value for name, value in body.items() if name != "metadata"}, indent=1)
        for place in (str(stage.root), re.sub(r"[^A-Za-z0-9]", "-", str(stage.root))):
            text = text.replace(place, "ROOT")
        for pattern, instead in _CHANCE:
            text = pattern.sub(instead, text)
        found.append(text)
    return found


@pytest.mark.parametrize("marker", ["do-as-ever", "trace-badly"])
def test_the_models_receive_the_same_requests_as_without_hooks(stages: Compared, marker: str) -> None:
    observed, without = requests(stages.observed, marker), requests(stages.without, marker)
    assert len(observed) == len(_CONVERSATIONS[marker])
    assert observed == without


def test_calls_that_would_be_denied_are_executed(stages: Compared) -> None:
    changed = [git(stage.project, "diff") for stage in stages]
    assert changed[0] == changed[1]
    for line in ("+SHIPPING = 0", "+FREE_SHIPPING_FROM = 5000", "+An order can be cancelled within 60 minutes."):
        assert line in changed[0].splitlines()
    assert GOOD_WORDS in stages.observed.results("do-as-ever")["toolu_bad"]


def test_the_decisions_of_an_enforcing_mode_are_recorded(stages: Compared) -> None:
    log = json.loads(stages.observed.remit("gate", "log", "--denied", "--format", "json"))
    would = {(entry["id"], entry["decision"], entry["would"], entry["rule"]) for entry in log["decisions"]}
    assert would >= {
        ("toolu_code", "allow", "deny", "edit-code"),
        ("toolu_sed", "allow", "deny", "edit-code"),
        ("toolu_sed", "allow", "deny", "unannounced-change"),
        ("toolu_number", "allow", "deny", "edit-spec"),
    }
    assert "lookup-files" in {rule for _, _, _, rule in would}


def test_a_launch_in_the_background_stays_there(client: None, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("behind")
    with under_contract(root, _CONVERSATIONS, mode="observe") as stage, stage.talk() as talk:
        talk.say("launch-only")
        assert "Async agent launched" in stage.results("launch-only")["toolu_behind"]
        stage.server.open("launched")
