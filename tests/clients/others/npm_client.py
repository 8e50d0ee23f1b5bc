"""A client from npm in a separate project, connected only to a scripted model on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.commands import run_exactly
from support.model_process import RemoteServer, model_process
from support.shop_reports import EXAMPLES

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import npm_clients

Json = dict[str, Any]
Conversations = Mapping[str, Sequence[Mapping[str, Any]]]
#: No run takes a tenth of this time, even on a busy machine; a client that hangs must not block the tests.
PATIENCE = 600.0
SPEC = "docs/specs/orders.md"
_SPEC_TEXT = "# Orders\n\nThe customer gets a reciept by mail.\n"


def installed(client: str) -> Path:
    """Return the program of a client, or skip the test."""
    found = npm_clients.program(client)
    if found is None:
        pytest.skip(f"{client} is not installed; `python3 tools/npm_clients.py` installs it where npm is reachable")
    return found


def unpacked(program: Path) -> dict[str, str]:
    """Return the variable with which Copilot CLI unpacks itself (235 MB) once, and not once for each home."""
    return {"COPILOT_PKG_CACHE_HOME": str(program.parent / "unpacked")}


@dataclass(frozen=True, slots=True)
class NpmStage:
    """A project, a home and a model server for sessions of a client."""

    client: str
    program: Path
    root: Path
    server: RemoteServer
    #: The requests of sessions that have ended, so that not every test asks the server for all of them.
    recorded: list[Json] = field(default_factory=list)

    @property
    def project(self) -> Path:
        return self.root / "shop"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the client and of `remit`."""
        folders = [str(self.program.parent), os.environ.get("PATH", os.defpath)]
        return {
            "PATH": os.pathsep.join(folders),
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            **unpacked(self.program),
        }

    def remit(self, *arguments: str, code: int = 0) -> str:
        """Return the output of a `remit` command in this project."""
        done = run_exactly(self.project, self.environment, *arguments)
        assert done.code == code, f"{arguments} ended with {done.code}:\n{done.out}\n{done.err}"
        return done.out

    def run(self, *arguments: str, code: int = 0, **variables: str) -> str:
        """Run the client without a terminal and return its output."""
        done = subprocess.run(
            [str(self.program), *arguments],
            cwd=self.project,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        (self.root / "client.log").write_text(f"{done.stdout}\n{done.stderr}", encoding="utf-8")
        assert done.returncode == code, f"{self.client} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def asked(self, marker: str) -> list[Json]:
        """Return the requests of one conversation in order."""
        requests = self.recorded or self.server.requests
        return [request["body"] for request in requests if request["marker"] == marker]

    def everything(self) -> dict[str, bytes | None]:
        """Return every file of the project with its bytes, and every folder."""
        paths = (path for path in sorted(self.project.rglob("*")) if ".git" not in path.parts)
        return {str(path.relative_to(self.project)): path.read_bytes() if path.is_file() else None for path in paths}


def git(project: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(project.parent / "home")}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "Tester", f"GIT_{who}_EMAIL": "tester@example.org"}
    command = ["git", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def staged(client: str, root: Path, conversations: Conversations) -> Iterator[NpmStage]:
    """Prepare the example project as a repository, a new home, and a server that plays these conversations."""
    program = installed(client)
    for name in ("home", "tmp"):
        (root / name).mkdir(parents=True)
    project = root / "shop"
    shutil.copytree(EXAMPLES / "shop", project, ignore=shutil.ignore_patterns("__pycache__"))
    (project / SPEC).parent.mkdir(parents=True)
    (project / SPEC).write_text(_SPEC_TEXT, encoding="utf-8")
    for arguments in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "start"]):
        git(project, *arguments)
    with model_process({"conversations": conversations}, root) as server:
        yield NpmStage(client, program, root, server)


def line_with(path: str, words: str) -> str:
    """Return the line of a file of the project that contains these words."""
    text = _SPEC_TEXT if path == SPEC else (EXAMPLES / "shop" / path).read_text(encoding="utf-8")
    return next(line for line in text.splitlines() if words in line)


def call(key: str, tool: str, **given: object) -> Json:
    """Return a tool call; tests find its result by `key`."""
    return {"name": tool, "id": f"call_{key}", "input": given}


def does(*calls: Json) -> Json:
    return {"tools": list(calls)}


def says(text: str) -> Json:
    return {"text": text}


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
