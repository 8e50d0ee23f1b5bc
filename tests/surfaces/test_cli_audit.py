"""`remit audit` as a person runs it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
from support.in_process import Remit, command_runner

from remit.errors import UsageError
from remit.operations.audit import since_time
from remit.reports.audit_report import audit_schema

EXAMPLE = Path(__file__).parents[2] / "examples/transcripts"


@pytest.fixture
def remit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    return command_runner(monkeypatch, capsys)


def write_session(file: Path, text: str, folder: str = "/home/dev/shop") -> None:
    message = {"content": [{"type": "text", "text": text}]}
    line = {"type": "assistant", "sessionId": file.stem, "cwd": folder, "message": message}
    file.write_text(json.dumps(line), encoding="utf-8")


def test_each_fact_is_one_line_with_its_proof_and_the_lines_of_the_transcript(remit: Remit) -> None:
    ran = remit("audit", str(EXAMPLE))
    file = EXAMPLE / "shop.jsonl"
    first, second, summary = ran.lines
    proof = "`npm test 2>&1 | tail -20` printed `sh: 1: mocha: not found`, and nothing changed since"
    assert f"  shop  main  contradicted  “All 48 tests pass.”  {proof}  {file}:8, {file}:6" in first
    assert "  shop  main  contradicted  “Committed.”  `git commit" in second
    assert (
        summary == "1 session: 2 statements contradicted by their own record, 0 subagents that reported without a call"
    )
    assert ran.code == 1
    lines = file.read_text("utf-8").splitlines()
    assert "All 48 tests pass." in lines[7]
    assert "npm test 2>&1 | tail -20" in lines[5]


def test_json_has_every_fact_with_its_proof(remit: Remit) -> None:
    report = remit("audit", str(EXAMPLE), "--format", "json").json
    jsonschema.validate(report, audit_schema())
    [session] = report["sessions"]
    assert [(fact["line"], fact["proof"]["line"]) for fact in session["facts"]] == [(8, 6), (14, 12)]
    assert report["summary"]["contradicted"] == 2


def test_silence_states_what_was_read_and_what_was_not_compared(remit: Remit, tmp_path: Path) -> None:
    write_session(tmp_path / "a.jsonl", "I updated `src/cart.py`.")
    ran = remit("audit", str(tmp_path))
    assert ran.code == 0
    assert ran.lines[-2].startswith("1 session: 0 statements contradicted by their own record")
    assert ran.lines[-1].startswith("Compared: sentences such as")
    assert ran.lines[-1].endswith("Not compared: everything else.")
    assert "Compared:" not in remit("audit", str(EXAMPLE)).out


def test_nothing_is_written(remit: Remit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert remit("audit", str(EXAMPLE)).code == 1
    assert list(tmp_path.iterdir()) == []


def test_without_transcripts_the_command_states_what_to_do(
    remit: Remit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    ran = remit("audit", "--client", "claude-code")
    folders = "~/.claude/projects, ~/.config/claude/projects"
    assert (ran.code, ran.lines) == (
        0,
        [f"no transcripts found in {folders}; name files or folders, or see `remit audit --help`"],
    )
    every = remit("audit").out
    assert all(name in every for name in ("~/.codex/sessions", "~/.copilot/session-state", "~/.local/share/opencode"))


def test_transcripts_that_are_too_old_are_not_read(remit: Remit) -> None:
    [line] = remit("audit", str(EXAMPLE), "--since", "2130-01-01").lines
    assert line.startswith(f"no transcripts found in {EXAMPLE} since 2130-01-01; ")


def test_other_clients_are_left_out(remit: Remit) -> None:
    ran = remit("audit", str(EXAMPLE), "--client", "codex")
    assert (ran.code, ran.lines[-1].partition(":")[0]) == (0, "0 sessions (1 session left out by the options)")


@pytest.mark.parametrize(
    ("project", "sessions"),
    [("here", ["here", "here/api"]), ("here/api", ["here/api"]), ("link", ["here", "here/api"])],
)
def test_only_the_sessions_of_a_project_and_below_it_are_read(
    remit: Remit, tmp_path: Path, project: str, sessions: list[str]
) -> None:
    home = tmp_path.resolve()
    (home / "here").mkdir()
    (home / "link").symlink_to(home / "here")
    for number, folder in enumerate(("here", "here/api", "hereafter", ".")):
        write_session(home / f"s{number}.jsonl", "I updated `src/a.py`.", str(home / folder))
    report = remit("audit", str(home), "--project", str(home / project), "--format", "json").json
    assert sorted(session["project"] for session in report["sessions"]) == [str(home / folder) for folder in sessions]


def test_sessions_without_a_fact_are_named_on_request(remit: Remit, tmp_path: Path) -> None:
    write_session(tmp_path / "a.jsonl", "I updated `src/cart.py`.")
    assert remit("audit", str(tmp_path), "--all").lines[0].endswith("  shop  claude-code  no fact")


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process is fixed")
def test_times_are_local_as_in_the_log_of_the_gate_and_utc_in_json(remit: Remit) -> None:
    assert "2026-02-08 19:37  shop" in remit("audit", str(EXAMPLE)).out
    assert '"at": "2026-02-08T10:37' in remit("audit", str(EXAMPLE), "--format", "json").out
    assert since_time("2026-02-08") == datetime(2026, 2, 7, 15, tzinfo=UTC).timestamp()
    assert since_time("2026-02-08T00:00Z") == datetime(2026, 2, 8, tzinfo=UTC).timestamp()


def test_a_missing_file_is_an_error(remit: Remit) -> None:
    ran = remit("audit", "none.jsonl")
    assert ran.code == 2
    assert "none.jsonl: there is no such file or folder" in ran.err


@pytest.mark.parametrize(
    ("text", "seconds"), [("12h", 1e6 - 43_200), ("1d", 1e6 - 86_400), ("1970-01-02T00:00Z", 86_400.0), (None, 0.0)]
)
def test_a_time_is_read(text: str | None, seconds: float) -> None:
    assert since_time(text, now=1e6) == seconds


@pytest.mark.parametrize("text", ["", "30", "x", "30 days", "2026-13-01"])
def test_another_time_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="write 12h, 30d, 4w or a date"):
        since_time(text)
