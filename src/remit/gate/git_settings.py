"""Settings and hooks of git that decide what runs next, apart from those that ordinary commands of git write.

`git push -u` or `git switch -c` write remotes and branches into `.git/config`. All other settings may name a program,
or a file that names one.
"""

from __future__ import annotations

import os

from remit.gate.file_versions import read_bytes
from remit.gate.record_store import digest_of

CONFIG = ".git/config"
_MAX_CONFIG = 1_000_000
#: Sections without a setting that runs or reads anything.
_PLAIN_SECTIONS = frozenset(
    {"branch", "user", "author", "committer", "color", "pull", "push", "init", "advice", "fetch", "rebase", "status"}
)
#: Section -> such settings in it.
_PLAIN_KEYS = {
    "core": frozenset(
        {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode"}
        | {"symlinks", "autocrlf", "eol", "safecrlf"}
    ),
    "remote": frozenset({"url", "pushurl", "fetch", "tagopt", "prune"}),
    "submodule": frozenset({"url", "active"}),
    "lfs": frozenset({"repositoryformatversion"}),
}


def settings_digest(project: str) -> str:
    """Return a digest of the settings of a project's git that may decide what runs; "" without any."""
    path = os.path.join(project, CONFIG)
    data = read_bytes(path, _MAX_CONFIG)
    if data is None:  # a linked worktree has another one; a pipe has no content
        return "" if not os.path.lexists(path) else "unreadable"
    return _digest_of(data)


def _digest_of(data: bytes) -> str:
    settings, section = [], ""
    for raw in data.decode("utf-8", "replace").splitlines():
        line = raw.strip()
        if line.startswith("["):
            head, _, line = line.partition("]")
            section = head[1:].split(" ")[0].split(".")[0].strip().lower()
            line = line.strip()
        if line and line[0] not in "#;" and not _is_plain(section, line):
            settings.append(f"{section} {line}")
    return digest_of("\n".join(settings).encode()) if settings else ""


def _is_plain(section: str, line: str) -> bool:
    key, _, value = line.partition("=")
    if line.endswith("\\") or "::" in value:  # it goes on, or the address runs a helper
        return False
    return section in _PLAIN_SECTIONS or key.strip().lower() in _PLAIN_KEYS.get(section, ())


def decides_what_git_runs(name: str) -> bool:
    """Return whether git runs programs because of a file that ordinary commands of git write, too."""
    return name in (CONFIG, ".git/info/attributes") or name.endswith("/.git/info/attributes")
