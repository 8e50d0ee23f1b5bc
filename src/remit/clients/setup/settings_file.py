"""Insert hooks into the client's settings and remove them, without changing any other byte.

The settings are edited as text and never written from parsed values, so order, indentation, escapes and numbers stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from remit.clients.setup.file_changes import open_regular
from remit.errors import UsageError

#: A larger file is refused.
MAX_BYTES = 4 * 1024 * 1024
_BOM = "\ufeff"
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_FIRST_INDENT = re.compile(r"\{[ \t\r]*\n([ \t]+)\S")

Hook = Mapping[str, Any]
IsOurs = Callable[[object], bool]
_CONTAINER, _LIST = "permissions", "deny"


class JsonPart(NamedTuple):
    """A member of an object or an element of a list, with its position in the text."""

    key: str
    value: Any
    start: int
    at: int
    end: int


class JsonStyle(NamedTuple):
    """The line breaks and indentation of a file; both are empty if the file has one line."""

    newline: str
    unit: str

    def line(self, depth: int) -> str:
        """Return a line break with the indentation of this depth."""
        return self.newline + self.unit * depth if self.newline else ""

    def group(self, hook: Hook) -> str:
        """Return a group of one hook, on one line."""
        separators = (", ", ": ") if self.newline else (",", ":")
        return json.dumps({"hooks": [hook]}, ensure_ascii=False, separators=separators)

    def event(self, name: str, hook: Hook) -> str:
        """Return a member of the `hooks` object."""
        return f"{json.dumps(name)}:{' ' if self.newline else ''}[{self.group(hook)}]"


def read_settings(path: Path) -> str | None:
    """Read a settings file; None if it does not exist. Raises UsageError if it cannot be changed safely."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; it was not changed") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES >> 20} MiB; it was not changed")
    try:
        text = data.decode("utf-8")
        check_settings(text)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start}); it was not changed") from error
    except RecursionError as error:
        raise UsageError(f"{path} is nested too deeply; it was not changed") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}; fix the file first, it was not changed") from error
    return text


def check_settings(text: str) -> None:
    """Raise ValueError with the reason if hooks cannot be inserted into these settings."""
    try:
        settings = json.loads(text.removeprefix(_BOM))
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error}") from error
    if not isinstance(settings, dict):
        raise ValueError(f"settings must be a JSON object, not {_kind(settings)}")
    root = root_of(text)
    _check_unique_keys(text, root, "the settings")
    hooks = named(text, root, "hooks")
    if hooks is None:
        return
    if not isinstance(hooks.value, dict):
        raise ValueError(f'"hooks" must be an object, not {_kind(hooks.value)}')
    _check_unique_keys(text, hooks.at, '"hooks"')
    for event, groups in hooks.value.items():
        if not isinstance(groups, list):
            raise ValueError(f'"hooks.{event[:60]}" must be a list, not {_kind(groups)}')


def _check_unique_keys(text: str, start: int, container: str) -> None:
    keys: set[str] = set()
    for part in parts(text, start):
        if part.key in keys:
            raise ValueError(f"duplicate key {part.key[:60]!r} in {container}")
        keys.add(part.key)


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", dict: "an object", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def own_hooks(text: str, is_ours: IsOurs) -> dict[str, dict[str, Any]]:
    """Return Remit's hook of each event."""
    hooks = named(text, root_of(text), "hooks")
    return {
        event.key: hook.value
        for event in (parts(text, hooks.at) if hooks is not None else ())
        for hook in _hooks_in(text, event)[::-1]
        if is_ours(hook.value)
    }


def with_hooks(text: str, wanted: Mapping[str, Hook], is_ours: IsOurs) -> str:
    """Return the settings with exactly these hooks of Remit, each after the other hooks of its event."""
    text = _without_others(text, wanted, is_ours)
    style = style_of(text)
    root = root_of(text)
    if named(text, root, "hooks") is None:
        events = ("," + style.line(2)).join(style.event(event, hook) for event, hook in wanted.items())
        colon = ": " if style.newline else ":"
        return insert(text, root, f'"hooks"{colon}{{{style.line(2)}{events}{style.line(1)}}}', style, 1)
    for event, hook in wanted.items():
        text = _with_hook(text, event, hook, style, is_ours)
    return text


def _with_hook(text: str, event: str, hook: Hook, style: JsonStyle, is_ours: IsOurs) -> str:
    hooks = named(text, root_of(text), "hooks")
    assert hooks is not None  # noqa: S101 (the caller has checked)
    existing = named(text, hooks.at, event)
    if existing is None:
        return insert(text, hooks.at, style.event(event, hook), style, 2)
    ours = next((hook_part for hook_part in _hooks_in(text, existing) if is_ours(hook_part.value)), None)
    if ours is None:
        return insert(text, existing.at, style.group(hook), style, 3)
    if ours.value == hook:
        return text
    return text[: ours.at] + json.dumps(hook, ensure_ascii=False) + text[ours.end :]


def _without_others(text: str, wanted: Mapping[str, Hook], is_ours: IsOurs) -> str:
    """Remove Remit's hooks from other events, and duplicates from the wanted events."""
    while True:
        hooks = named(text, root_of(text), "hooks")
        for event in parts(text, hooks.at) if hooks is not None else ():
            ours = [hook for hook in _hooks_in(text, event) if is_ours(hook.value)]
            if ours[1 if event.key in wanted else 0 :]:
                text = _without_hook(text, event.key, ours[-1], frozenset({f"hooks.{event.key}"}))
                break
        else:
            return text


def without_hooks(text: str, is_ours: IsOurs, created: Collection[str] | None = None) -> str:
    """Return the settings without Remit's hooks.

    Containers that are then empty are removed if the install created them (`created`); None removes all of them.
    """
    while hooks_by_event := own_hooks(text, is_ours):
        event_name = next(iter(hooks_by_event))
        hooks = named(text, root_of(text), "hooks")
        event = named(text, hooks.at, event_name) if hooks is not None else None
        ours = [hook for hook in _hooks_in(text, event) if is_ours(hook.value)] if event is not None else []
        text = _without_hook(text, event_name, ours[-1], created)
    root = root_of(text)
    hooks = named(text, root, "hooks")
    if hooks is not None and hooks.value == {} and (created is None or "hooks" in created):
        text = remove(text, root, hooks)
    return text


def _without_hook(text: str, event_name: str, hook: JsonPart, created: Collection[str] | None) -> str:
    """Remove one hook, with its group and the event's list if they have no other entry."""
    hooks = named(text, root_of(text), "hooks")
    event = named(text, hooks.at, event_name) if hooks is not None else None
    if hooks is None or event is None:
        return text
    group = next(part for part in parts(text, event.at) if part.at <= hook.at < part.end)
    inner = named(text, group.at, "hooks")
    if inner is not None and len(inner.value) > 1:
        return remove(text, inner.at, hook)
    if len(event.value) > 1 or not (created is None or f"hooks.{event_name}" in created):
        return remove(text, event.at, group)
    return remove(text, hooks.at, event)


def added_by(before: str, after: str) -> list[str]:
    """Return the containers in `after` that `before` lacks: an uninstall removes them if they are empty."""
    old, new = (json.loads(text.removeprefix(_BOM)).get("hooks") for text in (before, after))
    if not isinstance(new, dict):
        return []
    events = [f"hooks.{event}" for event in new if not isinstance(old, dict) or event not in old]
    return [*(["hooks"] if old is None else []), *events]


def style_of(text: str) -> JsonStyle:
    """Return the style of a file; an empty object gets one line for each member."""
    plain = text.removeprefix(_BOM).strip()
    if "\n" not in plain:
        return JsonStyle("\n", "  ") if not plain[1:-1].strip() else JsonStyle("", "")
    match = _FIRST_INDENT.match(plain)
    return JsonStyle("\r\n" if "\r\n" in plain else "\n", match[1] if match else "  ")


def parts(text: str, start: int) -> list[JsonPart]:
    """Return the parts of the object or list that begins at `start` in a valid text."""
    closing = "}" if text[start] == "{" else "]"
    found_parts: list[JsonPart] = []
    position = _skip(text, start + 1)
    while text[position] != closing:
        begin, key = position, ""
        if closing == "}":
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)  # over the colon
        value, end = _DECODER.raw_decode(text, position)
        found_parts.append(JsonPart(key, value, begin, position, end))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found_parts


def _hooks_in(text: str, event: JsonPart) -> list[JsonPart]:
    """Return the hooks of an event in all its groups; groups of another form are skipped."""
    hooks: list[JsonPart] = []
    for group in parts(text, event.at) if isinstance(event.value, list) else ():
        inner = named(text, group.at, "hooks") if isinstance(group.value, dict) else None
        if inner is not None and isinstance(inner.value, list):
            hooks += parts(text, inner.at)
    return hooks


def named(text: str, start: int, key: str) -> JsonPart | None:
    """Return the member of an object by its key."""
    return next((part for part in parts(text, start) if part.key == key), None)


def root_of(text: str) -> int:
    """Return the position of the settings object."""
    return _skip(text, len(_BOM) if text.startswith(_BOM) else 0)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def insert(text: str, start: int, piece: str, style: JsonStyle, depth: int) -> str:
    """Add a part at the end of a container."""
    members = parts(text, start)
    if members:
        return f"{text[: members[-1].end]},{style.line(depth)}{piece}{text[members[-1].end :]}"
    closing = _skip(text, start + 1)
    return f"{text[: start + 1]}{style.line(depth)}{piece}{style.line(depth - 1)}{text[closing:]}"


def remove(text: str, start: int, part: JsonPart) -> str:
    """Remove one part of a container; the reverse of `_insert`."""
    members = parts(text, start)
    index = next(number for number, member in enumerate(members) if member.start == part.start)
    if index > 0:
        return text[: members[index - 1].end] + text[part.end :]
    if len(members) > 1:
        return text[: part.start] + text[members[1].start :]
    return text[: start + 1] + text[_skip(text, part.end) :]


def present_rules(text: str, rules: Iterable[str]) -> list[str]:
    """Return the rules that the settings already have."""
    denied = _denied(text)
    return [rule for rule in rules if rule in (denied or ())]


def with_rules(text: str, rules: Iterable[str]) -> str:
    """Return the settings with these rules; unchanged if `permissions` has another form than the client reads."""
    denied = _denied(text)
    missing = [rule for rule in rules if denied is not None and rule not in denied]
    if not missing:
        return text
    style = style_of(text)
    container = named(text, root_of(text), _CONTAINER)
    colon = ": " if style.newline else ":"
    if container is None:
        piece = f'"{_CONTAINER}"{colon}{{{style.line(2)}"{_LIST}"{colon}[]{style.line(1)}}}'
        text = insert(text, root_of(text), piece, style, 1)
    elif named(text, container.at, _LIST) is None:
        text = insert(text, container.at, f'"{_LIST}"{colon}[]', style, 2)
    for rule in missing:
        container = named(text, root_of(text), _CONTAINER)
        listed = named(text, container.at, _LIST) if container is not None else None
        if listed is not None:
            text = insert(text, listed.at, json.dumps(rule, ensure_ascii=False), style, 3)
    return text


def without_rules(text: str, rules: Collection[str], created: Collection[str] | None = None) -> str:
    """Return the settings without these rules, and without the containers that the install created (None: any)."""
    while True:
        container = named(text, root_of(text), _CONTAINER)
        if container is None or _denied(text) is None:
            return text
        listed = named(text, container.at, _LIST)
        ours = [part for part in parts(text, listed.at) if part.value in rules] if listed is not None else []
        if listed is not None and ours:
            text = remove(text, listed.at, ours[-1])
        elif listed is not None and listed.value == [] and _is_created(f"{_CONTAINER}.{_LIST}", created):
            text = remove(text, container.at, listed)
        elif container.value == {} and _is_created(_CONTAINER, created):
            text = remove(text, root_of(text), container)
        else:
            return text


def containers_added(before: str, after: str) -> list[str]:
    """Return the containers in `after` that `before` lacks."""
    old, new = named(before, root_of(before), _CONTAINER), named(after, root_of(after), _CONTAINER)
    if new is None:
        return []
    had_list = old is not None and isinstance(old.value, dict) and _LIST in old.value
    return [*([_CONTAINER] if old is None else []), *([] if had_list else [f"{_CONTAINER}.{_LIST}"])]


def _is_created(name: str, created: Collection[str] | None) -> bool:
    return created is None or name in created


def _denied(text: str) -> list[object] | None:
    """Return the list of denied uses, empty without one; None if it has another form."""
    container = named(text, root_of(text), _CONTAINER)
    if container is None:
        return []
    denied = container.value.get(_LIST, []) if isinstance(container.value, dict) else None
    return denied if isinstance(denied, list) else None
