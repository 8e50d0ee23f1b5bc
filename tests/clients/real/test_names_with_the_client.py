"""The client takes an agent's name in any spelling; so does the contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_client import under_contract
from scripts import delegate, does, says


@pytest.mark.parametrize("spelling", ["Code-Explorer", "code_explorer"])
def test_another_spelling_of_an_agent_is_under_contract(client: None, tmp_path: Path, spelling: str) -> None:
    conversations = {
        "start-here": [does(delegate("a", spelling, "walk-a")), says("done")],
        "walk-a": [says("It is fine."), says("It is still fine.")],
    }
    with under_contract(tmp_path, conversations) as stage:
        with stage.talk() as talk:
            talk.say("start-here")
        assert len(stage.asked("walk-a")) == 2, "it was sent back once"
        assert "withheld" in stage.results("start-here")["toolu_a"]
        assert "It is still fine." not in stage.results("start-here")["toolu_a"]
