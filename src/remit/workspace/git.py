"""What git knows of a checkout: its root, its commits, what has changed.

Git is run without hooks, pagers, external diffs, file-system monitors, content filters and fetching of
missing objects: a hostile repository's own configuration must not make it run anything.
"""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from remit.errors import EnvironmentBroken, UsageError
from remit.workspace.files import MAX_FILE, MAX_LISTED, Absent, SourceFile, Workspace, from_bytes
from remit.workspace.paths import is_absolute, normal

_SAFE = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "diff.external="),
)
#: Scopes of configuration that belong to the person, not to the repository.
_TRUSTED = ("system", "global", "command")
_MAX_LINKS = 40
_MAX_ADDRESS = 2_048


def _command(root: Path, *arguments: str) -> list[str]:
    return ["git", "--no-pager", *_SAFE, "-C", str(root), *arguments]


def _environment(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """The caller's environment without git's own variables; `settings` are configuration that beats all files."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for number, (key, value) in enumerate((settings or {}).items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    # No protocol is allowed and none can be by configuration: a missing object is never fetched.
    return kept | {
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_CONFIG_COUNT": str(len(settings or {})),
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def run(root: Path, *arguments: str, settings: Mapping[str, str] | None = None) -> bytes | None:
    """What a git command prints, or None if it fails or there is no git."""
    try:
        done = subprocess.run(_command(root, *arguments), capture_output=True, env=_environment(settings), check=False)
    except (OSError, ValueError):  # a NUL cannot be an argument
        return None
    return done.stdout if done.returncode == 0 else None


def _without_filters(root: Path) -> dict[str, str]:
    """Settings that switch off the content filters which the repository itself configures."""
    pattern = r"^filter\..*\.(clean|smudge|process|required)$"
    listed = run(root, "config", "-z", "--show-scope", "--name-only", "--get-regexp", pattern) or b""
    words = _text(listed).split("\0")
    own = [key for scope, key in zip(words[::2], words[1::2], strict=False) if scope not in _TRUSTED]
    return {key: "false" if key.endswith(".required") else "" for key in own}


def root_above(start: Path) -> Path | None:
    """The root of the checkout that a file or folder lies in, or None."""
    folder = start.resolve() if start.is_dir() else start.resolve().parent
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


def _diff(root: Path, *arguments: str) -> bytes | None:
    """A diff of the files below a root in which nothing of the repository's own is run."""
    options = ("--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--relative")
    return run(root, "diff", *options, *arguments, settings=_without_filters(root))


class Change(NamedTuple):
    """How many lines of a file differ from a commit; None for a binary file."""

    added: int | None
    removed: int | None
    created: bool = False


def changes(root: Path, base: str = "HEAD") -> dict[str, Change] | None:
    """Files below the root that differ from a commit, untracked ones included; None without git."""
    listed = _diff(root, "--numstat", "-z", base)
    names = _diff(root, "--name-status", "-z", base)
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


_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_NEW_NAME = re.compile(r'^\+\+\+ "?b/(.*?)"?\t?$')


def changed_lines(root: Path, rev: str) -> dict[str, list[tuple[int, int]]]:
    """For each file below the root: the line ranges that are new or different since a commit."""
    flags = ("--unified=0", "--no-color", "--src-prefix=a/", "--dst-prefix=b/")
    diff = _diff(root, *flags, "--end-of-options", rev)
    untracked = run(root, "ls-files", "-z", "--others", "--exclude-standard")
    if diff is None or untracked is None:
        raise UsageError(f"{root} has no commit {rev!r}; `git rev-parse {rev}` must know it")
    found: dict[str, list[tuple[int, int]]] = {name: [(1, 1 << 40)] for name in _text(untracked).split("\0") if name}
    spans: list[tuple[int, int]] = []
    for line in _text(diff).split("\n"):
        if name := _NEW_NAME.match(line):
            spans = found.setdefault(name[1], [])
        elif hunk := _HUNK.match(line):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            if count:
                spans.append((start, start + count - 1))
    return found


def head(root: Path) -> str | None:
    """The id of the commit that is checked out, or None."""
    found = run(root, "rev-parse", "--verify", "--quiet", "HEAD")
    return _text(found).strip() if found else None


def remote_address(root: Path) -> str | None:
    """Where the checkout at a root comes from, fit to be shown: the address of `origin`, else of the first remote.

    None if there is none, or the root is only a part of a checkout. The configuration is asked, not
    `git remote get-url`: that applies the person's `url.*.insteadOf`, which may hold a token.
    """
    if root_above(root) != root.resolve():
        return None
    listed = run(root, "config", "-z", "--get-regexp", r"^remote\..*\.url$") or b""
    pairs = (entry.partition("\n") for entry in _text(listed).split("\0"))
    remotes = [(key, address) for key, _, address in pairs if address]
    found = next((address for key, address in remotes if key == "remote.origin.url"), None)
    return public_address(found or next((address for _, address in remotes), ""))


_COPY_STYLE = re.compile(r"[\w.-]+@([\w.-]+):(?!//)(\S+)")


def public_address(address: str) -> str | None:
    """The address of a repository as a URI without user, password and query; None for a path or anything else."""
    if len(address) > _MAX_ADDRESS:
        return None
    copied = _COPY_STYLE.fullmatch(address)
    try:
        parts = urlsplit(f"ssh://{copied[1]}/{copied[2].lstrip('/')}" if copied else address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    # A password with a slash in it would leave its rest, and the @ behind it, in the path.
    if parts.scheme not in ("http", "https", "ssh", "git") or not parts.hostname or "@" in parts.path:
        return None
    host = quote(parts.hostname, safe=":", errors="replace")
    path = quote(unquote(parts.path), safe="/~", errors="replace")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{path}"


def _added(names: bytes) -> list[str]:
    words = _text(names).split("\0")
    return [path for status, path in zip(words[::2], words[1::2], strict=False) if status == "A"]


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


class _Entry(NamedTuple):
    """What a tree says of a path."""

    mode: str
    id: str


class Commit(Workspace):
    """The files of a commit, read through one long-lived `git cat-file --batch`."""

    def __init__(self, root: Path, rev: str) -> None:
        super().__init__(root)
        found = run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        if found is None:
            if run(root, "version") is None:
                raise EnvironmentBroken("git cannot be started; a commit is read through it")
            raise UsageError(f"{str(root)!r} has no commit {rev!r}; name one that `git rev-parse` knows there")
        self.id = _text(found).strip()
        self._process: subprocess.Popen[bytes] | None = None

    @cached_property
    def _tree(self) -> dict[str, _Entry]:
        """Every entry below the root."""
        listed = run(self.root, "ls-tree", "-r", "-z", self.id)
        if listed is None:
            raise EnvironmentBroken(f"git cannot list the files of {self.id}; `git fsck` says what is wrong")
        tree: dict[str, _Entry] = {}
        for row in _text(listed).split("\0"):
            about, tab, path = row.partition("\t")
            if tab:
                mode, _, name = about.split(" ", 2)
                tree[path] = _Entry(mode, name)
        return tree

    @cached_property
    def _composed(self) -> dict[str, str]:
        """Paths that are not plain ASCII, by their composed form."""
        return {unicodedata.normalize("NFC", path): path for path in self._tree if not path.isascii()}

    def _list(self) -> list[str]:
        return [path for path, entry in self._tree.items() if entry.mode.startswith("100")][:MAX_LISTED]

    def _load(self, path: str) -> SourceFile | Absent:
        place: str | None = path
        if path not in self._tree and not path.isascii():
            place = self._composed.get(unicodedata.normalize("NFC", path), path)
        for _ in range(_MAX_LINKS):
            if place is None:
                return Absent(path, "outside")
            link = self._link_on(place)
            if link is None:
                return self._at(path, place)
            place = self._followed(place, link)
        return Absent(path, "missing")

    def _link_on(self, place: str) -> str | None:
        """The first link on the way to a place, which may be its last part."""
        entry = self._tree.get(place)
        if entry is not None:
            return place if entry.mode == "120000" else None
        links = (above for above in _parents(place) if above in self._tree)
        return next((above for above in links if self._tree[above].mode == "120000"), None)

    def _followed(self, place: str, link: str) -> str | None:
        """Where a place lies if a link on the way is followed; None: outside."""
        target = self._blob(link, self._tree[link].id)
        if not isinstance(target, SourceFile):
            return None
        folder = "" if is_absolute(target.text) else os.path.dirname(link) + "/"
        return normal(f"{folder.lstrip('/')}{target.text}{place[len(link) :]}", str(self.root))

    def _at(self, path: str, place: str) -> SourceFile | Absent:
        entry = self._tree.get(place)
        if entry is None:
            submodule = any(above in self._tree and self._tree[above].mode == "160000" for above in _parents(place))
            return Absent(path, "submodule" if submodule else "folder" if place in self._folders else "missing")
        if entry.mode == "160000":
            return Absent(path, "submodule")
        return self._blob(path, entry.id)

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(parent for path in self._tree for parent in ("", *_parents(path)))

    def _blob(self, path: str, name: str) -> SourceFile | Absent:
        """An object by its name, as the file at a path."""
        pipe_in, pipe_out = self._pipes()
        try:
            pipe_in.write(f"{name}\n".encode())
            pipe_in.flush()
            header = pipe_out.readline().split()
        except OSError:
            header = []
        if not header:
            raise EnvironmentBroken(f"git stopped while reading {path!r} of {self.id}; `git fsck` says what is wrong")
        if len(header) != 3:
            return Absent(path, "forbidden")  # a partial clone does not hold every object
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
    while size > 0 and (chunk := pipe.read(min(size, 1 << 16))):
        size -= len(chunk)
