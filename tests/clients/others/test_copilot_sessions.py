"""Sessions of the real Copilot CLI: edits are denied, a report is sent back once, the second bad one is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from npm_client import SPEC, NpmStage, call, does, dumped, says, staged
from support.shop_reports import BAD, GOOD, GOOD_WORDS, INVENTED, cited

pytestmark = pytest.mark.process

_FALSE = "I ran the tests: all tests passed. See `shop/refunds.py:36`."


def delegate(key: str, task: str, mode: str = "sync") -> dict[str, Any]:
    about = {"description": task, "prompt": f"{task}: please", "agent_type": "code-explorer"}
    return call(key, "task", name=key, mode=mode, **about)


def conversations(project: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the scripts; this client takes absolute paths."""

    def reads(prefix: str) -> dict[str, Any]:
        paths = enumerate(cited(GOOD))
        return does(*(call(f"{prefix}_{at}", "view", path=str(project / path)) for at, path in paths))

    def edit(key: str, path: str, old: str, new: str) -> dict[str, Any]:
        return call(key, "edit", path=str(project / path), old_str=old, new_str=new)

    return {
        "work-on-it": [
            does(
                edit("edit", "shop/mail.py", "Mail to customers", "Mail to all customers"),
                edit("spelling", SPEC, "reciept", "receipt"),
                call("prose", "create", path=str(project / "notes.md"), file_text="Ask about refunds.\n"),
                call("shell", "bash", command="sed -i s/a/b/ shop/mail.py", description="change it"),
            ),
            does(delegate("once", "trace-once", "background")),
            does(call("again", "view", path=str(project / "shop/orders.py"))),
            does(delegate("twice", "trace-twice")),
            says(_FALSE),
            says("Orders were traced. Nothing was run."),
        ],
        "trace-once": [reads("once"), says(BAD), says(GOOD)],
        "trace-twice": [reads("twice"), says(BAD), says(BAD)],
        "untrusted": [
            does(edit("unseen", "shop/mail.py", "Mail to customers", "Mail to all customers")),
            says("Done."),
        ],
    }


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NpmStage]:
    folder = tmp_path_factory.mktemp("copilot")
    with staged("copilot", folder, conversations(folder / "shop")) as stage:
        before = stage.everything()
        installed = stage.remit("install", "copilot", "--yes")
        assert "trust the folder" in " ".join(installed.split())
        (stage.root / "doctor.txt").write_text(stage.remit("doctor"), encoding="utf-8")
        run_copilot(stage, "work-on-it")
        (stage.root / "log.txt").write_text(stage.remit("gate", "log", "--session", "last"), encoding="utf-8")
        stage.remit("uninstall", "copilot", "--yes")
        assert stage.everything() == {**before, "notes.md": b"Ask about refunds.\n"}  # no trace of the install
        yield stage


def run_copilot(stage: NpmStage, prompt: str, *options: str) -> None:
    stage.run(
        *("-p", prompt, "--allow-all-tools", "--trust-folder", *options),
        COPILOT_OFFLINE="true",
        COPILOT_PROVIDER_BASE_URL=stage.server.url,
        COPILOT_PROVIDER_TYPE="anthropic",
        COPILOT_PROVIDER_API_KEY="test-key",
        COPILOT_MODEL="claude-sonnet-4.5",
        COPILOT_AUTO_UPDATE="false",
    )


def results(stage: NpmStage, marker: str) -> dict[str, str]:
    """Return the results that the model of a conversation received, by the call's id."""
    blocks = [block for message in stage.asked(marker)[-1]["messages"] for block in message["content"]]
    return {str(one["tool_use_id"]): dumped(one["content"]) for one in blocks if one["type"] == "tool_result"}


def test_doctor_proves_that_the_hooks_answer(stage: NpmStage) -> None:
    words = " ".join((stage.root / "doctor.txt").read_text(encoding="utf-8").split())
    assert "copilot the hook process works: it denied an edit of code in a test" in words


def test_an_edit_of_code_is_denied(stage: NpmStage) -> None:
    found = results(stage, "work-on-it")
    assert "edit-code" in found["call_edit"]
    assert "edit-code" in found["call_shell"]
    assert stage.changed() == ""


def test_the_gate_understands_the_change_of_an_edit(stage: NpmStage) -> None:
    assert "one misspelt word is corrected" in results(stage, "work-on-it")["call_spelling"]


def test_prose_may_be_written(stage: NpmStage) -> None:
    assert (stage.project / "notes.md").read_text(encoding="utf-8") == "Ask about refunds.\n"


def test_the_subagent_gets_the_instructions_once(stage: NpmStage) -> None:
    assert dumped(stage.asked("trace-once")[0]["messages"]).count("# How to answer") == 1


def test_a_background_launch_is_changed_to_the_foreground(stage: NpmStage) -> None:
    assert GOOD_WORDS in dumped(stage.asked("work-on-it")[2]["messages"][-1])


def test_a_bad_report_is_sent_back_and_the_corrected_one_arrives(stage: NpmStage) -> None:
    correction = dumped(stage.asked("trace-once")[2]["messages"][-1])
    assert INVENTED in correction
    assert "COMPLETE result" in correction
    arrived = results(stage, "work-on-it")["call_once"]
    assert GOOD_WORDS in arrived
    assert INVENTED not in arrived


def test_a_report_with_receipts_from_the_events_is_accepted(stage: NpmStage) -> None:
    assert len(stage.asked("trace-once")) == 3  # the good report was not sent back as `no-tool-calls`


def test_a_second_bad_report_never_arrives(stage: NpmStage) -> None:
    assert len(stage.asked("trace-twice")) == 3  # one correction was requested, not more
    arrived = results(stage, "work-on-it")["call_twice"]
    assert "reference-missing-file" in arrived
    assert "not accepted" in arrived
    whole = dumped(stage.asked("work-on-it")[-1]["messages"])
    assert whole.count(GOOD_WORDS) == 1  # only the accepted report


def test_a_covered_file_is_not_read_again(stage: NpmStage) -> None:
    assert "reread-analysed" in results(stage, "work-on-it")["call_again"]


def test_a_false_final_answer_is_sent_back(stage: NpmStage) -> None:
    last = dumped(stage.asked("work-on-it")[-1]["messages"][-1])
    assert "final-claims" in last
    assert "shop/refunds.py" in last


def test_the_gate_log_lists_the_denied_calls(stage: NpmStage) -> None:
    assert (stage.root / "log.txt").read_text(encoding="utf-8").count("edit-code") == 2
