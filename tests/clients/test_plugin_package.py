"""The package for assistants: an Agent Plugins 1.0 package and a plugin of Claude Code in one folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import remit
from remit.operations.served import TOOLS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "plugins/remit"
_IDENTIFIER = "https://agent-plugins.org/schemas/1.0.0/{}.schema.json"
#: The manifest and the MCP configuration of Agent Plugins 1.0.0, written from the specification.
MANIFEST = {
    "type": "object",
    "required": ["$schema", "name"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": _IDENTIFIER.format("plugin")},
        "name": {"pattern": r"^(?!.*(--|\.\.))[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?$"},
        **{name: {"type": "string"} for name in ("version", "description", "homepage", "repository", "license")},
        "author": {
            "type": "object",
            "additionalProperties": False,
            "properties": {name: {"type": "string"} for name in ("name", "email", "url")},
        },
        "keywords": {"type": "array", "items": {"type": "string"}},
        "extensions": {"type": "object", "additionalProperties": {"type": "object"}},
    },
}
MCP = {
    "type": "object",
    "required": ["$schema", "mcpServers"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": _IDENTIFIER.format("mcp")},
        "mcpServers": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["type", "command"],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "stdio"},
                    "command": {"pattern": r"^(\./.+|[^/\\\s]+)$"},
                    "args": {"type": "array", "items": {"type": "string"}},
                    "env": {"type": "object", "additionalProperties": {"type": "string"}},
                    "cwd": {"type": "string"},
                },
            },
        },
    },
}


def read(name: str) -> Any:
    return json.loads((PACKAGE / name).read_text(encoding="utf-8"))


def test_the_manifests_fit_the_specification() -> None:
    jsonschema.validate(read("plugin.json"), MANIFEST)
    jsonschema.validate(read("mcp.json"), MCP)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**read("plugin.json"), "skills": "./skills"}, MANIFEST)


def test_both_formats_say_the_same() -> None:
    portable = read("plugin.json")
    del portable["$schema"]
    assert portable == read(".claude-plugin/plugin.json")
    assert portable["version"] == remit.__version__
    (server,) = read("mcp.json")["mcpServers"].values()
    assert read(".mcp.json")["mcpServers"]["remit"] == {"command": server["command"], "args": server["args"]}


def test_the_package_has_no_path_of_a_machine_and_no_link() -> None:
    for file in PACKAGE.rglob("*"):
        assert not file.is_symlink()
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            assert str(ROOT) not in text
            assert "/home/" not in text


@pytest.mark.parametrize(
    "skill", [path.parent for path in PACKAGE.glob("skills/*/SKILL.md")], ids=lambda path: path.name
)
def test_a_skill_has_only_the_fields_that_all_clients_know(skill: Path) -> None:
    start, head, body = (skill / "SKILL.md").read_text(encoding="utf-8").split("---\n", 2)
    fields = yaml.safe_load(head)
    assert start == ""
    assert set(fields) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert fields["name"] == skill.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert 0 < len(fields["description"]) <= 1024
    assert len(fields["compatibility"]) <= 500
    assert all(isinstance(value, str) for value in fields["metadata"].values())
    for link in re.findall(r"\]\(([^)]+)\)", body):
        assert (skill / link).is_file()


def test_the_skill_names_only_tools_that_exist_and_its_reference_all_of_them() -> None:
    (skill,) = PACKAGE.glob("skills/*/SKILL.md")
    names = set(TOOLS)
    written = set(re.findall(r"`([a-z]+_[a-z]+)`", skill.read_text(encoding="utf-8")))
    assert written <= names
    listed = (skill.parent / "references/tools.md").read_text(encoding="utf-8")
    assert all(f"- `{name}`: " in listed for name in names)
