"""Facts for `remit doctor`: whether the hooks are installed, whether Codex runs them, and whether they answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from remit.clients.codex.setup.client import CLIENT, EVENTS, TRUST
from remit.clients.setup.hook_process import denial_problem, shell_command
from remit.clients.setup.settings_file import own_hooks, read_settings
from remit.clients.setup.target import InstallTarget, state_problem
from remit.dispatch.health import HealthFact
from remit.errors import RemitError

_WHAT = "codex"
_SECONDS = 20.0
_MAX_LINE = 4_000_000
#: An edit of code by the orchestrator, which the standard mode denies.
_EDIT = {
    "session_id": "self-test",
    "cwd": "@PROJECT@",
    "hook_event_name": "PreToolUse",
    "tool_name": "apply_patch",
    "tool_use_id": "call_1",
    "tool_input": {
        "command": "*** Begin Patch\n*** Update File: app.py\n@@\n-ANSWER = 42\n+ANSWER = 43\n*** End Patch"
    },
}


def client_facts(project: Path | None = None) -> Iterator[HealthFact]:
    """Check the hooks of this project and of the user; without an install, report nothing."""
    for is_user in (False, True):
        yield from _facts(CLIENT.find_target(None if is_user else project, is_user=is_user))


def _facts(target: InstallTarget) -> Iterator[HealthFact]:
    try:
        text = read_settings(target.settings)
    except RemitError as error:
        yield HealthFact(_WHAT, "bad", str(error))
        return
    entries = own_hooks(text, CLIENT.is_ours) if text is not None else {}
    if not entries:
        return
    lacking = [event for event in EVENTS if event not in entries]
    foreign = [event for event, hook in entries.items() if hook.get("command") != shell_command(event, CLIENT.name)]
    problem = state_problem(target)
    if lacking:
        yield HealthFact(_WHAT, "bad", f"no hooks for {', '.join(lacking)}; add them with `remit install codex`")
    elif foreign:
        what = f"the hooks for {', '.join(foreign)} belong to another installation"
        yield HealthFact(_WHAT, "bad", f"{what}; run `remit install codex` to use this one")
    elif problem:
        yield HealthFact(_WHAT, "bad", f"the hooks do not work in this project: {problem}")
    else:
        yield _answering()
        yield _trust(target)


def _answering() -> HealthFact:
    problem = denial_problem(CLIENT.name, "PreToolUse", _EDIT, ["edit-code"])
    if problem:
        return HealthFact(_WHAT, "bad", f"the hook process does not work: {problem}")
    return HealthFact(_WHAT, "good", "the hook process works: it denied an edit of code in a test")


def _trust(target: InstallTarget) -> HealthFact:
    program = shutil.which("codex")
    if program is None:
        return HealthFact(_WHAT, "odd", f"`codex` is not on PATH, so trust of the hooks is unknown; {TRUST}")
    try:
        hooks = listed_hooks(program, target)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return HealthFact(_WHAT, "odd", f"codex did not list its hooks ({str(error)[:200]}); {TRUST}")
    ours = [hook for hook in hooks if CLIENT.is_ours(hook)]
    trusted = [hook for hook in ours if hook.get("trustStatus") in ("trusted", "managed") and hook.get("enabled")]
    if len(ours) < len(EVENTS):
        return HealthFact(
            _WHAT, "bad", f"codex does not read the hooks of this project, so nothing is checked; {TRUST}"
        )
    if len(trusted) < len(ours):
        count = len(ours) - len(trusted)
        return HealthFact(_WHAT, "bad", f"codex skips {count} of {len(ours)} hooks until you approve them; {TRUST}")
    return HealthFact(_WHAT, "good", f"codex runs all {len(ours)} hooks of this project")


def listed_hooks(
    program: str, target: InstallTarget, environment: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the hooks that Codex finds in a project, with their trust, from its application server."""
    with subprocess.Popen(
        [program, "app-server"],
        cwd=target.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment or os.environ),
    ) as process:
        limit = threading.Timer(_SECONDS, process.kill)
        limit.start()
        try:
            about = {"clientInfo": {"name": "remit", "title": "Remit", "version": "1"}}
            _ask(process, 1, "initialize", about)
            found = _ask(process, 2, "hooks/list", {"cwds": [str(target.root)]})
        finally:
            limit.cancel()
            process.kill()
    rows = found.get("data")
    return [
        hook
        for row in (rows if isinstance(rows, list) else [])
        for hook in (row.get("hooks") or [] if isinstance(row, dict) else [])
        if isinstance(hook, dict)
    ]


def _ask(process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if process.stdin is None or process.stdout is None:
        raise OSError("no pipe")
    if number > 1:
        process.stdin.write(b'{"jsonrpc":"2.0","method":"initialized"}\n')
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    while line := process.stdout.readline(_MAX_LINE):
        answer = json.loads(line)
        if isinstance(answer, dict) and answer.get("id") == number:
            if isinstance(answer.get("result"), dict):
                found: dict[str, Any] = answer["result"]
                return found
            raise ValueError(f"{method}: {json.dumps(answer.get('error'))[:200]}")
    raise OSError(f"it ended before it answered {method}")
