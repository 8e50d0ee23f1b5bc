"""The client's own rules against edits of guarded files, in addition to the hooks.

They are inserted into `permissions.deny` of the client's settings and removed without changing any other byte. They
apply to all agents, and also when no hook runs.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from remit.clients.setup.settings_file import insert, named, parts, remove, root_of, style_of

_CONTAINER, _LIST = "permissions", "deny"


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
