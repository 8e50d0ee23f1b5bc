"""What a definition of a checkout may have, and which names stand for which definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.errors import UsageError
from remit.registry.lookup import Registry, load_registry
from remit.registry.plugins import CheckoutAgents
from remit.registry.resolution import resolve
from remit.registry.tools import OFFERED, AllowList

TOOLS = "Read, Grep, Edit, Bash, mcp__x__y"


def checkout(folder: Path, granted: tuple[str, ...] = (), **agents: str) -> Registry:
    folder.mkdir(parents=True, exist_ok=True)
    for name, fields in agents.items():
        (folder / f"{name}.md").write_text(f"---\nname: {name}\n{fields}\n---\nLook around.\n")
    allowed = AllowList((*OFFERED, "mcp__x"))
    return load_registry([], allowed, CheckoutAgents(str(folder), AllowList(granted)))


def test_a_definition_of_a_checkout_gets_no_bash_and_no_mcp_tools_unless_they_are_granted(tmp_path: Path) -> None:
    team = checkout(tmp_path / "a", scout=f"tools: {TOOLS}")
    found = team.get("scout")
    assert found is not None
    assert found.tools == ("Read", "Grep", "Edit")
    assert [warning.partition(" ")[0] for warning in found.warnings] == ["Bash", "mcp__x__y"]
    found = checkout(tmp_path / "a", ("Bash", "mcp__x")).get("scout")
    assert found is not None
    assert found.tools == ("Read", "Grep", "Edit", "Bash", "mcp__x__y")


def test_a_definition_of_a_checkout_without_a_list_gets_what_it_may_have(tmp_path: Path) -> None:
    found = checkout(tmp_path / "a", scout="description: d").get("scout")
    assert found is not None
    assert found.tools == tuple(name for name in OFFERED if name != "Bash")


def test_a_definition_of_a_checkout_starts_no_program_and_chooses_no_provider(tmp_path: Path) -> None:
    team = checkout(
        tmp_path / "a", one="runner: command\ncommand: sizes", two="model: openai:gpt-5", three="model: haiku"
    )
    one = team.get("one")
    assert one is not None
    assert (one.runner, one.command) == (None, None)
    brief = resolve({"subagent_def": "two", "prompt": "x"}, registry=team)
    assert brief.model.startswith("anthropic:")
    assert any("of another provider" in warning for warning in brief.warnings)
    assert "haiku" in resolve({"subagent_def": "three", "prompt": "x"}, registry=team).model


def test_the_limits_of_a_definition_of_a_checkout_only_lower_those_of_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMIT_LIMITS_TOKENS", "5000")
    monkeypatch.setenv("REMIT_MAX_TURNS", "20")
    team = checkout(
        tmp_path / "a",
        dear="max_turns: 90\nbudget:\n  tokens: 900000\n  time: 60",
        cheap="max_turns: 5\nbudget:\n  tokens: 400",
    )
    dear = resolve({"subagent_def": "dear", "prompt": "x"}, registry=team)
    assert (dear.max_turns, dear.limits.tokens, dear.limits.seconds) == (20, 5000, 60)
    assert [warning for warning in dear.warnings if "of a checkout only counts below yours" in warning] == [
        "max_turns 90 of a definition of a checkout only counts below yours, 20",
        "limits.tokens 900000 of a definition of a checkout only counts below yours, 5000",
    ]
    cheap = resolve({"subagent_def": "cheap", "prompt": "x"}, registry=team)
    assert (cheap.max_turns, cheap.limits.tokens) == (5, 400)
    asked = resolve({"subagent_def": "dear", "prompt": "x", "limits": {"tokens": 9000}}, registry=team)
    assert asked.limits.tokens == 9000


def test_b4_no_plugin_takes_the_name_of_the_team(tmp_path: Path) -> None:
    for name in ("built in", "built_in", "Built-In", "built-in"):
        folder = tmp_path / name.replace(" ", "")
        (folder / "agents").mkdir(parents=True, exist_ok=True)
        (folder / "remit.plugin.json").write_text(f'{{"name": "{name}", "version": "1"}}')
        (folder / "agents/security-auditor.md").write_text("---\nname: security-auditor\n---\nStranger.\n")
        team = load_registry([str(folder)], AllowList(OFFERED))
        found = team.get("built-in:security-auditor")
        assert found is not None
        assert "Stranger" not in found.body
        assert any("is reserved" in warning for warning in team.warnings)


def test_n18_a_rejected_definition_keeps_its_name(tmp_path: Path) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    for folder, tools in ((left, "allowed_tools: [Raed, Grep]"), (right, "allowed_tools: [Read]")):
        folder.mkdir()
        (folder / "any.md").write_text(f"---\nname: scout\n{tools}\n---\nI am on the {folder.name}.\n")
    team = load_registry([str(left), str(right)], AllowList(OFFERED))
    assert team.get("scout") is None
    with pytest.raises(UsageError, match=r"was rejected: .*Raed") as raised:
        resolve({"subagent_def": "scout", "prompt": "x"}, registry=team)
    assert raised.value.exit_code == 1
    assert "right" in resolve({"subagent_def": "right:scout", "prompt": "x"}, registry=team).system


def test_n29_an_installed_copy_of_the_team_keeps_the_tools_of_the_wheel(tmp_path: Path) -> None:
    team = load_registry([], AllowList(OFFERED))
    original = team.get("security-auditor")
    assert original is not None
    copy = f"---\nname: security-auditor\ntools: Read\n---\n\n{original.body}\n"
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/security-auditor.md").write_text(copy)
    found = load_registry([], AllowList(OFFERED), CheckoutAgents(str(tmp_path / "agents"), AllowList(()))).get(
        "security-auditor"
    )
    assert found == original


def test_n19_a_job_without_a_definition_gets_no_answer_instructions_unless_it_asks(tmp_path: Path) -> None:
    team = load_registry([], AllowList(OFFERED))
    request = {"prompt": "list files", "system": "You print commands.", "allowed_tools": ["Read"]}
    brief = resolve(request, registry=team)
    assert (brief.contract, brief.profile) == ("", "claims")
    for more in ({"kind": "review"}, {"profile": "v1"}, {"contract": "v2"}):
        asked = resolve({**request, **more}, registry=team)
        assert asked.contract
        assert "[Agent Name]" not in asked.contract
        assert asked.profile != "claims"
