"""Facts for `remit doctor`: whether the plugin is installed, whether it answers, and whether the client loads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from remit.clients.opencode.setup.client import CLIENT, OFFLINE
from remit.clients.setup.client_probe import PROMPT, ProbeCall
from remit.clients.setup.own_install import OwnInstall
from remit.clients.setup.target import InstallTarget
from remit.dispatch.health import HealthFact

#: An edit of code by the orchestrator, which the standard mode denies.
_EDIT = {
    "sessionID": "self-test",
    "rootID": "self-test",
    "agent": "",
    "cwd": "@PROJECT@",
    "tool": "edit",
    "callID": "call_1",
    "args": {"filePath": "@PROJECT@/app.py", "oldString": "ANSWER = 42", "newString": "ANSWER = 43"},
}
_RESTART = "start a new session, without the client's option `--pure`"
_MODEL = "claude-sonnet-4-5"


def client_facts(project: Path | None = None) -> Iterator[HealthFact]:
    """Check the plugin of this project and of the user; without an install, report nothing."""
    call = ProbeCall("edit", "filePath", {"oldString": "a", "newString": "b"})
    yield from OwnInstall(CLIENT, ("tool.execute.before", _EDIT), call, _session, _RESTART).facts(project)


def _session(target: InstallTarget, url: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return a session with the user's settings, except for the model, and with its data in the folder."""
    settings = {
        "model": f"anthropic/{_MODEL}",
        "small_model": f"anthropic/{_MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "provider": {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "scripted"}, "models": {_MODEL: {}}}},
    }
    variables = {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        **{f"XDG_{name}_HOME": str(folder / name) for name in ("DATA", "STATE", "CACHE")},
        **OFFLINE,
    }
    return ["run", "--format", "json", PROMPT], variables
