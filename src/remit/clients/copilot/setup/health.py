"""Facts for `remit doctor`: whether the hooks are installed, and whether they answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from remit.clients.copilot.setup.client import CLIENT, TRUST, hooks_text
from remit.clients.setup.own_install import own_install_facts
from remit.dispatch.health import HealthFact

#: An edit of code by the orchestrator, which the standard mode denies.
_EDIT = {
    "sessionId": "self-test",
    "cwd": "@PROJECT@",
    "toolName": "edit",
    "toolArgs": {"path": "@PROJECT@/app.py", "old_str": "ANSWER = 42", "new_str": "ANSWER = 43"},
}


def client_facts(project: Path | None = None) -> Iterator[HealthFact]:
    """Check the hooks of this project; without an install, report nothing."""
    target = CLIENT.find_target(project, is_user=False)
    yield from own_install_facts(target, hooks_text(), ("preToolUse", _EDIT), TRUST)
