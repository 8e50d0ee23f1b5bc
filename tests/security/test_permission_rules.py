"""The client's settings deny edits of guarded files, and an uninstall leaves no trace of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.clients.claude_code.setup import CLIENT as CLAUDE_CODE
from remit.clients.setup.settings_file import containers_added, present_rules, with_rules, without_rules
from remit.clients.setup.target import InstallTarget

ROOT = Path("/home/dev/my shop")
TARGET = InstallTarget(ROOT, ROOT / ".claude", ROOT / ".claude/settings.local.json", is_user=False, client=CLAUDE_CODE)
RULES = CLAUDE_CODE.deny_rules(TARGET)
SETTINGS = [
    "{}\n",
    "{}",
    '{"a":1}',
    '{\n  "a": 1\n}\n',
    '{\n\t"permissions": {"allow": ["Bash(ls)"]},\n\t"b": [1,2]\n}',
    '{\n  "permissions": {\n    "deny": []\n  }\n}\n',
    '{"permissions":{"deny":["Read(.env)"],"allow":[]},"hooks":{}}',
    '{\r\n  "permissions": {\r\n    "deny": [\r\n      "Edit(~/.claude/settings*.json)"\r\n    ]\r\n  }\r\n}\r\n',
    '\ufeff{"permissions": {}}',
]


@pytest.mark.parametrize("text", SETTINGS)
def test_rules_are_added_and_removed_without_changing_any_other_byte(text: str) -> None:
    added = [rule for rule in RULES if rule not in present_rules(text, RULES)]
    after = with_rules(text, RULES)
    found = json.loads(after.removeprefix("\ufeff"))
    assert set(RULES) <= set(found["permissions"]["deny"])
    assert with_rules(after, RULES) == after
    assert without_rules(after, added, containers_added(text, after)) == text


@pytest.mark.parametrize("text", ['{"permissions": []}', '{"permissions": {"deny": "all"}}', '{"permissions": null}'])
def test_settings_of_another_form_stay_unchanged(text: str) -> None:
    assert with_rules(text, RULES) == text
    assert without_rules(text, RULES) == text


def test_the_rules_name_the_guarded_files() -> None:
    assert "Edit(//home/dev/my shop/remit.toml)" in RULES
    assert "Edit(//home/dev/my shop/.claude/settings*.json)" in RULES
    assert "Edit(//home/dev/my shop/.remit/gate/**)" in RULES
    assert "Edit(~/.claude/settings*.json)" in RULES
    user = InstallTarget(
        Path("/home/dev"),
        Path("/home/dev/.claude"),
        Path("/home/dev/.claude/settings.json"),
        is_user=True,
        client=CLAUDE_CODE,
    )
    assert not [rule for rule in CLAUDE_CODE.deny_rules(user) if "remit.toml" in rule]
