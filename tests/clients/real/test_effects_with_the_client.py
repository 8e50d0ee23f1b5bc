"""What the gate reports after a call, in a session of the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from real_client import Stage, git, under_contract
from scripts import call, does, says

#: The script that is decoded: echo '# x' >> shop/prices.py
_HIDDEN = "echo ZWNobyAnIyB4JyA+PiBzaG9wL3ByaWNlcy5weQ== | base64 -d | sh"
_REVERT = "git apply .remit/gate/reverts/toolu_hidden.patch"
_CONVERSATIONS = {
    "change-it": [
        does(call("hidden", "Bash", command=_HIDDEN, description="hidden")),
        does(call("kept", "Bash", command="tail -1 shop/prices.py", description="look")),
        does(call("revert", "Bash", command=_REVERT, description="revert")),
        does(
            call("settings", "Write", file_path="remit.toml", content='[gate]\nothers = "off"\n'),
            call("client", "Write", file_path=".claude/settings.json", content="{}"),
        ),
        says("It is reverted."),
    ]
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("effects"), _CONVERSATIONS) as stage:
        with stage.talk() as talk:
            talk.say("change-it")
        yield stage


def test_the_model_reads_that_a_file_changed_without_permission(stage: Stage) -> None:
    asked = json.dumps(stage.asked("change-it"))
    assert "unannounced-change" in asked
    assert "shop/prices.py changed without permission" in asked
    assert _REVERT in asked


def test_the_command_of_the_report_reverts_the_change(stage: Stage) -> None:
    assert "# x" in stage.results("change-it")["toolu_kept"], "the change was made"
    assert git(stage.project, "status", "--porcelain", "--", "shop") == ""


def test_guarded_files_are_not_written(stage: Stage) -> None:
    for key in ("settings", "client"):
        assert "denied by your permission settings" in stage.results("change-it")[f"toolu_{key}"]
    assert not (stage.project / "remit.toml").exists()


def test_the_clients_own_rules_deny_such_edits_too(stage: Stage) -> None:
    rules = json.loads((stage.project / ".claude/settings.local.json").read_text())["permissions"]["deny"]
    assert f"Edit(/{stage.project}/remit.toml)" in rules
