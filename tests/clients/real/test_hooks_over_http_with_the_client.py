"""Hooks over HTTP in sessions of the real client: with `remit serve`, and when it does not answer."""

from __future__ import annotations

from pathlib import Path

from real_client import staged
from scripts import delegate, does, edit, says
from support.postgres import Postgres
from support.web import RunningSite

from remit.gate.session_store import list_sessions

_EDIT = edit("code", "shop/prices.py", "SHIPPING = 395", "SHIPPING = 0")
_CONVERSATIONS = {
    "start-here": [does(_EDIT), does(delegate("a", "code-explorer", "walk-a")), says("done")],
    "walk-a": [says("It is fine."), says("It is still fine.")],
    "without-server": [does(_EDIT), says("done")],
}


def test_the_server_answers_hooks_and_without_it_calls_are_denied(
    client: None, postgres: Postgres, tmp_path: Path
) -> None:
    with staged(tmp_path / "stage", _CONVERSATIONS) as stage:
        (stage.project / "remit.toml").write_text('[gate]\non_fault = "closed"\n', encoding="utf-8")
        with postgres.temporary_database() as address, RunningSite(address, tmp_path).running() as site:
            done = stage.remit("install", "claude-code", "--mode", "standard", "--http", site.url, "--yes")
            assert "claude-code is under contract" in done
            with stage.talk() as talk:
                talk.say("start-here")
            results = stage.results("start-here")
            assert results["toolu_code"].startswith("remit (edit-code): ")
            assert len(stage.asked("walk-a")) == 2, "the report was sent back once"
            assert "withheld" in results["toolu_a"]
            assert list_sessions(str(stage.project / ".remit/gate")) == [talk.session]
        with stage.talk() as talk:
            talk.say("without-server")
        assert "SHIPPING = 395" in (stage.project / "shop/prices.py").read_text(encoding="utf-8")
        messages = [event for event in talk.events if "no server answers the hooks" in str(event)]
        assert messages, "the user gets a message"
