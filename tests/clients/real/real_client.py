"""The real client in a separate project, connected only to a scripted model on loopback."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.commands import run_exactly
from support.model_process import RemoteServer, model_process

Json = dict[str, Any]
Conversations = Mapping[str, Sequence[Mapping[str, Any]]]
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
#: A specification with a misspelt word, a number and something to emphasise.
SPEC = "docs/specs/orders.md"
SPEC_TEXT = """# Orders

An order can be cancelled within 30 minutes.
The customer gets a reciept by mail.
"""
#: Tools that the session permits; the gate must still deny what it denies.
ALLOWED = "Read,Edit,Write,Bash,Grep,Glob,Agent,SendMessage"
#: No run takes a tenth of this time, even on a busy machine; a client that hangs must not block the tests.
PATIENCE = 600.0


def binary() -> Path | None:
    """Return the path of the client, or None."""
    found = importlib.util.find_spec("claude_agent_sdk")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder, "_bundled", "claude.exe" if os.name == "nt" else "claude")
        if path.is_file():
            return path
    return None


@dataclass(slots=True)
class Talk:
    """A running session, which takes prompts and returns events."""

    process: subprocess.Popen[str]
    events: list[Json] = field(default_factory=list)
    _arrived: queue.SimpleQueue[Json | None] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                self._arrived.put(json.loads(line))
        self._arrived.put(None)

    def say(self, prompt: str) -> Json:
        """Send a prompt and return the client's result."""
        assert self.process.stdin is not None
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return self.until_result()

    def until_result(self) -> Json:
        """Wait for the end of a turn of the orchestrator."""
        deadline = time.monotonic() + PATIENCE
        while True:
            event = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            assert event is not None, f"the client ended: {self.events[-3:]}"
            self.events.append(event)
            if event.get("type") == "result":
                return event

    @property
    def session(self) -> str:
        return str(next(event["session_id"] for event in self.events if "session_id" in event))


@dataclass(frozen=True, slots=True)
class Stage:
    """A project, a home and a model server for sessions of the client."""

    root: Path
    server: RemoteServer

    @property
    def project(self) -> Path:
        return self.root / "shop"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the client."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "CLAUDE_CODE_TMPDIR": str(self.root / "tmp"),
            "ANTHROPIC_BASE_URL": self.server.url,
            "ANTHROPIC_API_KEY": "test-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
        }

    def remit(self, *arguments: str) -> str:
        """Return the output of a `remit` command in this project; it must succeed."""
        environment = {"PATH": self.environment["PATH"], "HOME": self.environment["HOME"]}
        done = run_exactly(self.project, environment, *arguments)
        assert done.code == 0, f"{arguments} ended with {done.code}:\n{done.out}\n{done.err}"
        return done.out

    @contextlib.contextmanager
    def talk(self, *options: str, **variables: str) -> Iterator[Talk]:
        """Run a session of the client until the block ends."""
        path = binary()
        assert path is not None
        command = [str(path), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        command += ["--allowedTools", ALLOWED, *options]
        errors = self.root / "client-errors.txt"
        with (
            errors.open("ab") as stderr,
            subprocess.Popen(
                command,
                cwd=self.project,
                env={**self.environment, **variables},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                encoding="utf-8",
            ) as process,
        ):
            try:
                yield Talk(process)
                assert process.stdin is not None
                process.stdin.close()
                process.wait(PATIENCE)
            finally:
                process.kill()

    def asked(self, marker: str) -> list[Json]:
        """Return the requests of one conversation in order."""
        return [request["body"] for request in self.server.requests if request["marker"] == marker]

    def results(self, marker: str) -> dict[str, str]:
        """Return the tool results that the model of a conversation received, by the call's id."""
        found: dict[str, str] = {}
        for body in self.asked(marker):
            for message in body["messages"]:
                for block in message["content"] if isinstance(message["content"], list) else ():
                    if block["type"] == "tool_result":
                        found[block["tool_use_id"]] = text_of(block.get("content"))
        return found


def text_of(content: object) -> str:
    """Return all text of a message's content."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks)


def git(project: Path, *arguments: str) -> str:
    """Run git and return its output; commits have the same id on every machine."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(project.parent / "home")}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "Tester", f"GIT_{who}_EMAIL": "tester@example.org"}
        environment |= {f"GIT_{who}_DATE": "2026-01-01T12:00:00Z"}
    command = ["git", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def staged(root: Path, conversations: Conversations, *, agents: Mapping[str, str] | None = None) -> Iterator[Stage]:
    """Prepare the example project as a repository, a new home, and a server that plays these conversations."""
    for name in ("home", "tmp"):
        (root / name).mkdir(parents=True)
    project = root / "shop"
    shutil.copytree(EXAMPLES / "shop", project, ignore=shutil.ignore_patterns("__pycache__"))
    (project / SPEC).parent.mkdir(parents=True)
    (project / SPEC).write_text(SPEC_TEXT, encoding="utf-8")
    for name, text in (agents or {}).items():
        (project / ".claude/agents").mkdir(parents=True, exist_ok=True)
        (project / f".claude/agents/{name}.md").write_text(text, encoding="utf-8")
    for arguments in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "start"]):
        git(project, *arguments)
    with model_process({"conversations": conversations}, root) as server:
        yield Stage(root, server)


@contextlib.contextmanager
def under_contract(
    root: Path, conversations: Conversations, *, agents: Mapping[str, str] | None = None, mode: str = "orchestrator"
) -> Iterator[Stage]:
    """Prepare a stage whose project has been installed with `remit install claude-code`."""
    with staged(root, conversations, agents=agents) as stage:
        stage.remit("install", "claude-code", "--mode", mode, "--yes")
        yield stage
