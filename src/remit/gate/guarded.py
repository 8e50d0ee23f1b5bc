"""Files that only a person changes: those that decide what runs, what is allowed and what is recorded."""

from __future__ import annotations

import os

from remit.deciding_files import deciding_parts
from remit.globs import part_matches, split_name
from remit.regular_files import read_regular
from remit.state_folder import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.gate.settings import GateSettings
    from remit.globs import NameParts

#: Parts of the user's folder of the client that the client's own tools write.
_CLIENT_WRITES = ("plans", "projects", "todos", "shell-snapshots", "file-history", "statsig", "ide")
#: Records in the gate's folder that only commands of a person write.
RECORDS = ("installed.json", "trusted.json")
#: Texts that the next session of a client obeys: files by their last name, and folders.
_INSTRUCTIONS = (
    *("claude.md", "claude.local.md", "agents.md", "gemini.md", "copilot-instructions.md"),
    *(".clinerules", ".cursorrules", ".windsurfrules"),
)
_RULES = (".claude/rules/", ".claude/output-styles/", ".clinerules/", ".github/instructions/", ".kiro/steering/")
_MAX_TABLE = 1_000_000
#: The folder of the package.
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def user_folder() -> str:
    """Return the user's folder of the client."""
    return os.path.realpath(os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude"))


def state_file() -> str:
    """Return the file in which the client keeps its state, with the servers and the allowed tools of the user."""
    base = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~")
    return os.path.join(base, ".claude.json")


def user_rules() -> str:
    """Return the file with the user's own rules, which git reads without any setting."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(base, "git", "ignore")


def reaches(name: str, guarded: str, *, whole: bool = True) -> bool:
    """Return whether a name is in a guarded file or folder, or with `whole` is one that contains it.

    Both may have wildcards. Case is ignored, as on some file systems.
    """
    return reaches_parts(split_name(name), split_name(guarded.rstrip("/")), whole=whole)


def reaches_parts(name: NameParts, guarded: NameParts, *, whole: bool = True) -> bool:
    """Return the same for names that `split_name` has split: one is compared with all that are guarded."""
    if len(name) < len(guarded) and not whole and ("**", True) not in name:
        return False
    for (part, is_open), (piece, has_wildcard) in zip(name, guarded, strict=False):
        if part == "**":
            return True
        if (
            part != piece
            and not (is_open and part_matches(piece, part))
            and not (has_wildcard and part_matches(part, piece))
        ):
            return False
    return True


def is_guarded_name(name: str, settings: GateSettings) -> bool:
    """Return whether a file of the project, by its real name, is guarded."""
    names = [split_name(part) for part in {name, *deciding_parts(name)}]
    return any(
        reaches_parts(parts, guarded, whole=False)
        for entry, guarded in settings.guarded_names
        if not entry.startswith("/")
        for parts in names
    )


def is_instruction(name: str) -> bool:
    """Return whether the next session of a client obeys this file: `CLAUDE.md`, `AGENTS.md`, rules and styles."""
    parts = [part.lower() for part in (name, *deciding_parts(name))]
    return parts[0].rpartition("/")[2] in _INSTRUCTIONS or any(part.startswith(_RULES) for part in parts)


def is_guarded_outside(real: str, project: str, *, whole: bool) -> bool:
    """Return whether a path is in the user's folder of the client, in the package or in the folder of the gate's store.

    With `whole`, also whether it contains them. Case is ignored, as on some file systems.
    """
    home = user_folder()
    folded = real.lower()
    if folded == os.path.realpath(state_file()).lower():
        return True
    if is_within(folded, os.path.realpath(state_folder()).lower()):
        return True
    if is_within(folded, home.lower()):
        return folded[len(home) + 1 :].partition("/")[0] not in _CLIENT_WRITES
    package = PACKAGE if not is_within(PACKAGE, os.path.realpath(project)) else ""
    if package and is_within(real, package):
        return True
    kept = (home, package, os.path.realpath(project), os.path.realpath(state_folder()))
    return whole and any(is_within(folder_kept, real) for folder_kept in kept if folder_kept)


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def remit_table_digest(project: str) -> str:
    """Return the lines of pyproject.toml about Remit, to recognise a change of [tool.remit]; "" if nothing."""
    path = os.path.join(project, "pyproject.toml")
    return lines_about_remit(read_regular(path, _MAX_TABLE + 1, follows_links=True) or b"")


def lines_about_remit(data: bytes) -> str:
    """Return the lines of a TOML text that may be about Remit. A parser takes longer to load than the whole gate."""
    if b"remit" not in data:
        return ""
    lines, is_inside = [], False
    for line in data.splitlines():
        if line.lstrip().startswith(b"["):
            is_inside = b"remit" in line
        if is_inside or b"remit" in line:
            lines.append(line)
    return os.fsdecode(b"\n".join(lines))
