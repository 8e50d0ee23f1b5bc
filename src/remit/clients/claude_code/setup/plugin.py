"""The same install as a plugin of the client: a folder that `claude --plugin-dir` loads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from remit.clients.claude_code.setup.material import agent_files, command_files, data_text, skill_text

NAME = "remit"


def plugin_files(entries: Mapping[str, Mapping[str, Any]], version: str) -> dict[str, str]:
    """Path inside the plugin -> text."""
    manifest = {
        "name": NAME,
        "version": version,
        "description": "Subagents and their orchestrator under one contract: reports are checked, edits are delegated.",
        "author": {"name": "The Remit contributors"},
        "license": "Apache-2.0",
        "keywords": ["subagents", "verification", "orchestration"],
    }
    hooks = {
        "description": "Holds subagents and their orchestrator to the contract.",
        "hooks": {event: [{"hooks": [entry]}] for event, entry in entries.items()},
    }
    return {
        ".claude-plugin/plugin.json": _json(manifest),
        "README.md": data_text("README.md"),
        "hooks/hooks.json": _json(hooks),
        "skills/subagent-contract/SKILL.md": skill_text(),
        **{f"agents/{name}": text for name, text in agent_files().items()},
        **{f"commands/{name}": text for name, text in command_files().items()},
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
