"""What an orchestrator may read and edit in a session of the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from real_client import SPEC, SPEC_TEXT, Stage, under_contract
from scripts import call, does, edit, says

_RECORD = ".remit/gate/installed.json"
_TYPO = ("reciept", "receipt")
_NUMBER = ("30 minutes", "60 minutes")
_WHY = "the owner asked for it"
_BOLD = ("An order can", "An **order** can")
#: Another tool of the client that runs a shell command.
_WATCH = {"command": "touch shop/watched.py", "description": "x", "timeout_ms": 2000, "persistent": False}
_CONVERSATIONS = {
    "look-around": [
        does(
            call("first", "Read", file_path=SPEC),
            call("second", "Read", file_path="README.md"),
            call("third", "Read", file_path="shop/prices.py"),
        ),
        does(call("fourth", "Read", file_path="shop/config.py")),
        does(
            edit("code", "shop/prices.py", "SHIPPING = 395", "SHIPPING = 0"),
            edit("number", SPEC, *_NUMBER),
            edit("typo", SPEC, *_TYPO),
            call("sed", "Bash", command="sed -i s/395/0/ shop/prices.py", description="free shipping"),
            call("monitor", "Monitor", **_WATCH),
            call("state_read", "Read", file_path=_RECORD),
        ),
        does(
            edit("formatting", SPEC, *_BOLD),
            call("state_edit", "Write", file_path=_RECORD, content="{}"),
            call("state_shell", "Bash", command=f"echo '{{}}' > {_RECORD}", description="open the gate"),
            call("declare", "Bash", command=f"remit gate declare edit {SPEC} --why {_WHY!r}", description="declare it"),
        ),
        says("Nothing was changed but one mark."),
        does(edit("typo_declared", SPEC, *_TYPO)),
        does(edit("number_declared", SPEC, *_NUMBER)),
        says("The word is corrected."),
    ]
}


@pytest.fixture(scope="module")
def stage(client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with under_contract(tmp_path_factory.mktemp("limits"), _CONVERSATIONS) as stage:
        with stage.talk() as talk:
            talk.say("look-around")
            talk.say(f"/remit:declare edit {SPEC} --why {_WHY!r}")
        yield stage


def result(stage: Stage, key: str) -> str:
    return stage.results("look-around")[f"toolu_{key}"]


def test_three_files_are_a_quick_lookup(stage: Stage) -> None:
    assert "# Orders" in result(stage, "first")
    assert "# Shop" in result(stage, "second")
    assert "SHIPPING = 395" in result(stage, "third")


def test_the_orchestrators_fourth_file_is_denied(stage: Stage) -> None:
    assert "lookup-files" in result(stage, "fourth")
    assert "code-explorer" in result(stage, "fourth")
    assert "SHOP_PAGE_SIZE" not in result(stage, "fourth")


def test_a_shell_with_another_name_is_treated_as_a_shell(stage: Stage) -> None:
    assert "edit-code" in result(stage, "monitor")
    assert not (stage.project / "shop/watched.py").exists()


@pytest.mark.parametrize("key", ["code", "sed"])
def test_an_edit_of_code_is_denied(stage: Stage, key: str) -> None:
    assert "edit-code" in result(stage, key)
    assert "backend-specialist" in result(stage, key)
    assert "SHIPPING = 395" in (stage.project / "shop/prices.py").read_text(encoding="utf-8")


def test_a_formatting_edit_of_a_specification_is_allowed(stage: Stage) -> None:
    assert "updated successfully" in result(stage, "formatting")
    assert _BOLD[1] in (stage.project / SPEC).read_text(encoding="utf-8")


def test_only_the_user_can_declare_not_the_orchestrator(stage: Stage) -> None:
    assert "is a person's word" in result(stage, "declare")
    declared = json.loads(stage.remit("gate", "status", "--format", "json"))["declarations"]
    assert [(entry["kind"], entry["paths"], entry["why"]) for entry in declared] == [("edit", [SPEC], _WHY)]


def test_a_typo_is_corrected_only_after_a_declaration(stage: Stage) -> None:
    assert "trivial-edit" in result(stage, "typo")
    assert "product-manager" in result(stage, "typo")
    assert "updated successfully" in result(stage, "typo_declared")
    assert _TYPO[1] in (stage.project / SPEC).read_text(encoding="utf-8")


@pytest.mark.parametrize("key", ["number", "number_declared"])
def test_a_number_is_never_a_trivial_edit(stage: Stage, key: str) -> None:
    assert "a number changes" in result(stage, key)
    assert (stage.project / SPEC).read_text(encoding="utf-8").count("30 minutes") == 1


def test_no_other_call_changed_the_specification(stage: Stage) -> None:
    assert (stage.project / SPEC).read_text(encoding="utf-8") == SPEC_TEXT.replace(*_BOLD).replace(*_TYPO)


@pytest.mark.parametrize("key", ["state_edit", "state_shell"])
def test_the_gates_own_files_are_not_edited_directly(stage: Stage, key: str) -> None:
    # The client's own rules, which the installation adds, may come first.
    assert any(word in result(stage, key) for word in ("guarded-state", "denied by your permission settings"))
    assert json.loads((stage.project / _RECORD).read_text(encoding="utf-8"))


def test_the_gates_own_files_may_be_read(stage: Stage) -> None:
    assert '"files"' in result(stage, "state_read")
