"""The modules that a hook before a call loads: a small closed set, because every call waits for it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hooking import Hooks


def names_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What every call needs.
_ALWAYS = names_of("""
    remit remit.deciding_files remit.errors remit.failure_policy remit.globs remit.lean_json remit.regular_files
    remit.state_folder
    remit.clients remit.clients.hooks remit.clients.hooks.compiled remit.clients.hooks.hook_events
    remit.clients.hooks.payload remit.clients.hooks.project remit.clients.hooks.responses
    remit.clients.hooks.before_call
    remit.gate remit.gate.change_report remit.gate.decide remit.gate.delegation remit.gate.delegations
    remit.gate.earlier_state remit.gate.file_versions remit.gate.git_settings remit.gate.guarded
    remit.gate.tool_use remit.gate.project_paths remit.gate.reads remit.gate.record_store remit.gate.redaction
    remit.gate.reverse_patch remit.gate.rule_texts remit.gate.ruling remit.gate.session remit.gate.session_entries
    remit.gate.session_store remit.gate.settings remit.gate.work_tree remit.gate.writes
    remit.lazy remit.secrets remit.secrets.environment remit.workspace remit.workspace.atomic_write
""")
#: What a command line needs: the reader of shell syntax, and the record before the call.
_COMMAND_LINE = names_of("""
    remit.gate.call_record remit.gate.command_line remit.gate.guarded_outside remit.gate.ignore_rules
    remit.gate.leftover_processes remit.gate.linked_files remit.gate.person_commands
""")
_TOO_SLOW = ("json", "re", "typing", "dataclasses", "enum", "pathlib", "subprocess", "hashlib", "datetime", "msgspec")


#: What a report needs only if a claim does not hold, or in rare texts, formats and environments.
_OF_RARE_REPORTS = ("rapidfuzz", "logging", "html", "xml", "hashlib")
RESULT = Path(__file__).parents[3] / "examples/results/exploration.md"


def loaded(hooks: Hooks, event: str, fields: dict[str, Any]) -> set[str]:
    """Return the modules that a hook process has loaded for this event."""
    for number in range(2):  # the first one records the project
        payload = json.dumps(hooks.payload(event, tool_use_id=f"toolu_{number}", **fields)).encode()
        command = [sys.executable, "-X", "importtime", *hooks.command(event)[1:]]
        done = subprocess.run(command, input=payload, capture_output=True, env=hooks.environment(), check=True)
    return {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}


@pytest.mark.process
@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        ("Read", {"file_path": "README.md"}),
        ("Edit", {"file_path": "src/app.py", "old_string": "a", "new_string": "b"}),
        ("Grep", {"pattern": "x", "path": "src/app.py"}),
        ("Bash", {"command": "git status | head -5"}),
    ],
)
def test_a_hook_before_a_call_loads_a_closed_set_of_modules(
    hooks: Hooks, tool: str, tool_input: dict[str, Any]
) -> None:
    names = loaded(hooks, "PreToolUse", {"tool_name": tool, "tool_input": tool_input})
    own = {name for name in names if name.partition(".")[0] == "remit" and not name.startswith("remit.shell")}
    assert own <= (_ALWAYS | _COMMAND_LINE if tool == "Bash" else _ALWAYS)
    assert not names & set(_TOO_SLOW)
    assert tool == "Bash" or not any(name.startswith("remit.shell") for name in names)


@pytest.mark.process
def test_a_faultless_report_loads_no_library_of_rare_reports(hooks: Hooks) -> None:
    shutil.copytree(RESULT.parents[1] / "shop", hooks.project / "examples/shop")
    report = RESULT.read_text(encoding="utf-8")
    fields = {"agent_id": "a1", "agent_type": "code-explorer", "last_assistant_message": report}
    names = loaded(hooks, "SubagentStop", fields)
    assert "remit.evidence.gather" in names
    assert not names & set(_OF_RARE_REPORTS)
