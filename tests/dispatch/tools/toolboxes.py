"""A workspace, an outside that must not change, and short tool calls."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

from remit.dispatch.tools import sandbox
from remit.dispatch.tools.tool_types import ToolLimits, ToolOutput
from remit.dispatch.tools.toolbox import Toolbox
from remit.registry.tools import OFFERED

SECRET = "the outside's secret"
_GIT = ("-c", "user.name=Someone", "-c", "user.email=someone@example.com", "-c", "core.autocrlf=false")


class Bench:
    """The folder of a job, a folder outside of it, and the folder for long outputs."""

    def __init__(self, place: Path) -> None:
        self.root = place / "work"
        self.outside = place / "outside"
        self.spill = place / "spill"
        for folder in (self.root, self.outside):
            folder.mkdir()
        (self.outside / "secret.txt").write_text(SECRET)

    def box(self, *granted: str, **limits: Any) -> Toolbox:
        return Toolbox(self.root, granted or OFFERED, spill=self.spill, limits=ToolLimits(**limits))

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def git(self, *words: str, folder: Path | None = None) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        calm = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        command = ["git", *_GIT, *words]
        done = subprocess.run(command, cwd=folder or self.root, env=kept | calm, capture_output=True, check=True)
        return done.stdout.decode()

    def commit(self, message: str = "a change") -> str:
        if not (self.root / ".git").exists():
            self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def listing(self) -> dict[str, bytes]:
        """Return all files outside the workspace."""
        return {str(path): path.read_bytes() for path in sorted(self.outside.rglob("*")) if path.is_file()}


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def ask(box: Toolbox, name: str, key: str = "", **arguments: Any) -> ToolOutput:
    return asyncio.run(box.call(name, arguments, key=key))


def alive(mark: str) -> list[int]:
    """Return the live processes with this command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state = (process / "stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if line.strip() == mark and state not in (b"Z", b"X"):
            found.append(int(process.name))
    return found


def working_sandbox() -> bool:
    return not sandbox.sandbox_problem()
