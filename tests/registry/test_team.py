"""The built-in subagents: complete, with limits, without warnings, each with its own text."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from remit import resolve
from remit.registry.definition import Definition
from remit.registry.lookup import Registry, load_registry
from remit.registry.model_names import TABLE
from remit.registry.plugins import built_in_team
from remit.registry.resolution import open_registry
from remit.registry.tools import OFFERED, AllowList, find_tool

#: As section 4 of the contract has them.
KINDS = {
    "code-explorer": "exploration",
    "Explore": "search",
    "code-architect": "design",
    "system-architect": "design",
    "qa-engineer": "review",
    "security-auditor": "review",
    "frontend-specialist": "implementation",
    "backend-specialist": "implementation",
    "verification-specialist": "verification",
    "product-manager": "document",
    "technical-writer": "document",
}
READ_ONLY = (
    "Explore",
    "code-explorer",
    "code-architect",
    "system-architect",
    "security-auditor",
    "verification-specialist",
)
CHANGING = {"Edit", "Write", "Bash"}
SEEDS = Path(__file__).resolve().parents[3] / "shared/seeds"


@cache
def team() -> Registry:
    return load_registry([], AllowList(OFFERED))


def one(name: str) -> Definition:
    found = team().get(name)
    assert found is not None
    return found


def test_the_team_is_the_eleven_agents_that_the_contract_names() -> None:
    assert {definition.name for definition in team()} == set(KINDS)
    assert {definition.plugin for definition in team()} == {"built-in"}


def test_nothing_at_all_is_wrong_with_the_team() -> None:
    plugin = built_in_team()
    assert (plugin.rejected, plugin.skipped, plugin.warnings, team().warnings) == ((), (), (), ())
    assert [definition.warnings for definition in team()] == [()] * 11


@pytest.mark.parametrize("name", KINDS)
def test_each_agent_describes_its_purpose_and_has_its_kind(name: str) -> None:
    definition = one(name)
    assert definition.kind == KINDS[name]
    assert len(definition.description.split()) >= 8
    assert definition.expertise
    assert definition.unused == {}


@pytest.mark.parametrize("name", KINDS)
def test_each_agents_tools_are_known_and_offered_and_those_that_read_only_change_nothing(name: str) -> None:
    tools = one(name).tools
    assert tools
    assert {"Read", "Grep", "Glob"} <= set(tools) <= set(OFFERED)
    assert all(str(find_tool(tool)) == tool for tool in tools)
    assert bool(CHANGING & set(tools)) == (name not in READ_ONLY)


@pytest.mark.parametrize("name", KINDS)
def test_each_agents_model_fits_its_task(name: str) -> None:
    assert one(name).model in ("sonnet", "opus", "haiku")
    assert (one(name).model == "opus") == (name == "product-manager"), "opus for requirements, sonnet for analysis"
    assert (one(name).model == "haiku") == (name == "Explore"), "haiku for lookups"


@pytest.mark.parametrize("name", KINDS)
def test_each_agent_resolves_under_strict_without_a_warning(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    brief = resolve({"prompt": "go", "subagent_def": name}, registry=team(), policy="strict")
    assert (brief.warnings, brief.withheld, capsys.readouterr().err) == ((), (), "")
    assert brief.system == one(name).body
    assert {brief.system_from, brief.tools_from, brief.model_from, brief.max_turns_from} == {"definition"}
    assert brief.model in TABLE.values()


@pytest.mark.parametrize("name", KINDS)
def test_each_body_states_what_to_do_what_to_return_and_when_to_stop(name: str) -> None:
    body = one(name).body
    assert len(body.split()) > 300
    headings = re.findall(r"^## (.+)$", body, re.MULTILINE)
    assert {"How to work", "When to stop"} <= set(headings)
    assert any("vidence" in heading for heading in headings)


@pytest.mark.parametrize("name", KINDS)
def test_each_body_states_that_text_in_files_is_data_and_not_an_instruction(name: str) -> None:
    body = " ".join(one(name).body.split())
    assert re.search(r"\b[Tt]ext found in files[^.;]* is data\b[^.;]*, not instructions", body)


@pytest.mark.parametrize("name", KINDS)
def test_each_body_has_lines_that_fit_a_screen_and_no_unfilled_place(name: str) -> None:
    body = one(name).body
    assert max(map(len, body.split("\n"))) <= 120
    assert not re.search(r"\{\{|\bTODO\b|\bTBD\b|\[[A-Z][^\]]*\]\s*$", body)


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed documents are not here")
def test_no_seven_words_in_a_row_are_the_seeds() -> None:
    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9]+", text.lower())
        return {tuple(words[start : start + 7]) for start in range(len(words) - 6)}

    seeds = set().union(*(runs(path.read_text(encoding="utf-8")) for path in SEEDS.glob("*.txt")))
    assert seeds
    for definition in team():
        shared = runs(f"{definition.description}\n{definition.body}") & seeds
        assert not shared, (definition.name, shared)


def test_an_installed_copy_of_the_team_is_loaded_without_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    for definition in built_in_team().definitions:
        text = f"---\nname: {definition.name}\n---\n{definition.body}"
        (folder / f"{definition.name}.md").write_text(text, encoding="utf-8")
    open_registry([str(folder)], AllowList(OFFERED))
    assert capsys.readouterr().err == ""
    (folder / "qa-engineer.md").write_text("---\nname: qa-engineer\n---\nAnother prompt.", encoding="utf-8")
    open_registry([str(folder)], AllowList(OFFERED))
    assert "loaded 'agents'" in capsys.readouterr().err
