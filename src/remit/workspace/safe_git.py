"""How git is run: so that a hostile repository's own configuration makes it run and read nothing.

Without hooks, pagers, external diffs, file-system monitors, content filters and fetching of missing objects, and
with the work tree where its `.git` was found, whatever the repository says of it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SAFE = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "diff.external="),
)
#: Scopes of configuration that belong to the person, not to the repository.
_TRUSTED = ("system", "global", "command")
_FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"


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
    """The caller's environment without git's own variables; `settings` are configuration that beats all files."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
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


def run(root: str | os.PathLike[str], *arguments: str, settings: Mapping[str, str] | None = None) -> bytes | None:
    """What a git command prints, or None if it fails or there is no git."""
    import subprocess  # late: a check of files as they are starts no program

    try:
        known = environment(root, settings)
        done = subprocess.run(command(root, *arguments), capture_output=True, env=known, check=False)
    except (OSError, ValueError):  # a NUL cannot be an argument
        return None
    return done.stdout if done.returncode == 0 else None


def without_filters(root: str | os.PathLike[str], *, also_trusted: bool = False) -> dict[str, str]:
    """Settings that switch off the content filters which the repository configures; the person's own, too, if said."""
    listed = run(root, "config", "-z", "--show-scope", "--name-only", "--get-regexp", _FILTERS) or b""
    words = as_text(listed).split("\0")
    found = [key for scope, key in zip(words[::2], words[1::2], strict=False) if also_trusted or scope not in _TRUSTED]
    return {key: "false" if key.endswith(".required") else "" for key in found}


def as_text(data: bytes) -> str:
    """What git printed; names that are not UTF-8 survive."""
    return data.decode("utf-8", "surrogateescape")
