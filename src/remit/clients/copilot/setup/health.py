"""Facts for `remit doctor`: whether the hooks are installed, whether they answer, and whether the client runs them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from remit.clients.copilot.setup.client import CLIENT, TRUST
from remit.clients.setup.client_probe import PROMPT, ProbeCall
from remit.clients.setup.own_install import OwnInstall
from remit.clients.setup.plan import MAX_BYTES, read_bytes
from remit.clients.setup.target import InstallTarget
from remit.dispatch.health import HealthFact
from remit.errors import RemitError

#: An edit of code by the orchestrator, which the standard mode denies.
_EDIT = {
    "sessionId": "self-test",
    "cwd": "@PROJECT@",
    "toolName": "edit",
    "toolArgs": {"path": "@PROJECT@/app.py", "old_str": "ANSWER = 42", "new_str": "ANSWER = 43"},
}
#: The user's settings that decide whether hooks run. No other setting is copied, such as a token.
_SETTINGS = ("trustedFolders", "trusted_folders", "disableAllHooks")


def client_facts(project: Path | None = None) -> Iterator[HealthFact]:
    """Check the hooks of this project and of the user; without an install, report nothing."""
    call = ProbeCall("edit", "path", {"old_str": "a", "new_str": "b"}, has_own_groups=True)
    yield from OwnInstall(CLIENT, ("preToolUse", _EDIT), call, _session, TRUST).facts(project)


def _session(target: InstallTarget, url: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return a session with a separate folder for its data, and with the user's trust of folders."""
    user = CLIENT.user_folder()
    for name in ("config.json", "settings.json"):
        (folder / name).write_text(json.dumps(_settings_in(user / name)), encoding="utf-8")
    if target.is_user:
        (folder / CLIENT.hooks).parent.mkdir()
        (folder / CLIENT.hooks).write_text(CLIENT.hooks_text(), encoding="utf-8")
    variables = {
        "COPILOT_HOME": str(folder),
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": url,
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_API_KEY": "scripted",
        "COPILOT_MODEL": "claude-sonnet-4.5",
        "NO_PROXY": "127.0.0.1",
    }
    return ["-p", PROMPT, "--no-custom-instructions", "--disable-builtin-mcps"], variables


def _settings_in(path: Path) -> dict[str, object]:
    """Return these settings of a file, which may begin with comments."""
    try:
        data = read_bytes(path, MAX_BYTES) or b"{}"
        text = "\n".join(line for line in data.decode().splitlines() if not line.lstrip().startswith("//"))
        found = json.loads(text)
    except (RemitError, ValueError, RecursionError):
        return {}
    return {key: found[key] for key in _SETTINGS if key in found} if isinstance(found, dict) else {}
