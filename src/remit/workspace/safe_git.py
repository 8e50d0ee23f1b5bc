"""Run git so that the configuration of a hostile repository cannot make it run programs or read other files.

Git runs without hooks, pagers, external diffs, file-system monitors and content filters, and it does not fetch missing
objects. The work tree is the folder in which `.git` was found, even if the repository configures another one. Secrets
in the caller's environment are removed, and each command has a time limit.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from remit.errors import EnvironmentBroken
from remit.secrets.environment import without_secrets

#: The default limits of a command: seconds, and bytes of output.
SECONDS = 120.0
#: What reads only configuration, references or names of files. A pipe in place of such a file blocks git.
_QUICK = {**dict.fromkeys(("config", "rev-parse", "check-attr", "check-ignore"), 10.0), "ls-files": 30.0}
MAX_OUTPUT = 256 * 1024 * 1024
_PIECE = 64 * 1024
_SAFE = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "diff.external="),
)
#: Scopes of configuration that belong to the user, not to the repository.
_TRUSTED = ("system", "global", "command")
#: `blame.ignoreRevsFile` is missing because it cannot be unset: do not show git's errors about such a file.
_READS_OR_RUNS = (
    r"^(filter\..*\.(clean|smudge|process|required)|core\.(attributes|excludes)file|mailmap\..*|diff\.orderfile"
    r"|commit\.template|format\.signaturefile|gpg\.ssh\.allowedsignersfile)$"
)
#: Lists each effective setting, with its scope, that names a filter program or a file to read.
SWITCHABLE = ("config", "-z", "--show-scope", "--name-only", "--get-regexp", _READS_OR_RUNS)
#: Values that switch a setting off; for all others it is an empty value.
_OFF = {"required": "false", "attributesfile": os.devnull, "excludesfile": os.devnull, "orderfile": os.devnull}
#: Settings are passed in git's environment, whose size the system limits.
_MAX_SETTINGS = 5_000
_MAX_NAMES = 256 * 1024


class GitLimitReached(EnvironmentBroken):
    """A git command exceeded a limit and was stopped, or was not started for that reason."""


def root_above(start: Path) -> Path | None:
    """Return the root of the checkout that contains a file or folder, or None."""
    folder = start.resolve() if start.is_dir() else start.resolve().parent
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)


def found_by_git(start: str | os.PathLike[str]) -> str | None:
    """Return the folder that git would use: the checkout, or a bare repository, which may be inside a checkout."""
    place, below = os.path.realpath(start), ""
    while place != below:
        has_folders = os.path.isdir(f"{place}/objects") and os.path.isdir(f"{place}/refs")
        if os.path.exists(f"{place}/.git") or (has_folders and os.path.isfile(f"{place}/HEAD")):
            return place
        place, below = os.path.dirname(place), place
    return None


def command(root: str | os.PathLike[str], *arguments: str) -> list[str]:
    """Return the command line that runs git in a folder."""
    return ["git", "--no-pager", *_SAFE, "-C", str(root), *arguments]


def environment(root: str | os.PathLike[str], settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for git, without secrets; `settings` take precedence over all configuration files."""
    kept = {name: value for name, value in without_secrets().items() if not name.startswith("GIT_")}
    for number, (key, value) in enumerate((settings or {}).items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    # Otherwise `core.worktree` could make git read and report any folder of the host.
    work_tree = found_by_git(root)
    if work_tree is not None:
        kept["GIT_WORK_TREE"] = work_tree
    # No protocol is allowed, and configuration cannot allow one: a missing object is never fetched.
    return kept | {
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_CONFIG_COUNT": str(len(settings or {})),
        # The history is what its commits state. Grafts can also make it a circle.
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def run_git(
    root: str | os.PathLike[str],
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    seconds: float | None = None,
    max_bytes: int | None = None,
) -> bytes | None:
    """Return the output of a git command, or None if it fails or git is not installed.

    Raises `GitLimitReached` if it takes too long or prints more than `MAX_OUTPUT`. With `max_bytes`, return at most one
    byte more than that and stop the command.
    """
    try:
        process = start_git(root, *arguments, settings=settings)
    except (OSError, ValueError):  # a NUL cannot be an argument
        return None
    wanted = (MAX_OUTPUT if max_bytes is None else max_bytes) + 1
    if seconds is None:
        seconds = _QUICK.get(arguments[0], SECONDS)
    with within_limit(process, seconds, arguments[0]), process:
        printed = _read_at_most(process.stdout, wanted) if process.stdout else b""
        is_cut = len(printed) == wanted
        if is_cut:
            kill(process)
        status = process.wait()
    if is_cut and max_bytes is None:
        raise GitLimitReached(f"git {arguments[0]} printed more than {MAX_OUTPUT // 1024**2} MB and was stopped")
    return printed if is_cut or status == 0 else None


def answer_of_git(root: str | os.PathLike[str], questions: bytes, *arguments: str, seconds: float) -> bytes | None:
    """Return the output of a git command that reads from standard input, with any exit code; None if it cannot run."""
    try:
        process = subprocess.run(
            command(root, *arguments),
            input=questions,
            env=environment(root),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout


def _read_at_most(stream: IO[bytes], limit: int) -> bytes:
    """Read in pieces: one large `read` would allocate the whole limit."""
    data = bytearray()
    while piece := stream.read(min(_PIECE, limit - len(data))):
        data += piece
    return bytes(data)


def start_git(
    root: str | os.PathLike[str], *arguments: str, settings: Mapping[str, str] | None = None, has_input: bool = False
) -> subprocess.Popen[bytes]:
    """Start git in a new session: it has no terminal, and `kill` ends it together with its child processes."""
    return subprocess.Popen(
        command(root, *arguments),
        stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(root, settings),
        start_new_session=True,
    )


@contextmanager
def within_limit(process: subprocess.Popen[bytes], seconds: float, what: str) -> Iterator[None]:
    """Kill git and raise when the time is over: a pipe in a repository would block it forever."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        kill(process)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except BaseException:
        kill(process)
        if not late.is_set():
            raise
    finally:
        timer.cancel()
    if late.is_set():
        raise GitLimitReached(
            f"git {what} took longer than {seconds:g} seconds and was stopped; check the repository with `git fsck`"
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill git and its child processes."""
    if process.returncode is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (
        AttributeError,
        ProcessLookupError,
        PermissionError,
    ):  # a system without process groups, or the process is ending
        process.kill()


def without_filters(root: str | os.PathLike[str], *, also_trusted: bool = False) -> dict[str, str]:
    """Return settings that switch off the content filters of the repository, and the files that it makes git read.

    With `also_trusted`, also the user's filters.
    """
    return disabled_filters(run_git(root, *SWITCHABLE) or b"", also_trusted=also_trusted)


def disabled_filters(listed: bytes, *, also_trusted: bool = False) -> dict[str, str]:
    """Return what switches off the settings that `SWITCHABLE` listed. Raises `GitLimitReached` for too many."""
    words = decode_output(listed).split("\0")
    pairs = zip(words[::2], words[1::2], strict=False)
    settings = {key for scope, key in pairs if scope not in _TRUSTED or (also_trusted and key.startswith("filter."))}
    if len(settings) > _MAX_SETTINGS or sum(map(len, settings)) > _MAX_NAMES:
        raise GitLimitReached("the repository configures more filters than can be switched off; check its .git/config")
    return {key: _OFF.get(key.rpartition(".")[2], "") for key in sorted(settings)}


def decode_output(data: bytes) -> str:
    """Decode git's output; names that are not UTF-8 survive."""
    return data.decode("utf-8", "surrogateescape")
