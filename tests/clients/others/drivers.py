"""How each client from npm is configured, asked and continued, and how a scripted model calls its tools."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from npm_client import PATIENCE, Json, NpmStage, call, does, dumped, line_with
from support.waiting import until

from remit.clients.codex.setup import CLIENT as CODEX

_MODEL = "claude-sonnet-4-5"
#: An answer with an invented place; that no tests ran is only unseen, which sends nothing back.
FALSE = "I ran the tests: all tests passed. See `shop/refunds.py:36`."
#: Without a registry, opencode does not install the types for plugins, which Remit's plugin does not need.
_OPENCODE = {
    **dict.fromkeys(("OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE"), "1"),
    **dict.fromkeys(("OPENCODE_DISABLE_LSP_DOWNLOAD",), "1"),
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "npm_config_registry"), "http://127.0.0.1:9"),
    "NO_PROXY": "127.0.0.1,localhost",
    "npm_config_fetch_retries": "0",
}


class Driver:
    """One client: the calls of a scripted model, and sessions."""

    client = ""
    #: The names of the fields of `edit`, `read`.
    tools: Mapping[str, tuple[str, ...]] = {}
    #: Where the client itself writes files into the project.
    own_files: tuple[str, ...] = ()
    #: An agent of the client itself, which no install adds.
    own_agent = ""

    def __init__(self, project: Path) -> None:
        self.project = project

    def _call(self, key: str, kind: str, *values: str) -> Json:
        tool, *fields = self.tools[kind]
        return call(key, tool, **dict(zip(fields, (str(self.project / values[0]), *values[1:]), strict=True)))

    def edit(self, key: str, path: str, old: str, new: str) -> Json:
        return self._call(key, "edit", path, old, new)

    def read(self, key: str, path: str) -> Json:
        return self._call(key, "read", path)

    def shell(self, key: str, command: str) -> Json:
        return call(key, "bash", command=command, description=key)

    def delegate(self, *tasks: str, agent: str) -> list[Json]:
        """Return the turns that start these tasks together and wait for the reports; a task is its marker."""
        raise NotImplementedError

    def configure(self, stage: NpmStage) -> None:
        """Write the user's configuration of the client: the scripted model."""

    def approve(self, stage: NpmStage) -> None:
        """Do what the person does once, so that the client runs the hooks of the project."""

    def start(self, stage: NpmStage, prompt: str) -> None:
        raise NotImplementedError

    def converse(self, stage: NpmStage, prompt: str) -> None:
        """Start a session whose false answer is sent back, and wait for the next one."""
        self.start(stage, prompt)

    def turns(self, stage: NpmStage, marker: str) -> list[list[Json]]:
        """Return the messages of each request of a conversation."""
        return [body["messages"] for body in stage.asked(marker) if body.get("tools")]

    def results(self, stage: NpmStage, marker: str) -> dict[str, str]:
        """Return the results that the model of a conversation received, by the call's id without its prefix."""
        contents = (message["content"] for message in self.turns(stage, marker)[-1])
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        return {
            str(one["tool_use_id"]).removeprefix("call_"): dumped(one["content"])
            for one in blocks
            if one["type"] == "tool_result"
        }


class Codex(Driver):
    """`codex exec`; edits are patches, and a report arrives by `wait_agent`."""

    client = "codex"
    own_agent = "explorer"

    def edit(self, key: str, path: str, old: str, new: str) -> Json:
        line = line_with(path, old)
        return self._patch(key, f"Update File: {path}\n@@\n-{line}\n+{line.replace(old, new)}")

    def _patch(self, key: str, body: str) -> Json:
        text = f"*** Begin Patch\n*** {body}\n*** End Patch"
        return {"name": "apply_patch", "id": f"call_{key}", "custom": True, "raw": text}

    def read(self, key: str, path: str) -> Json:
        return self.shell(key, f"cat {path}")

    def shell(self, key: str, command: str) -> Json:
        return call(key, "exec_command", cmd=command)

    def delegate(self, *tasks: str, agent: str) -> list[Json]:
        def spawn(task: str) -> Json:
            given = call(f"spawn-{task}", "spawn_agent", message=f"{task}: please", agent_type=agent)
            return given | {"namespace": "multi_agent_v1"}

        def wait(task: str) -> Json:
            """Wait for the agent whose id is in the result of its launch."""
            given = call(task, "wait_agent", targets=["$1"], timeout_ms=60_000)
            found = rf"call_spawn-{task}\W{{2,9}}output\W.{{0,40}}?agent_id.{{5,7}}?([0-9a-f-]{{36}})"
            return given | {"namespace": "multi_agent_v1", "find": found}

        return [does(*map(spawn, tasks)), *(does(wait(task)) for task in tasks)]

    def configure(self, stage: NpmStage) -> None:
        self._configure(stage)

    def _configure(self, stage: NpmStage, trust: str = "") -> None:
        folder = stage.home / ".codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(
            f"""model = "gpt-5.5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{stage.server.url}/v1"
wire_api = "responses"
[projects."{stage.project}"]
trust_level = "trusted"
{trust}
""",
            encoding="utf-8",
        )

    def approve(self, stage: NpmStage) -> None:
        """Approve the hooks as Codex lists them, as the person does with `/hooks`."""
        target = CODEX.find_target(stage.project, is_user=False)
        hooks = listed_hooks(str(stage.program), target, stage.environment)
        trust = (f'[hooks.state."{one["key"]}"]\ntrusted_hash = "{one["currentHash"]}"\n' for one in hooks)
        self._configure(stage, "".join(trust))

    def start(self, stage: NpmStage, prompt: str) -> None:
        stage.run("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", prompt)

    def turns(self, stage: NpmStage, marker: str) -> list[list[Json]]:
        return [body["input"] for body in stage.asked(marker)]

    def results(self, stage: NpmStage, marker: str) -> dict[str, str]:
        items = self.turns(stage, marker)[-1]
        found = [item for item in items if str(item["type"]).endswith("_output")]
        return {str(item["call_id"]).removeprefix("call_"): dumped(item["output"]) for item in found}


class Copilot(Driver):
    """`copilot -p`."""

    client = "copilot"
    own_agent = "general-purpose"
    tools = {
        "edit": ("edit", "path", "old_str", "new_str"),
        "read": ("view", "path"),
    }

    def delegate(self, *tasks: str, agent: str) -> list[Json]:
        def launch(task: str) -> Json:
            about = {"description": task, "prompt": f"{task}: please", "agent_type": agent}
            # The model asks for a background run: the report of the team's agent arrives in the result all the same.
            return call(task, "task", name=task, mode="sync" if agent == self.own_agent else "background", **about)

        return [does(*map(launch, tasks))]

    def approve(self, stage: NpmStage) -> None:
        """Trust the folder, as the person does in the client."""
        folder = stage.home / ".copilot"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps({"trustedFolders": [str(stage.project)]}), encoding="utf-8")

    def start(self, stage: NpmStage, prompt: str) -> None:
        stage.run(
            *("-p", prompt, "--allow-all-tools"),
            COPILOT_OFFLINE="true",
            COPILOT_PROVIDER_BASE_URL=stage.server.url,
            COPILOT_PROVIDER_TYPE="anthropic",
            COPILOT_PROVIDER_API_KEY="test-key",
            COPILOT_MODEL="claude-sonnet-4.5",
            COPILOT_AUTO_UPDATE="false",
        )


class Opencode(Driver):
    """`opencode run`, and its server for a session that goes on after an answer."""

    client = "opencode"
    own_agent = "general"
    own_files = (".opencode",)
    tools = {
        "edit": ("edit", "filePath", "oldString", "newString"),
        "read": ("read", "filePath"),
    }

    def delegate(self, *tasks: str, agent: str) -> list[Json]:
        def launch(task: str) -> Json:
            return call(task, "task", description=task, prompt=f"{task}: please", subagent_type=agent)

        return [does(*map(launch, tasks))]

    def configure(self, stage: NpmStage) -> None:
        folder = stage.home / ".config/opencode"
        folder.mkdir(parents=True)
        options = {"baseURL": f"{stage.server.url}/v1", "apiKey": "test-key"}
        settings = {
            "model": f"anthropic/{_MODEL}",
            "small_model": f"anthropic/{_MODEL}",
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "provider": {"anthropic": {"options": options, "models": {_MODEL: {}}}},
            "permission": {"*": "allow"},
        }
        (folder / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")

    def converse(self, stage: NpmStage, prompt: str) -> None:
        """Use the client's server: `opencode run` ends with the first answer, also if it is sent back."""
        with self._serving(stage) as url:
            session = ask(f"{url}/session", {})["id"]
            ask(f"{url}/session/{session}/message", {"parts": [{"type": "text", "text": prompt}]})
            until(lambda: is_corrected(ask(f"{url}/session/{session}/message")))

    @contextlib.contextmanager
    def _serving(self, stage: NpmStage) -> Iterator[str]:
        """Run the client's server, and return its address."""
        with (
            (stage.root / "client.log").open("wb") as log,
            subprocess.Popen(
                [str(stage.program), "serve", "--hostname", "127.0.0.1", "--port", "0"],
                cwd=stage.project,
                env={**stage.environment, **_OPENCODE},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as process,
        ):
            try:
                assert process.stdout is not None
                lines = iter(process.stdout.readline, "")
                yield next(found.group() for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
            finally:
                process.kill()


def ask(url: str, body: Json | None = None) -> Any:
    """Return the answer of the client's server."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.loads(answer.read())


def is_corrected(messages: list[Json]) -> bool:
    """Whether the last message is a complete answer after one that was sent back."""
    last = messages[-1]["info"]
    return "final-claims" in dumped(messages) and last["role"] == "assistant" and last.get("finish") == "stop"


DRIVERS: Sequence[type[Driver]] = (Codex, Copilot, Opencode)


_RPC_SECONDS = 20.0
_MAX_RPC_LINE = 4_000_000


def listed_hooks(program: str, target: Any, environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Return the hooks that Codex finds in a project, with their trust, from its application server."""
    with subprocess.Popen(
        [program, "app-server"],
        cwd=target.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment or os.environ),
    ) as process:
        limit = threading.Timer(_RPC_SECONDS, process.kill)
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
    while line := process.stdout.readline(_MAX_RPC_LINE):
        answer = json.loads(line)
        if isinstance(answer, dict) and answer.get("id") == number:
            if isinstance(answer.get("result"), dict):
                result: dict[str, Any] = answer["result"]
                return result
            raise ValueError(f"{method}: {json.dumps(answer.get('error'))[:200]}")
    raise OSError(f"it ended before it answered {method}")
