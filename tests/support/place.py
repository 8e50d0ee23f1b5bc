"""A project with the command in it, a database and a scripted model: for tests through the command line.

Tests load it with `pytest_plugins = ("support.running", "support.place")`. (PYTEST_DONT_REWRITE: tests import it, too.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.commands import Commands, Ran
from support.model_process import RemoteServer, model_process

from remit.testing import project, result

#: A turn that reads the files that the results of `remit.testing.result` cite.
READS = {"tools": [{"name": "Read", "input": {"file_path": path}} for path in ("app/login.py", "app/session.py")]}
#: A turn that ends without success.
CUT = {"text": "The first half of what I found", "stop": "max_tokens"}
MakePlace = Callable[..., "Place"]


def signed(kind: str, agent: str, *edits: tuple[str, str]) -> str:
    """Return a result of a kind under an agent's name."""
    title, _, rest = result(kind, *edits).partition("\n")
    return f"## {agent} Result\n{rest}" if title.startswith("## ") else f"{title}\n{rest}"


def says(*texts: str) -> list[dict[str, Any]]:
    """Return a conversation that reads the project and then answers with each text in turn."""
    return [READS, *({"text": text} for text in texts)]


def failed(agent: str, *, recoverable: str = "true", message: str = "pytest is not installed") -> str:
    """Return the error form of an agent."""
    text = signed("error", agent).replace("| Recoverable | true |", f"| Recoverable | {recoverable} |")
    return text.replace("pytest is not installed", message).replace("tests/test_login.py:1", "app/login.py:1")


class Place:
    """A project with the `remit` command, a database and a model."""

    def __init__(self, remit: Commands, model: RemoteServer, folder: Path) -> None:
        self.remit = remit
        self.model = model
        self.folder = folder

    @property
    def project(self) -> Path:
        return self.remit.project

    def __call__(self, *words: str, **environment: str) -> Ran:
        """Run a command with more environment variables."""
        return self.remit(*words, env=environment)

    def shape(self, *words: str, **environment: str) -> Any:
        """Run a command and return its JSON."""
        ran = self(*words, "--format", "json", **environment)
        assert ran.out.startswith("{"), ran.err
        return json.loads(ran.out)

    def plan(self, text: str, name: str = "plan.toml") -> str:
        (self.project / name).write_text(text, encoding="utf-8")
        return name

    def plugin(self, name: str, *, version: str = "1.0.0", **agents: str) -> str:
        """Write a plugin with definitions, given by name as their files, and return its folder."""
        root = self.folder / "plugins" / f"{name}-{version}"
        (root / "agents").mkdir(parents=True, exist_ok=True)
        manifest = {"name": name, "version": version, "plugin_version": "remit-plugin-v1"}
        (root / "remit.plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
        for agent, text in agents.items():
            (root / "agents" / f"{agent}.md").write_text(text, encoding="utf-8")
        return str(root)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.remit.environment["REMIT_DATABASE_URL"], autocommit=True) as connection:
            cursor = connection.execute(sql, values)  # type: ignore[call-overload]
            return list(cursor.fetchall()) if cursor.description else []

    @property
    def progress(self) -> dict[str, Any]:
        """The progress file."""
        file = Path(self.remit.project) / ".remit" / "progress.json"
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found

    def told(self, task: str) -> list[str]:
        """Return the first messages of the conversations whose task contains a text, each once."""
        texts = (first_message(one) for one in self.model.requests)
        return list(dict.fromkeys(text for text in texts if task in text))

    def systems(self, task: str) -> list[str]:
        """Return the system prompts of the conversations whose task contains a text, each once."""
        return list(dict.fromkeys(system_text(one) for one in self.model.requests if task in first_message(one)))


def first_message(request: Mapping[str, Any]) -> str:
    content = request["body"]["messages"][0]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def system_text(request: Mapping[str, Any]) -> str:
    system = request["body"].get("system") or ""
    return system if isinstance(system, str) else "\n\n".join(part["text"] for part in system)


def tools_of(request: Mapping[str, Any]) -> list[str]:
    return sorted(tool["name"] for tool in request["body"].get("tools", []))


@pytest.fixture
def make_place(address: str, tmp_path: Path) -> Iterator[MakePlace]:
    """Make a place whose model follows a script."""
    folder = tmp_path / "project"
    for source in project().rglob("*.py"):
        target = folder / source.relative_to(project())
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    with ExitStack() as stack:

        def make(**conversations: Any) -> Place:
            script = {"conversations": {key.replace("_", " "): turns for key, turns in conversations.items()}}
            model = stack.enter_context(model_process(script, tmp_path))
            return Place(Commands(address, folder, tmp_path / "data", model.url), model, tmp_path)

        yield make
