"""Sessions of the real opencode: edits are denied, a report is sent back once, the second bad one is replaced."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from npm_client import PATIENCE, SPEC, NpmStage, call, does, dumped, says, staged
from support.shop_reports import BAD, GOOD, GOOD_WORDS, INVENTED, cited
from support.waiting import until

pytestmark = pytest.mark.process

_FALSE = "I ran the tests: all tests passed. See `shop/refunds.py:36`."
_MODEL = "claude-sonnet-4-5"


def delegate(key: str, task: str) -> dict[str, Any]:
    return call(key, "task", description=task, prompt=f"{task}: please", subagent_type="code-explorer")


def conversations(project: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the scripts; this client takes absolute paths."""

    def reads(prefix: str) -> dict[str, Any]:
        paths = enumerate(cited(GOOD))
        return does(*(call(f"{prefix}_{at}", "read", filePath=str(project / path)) for at, path in paths))

    def edit(key: str, path: str, old: str, new: str) -> dict[str, Any]:
        return call(key, "edit", filePath=str(project / path), oldString=old, newString=new)

    return {
        "work-on-it": [
            does(
                edit("edit", "shop/mail.py", "Mail to customers", "Mail to all customers"),
                edit("spelling", SPEC, "reciept", "receipt"),
                call("prose", "write", filePath=str(project / "notes.md"), content="Ask about refunds.\n"),
                call("shell", "bash", command="sed -i s/a/b/ shop/mail.py", description="change it"),
            ),
            does(delegate("once", "trace-once")),
            does(call("again", "read", filePath=str(project / "shop/orders.py"))),
            does(delegate("twice", "trace-twice")),
            says(_FALSE),
            says("Orders were traced. Nothing was run."),
        ],
        "trace-once": [reads("once"), says(BAD), says(GOOD)],
        "trace-twice": [reads("twice"), says(BAD), says(BAD)],
    }


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NpmStage]:
    folder = tmp_path_factory.mktemp("opencode")
    with staged("opencode", folder, conversations(folder / "shop")) as stage:
        configure(stage)
        before = stage.everything()
        stage.remit("install", "opencode", "--yes")
        (stage.root / "doctor.txt").write_text(stage.remit("doctor"), encoding="utf-8")
        with serving(stage) as url:
            session = post(f"{url}/session", {})["id"]
            post(f"{url}/session/{session}/message", {"parts": [{"type": "text", "text": "work-on-it"}]})
            wait_for_answers(stage, 6)
        left = list((stage.project / ".remit/gate/transcripts").iterdir())
        assert left == []  # the messages that were judged are not kept
        (stage.root / "log.txt").write_text(stage.remit("gate", "log", "--session", "last"), encoding="utf-8")
        stage.remit("uninstall", "opencode", "--yes")
        after = {path: data for path, data in stage.everything().items() if not path.startswith(CLIENTS_FILES)}
        assert after == {**before, "notes.md": b"Ask about refunds.\n"}  # no trace of the install
        assert not (stage.project / ".opencode/plugins").exists()
        assert not (stage.project / ".opencode/agents").exists()
        yield stage


#: What the client itself writes into its folder.
CLIENTS_FILES = (".opencode",)


def configure(stage: NpmStage) -> None:
    folder = stage.home / ".config/opencode"
    folder.mkdir(parents=True)
    options = {"baseURL": f"{stage.server.url}/v1", "apiKey": "test-key"}
    settings = {
        "model": f"anthropic/{_MODEL}",
        "small_model": f"anthropic/{_MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "provider": {"anthropic": {"options": options, "models": {_MODEL: {}}}},
        "permission": {"*": "allow"},
    }
    (folder / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")


@contextlib.contextmanager
def serving(stage: NpmStage) -> Iterator[str]:
    """Run the client's server, and return its address."""
    variables = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    variables |= {"OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    # Without a registry, the client does not install the types for plugins, which Remit's plugin does not need.
    variables |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "npm_config_registry"), "http://127.0.0.1:9")
    variables |= {"NO_PROXY": "127.0.0.1,localhost", "npm_config_fetch_retries": "0"}
    with (
        (stage.root / "client.log").open("wb") as log,
        subprocess.Popen(
            [str(stage.program), "serve", "--hostname", "127.0.0.1", "--port", "0"],
            cwd=stage.project,
            env={**stage.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            yield next(found.group() for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        finally:
            process.kill()


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


def wait_for_answers(stage: NpmStage, count: int) -> None:
    """Wait until the model of the orchestrator has answered this often: an answer is sent back after its end."""
    until(lambda: len(turns(stage)) >= count)


def turns(stage: NpmStage) -> list[dict[str, Any]]:
    """Return the requests of the orchestrator, without those for a title."""
    return [body for body in stage.asked("work-on-it") if body.get("tools")]


def results(stage: NpmStage) -> dict[str, str]:
    """Return the results that the orchestrator received, by the call's id."""
    contents = (message["content"] for message in turns(stage)[-1]["messages"])
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return {str(one["tool_use_id"]): dumped(one["content"]) for one in blocks if one["type"] == "tool_result"}


def test_doctor_proves_that_the_hooks_answer(stage: NpmStage) -> None:
    words = " ".join((stage.root / "doctor.txt").read_text(encoding="utf-8").split())
    assert "opencode the hook process works: it denied an edit of code in a test" in words


def test_an_edit_of_code_is_denied(stage: NpmStage) -> None:
    assert "edit-code" in results(stage)["call_edit"]
    assert "edit-code" in results(stage)["call_shell"]
    assert stage.changed() == ""


def test_the_gate_understands_the_change_of_an_edit(stage: NpmStage) -> None:
    assert "one misspelt word is corrected" in results(stage)["call_spelling"]


def test_prose_may_be_written(stage: NpmStage) -> None:
    assert (stage.project / "notes.md").read_text(encoding="utf-8") == "Ask about refunds.\n"


def test_the_subagent_gets_the_instructions_once(stage: NpmStage) -> None:
    first = next(body for body in stage.asked("trace-once") if body.get("tools"))
    assert dumped(first["messages"]).count("# How to answer") == 1


def test_a_bad_report_is_sent_back_and_the_corrected_one_arrives(stage: NpmStage) -> None:
    correction = dumped(stage.asked("trace-once")[-1]["messages"][-1])
    assert INVENTED in correction
    assert "COMPLETE result" in correction
    arrived = results(stage)["call_once"]
    assert GOOD_WORDS in arrived
    assert INVENTED not in arrived


def test_a_report_with_receipts_from_the_messages_is_accepted(stage: NpmStage) -> None:
    assert len([body for body in stage.asked("trace-once") if body.get("tools")]) == 3


def test_a_second_bad_report_never_arrives(stage: NpmStage) -> None:
    assert len([body for body in stage.asked("trace-twice") if body.get("tools")]) == 3  # one correction, not more
    arrived = results(stage)["call_twice"]
    assert "reference-missing-file" in arrived
    assert "not accepted" in arrived
    assert dumped(turns(stage)[-1]["messages"]).count(GOOD_WORDS) == 1  # only the accepted report


def test_a_covered_file_is_not_read_again(stage: NpmStage) -> None:
    assert "reread-analysed" in results(stage)["call_again"]


def test_a_false_final_answer_is_sent_back(stage: NpmStage) -> None:
    assert len(turns(stage)) == 6  # once
    last = dumped(turns(stage)[-1]["messages"][-1])
    assert "final-claims" in last
    assert "shop/refunds.py" in last


def test_the_gate_log_lists_the_denied_calls(stage: NpmStage) -> None:
    assert (stage.root / "log.txt").read_text(encoding="utf-8").count("edit-code") == 2
