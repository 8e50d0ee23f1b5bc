"""The rules by which git ignores files, as they were when a session began.

A command could add a rule, and a later one a file that the rule hides. So a rule counts only if it was there before the
first call of the session, or if a person added it between two calls.
"""

from __future__ import annotations

import marshal
import os

from remit.gate import file_versions
from remit.gate.guarded import user_rules
from remit.gate.record_store import find_store, open_store
from remit.gate.session_store import safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from remit.gate.work_tree import TreeRecord

    #: Real path of a file with rules -> its lines.
    Rules = dict[str, list[bytes]]

_KIND = "rules"
_MAX_FILE = 1_000_000
#: Names of files with rules: those of folders, and `.git/info/exclude`.
_NAMES = frozenset({".gitignore", "exclude"})


def is_rule_file(path: str) -> bool:
    """Return whether a file of the project decides what git ignores, itself or by the name of another file."""
    return os.path.basename(path) in _NAMES or path.endswith(".git/config")


def record_rules(folder: str, session: str, project: str, tree: TreeRecord, by_person: Iterable[str]) -> None:
    """Record the rules before the first call of a session, and again those of files that a person changed."""
    recorded = load_rules(folder, session)
    changed = [os.path.join(project, path) for path in by_person]
    if recorded is not None and not changed:
        return
    if recorded is None or any(path.endswith("config") for path in changed):
        changed += _sources(project, tree)
    recorded = {**(recorded or {}), **{os.path.realpath(path): _lines(path) for path in changed}}
    open_store(folder).put(_KIND, safe_name(session), marshal.dumps(recorded, 2))


def load_rules(folder: str, session: str) -> Rules | None:
    """Return the rules of a session, or None if none were recorded."""
    store = find_store(folder)
    data = store.trusted(_KIND, safe_name(session)) if store is not None else None
    recorded: Rules | None = marshal.loads(data) if data is not None else None  # noqa: S302 - plain data
    return recorded


def forget_rules(folder: str) -> None:
    """Forget the rules of all sessions: a person has confirmed those of now."""
    store = find_store(folder)
    if store is not None:
        store.remove(_KIND)


def are_ignored(project: str, paths: list[str], recorded: Rules | None) -> set[str]:
    """Return the paths that git ignores by a rule that counts; without recorded rules, by any rule."""
    rules = file_versions.ignoring_rules(project, paths)
    if recorded is None or not rules:
        return set(rules)
    top = _top(project)
    # A source is relative to the root of the checkout, or absolute.
    return {
        path
        for path, (source, rule) in rules.items()
        if rule in recorded.get(os.path.realpath(os.path.join(top, source)), ())
    }


def ignored_paths(project: str, recorded: Rules | None) -> frozenset[bytes]:
    """Return the files and folders that git ignores, without those that only a rule hides that does not count."""
    ignored = file_versions.ignored_paths(project)
    if recorded is None or all(_lines(path) == lines for path, lines in recorded.items()):
        return ignored
    kept = are_ignored(project, [os.fsdecode(path) for path in ignored], recorded)
    return frozenset(os.fsencode(path) for path in kept)


def _lines(path: str) -> list[bytes]:
    data = file_versions.read_bytes(os.path.realpath(path), _MAX_FILE) or b""
    return [line for line in map(bytes.strip, data.splitlines()) if line and not line.startswith(b"#")]


def _top(project: str) -> str:
    from remit.workspace.safe_git import found_by_git  # late: most calls change no rule

    return found_by_git(project) or project


def _sources(project: str, tree: TreeRecord) -> list[str]:
    """Return the files from which git reads rules, also those that do not exist yet."""
    below = [os.fsdecode(name) for name, files in tree.folders.items() if b".gitignore" in files[1]]
    sources = [os.path.join(project, name, ".gitignore") for name in below]
    top, above = _top(project), os.path.realpath(project)
    while above != top and above != os.path.dirname(above):
        above = os.path.dirname(above)
        sources.append(os.path.join(above, ".gitignore"))
    git = os.path.join(top, ".git")
    exclude = os.path.join(git, "info", "exclude")
    if os.path.isfile(git):  # a linked worktree
        exclude = file_versions.git_line(project, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
    sources += [exclude, user_rules()]
    base = os.path.dirname(user_rules())
    settings = (f"{git}/config", os.path.expanduser("~/.gitconfig"), f"{base}/config", "/etc/gitconfig")
    texts = b"".join(file_versions.read_bytes(os.path.realpath(path), _MAX_FILE) or b"" for path in settings).lower()
    if b"excludesfile" in texts or b"[include" in texts:
        named = file_versions.git_line(project, "config", "--type=path", "--get", "core.excludesFile")
        sources += [os.path.join(top, named)] if named else []
    return [path for path in sources if path]
