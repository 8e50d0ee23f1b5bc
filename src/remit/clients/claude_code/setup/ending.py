"""The last word of an install: whether anything is held to the contract now."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from remit.clients.claude_code.setup.changes import Plan
from remit.clients.claude_code.setup.gate_mode import mode_in_force
from remit.clients.claude_code.setup.hook_entries import NO_SERVER
from remit.clients.claude_code.setup.place import Place, find_place
from remit.clients.claude_code.setup.settings_file import read_settings
from remit.errors import UsageError


def last_words(plan: Plan, client: str) -> str:
    """What a person goes away with."""
    off = switched_off(settings_in_force(plan.place))
    if off:
        names = " and ".join(plan.place.told(path) for path in off)
        return f"{client} is NOT under contract: disableAllHooks in {names} switches every hook off; take it out first"
    if plan.record.http:
        words = f"{client} is not under contract yet: its hooks call {plan.record.http}, where nothing answers"
        return f"{words} ({NO_SERVER})"
    mode = "each project in its own mode" if plan.place.is_user else f"mode {mode_in_force(plan.place)}"
    if not plan.changes:
        return f"{client} is already under contract here ({mode}): nothing to change"
    return f"{client} is under contract ({mode}); start a new session, and `remit doctor` proves it"


def settings_in_force(place: Place) -> list[Path]:
    """The settings that a session here reads: the place's own, the project's shared ones, the user's."""
    user = find_place(None, is_user=True)
    return [*dict.fromkeys([place.settings, place.claude / "settings.json", user.settings])]


def switched_off(paths: Iterable[Path]) -> list[Path]:
    """Those of the settings that make the client run no hook at all; what cannot be read is passed over."""
    found = []
    for path in paths:
        try:
            text = read_settings(path)
        except UsageError:
            continue
        if text is not None and json.loads(text.removeprefix("\ufeff")).get("disableAllHooks") is True:
            found.append(path)
    return found
