"""Hooks and rules are inserted into the client's settings and removed, and everything else stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.clients.claude_code.setup import EVENTS, hook_groups, is_ours
from remit.clients.setup.settings_file import MAX_BYTES, own_groups, read_settings, with_install
from remit.errors import UsageError

GROUPS = hook_groups("verify")
THEIRS = {"type": "command", "command": "echo hi"}
SCALARS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FOREIGN = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.just(THEIRS), min_size=1, max_size=2)}, optional={"matcher": st.text()}
    ),
    min_size=1,
    max_size=2,
)
HOOKS = st.dictionaries(st.sampled_from([*EVENTS, "Notification"]), FOREIGN, min_size=1, max_size=4)
NAMES = st.text().filter(lambda name: name not in ("hooks", "permissions"))
SETTINGS = st.dictionaries(NAMES, VALUES, max_size=4).flatmap(
    lambda plain: st.just(plain) | HOOKS.map(lambda hooks: {**plain, "hooks": hooks})
)


@given(SETTINGS, st.sampled_from([None, 1, 2, 4, "\t"]), st.sampled_from([[], ["Edit(a)"]]))
def test_removing_hooks_and_rules_restores_every_value_in_its_order(
    settings: dict[str, Any], indent: int | str | None, rules: list[str]
) -> None:
    text = json.dumps(settings, indent=indent)
    once = with_install(text, GROUPS, rules, is_ours)
    assert own_groups(once, is_ours) == GROUPS
    assert with_install(once, GROUPS, rules, is_ours) == once
    changed = with_install(once, hook_groups("orchestrator"), rules, is_ours)
    assert own_groups(changed, is_ours) == hook_groups("orchestrator")
    after = json.loads(with_install(changed, {}, [], is_ours, rules))
    assert list(after.items()) == list(settings.items())


def test_the_indentation_stays_and_each_group_of_remit_is_one_line() -> None:
    after = with_install('{\n\t"n": 1\n}\n', GROUPS, [], is_ours)
    assert after.startswith('{\n\t"n": 1,\n\t"hooks": {\n\t\t"SessionStart": [\n\t\t\t{"hooks": [{"type": "command"')
    assert with_install('{\n\t"n": 1\n}\n', {}, [], is_ours) == '{\n\t"n": 1\n}\n'


def test_an_entry_of_another_installation_is_replaced() -> None:
    moved = json.loads(json.dumps(GROUPS).replace("/remit/surfaces", "/old/remit/surfaces"))
    before = with_install("{}", moved, [], is_ours)
    after = with_install(before, GROUPS, [], is_ours)
    assert own_groups(after, is_ours) == GROUPS
    assert after.count("entry.py") == len(EVENTS)


@pytest.mark.parametrize(
    "text", ["not json", "[]", '{"hooks": []}', '{"hooks": {"Stop": 1}}', "", '{"a": 1, "a": 2}', "[" * 100_000]
)
def test_settings_that_cannot_be_changed_safely_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="it was not changed"):
        read_settings(file)


def test_a_large_file_and_other_bytes_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    for data in (b'{"a": "\xff"}', b" " * (MAX_BYTES + 1)):
        file.write_bytes(data)
        with pytest.raises(UsageError, match="it was not changed"):
            read_settings(file)
    assert read_settings(tmp_path / "none") is None


def test_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('\ufeff{"a": 1}')
    text = read_settings(file)
    assert text is not None
    assert json.loads(with_install(text, GROUPS, [], is_ours))["a"] == 1
