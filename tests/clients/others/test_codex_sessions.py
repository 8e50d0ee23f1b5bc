"""Sessions of the real Codex: edits are denied, a report is sent back once, the second bad one is marked unusable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from npm_client import SPEC, NpmStage, call, does, dumped, git, says, staged
from support.shop_reports import BAD, GOOD, GOOD_WORDS, INVENTED, cited

from remit.clients.codex.setup.client import CLIENT
from remit.clients.codex.setup.health import listed_hooks

pytestmark = pytest.mark.process

_OLD = '"""Mail to customers, kept in an outbox until a relay takes it."""'
_PATCH = f"*** Begin Patch\n*** Update File: shop/mail.py\n@@\n-{_OLD}\n+{_OLD[:-3]} Often.{_OLD[-3:]}\n*** End Patch"
_SPELLING = (
    f"*** Begin Patch\n*** Update File: {SPEC}\n@@\n-The customer gets a reciept by mail.\n"
    "+The customer gets a receipt by mail.\n*** End Patch"
)
_PROSE = "*** Begin Patch\n*** Add File: notes.md\n+Ask about refunds.\n*** End Patch"
_FALSE = "I ran the tests: all tests passed. See `shop/refunds.py:36`."


def patch(key: str, text: str) -> dict[str, Any]:
    return {"name": "apply_patch", "id": f"call_{key}", "custom": True, "raw": text}


def spawn(key: str, task: str, agent: str = "code-explorer") -> dict[str, Any]:
    return call(key, "spawn_agent", message=f"{task}: please", agent_type=agent) | {"namespace": "multi_agent_v1"}


def wait(key: str, number: int) -> dict[str, Any]:
    """Wait for the agent that was spawned as number 1, 2 …"""
    waiting = call(key, "wait_agent", targets=[f"${number}"], timeout_ms=60_000)
    return waiting | {"namespace": "multi_agent_v1", "find": "agent_id.{5,7}?([0-9a-f-]{36})"}


def reads(prefix: str) -> dict[str, Any]:
    return does(*(call(f"{prefix}_{at}", "exec_command", cmd=f"cat {path}") for at, path in enumerate(cited(GOOD))))


_CONVERSATIONS = {
    "work-on-it": [
        does(patch("edit", _PATCH), patch("spelling", _SPELLING), patch("prose", _PROSE)),
        does(call("shell", "exec_command", cmd=f"apply_patch <<'EOF'\n{_PATCH}\nEOF")),
        does(spawn("once", "trace-once")),
        does(wait("wait_once", 1)),
        does(call("again", "exec_command", cmd="cat shop/orders.py")),
        does(spawn("twice", "trace-twice")),
        does(wait("wait_twice", 2)),
        says(_FALSE),
        says("Orders were traced. Nothing was run."),
    ],
    "trace-once": [reads("once"), says(BAD), says(GOOD)],
    "trace-twice": [reads("twice"), says(BAD), says(BAD)],
    "unapproved": [does(patch("unseen", _PATCH)), says("Done.")],
}


def configure(stage: NpmStage, trust: str = "") -> None:
    """Write the user's configuration of Codex: the scripted model, and the hooks that the user has approved."""
    folder = stage.home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        f"""model = "gpt-5.5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{stage.server.url}/v1"
wire_api = "responses"
[projects."{stage.project}"]
trust_level = "trusted"
{trust}""",
        encoding="utf-8",
    )


def approve(stage: NpmStage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what the person does in `/hooks`: approve the hooks as Codex lists them."""
    for name, value in stage.environment.items():
        monkeypatch.setenv(name, value)
    hooks = listed_hooks(str(stage.program), CLIENT.find_target(stage.project, is_user=False))
    configure(stage, "".join(f'[hooks.state."{one["key"]}"]\ntrusted_hash = "{one["currentHash"]}"\n' for one in hooks))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NpmStage]:
    with (
        staged("codex", tmp_path_factory.mktemp("codex"), _CONVERSATIONS) as stage,
        pytest.MonkeyPatch.context() as patch,
    ):
        configure(stage)
        before = stage.everything()
        stage.remit("install", "codex", "--yes")
        (stage.root / "unapproved.txt").write_text(stage.remit("doctor", code=1), encoding="utf-8")
        exec_codex(stage, "unapproved")
        (stage.root / "skipped.txt").write_text(stage.changed(), encoding="utf-8")
        git(stage.project, "checkout", "--quiet", "--", "shop")
        approve(stage, patch)
        (stage.root / "approved.txt").write_text(stage.remit("doctor"), encoding="utf-8")
        exec_codex(stage, "work-on-it")
        (stage.root / "log.txt").write_text(stage.remit("gate", "log", "--session", "last"), encoding="utf-8")
        stage.remit("uninstall", "codex", "--yes")
        assert stage.everything() == {**before, "notes.md": b"Ask about refunds.\n"}  # no trace of the install
        yield stage


def exec_codex(stage: NpmStage, prompt: str) -> None:
    stage.run("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", prompt)


def results(stage: NpmStage, marker: str) -> dict[str, str]:
    """Return the results that the model of a conversation received, by the call's id."""
    items = stage.asked(marker)[-1]["input"]
    return {str(item["call_id"]): dumped(item["output"]) for item in items if str(item["type"]).endswith("_output")}


def test_the_user_must_approve_the_hooks_and_doctor_states_how(stage: NpmStage) -> None:
    words = " ".join((stage.root / "unapproved.txt").read_text(encoding="utf-8").split())
    assert "codex skips 9 of 9 hooks until you approve them" in words
    assert "approve Remit's hooks with `/hooks`" in words
    assert "shop/mail.py" in (stage.root / "skipped.txt").read_text(encoding="utf-8"), "hooks ran without approval"


def test_doctor_proves_that_approved_hooks_run(stage: NpmStage) -> None:
    words = " ".join((stage.root / "approved.txt").read_text(encoding="utf-8").split())
    assert "codex runs all 9 hooks of this project" in words


def test_an_edit_of_code_is_denied(stage: NpmStage) -> None:
    assert "edit-code" in results(stage, "work-on-it")["call_edit"]
    assert "shop/mail.py" not in stage.changed()


def test_a_patch_in_a_command_line_is_denied_like_an_edit(stage: NpmStage) -> None:
    assert "edit-code" in results(stage, "work-on-it")["call_shell"]


def test_the_gate_understands_the_change_of_a_patch(stage: NpmStage) -> None:
    assert "one misspelt word is corrected" in results(stage, "work-on-it")["call_spelling"]


def test_prose_may_be_written(stage: NpmStage) -> None:
    assert (stage.project / "notes.md").read_text(encoding="utf-8") == "Ask about refunds.\n"


def test_the_subagent_gets_the_instructions_once(stage: NpmStage) -> None:
    first = dumped(stage.asked("trace-once")[0]["input"])
    assert first.count("# How to answer") == 1


def test_a_bad_report_is_sent_back_and_the_corrected_one_arrives(stage: NpmStage) -> None:
    correction = dumped(stage.asked("trace-once")[2]["input"][-1])
    assert INVENTED in correction
    assert "COMPLETE result" in correction
    arrived = results(stage, "work-on-it")["call_wait_once"]
    assert GOOD_WORDS in arrived
    assert INVENTED not in arrived


def test_a_report_with_receipts_from_the_rollout_is_accepted(stage: NpmStage) -> None:
    assert len(stage.asked("trace-once")) == 3  # the good report was not sent back as `no-tool-calls`


def test_a_second_bad_report_is_replaced_and_marked_where_it_cannot_be(stage: NpmStage) -> None:
    assert len(stage.asked("trace-twice")) == 3  # one correction was requested, not more
    arrived = results(stage, "work-on-it")["call_wait_twice"]
    assert GOOD_WORDS not in arrived
    assert "reference-missing-file" in arrived
    assert "<subagent_notification>" in arrived
    whole = dumped(stage.asked("work-on-it")[-1]["input"])
    assert whole.count(INVENTED) > arrived.count(INVENTED)  # the client does repeat it


def test_a_covered_file_is_not_read_again(stage: NpmStage) -> None:
    assert "reread-analysed" in results(stage, "work-on-it")["call_again"]


def test_a_false_final_answer_is_sent_back(stage: NpmStage) -> None:
    last = dumped(stage.asked("work-on-it")[-1]["input"][-1])
    assert "final-claims" in last
    assert "shop/refunds.py" in last


def test_the_gate_log_lists_the_denied_calls(stage: NpmStage) -> None:
    assert (stage.root / "log.txt").read_text(encoding="utf-8").count("edit-code") == 2
