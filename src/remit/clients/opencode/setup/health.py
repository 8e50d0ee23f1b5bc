"""Facts for `remit doctor`: whether the plugin is installed, and whether the hook process answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from remit.clients.opencode.setup.client import CLIENT, plugin_text
from remit.clients.setup.own_install import own_install_facts
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


def client_facts(project: Path | None = None) -> Iterator[HealthFact]:
    """Check the plugin of this project; without an install, report nothing."""
    target = CLIENT.find_target(project, is_user=False)
    restart = "start a new session without the client's option `pure`"
    yield from own_install_facts(target, plugin_text(), ("tool.execute.before", _EDIT), restart)
