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
#: The limit in tokens with which Copilot CLI compacts the conversation, which has 46,000: it does so at 80 %. Above the
#: limit, it would drop the beginning before it asks for a summary.
_SMALL = 53_000
#: An answer that the record of the session contradicts.
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
    #: The names of the fields of `edit`, `write`, `read`.
    tools: Mapping[str, tuple[str, ...]] = {}
    #: The exit code of `remit doctor` before the person has approved the hooks, and what it prints before and after.
    unapproved = 0
    not_approved = ""
    approved = ""
    #: Where the client itself writes files into the project.
    own_files: tuple[str, ...] = ()
    #: Whether the test lets the client compact the conversation.
    compacts = False
    #: The conversation of the session that a new process continues.
    resumed = "work-on-it"
    #: The answer that ends the first process.
    corrected = "Orders were traced. Nothing was run."
    #: How many answers of the model stay in the conversation after a compaction.
    kept_answers = 0
    #: An agent of the client itself, which no install adds.
    own_agent = ""
    #: Whether a model of the client can call tools inside a script.
    has_scripts = False
    #: Whether the client repeats a report in a message that no hook can change.
    repeats_reports = False
    #: Whether the continued session ends with the answer FALSE, because the client cannot send it back there.
    ends_with_false_answer = False

    def __init__(self, project: Path) -> None:
        self.project = project

    def _call(self, key: str, kind: str, *values: str) -> Json:
        tool, *fields = self.tools[kind]
        return call(key, tool, **dict(zip(fields, (str(self.project / values[0]), *values[1:]), strict=True)))

    def edit(self, key: str, path: str, old: str, new: str) -> Json:
        return self._call(key, "edit", path, old, new)

    def write(self, key: str, path: str, text: str) -> Json:
        return self._call(key, "write", path, text)

    def read(self, key: str, path: str) -> Json:
        return self._call(key, "read", path)

    def shell(self, key: str, command: str) -> Json:
        return call(key, "bash", command=command, description=key)

    def shell_edit(self) -> str:
        """Return a command line that changes code."""
        return "sed -i s/a/b/ shop/mail.py"

    def verify_text(self, key: str, text: str) -> Json:
        """Return a call of the MCP server."""
        raise NotImplementedError

    def delegate(self, *tasks: str, agent: str = "code-explorer") -> list[Json]:
        """Return the turns that start these tasks together and wait for the reports; a task is its marker."""
        raise NotImplementedError

    def compacting(self, turn: Json, summary: str) -> list[Json]:
        """Return the turns of a prompt, and the summary if the client compacts the conversation during it."""
        return [turn, {"text": "Nothing was read again."}]

    def more_conversations(self) -> dict[str, list[Json]]:
        """Return conversations that only this client has."""
        return {}

    def configure(self, stage: NpmStage) -> None:
        """Write the user's configuration of the client: the scripted model."""

    def approve(self, stage: NpmStage) -> None:
        """Do what the person does once, so that the client runs the hooks of the project."""

    def start(self, stage: NpmStage, prompt: str) -> None:
        raise NotImplementedError

    def resume(self, stage: NpmStage, prompt: str) -> None:
        """Continue the last session in a new process."""
        raise NotImplementedError

    def converse(self, stage: NpmStage, prompt: str) -> None:
        """Start a session whose false answer is sent back, and wait for the next one."""
        self.start(stage, prompt)

    def work(self, stage: NpmStage, first: str, second: str) -> None:
        """Start a session, and continue it with another prompt in a new process."""
        self.start(stage, first)
        self.resume(stage, second)

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
    #: Features of the client that a session turns on, as TOML.
    features = ""
    not_approved = "no event of a session here has come yet: start `codex` in this project"
    approved = "the hook process works"
    compacts = True
    has_scripts = True
    repeats_reports = True

    def edit(self, key: str, path: str, old: str, new: str) -> Json:
        line = line_with(path, old)
        return self._patch(key, f"Update File: {path}\n@@\n-{line}\n+{line.replace(old, new)}")

    def write(self, key: str, path: str, text: str) -> Json:
        return self._patch(key, f"Add File: {path}\n" + "\n".join(f"+{line}" for line in text.splitlines()))

    def _patch(self, key: str, body: str) -> Json:
        text = f"*** Begin Patch\n*** {body}\n*** End Patch"
        return {"name": "apply_patch", "id": f"call_{key}", "custom": True, "raw": text}

    def read(self, key: str, path: str) -> Json:
        return self.shell(key, f"cat {path}")

    def shell(self, key: str, command: str) -> Json:
        return call(key, "exec_command", cmd=command)

    def shell_edit(self) -> str:
        """Return a patch in a command line, which changes files without the tool for patches."""
        patch = self.edit("", "shop/mail.py", "Mail to customers", "Mail to all customers")["raw"]
        return f"apply_patch <<'EOF'\n{patch}\nEOF"

    def verify_text(self, key: str, text: str) -> Json:
        return call(key, "verify_text", text=text) | {"namespace": "mcp__remit"}

    def delegate(self, *tasks: str, agent: str = "code-explorer") -> list[Json]:
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
model_auto_compact_token_limit = 100000
[model_providers.scripted]
name = "scripted"
base_url = "{stage.server.url}/v1"
wire_api = "responses"
[projects."{stage.project}"]
trust_level = "trusted"
{trust}
[features]
{self.features}
""",
            encoding="utf-8",
        )

    def approve(self, stage: NpmStage) -> None:
        """Approve the hooks as Codex lists them, as the person does with `/hooks`."""
        target = CODEX.find_target(stage.project, is_user=False)
        hooks = listed_hooks(str(stage.program), target, stage.environment)
        trust = (f'[hooks.state."{one["key"]}"]\ntrusted_hash = "{one["currentHash"]}"\n' for one in hooks)
        self._configure(stage, "".join(trust))

    def compacting(self, turn: Json, summary: str) -> list[Json]:
        """Return a turn of a model that has read a lot, and the summary that the client asks for."""
        return [turn | {"usage": {"input": 190_000, "output": 50}}, {"text": summary}]

    def more_conversations(self) -> dict[str, list[Json]]:
        def script(key: str, body: str) -> Json:
            return {"name": "exec", "id": f"call_{key}", "custom": True, "raw": f"text(JSON.stringify(await {body}))"}

        patch = self.edit("", "shop/mail.py", "Mail to customers", "Mail to all customers")["raw"]
        return {
            "this-goes-on": [does(self.read("after", "shop/orders.py")), {"text": "Nothing was read again."}],
            "in-code-mode": [
                does(script("nested_edit", f"tools.apply_patch({json.dumps(patch)})")),
                does(script("nested_shell", "tools.exec_command({cmd: 'sed -i s/a/b/ shop/mail.py'})")),
                {"text": "Nothing was changed."},
            ],
        }

    def work(self, stage: NpmStage, first: str, second: str) -> None:
        self.start(stage, "in-code-mode", "-m", "gpt-6.1-sol")
        super().work(stage, first, second)

    def start(self, stage: NpmStage, prompt: str, *options: str) -> None:
        stage.run("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", *options, prompt)

    def resume(self, stage: NpmStage, prompt: str) -> None:
        stage.run("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "resume", "--last", prompt)

    def turns(self, stage: NpmStage, marker: str) -> list[list[Json]]:
        return [body["input"] for body in stage.asked(marker)]

    def results(self, stage: NpmStage, marker: str) -> dict[str, str]:
        items = self.turns(stage, marker)[-1]
        found = [item for item in items if str(item["type"]).endswith("_output")]
        return {str(item["call_id"]).removeprefix("call_"): dumped(item["output"]) for item in found}


class CodexOfVersionTwo(Codex):
    """Codex with multi-agent version 2: an agent has the name of its task, and its report is a message."""

    features = "multi_agent_v2 = true"

    def delegate(self, *tasks: str, agent: str = "code-explorer") -> list[Json]:
        place = {"namespace": "collaboration"}

        def spawn(task: str) -> Json:
            about = {"message": f"{task}: please", "agent_type": agent, "task_name": task.replace("-", "_")}
            return call(f"spawn-{task}", "spawn_agent", **about, fork_turns="none") | place

        return [does(*map(spawn, tasks)), *(does(self.wait(task)) for task in tasks)]

    def wait(self, key: str) -> Json:
        """Return a call that waits for the next message of an agent."""
        return call(key, "wait_agent", timeout_ms=60_000) | {"namespace": "collaboration"}


class Copilot(Driver):
    """`copilot -p`; it compacts in the background while the model answers, so another process continues after that."""

    client = "copilot"
    own_agent = "general-purpose"
    compacts = True
    resumed = "this-goes-on"
    corrected = f"Orders were traced. Nothing was run.{' Really.' * 12_000}"
    kept_answers = 1
    not_approved = "copilot does not run the hooks, so nothing is checked; start `copilot` in this project and trust"
    approved = "copilot runs the hooks: it denied a call in a test session"
    tools = {
        "edit": ("edit", "path", "old_str", "new_str"),
        "write": ("create", "path", "file_text"),
        "read": ("view", "path"),
    }

    def verify_text(self, key: str, text: str) -> Json:
        return call(key, "remit-verify_text", text=text)

    def delegate(self, *tasks: str, agent: str = "code-explorer") -> list[Json]:
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

    def compacting(self, turn: Json, summary: str) -> list[Json]:
        """Return the summary, which is also the answer to the prompt during the compaction."""
        return [{"text": summary}]

    def more_conversations(self) -> dict[str, list[Json]]:
        later, after = (does(self.read(key, "shop/orders.py")) for key in ("later", "after"))
        return {"this-goes-on": [{"text": "This answer stayed."}, later, after, {"text": "Nothing was read again."}]}

    def turns(self, stage: NpmStage, marker: str) -> list[list[Json]]:
        """Return the messages of each request, except that for the summary, which comes at any time."""
        return [one for one in super().turns(stage, marker) if "Please create a detailed summary" not in dumped(one)]

    def work(self, stage: NpmStage, first: str, second: str) -> None:
        self.start(stage, first)
        self.start(stage, "compact", "--continue", COPILOT_PROVIDER_MAX_PROMPT_TOKENS=str(_SMALL))
        self.resume(stage, second)

    def start(self, stage: NpmStage, prompt: str, *options: str, **variables: str) -> None:
        stage.run(
            *("-p", prompt, "--allow-all-tools", *options),
            **variables,
            COPILOT_OFFLINE="true",
            COPILOT_PROVIDER_BASE_URL=stage.server.url,
            COPILOT_PROVIDER_TYPE="anthropic",
            COPILOT_PROVIDER_API_KEY="test-key",
            COPILOT_MODEL="claude-sonnet-4.5",
            COPILOT_AUTO_UPDATE="false",
        )

    def resume(self, stage: NpmStage, prompt: str) -> None:
        self.start(stage, prompt, "--continue")


class Opencode(Driver):
    """`opencode run`, and its server for a session that goes on after an answer."""

    client = "opencode"
    own_agent = "general"
    approved = "opencode runs the hooks: it denied a call in a test session"
    own_files = (".opencode",)
    ends_with_false_answer = True
    tools = {
        "edit": ("edit", "filePath", "oldString", "newString"),
        "write": ("write", "filePath", "content"),
        "read": ("read", "filePath"),
    }

    def verify_text(self, key: str, text: str) -> Json:
        return call(key, "remit_verify_text", text=text)

    def delegate(self, *tasks: str, agent: str = "code-explorer") -> list[Json]:
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

    def work(self, stage: NpmStage, first: str, second: str) -> None:
        self.converse(stage, first)
        self.resume(stage, second)

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

    def compacting(self, turn: Json, summary: str) -> list[Json]:
        """Return the turns of a prompt that ends with a false answer, which `opencode run` cannot send back."""
        return [turn, {"text": FALSE}]

    def start(self, stage: NpmStage, prompt: str) -> None:
        stage.run("run", prompt, **_OPENCODE)

    def resume(self, stage: NpmStage, prompt: str) -> None:
        stage.run("run", "--continue", prompt, code=1, **_OPENCODE)


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
