"""What git knows of a checkout: its root, its commits, what has changed.

Git is run without hooks, pagers, external diffs and file-system monitors: a hostile repository's own
configuration must not make it run anything.
"""

from __future__ import annotations

import os
import subprocess
from functools import cached_property
from pathlib import Path
from typing import IO, NamedTuple

from remit.errors import EnvironmentBroken, UsageError
from remit.workspace.files import MAX_FILE, MAX_LISTED, Absent, SourceFile, Workspace, from_bytes

_SAFE = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "diff.external="),
    *("-c", "protocol.allow=never"),
)
_MAX_LINKS = 8


def _command(root: Path, *arguments: str) -> list[str]:
    return ["git", "--no-pager", *_SAFE, "-C", str(root), *arguments]


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def run(root: Path, *arguments: str) -> bytes | None:
    """What a git command prints, or None if it fails or there is no git."""
    try:
        done = subprocess.run(_command(root, *arguments), capture_output=True, env=_environment(), check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def root_above(start: Path) -> Path | None:
    """The root of the checkout that a file or folder lies in, or None."""
    folder = start.resolve() if start.is_dir() else start.resolve().parent
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


class Change(NamedTuple):
    """How many lines of a file differ from a commit; None for a binary file."""

    added: int | None
    removed: int | None
    created: bool = False


def changes(root: Path, base: str = "HEAD") -> dict[str, Change] | None:
    """Files below the root that differ from a commit, untracked ones included; None without git."""
    listed = run(root, "diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative", base)
    names = run(root, "diff", "--name-status", "-z", "--no-renames", "--no-ext-diff", "--relative", base)
    untracked = run(root, "ls-files", "-z", "--others", "--exclude-standard")
    if listed is None or names is None or untracked is None:
        return None
    added = set(_added(names))
    found: dict[str, Change] = {}
    for row in _text(listed).split("\0"):
        numbers = row.split("\t", 2)
        if len(numbers) == 3:
            plus, minus, path = numbers
            found[path] = Change(_number(plus), _number(minus), path in added)
    for path in filter(None, _text(untracked).split("\0")):
        found[path] = Change(None, 0, created=True)
    return found


def _added(names: bytes) -> list[str]:
    words = _text(names).split("\0")
    return [path for status, path in zip(words[::2], words[1::2], strict=False) if status == "A"]


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


class Commit(Workspace):
    """The files of a commit, read through one long-lived `git cat-file --batch`."""

    def __init__(self, root: Path, rev: str) -> None:
        super().__init__(root.resolve())
        found = run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        prefix = run(root, "rev-parse", "--show-prefix")
        if found is None or prefix is None:
            raise UsageError(f"{root} has no commit {rev!r}; `git rev-parse {rev}` must know it")
        self.id = _text(found).strip()
        self._prefix = _text(prefix).rstrip("\n")
        self._process: subprocess.Popen[bytes] | None = None
        self._modes: dict[str, str] | None = None

    def _tree(self) -> dict[str, str]:
        """Path -> mode of every entry below the root."""
        if self._modes is None:
            listed = run(self.root, "ls-tree", "-r", "-z", self.id) or b""
            self._modes = {}
            for row in _text(listed).split("\0"):
                about, tab, path = row.partition("\t")
                if tab and len(self._modes) < MAX_LISTED:
                    self._modes[path] = about.split(" ", 1)[0]
        return self._modes

    def _list(self) -> list[str]:
        return [path for path, mode in self._tree().items() if mode.startswith("100")]

    def _load(self, path: str) -> SourceFile | Absent:
        tree = self._tree()
        for _ in range(_MAX_LINKS):
            mode = tree.get(path)
            if mode is None:
                return self._absent(path)
            if mode == "160000":
                return Absent(path, "submodule")
            if mode != "120000":
                return self._blob(path)
            target = self._blob(path)
            if not isinstance(target, SourceFile):
                return target
            joined = os.path.normpath(os.path.join(os.path.dirname(path), target.text))
            if joined.startswith(("..", "/")):
                return Absent(path, "outside")
            path = joined.replace(os.sep, "/")
        return Absent(path, "missing")

    def _absent(self, path: str) -> Absent:
        tree = self._tree()
        above = path.split("/")
        for depth in range(1, len(above)):
            if tree.get("/".join(above[:depth])) == "160000":
                return Absent(path, "submodule")
        return Absent(path, "folder" if path in self._folders else "missing")

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(parent for path in self._tree() for parent in _parents(path))

    def _blob(self, path: str) -> SourceFile | Absent:
        if "\n" in path:
            return Absent(path, "special")  # one request is one line
        pipe_in, pipe_out = self._pipes()
        pipe_in.write(f"{self.id}:{self._prefix}{path}\n".encode("utf-8", "surrogateescape"))
        pipe_in.flush()
        header = pipe_out.readline().split()
        if len(header) != 3:
            return Absent(path, "missing")
        size = int(header[2])
        if size > MAX_FILE:
            _discard(pipe_out, size + 1)
            return Absent(path, "large")
        data = pipe_out.read(size)
        pipe_out.read(1)
        return from_bytes(path, data)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(
                    _command(self.root, "cat-file", "--batch"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=_environment(),
                )
            except OSError as error:
                raise EnvironmentBroken(f"git cannot be started: {error.strerror}") from error
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise EnvironmentBroken("git cat-file has no pipes")
        return process.stdin, process.stdout

    def close(self) -> None:
        """End the git process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _discard(pipe: IO[bytes], size: int) -> None:
    while size > 0:
        size -= len(pipe.read(min(size, 1 << 16)) or b"x" * size)
