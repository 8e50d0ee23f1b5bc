"""What else on this machine decides whether the hooks of an install run once: the client, and a second install."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from remit.clients.setup.file_changes import read_record
from remit.clients.setup.settings_file import own_hooks, read_settings
from remit.clients.setup.target import ClientSetup, InstallTarget
from remit.dispatch.health import HealthFact
from remit.errors import RemitError


def absent_program(client: ClientSetup) -> str:
    """Describe that the client's program is not there; "" if it is."""
    if shutil.which(client.program) is not None:
        return ""
    return f"`{client.program}` is not on PATH here; the hooks take effect where {client.name} runs"


def doubled_hooks(target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Describe that the client runs the hooks of a second install, too; "" if not. `entries` are those of the target.

    Claude Code runs a hook once that calls the same in the settings of the project and of the user.
    """
    client = target.client
    other = client.find_target(None, is_user=not target.is_user)
    if other.root == target.root or other.settings == target.settings:
        return ""
    try:
        if client.repeats_hooks:
            is_doubled = read_record(other) is not None
        else:
            theirs = _calls(_hooks_in(other))
            is_doubled = bool(theirs) and theirs != _calls(entries)
    except RemitError:
        return ""  # the checks of that place report it
    if not is_doubled:
        return ""
    where, option = ("for all your projects", " --user") if other.is_user else ("in this project", "")
    what = f"{client.name} is installed {where}, too, and here it would run the hooks of both"
    return f"{what}; remove one, for example with `remit uninstall {client.name}{option}`"


def second_install_facts(client: ClientSetup) -> Iterator[HealthFact]:
    """Report an install in this project and one for all projects whose hooks both run."""
    here = client.find_target(None, is_user=False)
    try:
        entries = _hooks_in(here)
        is_installed = bool(entries) or read_record(here) is not None
    except RemitError:
        return  # the checks of the hooks report it
    if is_installed and (problem := doubled_hooks(here, entries)):
        yield HealthFact(client.name, "odd", problem)


def _hooks_in(target: InstallTarget) -> dict[str, dict[str, Any]]:
    text = read_settings(target.settings) if target.client.hook_entries() else None
    return own_hooks(text, target.client.is_ours) if text is not None else {}


def _calls(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[object, ...]]:
    """Return what each entry calls. The client runs equal calls once, with any limits."""
    return {
        event: (hook.get("url"), hook.get("command"), *map(str, hook.get("args") or ()))
        for event, hook in entries.items()
    }
