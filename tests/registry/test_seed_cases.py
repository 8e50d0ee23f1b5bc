"""The seven cases of the seed, by number: each through the public function, and through the command with real files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remit import resolve
from remit.registry.resolution import DEFAULT_SYSTEM
from remit.registry.tools import OFFERED
from remit.testing import registry

BODY = "You look after the house.\n\nReport every leak."
KEEPER = f"---\nname: keeper\nallowed_tools: [Read, Grep]\n---\n\n{BODY}\n"
BLANK = "---\nname: blank\nallowed_tools: [Read]\n---\n \n\t\n\n"

#: The tools of a worker that are granted without a list: Bash must be named.
UNASKED = [name for name in OFFERED if name != "Bash"]

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(params=["remit.resolve", "remit agents explain"])
def brief(request: pytest.FixtureRequest, plugin: Any, remit: Any, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Ask for a brief in either way; the output on standard error is under `stderr`."""
    if request.param == "remit.resolve":
        team = registry(KEEPER, BLANK)

        def ask(name: str | None, **job: Any) -> dict[str, Any]:
            made = resolve({"prompt": "go", "subagent_def": name, **job}, registry=team)
            return {**msgspec.json.decode(msgspec.json.encode(made)), "stderr": capsys.readouterr().err}

        return ask
    manifest = {"name": "house", "version": "1.0.0", "plugin_version": "gbrain-plugin-v1"}
    files = {"subagents/keeper.md": KEEPER, "subagents/blank.md": BLANK}
    folder: Path = plugin("house", files, manifest, layout="gbrain.plugin.json")

    def explain(name: str | None, **job: Any) -> dict[str, Any]:
        words = [name] if name is not None else []
        words += ["--system", job["system"]] if "system" in job else []
        words += ["--tools", ",".join(job["allowed_tools"])] if "allowed_tools" in job else []
        ran = remit("agents", "explain", *words, "--plugin-path", str(folder), "--format", "json")
        assert ran.code == 0
        assert ran.err.startswith("[plugins] loaded 'house' v1.0.0 (2 subagents)\n")
        return {**ran.json, "stderr": ran.err.partition("\n")[2]}

    return explain


def test_1_the_definitions_body_becomes_the_system_prompt_when_the_job_has_none(brief: Ask) -> None:
    made = brief("keeper")
    assert (made["system"], made["system_from"]) == (BODY, "definition")
    assert made["definition"]["name"] == "keeper"


def test_2_the_jobs_system_overrides_the_definitions_body(brief: Ask) -> None:
    made = brief("keeper", system="Only count.")
    assert (made["system"], made["system_from"]) == ("Only count.", "job")
    assert made["tools"] == ["Read", "Grep"], "the rest of the definition still holds"
    assert made["definition"]["name"] == "keeper"


def test_3_the_definitions_allowed_tools_are_used_when_the_job_names_none(brief: Ask) -> None:
    made = brief("keeper")
    assert (made["tools"], made["tools_from"]) == (["Read", "Grep"], "definition")
    assert made["withheld"] == []


def test_4_the_jobs_allowed_tools_replace_the_definitions_and_are_not_an_intersection(brief: Ask) -> None:
    made = brief("keeper", allowed_tools=["Bash", "Read"])
    assert (made["tools"], made["tools_from"]) == (["Bash", "Read"], "job")
    assert made["system"] == BODY


def test_5_an_unknown_definition_is_a_warning_on_stderr_and_the_defaults_with_every_tool(brief: Ask) -> None:
    made = brief("kepper")
    assert (made["system"], made["system_from"]) == (DEFAULT_SYSTEM.strip(), "default")
    assert (made["tools"], made["tools_from"]) == (UNASKED, "default")
    assert made["definition"] is None
    [warning] = made["stderr"].splitlines()
    assert warning.startswith("[resolve] ")
    assert "there is no definition 'kepper'" in warning
    assert "did you mean 'keeper'?" in warning
    assert made["warnings"] == [warning.removeprefix("[resolve] ")]


def test_6_without_subagent_def_everything_is_as_it_was_without_definitions(brief: Ask) -> None:
    made = brief(None)
    assert (made["system"], made["system_from"]) == (DEFAULT_SYSTEM.strip(), "default")
    assert (made["tools"], made["tools_from"]) == (UNASKED, "default")
    assert (made["definition"], made["warnings"], made["stderr"]) == (None, [], "")
    own = brief(None, system="Mine.", allowed_tools=["LS"])
    assert (own["system"], own["tools"]) == ("Mine.", ["LS"])


def test_7_with_a_blank_body_the_default_prompt_is_used(brief: Ask) -> None:
    made = brief("blank")
    assert (made["system"], made["system_from"]) == (DEFAULT_SYSTEM.strip(), "default")
    assert (made["tools"], made["tools_from"]) == (["Read"], "definition"), "the rest of the definition still holds"
    assert any("its body is empty" in words for words in made["warnings"])
