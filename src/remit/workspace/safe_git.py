"""How git is run: so that a hostile repository's own configuration makes it run and read nothing.

Without hooks, pagers, external diffs, file-system monitors, content filters and fetching of missing objects, with the
work tree where its `.git` was found, whatever the repository says of it, without the keys in the caller's environment,
and never for longer than it may take.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from remit.errors import EnvironmentBroken
from remit.lazy import lazy_pattern

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import IO

#: How long a command may take, and how much it may print, where the caller says nothing else.
SECONDS = 120.0
MAX_OUTPUT = 256 * 1024 * 1024
_PIECE = 64 * 1024
_SAFE = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "diff.external="),
)
#: Scopes of configuration that belong to the person, not to the repository.
_TRUSTED = ("system", "global", "command")
#: Not `blame.ignoreRevsFile`: it cannot be unset. What git complains of in such a file must not be shown.
_READS_OR_RUNS = (
    r"^(filter\..*\.(clean|smudge|process|required)|core\.(attributes|excludes)file|mailmap\..*|diff\.orderfile"
    r"|commit\.template|format\.signaturefile|gpg\.ssh\.allowedsignersfile)$"
)
#: Lists, with its scope, each setting in force that names a program to filter with or a file to read.
SWITCHABLE = ("config", "-z", "--show-scope", "--name-only", "--get-regexp", _READS_OR_RUNS)
#: What switches a setting off; else nothing at all does.
_OFF = {"required": "false", "attributesfile": os.devnull, "excludesfile": os.devnull, "orderfile": os.devnull}
#: They travel in git's environment, which the system bounds.
_MAX_SETTINGS = 5_000
_MAX_NAMES = 256 * 1024
#: Names of variables that hold a key or something like it.
SECRET_NAME = lazy_pattern(r"(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|DATABASE_URL|_DSN$")
_PASSWORD_IN_ADDRESS = lazy_pattern(r"://[^\s/@]*:[^\s/@]+@")


class GitLimitReached(EnvironmentBroken):
    """Git was stopped, or not started: it would take too long, or too much."""


def root_above(start: Path) -> Path | None:
    """The root of the checkout that a file or folder lies in, or None."""
    folder = start.resolve() if start.is_dir() else start.resolve().parent
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


def found_by_git(start: str | os.PathLike[str]) -> str | None:
    """Where git looks for a repository: the checkout, or a bare repository that may lie inside of one."""
    place, below = os.path.realpath(start), ""
    while place != below:
        has_folders = os.path.isdir(f"{place}/objects") and os.path.isdir(f"{place}/refs")
        if os.path.exists(f"{place}/.git") or (has_folders and os.path.isfile(f"{place}/HEAD")):
            return place
        place, below = os.path.dirname(place), place
    return None


def command(root: str | os.PathLike[str], *arguments: str) -> list[str]:
    """The words that run git in a folder."""
    return ["git", "--no-pager", *_SAFE, "-C", str(root), *arguments]


def environment(root: str | os.PathLike[str], settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """The caller's environment without secrets and git's own variables; `settings` beat all files of configuration."""
    kept = {name: value for name, value in without_secrets().items() if not name.startswith("GIT_")}
    for number, (key, value) in enumerate((settings or {}).items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    # `core.worktree` could make git read, and tell of, any folder of the host.
    place = found_by_git(root)
    if place is not None:
        kept["GIT_WORK_TREE"] = place
    # No protocol is allowed and none can be by configuration: a missing object is never fetched.
    return kept | {
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_CONFIG_COUNT": str(len(settings or {})),
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def run_git(
    root: str | os.PathLike[str],
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    most: int | None = None,
) -> bytes | None:
    """What a git command prints, or None if it fails or there is no git.

    Raises `GitStopped` if it takes longer than it may, or prints more than `MAX_OUTPUT`. With `most` only the
    beginning is wanted: so many bytes and one more, so that it can be told whether there are more.
    """
    try:
        process = start_git(root, *arguments, settings=settings)
    except (OSError, ValueError):  # a NUL cannot be an argument
        return None
    wanted = (MAX_OUTPUT if most is None else most) + 1
    with within_limit(process, seconds, arguments[0]), process:
        printed = _first(process.stdout, wanted) if process.stdout else b""
        is_cut = len(printed) == wanted
        if is_cut:
            kill(process)
        status = process.wait()
    if is_cut and most is None:
        raise GitLimitReached(f"git {arguments[0]} printed more than {MAX_OUTPUT // 1024**2} MB and was stopped")
    return printed if is_cut or status == 0 else None


def _first(stream: IO[bytes], most: int) -> bytes:
    """At most so many bytes, in pieces: asked for at once, room would be made for all of them."""
    found = bytearray()
    while piece := stream.read(min(_PIECE, most - len(found))):
        found += piece
    return bytes(found)


def start_git(
    root: str | os.PathLike[str], *arguments: str, settings: Mapping[str, str] | None = None, fed: bool = False
) -> subprocess.Popen[bytes]:
    """A running git, in a session of its own: it has no terminal, and is ended together with what it starts."""
    import subprocess  # late: a check of files as they are starts no program

    return subprocess.Popen(
        command(root, *arguments),
        stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(root, settings),
        start_new_session=True,
    )


@contextmanager
def within_limit(process: subprocess.Popen[bytes], seconds: float, what: str) -> Iterator[None]:
    """Kill a git that is not done with something in time, and say so: a pipe in a repository would hold it for ever."""
    import threading

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
            f"git {what} took longer than {seconds:g} seconds and was stopped; is the repository whole?"
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a git and all it has started."""
    import signal

    if process.returncode is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):  # a system without groups, or it is ending
        process.kill()


def without_filters(root: str | os.PathLike[str], *, also_trusted: bool = False) -> dict[str, str]:
    """Settings that switch off the content filters which the repository configures; the person's own, too, if said."""
    every = disabled_filters(run_git(root, *SWITCHABLE) or b"", also_trusted=also_trusted)
    return {key: value for key, value in every.items() if key.startswith("filter.")}


def disabled_filters(listed: bytes, *, also_trusted: bool = False) -> dict[str, str]:
    """What switches the settings off that `SWITCHABLE` has listed; `GitStopped` if they are more than can be passed."""
    words = decode_output(listed).split("\0")
    pairs = zip(words[::2], words[1::2], strict=False)
    own = {key for scope, key in pairs if scope not in _TRUSTED or (also_trusted and key.startswith("filter."))}
    if len(own) > _MAX_SETTINGS or sum(map(len, own)) > _MAX_NAMES:
        raise GitLimitReached(
            "the repository configures more filters than can be switched off; look at its .git/config"
        )
    return {key: _OFF.get(key.rpartition(".")[2], "") for key in sorted(own)}


def decode_output(data: bytes) -> str:
    """What git printed; names that are not UTF-8 survive."""
    return data.decode("utf-8", "surrogateescape")


def without_secrets() -> dict[str, str]:
    """This process's environment without our own settings and what looks like a secret by its name or its value."""
    return {
        name: value
        for name, value in os.environ.items()
        if not (name.startswith("REMIT_") or SECRET_NAME.search(name) or _PASSWORD_IN_ADDRESS.search(value))
    }
