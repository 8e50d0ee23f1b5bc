"""Hooks are inserted into the client's settings and removed, and every other byte stays."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from remit.clients.claude_code.setup import (
    EVENTS,
    hook_entries,
    is_ours,
)
from remit.clients.setup.file_changes import write_bytes
from remit.clients.setup.settings_file import (
    MAX_BYTES,
    added_by,
    check_settings,
    own_hooks,
    read_settings,
    with_hooks,
    without_hooks,
)
from remit.errors import UsageError

ENTRIES = hook_entries()
THEIRS = {"type": "command", "command": "echo hi"}

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
GROUPS = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.just(THEIRS), min_size=1, max_size=2)}, optional={"matcher": st.text()}
    ),
    min_size=1,
    max_size=2,
)
HOOKS = st.dictionaries(st.sampled_from([*EVENTS, "Notification"]), GROUPS, min_size=1, max_size=4)
SETTINGS = st.dictionaries(st.text(), VALUES, max_size=4).flatmap(
    lambda plain: st.just(plain) | HOOKS.map(lambda hooks: {**plain, "hooks": hooks})
)
INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])


def added(text: str) -> str:
    return with_hooks(text, ENTRIES, is_ours)


@given(SETTINGS, INDENTS, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_removing_hooks_restores_every_byte(
    settings: dict[str, Any], indent: int | str | None, is_ascii: bool, newline: str
) -> None:
    assume(settings)
    text = json.dumps(settings, indent=indent, ensure_ascii=is_ascii).replace("\n", newline)
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") + newline
    check_settings(text)
    after = added(text)
    assert own_hooks(after, is_ours) == ENTRIES
    assert without_hooks(after, is_ours, added_by(text, after)) == text


@given(SETTINGS, INDENTS)
def test_no_key_value_or_order_is_lost(settings: dict[str, Any], indent: int | str | None) -> None:
    before = json.dumps(settings, indent=indent)
    after = json.loads(added(before))
    own = after.pop("hooks")
    hooks = settings.pop("hooks", {})
    assert list(after.items()) == list(settings.items())
    for event, groups in hooks.items():
        assert own[event][: len(groups)] == groups
    assert list(own)[: len(hooks)] == list(hooks)


@given(SETTINGS, INDENTS)
def test_inserting_twice_changes_nothing(settings: dict[str, Any], indent: int | str | None) -> None:
    once = added(json.dumps(settings, indent=indent))
    assert added(once) == once


def test_the_style_of_the_author_stays() -> None:
    text = '{\n\t"α": "\\u00e9é",\n\t"n": 1.50e+3,\t"list": [1,2,\n3],\n\t"hooks": {"Stop": []}\n}\n\n'
    after = added(text)
    assert after.startswith('{\n\t"α": "\\u00e9é",\n\t"n": 1.50e+3,\t"list": [1,2,\n3],\n\t"hooks": {"Stop": [')
    assert after.endswith("}\n}\n\n")
    assert '\n\t\t"PreToolUse": [{' in after
    assert without_hooks(after, is_ours, added_by(text, after)) == text


def test_a_byte_order_mark_stays() -> None:
    after = added('\ufeff{"a": 1}')
    assert after.startswith('\ufeff{"a": 1,"hooks":{')
    assert without_hooks(after, is_ours) == '\ufeff{"a": 1}'


def test_hooks_on_one_line_stay_on_one_line() -> None:
    assert "\n" not in added('{"a":1}')


def test_an_entry_of_another_installation_is_replaced() -> None:
    moved = json.dumps(ENTRIES).replace("/remit/surfaces", "/old/remit/surfaces")
    before = with_hooks("{}", json.loads(moved), is_ours)
    assert own_hooks(added(before), is_ours) == ENTRIES
    assert added(before).count("entry.py") == len(EVENTS)


def test_an_entry_of_an_unused_event_is_removed() -> None:
    wanted = {"Stop": ENTRIES["Stop"]}
    after = with_hooks(added('{"a": 1}'), wanted, is_ours)
    assert json.loads(after) == {"a": 1, "hooks": {"Stop": [{"hooks": [ENTRIES["Stop"]]}]}}


def test_a_hook_of_the_user_next_to_remits_stays() -> None:
    settings = json.loads(added("{}"))
    settings["hooks"]["Stop"][0]["hooks"].insert(0, THEIRS)
    settings["hooks"]["Stop"][0]["matcher"] = "x"
    left = json.loads(without_hooks(json.dumps(settings), is_ours, None))
    assert left == {"hooks": {"Stop": [{"hooks": [THEIRS], "matcher": "x"}]}}


def test_an_empty_list_of_the_user_stays() -> None:
    before = '{"hooks": {"Stop": [], "PreToolUse": []}}'
    after = added(before)
    assert without_hooks(after, is_ours, added_by(before, after)) == before


def test_groups_of_another_form_are_ignored() -> None:
    before = '{"hooks": {"Stop": ["x", {"hooks": "none"}, {"matcher": 1}, null]}}'
    after = added(before)
    assert json.loads(after)["hooks"]["Stop"][:4] == ["x", {"hooks": "none"}, {"matcher": 1}, None]
    assert without_hooks(after, is_ours, added_by(before, after)) == before


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not valid JSON"),
        (b"{'a': 1}", "not valid JSON"),
        (b'{"a": 1} // mine', "not valid JSON"),
        (b"[]", "settings must be a JSON object, not a list"),
        (b'"hooks"', "not a string"),
        (b'{"hooks": []}', '"hooks" must be an object, not a list'),
        (b'{"hooks": null}', '"hooks" must be an object, not null'),
        (b'{"hooks": {"Stop": {}}}', '"hooks.Stop" must be a list, not an object'),
        (b'{"hooks": {}, "hooks": {}}', "duplicate key 'hooks' in"),
        (b'{"hooks": {"Stop": [], "Stop": []}}', "duplicate key 'Stop' in"),
        (b'{"a": "\xff"}', "is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "digits"),
        (b'{"a": "' + b"x" * MAX_BYTES + b'"}', "larger than 4 MiB"),
    ],
)
def test_settings_that_cannot_be_changed_safely_are_refused(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        read_settings(file)
    assert why in str(raised.value)
    assert str(file) in str(raised.value)
    assert "not changed" in str(raised.value)
    assert file.read_bytes() == content


def test_a_folder_instead_of_the_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_settings(tmp_path)


def test_entries_start_an_isolated_python_without_a_shell() -> None:
    for event, entry in ENTRIES.items():
        assert entry["args"][:2] == ["-I", "-S"]
        assert Path(entry["args"][2]).is_file()
        assert entry["args"][3] == event
        assert "onFailure" not in entry


def test_only_calls_are_denied_if_a_hook_fails() -> None:
    closed = hook_entries(is_closed=True)
    assert [event for event, entry in closed.items() if "onFailure" in entry] == ["PreToolUse"]


@pytest.mark.parametrize(
    "hook",
    [
        None,
        "x",
        [],
        {},
        {"type": "command", "args": "remit/surfaces/hooks/entry.py"},
        THEIRS,
    ],
)
def test_entries_of_other_tools_are_not_remits(hook: object) -> None:
    assert not is_ours(hook)


def test_no_folder_or_file_that_is_created_can_be_written_by_others(tmp_path: Path) -> None:
    earlier = os.umask(0)
    try:
        write_bytes(tmp_path / "a" / "b" / "c" / "file.json", b"{}")
    finally:
        os.umask(earlier)
    created = list(tmp_path.rglob("*"))
    assert len(created) == 4
    assert not [path for path in created if path.stat().st_mode & 0o022]
