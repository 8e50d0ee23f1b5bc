"""The plugin in sessions of the real client: alone, and together with the hooks of the settings."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_client import Stage, binary, under_contract
from scripts import BAD, GOOD, GOOD_WORDS, INVENTED, call, delegate, does, edit, reads, says

_PLUGIN = ".remit/claude-code/plugin"
#: 234 lines in three files: counted twice they would be more than a lookup's 300.
_PATHS = ("shop/auth.py", "shop/account.py", "shop/checkout.py")


_AGENT = "remit:code-explorer"
_CASES = ("alone", "beside-the-settings")
_CONVERSATIONS = {
    "with-the-plugin": [
        does(*(call(f"read_{at}", "Read", file_path=path) for at, path in enumerate(_PATHS))),
        does(call("fourth", "Read", file_path="shop/config.py")),
        does(edit("code", "shop/checkout.py", "def webhook", "async def webhook")),
        does(delegate("mended", _AGENT, "trace-mended")),
        does(delegate("worse", _AGENT, "trace-worse")),
        says("Done."),
    ],
    "trace-mended": [reads("mended", GOOD), says(BAD), says(GOOD)],
    "trace-worse": [reads("worse", GOOD), says(BAD), says(BAD)],
}


@pytest.fixture(scope="module", params=_CASES)
def stage(client: None, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Stage]:
    with _session(tmp_path_factory.mktemp("plugin"), beside=request.param != "alone") as made:
        yield made


@contextlib.contextmanager
def _session(root: Path, *, beside: bool) -> Iterator[Stage]:
    with under_contract(root, _CONVERSATIONS) as stage:
        if not beside:
            (stage.project / ".claude/settings.local.json").unlink()
        with stage.talk("--plugin-dir", str(stage.project / _PLUGIN)) as talk:
            talk.say("with-the-plugin")
        yield stage


def test_a_lookup_is_counted_once(stage: Stage) -> None:
    results = stage.results("with-the-plugin")
    for at, path in enumerate(_PATHS):
        assert (stage.project / path).read_text(encoding="utf-8").splitlines()[0] in results[f"toolu_read_{at}"]
    assert "lookup-files" in results["toolu_fourth"]


def test_an_edit_of_code_is_denied(stage: Stage) -> None:
    assert "edit-code" in stage.results("with-the-plugin")["toolu_code"]


def test_a_report_is_sent_back_once_and_the_corrected_one_arrives(stage: Stage) -> None:
    assert len(stage.asked("trace-mended")) == 3
    arrived = stage.results("with-the-plugin")["toolu_mended"]
    assert GOOD_WORDS in arrived
    assert INVENTED not in arrived


def test_a_second_bad_report_is_replaced(stage: Stage) -> None:
    assert len(stage.asked("trace-worse")) == 3
    arrived = stage.results("with-the-plugin")["toolu_worse"]
    assert GOOD_WORDS not in arrived
    assert "reference-missing-file" in arrived


def test_each_decision_and_each_delegation_is_recorded_once(stage: Stage) -> None:
    log = json.loads(stage.remit("gate", "log", "--format", "json"))
    ids = [entry["id"] for entry in log["decisions"]]
    assert len(ids) == len(set(ids))
    status = json.loads(stage.remit("gate", "status", "--format", "json"))
    assert [entry["state"] for entry in status["delegations"]] == ["accepted", "rejected"]
    kept = list((stage.project / ".remit/gate/results").rglob("*.md"))
    assert len(kept) == 4  # two reports of each, also where two hooks judged them


def test_the_plugin_passes_the_clients_strict_validation(stage: Stage) -> None:
    command = [str(binary()), "plugin", "validate", "--strict", str(stage.project / _PLUGIN)]
    done = subprocess.run(
        command, env=stage.environment, cwd=stage.project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
