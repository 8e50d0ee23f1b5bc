"""Insert hooks and permission rules into the client's settings, and remove them."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from remit.errors import UsageError

#: A larger file is refused.
MAX_BYTES = 4 * 1024 * 1024
_BOM = "\ufeff"
_INDENT = re.compile(r"\{[ \t\r]*\n([ \t]+)\S")

Group = Mapping[str, Any]
IsOurs = Callable[[object], bool]


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. A pipe, socket or device raises OSError at once, instead of blocking."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


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
        _check(_parsed(text))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start}); it was not changed") from error
    except RecursionError as error:
        raise UsageError(f"{path} is nested too deeply; it was not changed") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}; fix the file first, it was not changed") from error
    return text


def _parsed(text: str) -> Any:
    return json.loads(text.removeprefix(_BOM), object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError(f"a key stands twice in an object ({', '.join(key[:60] for key, _ in pairs[:5])} …)")
    return members


def _check(settings: Any) -> None:
    """Raise ValueError with the reason if hooks cannot be inserted into these settings."""
    if not isinstance(settings, dict):
        raise ValueError("settings must be a JSON object")
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise ValueError('"hooks" must be an object')
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise ValueError(f'"hooks.{event[:60]}" must be a list')


def own_groups(text: str, is_ours: IsOurs) -> dict[str, Group]:
    """Return the group with Remit's hook of each event."""
    return {
        event: {**group, "hooks": [hook]}
        for event, groups in _parsed(text).get("hooks", {}).items()
        for group in groups
        for hook in _hooks_in(group)
        if is_ours(hook)
    }


def _hooks_in(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def with_install(
    text: str, groups: Mapping[str, Group], rules: Sequence[str], is_ours: IsOurs, earlier: Collection[str] = ()
) -> str:
    """Return the settings with exactly these hooks of Remit and these rules instead of `earlier` ones.

    What is the same already stays where it is; without a change, the text stays as it is.
    """
    settings = _parsed(text)
    before = json.dumps(settings)
    if own_groups(text, is_ours) != dict(groups) or _count(settings, is_ours) != len(groups):
        _remove_hooks(settings, is_ours)
        for event, group in groups.items():
            settings.setdefault("hooks", {}).setdefault(event, []).append(group)
    _set_rules(settings, rules, earlier)
    return text if json.dumps(settings) == before else _written(settings, text, groups)


def _count(settings: dict[str, Any], is_ours: IsOurs) -> int:
    groups = [group for groups in settings.get("hooks", {}).values() for group in groups]
    return sum(is_ours(hook) for group in groups for hook in _hooks_in(group))


def _remove_hooks(settings: dict[str, Any], is_ours: IsOurs) -> None:
    """Remove Remit's hooks, and what is empty without them."""
    hooks = settings.get("hooks", {})
    for event, groups in list(hooks.items()):
        kept = []
        for group in groups:
            others = [hook for hook in _hooks_in(group) if not is_ours(hook)]
            if others or len(others) == len(_hooks_in(group)):
                kept.append({**group, "hooks": others} if others else group)
        if kept or not groups:
            hooks[event] = kept
        else:
            del hooks[event]
    if "hooks" in settings and not hooks:
        del settings["hooks"]


def _set_rules(settings: dict[str, Any], rules: Sequence[str], earlier: Collection[str]) -> None:
    """Replace rules of `permissions.deny`, unless it has another form than the client reads."""
    permissions = settings.get("permissions", {})
    denied = permissions.get("deny", []) if isinstance(permissions, dict) else None
    if not isinstance(denied, list) or not (rules or any(rule in denied for rule in earlier)):
        return
    kept = [rule for rule in denied if rule in rules or rule not in earlier]
    kept += [rule for rule in rules if rule not in kept]
    others = {key: value for key, value in permissions.items() if key != "deny"}
    settings["permissions"] = {**permissions, "deny": kept} if kept else others
    if not settings["permissions"]:
        del settings["permissions"]


def present_rules(text: str, rules: Sequence[str]) -> list[str]:
    """Return the rules that the settings already have."""
    permissions = _parsed(text).get("permissions", {})
    denied = permissions.get("deny", []) if isinstance(permissions, dict) else []
    return [rule for rule in rules if isinstance(denied, list) and rule in denied]


def _written(settings: dict[str, Any], before: str, groups: Mapping[str, Group]) -> str:
    """Return settings as text, indented as the text before, with each group of Remit on one line."""
    match = _INDENT.match(before.removeprefix(_BOM).strip())
    hooks = settings.get("hooks", {})
    marked = {
        event: [_mark(event) if group == groups.get(event) else group for group in hooks[event]] for event in hooks
    }
    text = json.dumps(
        {**settings, **({"hooks": marked} if marked else {})}, ensure_ascii=False, indent=match[1] if match else 2
    )
    for event, group in groups.items():
        text = text.replace(json.dumps(_mark(event)), json.dumps(group, ensure_ascii=False))
    return text + "\n"


def _mark(event: str) -> str:
    return f"@remit {event}@"
