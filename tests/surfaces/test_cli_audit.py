"""`remit audit` as a person runs it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.in_process import Remit, command_runner

from remit.errors import UsageError
from remit.operations.audit import since_time

EXAMPLE = Path(__file__).parents[2] / "examples/transcripts"


@pytest.fixture
def remit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    return command_runner(monkeypatch, capsys)


def test_the_untrue_statements_of_a_session_are_listed_with_their_proof(remit: Remit) -> None:
    ran = remit("audit", str(EXAMPLE))
    assert ran.code == 1
    assert "“All 48 tests pass.”  `npm test 2>&1 | tail -20` printed `sh: 1: mocha: not found`" in ran.out
    assert "no call changed" not in ran.out
    assert ran.lines[-1] == (
        "1 session, 5 statements about what was done: 2 contradicted by their own record, 2 shown by it, "
        "1 not seen in it (`--unseen` lists them)"
    )


def test_what_no_call_shows_is_listed_below_its_own_heading(remit: Remit) -> None:
    ran = remit("audit", str(EXAMPLE), "--unseen")
    heading = ran.lines.index("Not seen: no call of the record shows it, but the record may be partial (1)")
    assert all("  contradicted  " in line for line in ran.lines[:heading])
    assert "  unseen  " in ran.lines[heading + 1]
    assert "no call changed tests/test_discount.py" in ran.lines[heading + 1]
    assert ran.lines[-1].endswith("1 not seen in it")


def test_an_unseen_statement_alone_ends_with_0(remit: Remit, tmp_path: Path) -> None:
    line = {"type": "assistant", "message": {"content": [{"type": "text", "text": "I updated `src/cart.py`."}]}}
    (tmp_path / "a.jsonl").write_text(json.dumps(line), encoding="utf-8")
    ran = remit("audit", str(tmp_path))
    assert (ran.code, ran.lines[-2].count("1 not seen")) == (0, 1)


def test_a_true_session_ends_with_0(remit: Remit, tmp_path: Path) -> None:
    line = {"type": "assistant", "message": {"content": [{"type": "text", "text": "The cart has a discount."}]}}
    (tmp_path / "a.jsonl").write_text(json.dumps(line), encoding="utf-8")
    assert remit("audit", str(tmp_path)).code == 0


def test_silence_states_what_was_read_and_what_cannot_be_seen(remit: Remit, tmp_path: Path) -> None:
    line = {"type": "assistant", "message": {"content": [{"type": "text", "text": "I updated `src/cart.py`."}]}}
    (tmp_path / "a.jsonl").write_text(json.dumps(line), encoding="utf-8")
    ran = remit("audit", str(tmp_path))
    assert ran.lines[-2].startswith("1 session, 1 statement about what was done: 0 contradicted by their own record")
    assert ran.lines[-1].startswith("Compared: what is stated about tests, builds")
    assert "Not compared: whether the code is right" in ran.lines[-1]
    assert "Compared:" not in remit("audit", str(EXAMPLE)).out


def test_each_proof_names_the_lines_of_the_transcript(remit: Remit) -> None:
    [line] = [line for line in remit("audit", str(EXAMPLE)).lines if "mocha: not found" in line]
    assert line.endswith(f"  {EXAMPLE / 'shop.jsonl'}:8, call at line 6")
    lines = (EXAMPLE / "shop.jsonl").read_text("utf-8").splitlines()
    assert "All 48 tests pass." in lines[7]
    assert "npm test 2>&1 | tail -20" in lines[5]


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


def test_transcripts_that_are_too_old_are_counted(remit: Remit) -> None:
    ran = remit("audit", str(EXAMPLE), "--since", "2130-01-01")
    assert ran.lines == [f"no transcripts since 2130-01-01: 1 transcript in {EXAMPLE} was last written before"]


def test_a_project_without_transcripts_gets_a_hint(
    remit: Remit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    expected = "no transcripts found in .; for the sessions of a project: `remit audit --project .`"
    assert remit("audit", ".").lines == [expected]


def test_other_clients_are_left_out(remit: Remit) -> None:
    expected = "0 sessions: --client codex left out 1 session"
    assert remit("audit", str(EXAMPLE), "--client", "codex").lines[-1] == expected


@pytest.mark.parametrize(
    ("project", "sessions"),
    [("here", ["in the project", "below it"]), ("here/api", ["below it"]), ("link", ["in the project", "below it"])],
)
def test_only_the_sessions_of_a_project_and_below_it_are_read(
    remit: Remit, tmp_path: Path, project: str, sessions: list[str]
) -> None:
    home = tmp_path.resolve()
    (home / "here").mkdir()
    (home / "link").symlink_to(home / "here")
    words = {"here": "in the project", "here/api": "below it", "hereafter": "elsewhere", ".": "above it"}
    for number, (folder, word) in enumerate(words.items()):
        line = {
            "type": "assistant",
            "sessionId": f"s{number}",
            "cwd": str(home / folder),
            "message": {"content": [{"type": "text", "text": f"I updated `src/a.py` {word}."}]},
        }
        (home / f"s{number}.jsonl").write_text(json.dumps(line), encoding="utf-8")
    ran = remit("audit", str(home), "--project", str(home / project), "--all")
    assert [word for word in words.values() if f" {word}.”" in ran.out] == sessions


def test_sessions_of_other_projects_are_counted_if_nothing_is_left(remit: Remit) -> None:
    ran = remit("audit", str(EXAMPLE), "--project", "/nowhere")
    assert (ran.code, ran.lines) == (0, ["0 sessions: --project /nowhere left out 1 session"])


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
    assert "2026-02-08 19:37" in remit("audit", str(EXAMPLE), "--format", "html").out
    assert '"at": "2026-02-08T10:37' in remit("audit", str(EXAMPLE), "--format", "json").out
    assert since_time("2026-02-08") == datetime(2026, 2, 7, 15, tzinfo=UTC).timestamp()
    assert since_time("2026-02-08T00:00Z") == datetime(2026, 2, 8, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("form", ["json", "markdown", "html"])
def test_every_format_has_the_proof(remit: Remit, form: str) -> None:
    printed = remit("audit", str(EXAMPLE), "--unseen", "--format", form).out.replace("\\", "")
    assert "mocha: not found" in printed
    assert "no call changed tests/test" in printed
    assert form == "json" or "Not seen: no call" in printed


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
