"""Checkouts created with the real git, without the settings of the user."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

_SETTINGS = ("user.name=Someone", "user.email=someone@example.com", "protocol.file.allow=always", "core.autocrlf=false")
_CALM = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


class Repository:
    """A folder under git."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, ok: bool = True) -> str:
        """Run git as a person would, with the repository's own configuration."""
        options = [word for setting in _SETTINGS for word in ("-c", setting)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(
            ["git", *options, *arguments],
            cwd=self.root,
            env=kept | _CALM,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=ok,
        )
        return done.stdout

    def write(self, name: str, content: str | bytes = "") -> Path:
        """Write a file below the root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def commit(self, **files: str) -> str:
        """Commit everything that lies there; the id of the commit."""
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a commit")
        return self.git("rev-parse", "HEAD").strip()


Make = Callable[[str], Repository]
