"""What an install for Codex consists of."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from remit.clients.setup.hook_process import denial_problem, is_hook_command, shell_command
from remit.clients.setup.mcp_entry import COMMAND
from remit.clients.setup.settings_file import own_hooks, read_settings
from remit.clients.setup.target import ClientSetup, InstallTarget, McpFile, state_problem, user_folder
from remit.dispatch.health import HealthFact
from remit.errors import RemitError
from remit.registry.definition import Definition

#: Event -> the timeout in seconds. Codex shortens that of SessionEnd to 3.
EVENTS: dict[str, int] = {
    "SessionStart": 30,
    "UserPromptSubmit": 15,
    "PreToolUse": 15,
    "PostToolUse": 60,
    "SubagentStart": 15,
    "SubagentStop": 60,
    "Stop": 60,
    "PreCompact": 15,
    "SessionEnd": 3,
}
#: What the user does once: Codex skips hooks that the user has not reviewed, without a message.
TRUST = "start `codex` in this project, trust the folder, and approve Remit's hooks with `/hooks`"
_SECONDS = 20.0
#: How long Codex waits for the MCP server. Its default, 10 s, is too short on a slow or busy machine.
_START_SECONDS = 60
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


class Codex(ClientSetup):
    """Hooks in `.codex/hooks.json`, and agents next to it."""

    name = "codex"
    ending = ".toml"
    folder = ".codex"
    hooks = "hooks.json"

    def user_folder(self) -> Path:
        """Return `~/.codex`."""
        return user_folder("CODEX_HOME", ".codex")

    def hook_entries(self, *, is_closed: bool = False) -> dict[str, dict[str, Any]]:
        """Return the entry of each event. A hook that fails lets the call pass; Codex has no setting for that."""
        return {
            event: {"type": "command", "command": shell_command(event, self.name), "timeout": seconds}
            for event, seconds in EVENTS.items()
        }

    def is_ours(self, hook: object) -> bool:
        """Whether an entry is Remit's."""
        return isinstance(hook, dict) and is_hook_command(hook.get("command"), self.name)

    def definition_text(self, definition: Definition) -> str:
        """Return a definition as TOML. Tools and models have other names in Codex, so they are left out."""
        fields = {
            "name": definition.name,
            "description": definition.description,
            "developer_instructions": definition.body.strip() + "\n",
        }
        # A string of JSON is a basic string of TOML, except for this character.
        lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items())
        return "\n".join(lines).replace("\x7f", "\\u007f") + "\n"

    def mcp_file(self, target: InstallTarget) -> McpFile:
        """Return the settings of the project or of the user."""
        entry = {"command": COMMAND[0], "args": list(COMMAND[1:]), "startup_timeout_sec": _START_SECONDS}
        note = target.machine_note("" if target.is_user else "Codex reads it in a trusted project")
        return McpFile(target.folder / "config.toml", "mcp_servers", entry, note, empty="")

    def next_step(self, target: InstallTarget) -> str:
        """Return how to approve the hooks."""
        return TRUST

    def facts(self, project: Path | None = None) -> Iterator[HealthFact]:
        """Check the hooks of this project and of the user; without an install, report nothing."""
        for is_user in (False, True):
            yield from self._facts(self.find_target(None if is_user else project, is_user=is_user))

    def _facts(self, target: InstallTarget) -> Iterator[HealthFact]:
        try:
            text = read_settings(target.settings)
        except RemitError as error:
            yield HealthFact(self.name, "bad", str(error))
            return
        entries = own_hooks(text, self.is_ours) if text is not None else {}
        if not entries:
            return
        lacking = [event for event in EVENTS if event not in entries]
        foreign = [event for event, hook in entries.items() if hook.get("command") != shell_command(event, self.name)]
        problem = state_problem(target)
        if lacking:
            yield HealthFact(
                self.name, "bad", f"no hooks for {', '.join(lacking)}; add them with `remit install codex`"
            )
        elif foreign:
            what = f"the hooks for {', '.join(foreign)} belong to another installation"
            yield HealthFact(self.name, "bad", f"{what}; run `remit install codex` to use this one")
        elif problem:
            yield HealthFact(self.name, "bad", f"the hooks do not work in this project: {problem}")
        else:
            yield self._answering()
            yield self._trust(target)

    def _answering(self) -> HealthFact:
        problem = denial_problem(self.name, "PreToolUse", _EDIT, ["edit-code"])
        if problem:
            return HealthFact(self.name, "bad", f"the hook process does not work: {problem}")
        return HealthFact(self.name, "good", "the hook process works: it denied an edit of code in a test")

    def _trust(self, target: InstallTarget) -> HealthFact:
        program = shutil.which("codex")
        if program is None:
            return HealthFact(self.name, "odd", f"`codex` is not on PATH, so trust of the hooks is unknown; {TRUST}")
        try:
            hooks = listed_hooks(program, target)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return HealthFact(self.name, "odd", f"codex did not list its hooks ({str(error)[:200]}); {TRUST}")
        ours = [hook for hook in hooks if self.is_ours(hook)]
        trusted = [hook for hook in ours if hook.get("trustStatus") in ("trusted", "managed") and hook.get("enabled")]
        if len(ours) < len(EVENTS):
            return HealthFact(
                self.name, "bad", f"codex does not read the hooks of this project, so nothing is checked; {TRUST}"
            )
        if len(trusted) < len(ours):
            count = len(ours) - len(trusted)
            return HealthFact(
                self.name, "bad", f"codex skips {count} of {len(ours)} hooks until you approve them; {TRUST}"
            )
        return HealthFact(self.name, "good", f"codex runs all {len(ours)} hooks of this project")


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
            reply = _ask(process, 2, "hooks/list", {"cwds": [str(target.root)]})
        finally:
            limit.cancel()
            process.kill()
    rows = reply.get("data")
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
                result: dict[str, Any] = answer["result"]
                return result
            raise ValueError(f"{method}: {json.dumps(answer.get('error'))[:200]}")
    raise OSError(f"it ended before it answered {method}")


CLIENT = Codex()
