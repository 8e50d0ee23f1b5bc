"""Planted secrets of 20 kinds do not get into what a job leaves behind: tables, events, transcripts, logs, files."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from secret_kinds import KINDS, made
from support.running import Play, tools

from remit.clients.hooks import results
from remit.dispatch.conversation import incomplete_calls, read_messages, stored_json
from remit.dispatch.event_writer import EventWriter
from remit.dispatch.worktree import WorktreeChanges, is_complete, without_secrets
from remit.merging.merge_data import MergedFinding, Opinion
from remit.reports.job_text import event_lines, job_lines, list_lines
from remit.reports.merge.parts import excerpt, opinion_details
from remit.secrets.scan import redact, redact_all, redact_lines
from remit.store import jobs
from remit.surfaces.cli import worker_commands as worker_command
from remit.workspace.files import WorkTree

pytest_plugins = ("support.running",)
NAMES = (
    *("AWS access key", "AWS secret key in the environment", "Azure storage connection", "Azure client secret"),
    *("Google API key", "Google OAuth token", "Google service account", "DigitalOcean token", "Cloudflare token"),
    *("Heroku key", "GitHub token", "GitLab token", "npm token", "PyPI token", "Slack bot token", "Stripe live key"),
    *("SendGrid key", "Hugging Face token", "Vault token", "Docker Hub token"),
)
PLANTED = [made(KINDS[name]) for name in NAMES]
TEXT = "\n".join(text for text, _ in PLANTED)


def found_in(text: str) -> list[str]:
    """Return the kinds of the planted secrets that a text contains."""
    return [name for name, (_, secret) in zip(NAMES, PLANTED, strict=True) if secret[-12:] in text]


@pytest.mark.anyio
async def test_no_planted_secret_is_stored_shown_or_logged(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    written = tools(
        ("Write", {"file_path": "new.txt", "content": TEXT}),
        ("Grep", {"pattern": TEXT[:200], "path": PLANTED[0][0]}),
        ("NoSuchTool", {"nested": {"list": [TEXT], "password": "Tr0ub4dor&3"}}),
        text=f"First I write {TEXT}",
        chunks=200,
    )
    caplog.set_level(logging.INFO)
    async with play(written, {"text": f"## Result\n{TEXT}", "chunks": 150}) as fleet:
        commit(fleet.project)
        number = await fleet.submit(f"Use {TEXT}", isolation="worktree", allowed_tools=["Write", "Grep"])
        await fleet.work()
        done = await fleet.job(number)
        assert done.outcome == "completed"
        assert found_in(str(fleet.requests[0].body)), "the model gets the task as it was given"
        stored = {name: await fleet.tables_with(secret[-12:]) for name, (_, secret) in zip(NAMES, PLANTED, strict=True)}
        assert {table for tables in stored.values() for table in tables} <= {"remit.jobs"}
        assert not found_in(f"{done.result}{done.diff}{done.error}")
        assert str(done.diff).endswith("[possible secrets were removed from this diff: it cannot be applied]\n")
        worktree = fleet.settings.work / "worktrees" / f"job-{number}"
        assert (worktree / "new.txt").read_text() == TEXT, "what is not stored is not lost"
        assert "its diff contains a possible secret, which is not stored" in str(done.error)
        shown = [*job_lines(done, 400), *list_lines([done], 4000)]
        for event in await fleet.events(number):
            shown += event_lines(event, 4000)
        assert not found_in("".join(piece.text for line in shown for piece in line))
        assert [path for path in fleet.settings.state.rglob("*") if is_leaking(path, worktree)] == []
    assert not found_in(caplog.text)


def is_leaking(path: Path, worktree: Path) -> bool:
    is_ours = path.is_file() and not path.is_relative_to(worktree) and "postgres" not in path.parts
    return is_ours and bool(found_in(path.read_bytes().decode("utf-8", "replace")))


def commit(folder: Path) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


# Streamed text.


class Written(EventWriter):
    """An event writer that keeps its events."""

    def __init__(self, *, is_redacting: bool = True) -> None:
        super().__init__(None, 1, 1, is_redacting=is_redacting)  # type: ignore[arg-type]
        self.texts: list[str] = []


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    writer = Written()

    async def keep(_: Any, __: int, kind: str, data: dict[str, Any], ___: int) -> None:
        writer.texts.append(data["text"])

    monkeypatch.setattr("remit.dispatch.event_writer.add_event", keep)
    monkeypatch.setattr("remit.dispatch.event_writer._BATCH_CHARACTERS", 1)
    return writer


@pytest.mark.anyio
@pytest.mark.parametrize("size", [1, 7, 64])
async def test_a_secret_is_not_cut_into_pieces_that_are_not_recognised(written: Written, size: int) -> None:
    text = f"It is here:\n{TEXT}\nThat was it."
    for at in range(0, len(text), size):
        await written.add_text(text[at : at + size])
    await written.flush()
    assert not found_in("".join(written.texts))
    assert "".join(written.texts).endswith("That was it.")
    assert len(written.texts) > 5


@pytest.mark.anyio
async def test_a_password_is_recognised_by_a_name_that_was_written_before_it(written: Written) -> None:
    for piece in ("Set DB_PASSWORD=", "", "Tr0ub4dor-3x ", "and go on"):
        await written.add_text(piece)
    await written.flush()
    assert "".join(written.texts) == "Set DB_PASSWORD=[named secret removed] and go on"


@pytest.mark.anyio
async def test_text_is_written_word_by_word_and_completely(written: Written) -> None:
    for piece in ("one t", "wo ", "x" * 5_000, " three"):
        await written.add_text(piece)
    assert "".join(written.texts).startswith("one two xxx")
    await written.flush()
    assert "".join(written.texts) == f"one two {'x' * 5_000} three"


# Stored messages.

TOKEN = made(KINDS["GitHub token"])[0]


def test_a_stored_message_has_no_secret_and_knows_which_calls_are_incomplete() -> None:
    response = ModelResponse(
        parts=[
            TextPart(f"I use {TOKEN}."),
            ThinkingPart(f"The key is {TOKEN}", signature="signed"),
            ThinkingPart("Nothing", signature="kept"),
            ToolCallPart("Write", f'{{"content": "{TOKEN}"}}', tool_call_id="one"),
            ToolCallPart("Write", {"content": TOKEN}, tool_call_id="two"),
            ToolCallPart("Read", '{"file_path":   "a.py"}', tool_call_id="three"),
            ToolCallPart("Read", f"broken {TOKEN}", tool_call_id="four"),
        ]
    )
    data = stored_json(response, is_redacting=True)
    assert TOKEN.encode() not in data
    (again,) = ModelMessagesTypeAdapter.validate_json(b"[" + data + b"]")
    assert incomplete_calls([again]) == {"one", "two", "four"}
    assert [part.signature for part in again.parts if isinstance(part, ThinkingPart)] == [None, "kept"]
    assert again.parts[5].args == '{"file_path":   "a.py"}'  # type: ignore[union-attr]
    assert stored_json(response, is_redacting=False).count(TOKEN.encode()) == 5
    assert incomplete_calls([response]) == frozenset()
    assert incomplete_calls([]) == frozenset()


def test_a_continued_conversation_has_the_task_as_it_was_given() -> None:
    first = ModelRequest(parts=[SystemPromptPart("Be exact."), UserPromptPart(f"Use {TOKEN}")])
    data = stored_json(first, is_redacting=True)
    assert TOKEN.encode() not in data
    stored = ModelMessagesTypeAdapter.validate_json(b"[" + data + b"]")
    dumped = ModelMessagesTypeAdapter.dump_python(stored, mode="json")
    (again,) = read_messages(dumped, ("Be exact.",), f"Use {TOKEN}")
    assert [part.content for part in again.parts] == ["Be exact.", f"Use {TOKEN}"]  # type: ignore[union-attr]
    assert read_messages([], ("Be exact.",), "x") == []


@pytest.mark.anyio
async def test_a_call_whose_arguments_are_incomplete_after_a_crash_is_not_run(play: Play) -> None:
    calls = tools(
        ("Write", {"file_path": "b.txt", "content": TOKEN}), ("Write", {"file_path": "c.txt", "content": "c"})
    )
    async with play(calls, {"text": "done"}) as fleet:
        number = await fleet.submit(allowed_tools=["Write"])
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("remit.dispatch.toolset.Calls.answer", _die)
            await fleet.work()
        await jobs.retry(fleet.database, number)
        await fleet.work()
        assert (await fleet.job(number)).outcome == "completed"
        first, second = await fleet.outputs(number)
        assert first.startswith("This call was not run")
        assert "c.txt" in second
        assert not (fleet.project / "b.txt").exists()
        assert (fleet.project / "c.txt").read_text() == "c"
        assert await fleet.tables_with(TOKEN) == []


async def _die(*_: object) -> str:
    raise RuntimeError("the worker dies here")


# Diffs and other values.


def test_a_diff_with_a_secret_is_not_stored_as_it_is_and_its_worktree_stays() -> None:
    diff = f"--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+{TOKEN}\n"
    found = without_secrets(WorktreeChanges(diff, None))
    assert TOKEN not in str(found.diff)
    assert not is_complete(str(found.diff))
    assert found.kept == "its diff contains a possible secret, which is not stored"
    assert without_secrets(WorktreeChanges(diff, "too long")).kept == f"too long; {found.kept}"
    plain = WorktreeChanges("+x = 1\n", None)
    assert without_secrets(plain) is plain
    assert without_secrets(WorktreeChanges(None, "unreadable")).diff is None


def test_secrets_in_nested_values_are_removed_also_by_their_keys() -> None:
    value = {
        "password": "Tr0ub4dor&3",
        "list": [{"a": TOKEN}, 3, None],
        "file_path": "src/a.py",
        "n": 1.5,
        f"{TOKEN} {TOKEN} {TOKEN}": 1,
    }
    assert redact_all(value) == {
        "password": "[named secret removed]",
        "list": [{"a": "[GitHub token removed]"}, 3, None],
        "file_path": "src/a.py",
        "n": 1.5,
        "[GitHub token removed] [GitHub token removed] [GitHub token removed]": 1,
    }


def test_only_the_part_after_a_position_is_returned() -> None:
    text = f"PASSWORD=Tr0ub4dor-3x {TOKEN} end"
    assert redact(text, 9) == "[named secret removed] [GitHub token removed] end"
    assert redact(text, 12) == "[named secret removed] [GitHub token removed] end"
    assert redact(text, text.index(" end")) == " end"
    assert redact("plain text", 6) == "text"


def test_log_lines_of_a_worker_have_no_secrets() -> None:
    formatter = worker_command._EscapingFormatter("%(message)s")
    record = logging.LogRecord("remit.worker", logging.INFO, __file__, 1, "failed: %s\x1b[0m", (TOKEN,), None)
    assert formatter.format(record) == "failed: [GitHub token removed]␛[0m"


# Reports.


def test_lines_of_an_excerpt_have_no_secrets_and_keep_their_numbers() -> None:
    key = made(KINDS["Google service account"])[1].replace("\\n", "\n").split("\n")
    lines = ["a = 1", f"token = '{TOKEN}'", *key, "b = 2"]
    shown = redact_lines(lines, 0, len(lines))
    assert len(shown) == len(lines)
    assert (shown[0], shown[1], shown[-1]) == ("a = 1", "token = '[GitHub token removed]'", "b = 2")
    assert not any(line and line in "\n".join(shown) for line in key)
    assert redact_lines(lines, 3, 4) == [""], "the key begins before the excerpt"
    assert redact_lines([], 0, 0) == []


def test_a_report_and_a_comment_show_no_secret(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"key = '{TOKEN}'\n")
    details = f"Risk: {TOKEN} leaks\n\nFix: remove {TOKEN}\n\nIt is {TOKEN}."
    opinion = Opinion(agent="x", id="S-1", severity="critical", confidence=90, line=1, title="t", details=details)
    finding = MergedFinding(
        id="S-1",
        path="a.py",
        line=1,
        end_line=1,
        category="security",
        severity="critical",
        title=f"Key {TOKEN}",
        confidence=90,
        max=90,
        mean=90,
        agreement=1.0,
        agents=("x",),
        opinions=(opinion,),
        verified=True,
        flags=(),
    )
    assert TOKEN not in "".join(opinion_details(opinion))
    workspace = WorkTree(tmp_path)
    assert [line.text for line in excerpt(finding, workspace, 1)] == ["key = '[GitHub token removed]'"]


def test_a_kept_report_of_a_subagent_has_no_secret(tmp_path: Path) -> None:
    kept = results.keep_result(
        str(tmp_path),
        "session",
        agent="qa-engineer",
        agent_id="a1",
        outcome="rejected",
        text=f"It is {TOKEN}",
        check=f'{{"violations": [{{"message": "{TOKEN}"}}]}}',
        violations=[{"rule": "x", "message": f"{TOKEN} is not there"}],
        partial=TOKEN,
    )
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 3
    assert not [path for path in files if TOKEN in path.read_text()]
    assert results.read_text(kept) == "It is [GitHub token removed]"
    assert kept.digest == results.digest(f"It is {TOKEN}"), "it is still recognised"
