"""Where an install goes: a project's own folders, or the user's for every project."""

from __future__ import annotations

import os
import tempfile
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from remit.errors import UsageError
from remit.workspace.safe_git import root_above

#: More files than a gate ever keeps side by side.
_MOST_FILES = 10_000


class InstallTarget(NamedTuple):
    """The folders of one install."""

    #: Holds `.remit`.
    root: Path
    #: The client's folder: agents, skills, commands, settings.
    claude: Path
    settings: Path
    is_user: bool

    @property
    def gate(self) -> Path:
        """What the gate keeps, and the record of the install."""
        return self.root / ".remit" / "gate"

    @property
    def plugin(self) -> Path:
        """The plugin that says the same as the settings."""
        return self.root / ".remit" / "claude-code" / "plugin"

    def shown(self, path: Path) -> str:
        """A path as the record names it: short inside the place, whole elsewhere."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    def told(self, path: Path) -> str:
        """A path as a person reads it; what lies in their home is not taken for the folder that they are in."""
        return f"~/{self.shown(path)}" if self.is_user and path.is_relative_to(self.root) else self.shown(path)

    def path(self, shown: str) -> Path:
        """The path that `shown` gave a name."""
        return self.root / shown

    def holds(self, path: Path) -> bool:
        """Whether an install may have written this: something in the client's folder or in ours."""
        whole = Path(os.path.normpath(path))
        return any(whole == own or own in whole.parents for own in (self.claude, self.root / ".remit"))

    def refuse_links(self, path: Path) -> None:
        """Raises UsageError where a link would carry a written file to another place."""
        top = self.claude.parent if path.is_relative_to(self.claude) else self.root
        for one in (path, *path.parents):
            if one == top:
                return
            if one.is_symlink():
                raise UsageError(f"{one} is a link: what is written there would land elsewhere; nothing was changed")


def find_target(project: Path | None, *, is_user: bool) -> InstallTarget:
    """The user's folder, or that of the project above the current one."""
    if is_user:
        if project is not None:
            raise UsageError("--user is for every project: leave --project out")
        own = os.environ.get("CLAUDE_CONFIG_DIR")
        claude = Path(own).absolute() if own else Path.home() / ".claude"
        return InstallTarget(Path.home(), claude, claude / "settings.json", is_user=True)
    start = (project or Path.cwd()).absolute()
    if not start.is_dir():
        raise UsageError(f"--project {project}: there is no such folder")
    root = start.resolve() if project is not None else root_above(start) or start.resolve()
    # The local settings: they hold paths of this machine, and a project's shared ones are in its history.
    return InstallTarget(root, root / ".claude", root / ".claude" / "settings.local.json", is_user=False)


def state_problem(place: InstallTarget) -> str:
    """What hinders the gate, with the file or folder that does; empty: nothing."""
    folder = place.gate
    if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
        return f"{folder} must be a folder of its own, and is a link or a file"
    there = next(one for one in (folder, *folder.parents) if one.exists())
    try:
        if there == folder and folder.stat().st_uid != os.geteuid():
            return f"{folder} belongs to somebody else"
        with tempfile.TemporaryFile(dir=there):
            pass
        return _barred(folder) if there == folder else ""
    except OSError as error:
        return f"{there} cannot be written: {error.strerror}"


def _barred(folder: Path) -> str:
    """The first thing in the folder that this user may not read and write, as one of another user's may be."""
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MOST_FILES):
            needed = os.R_OK | os.W_OK | (os.X_OK if entry.is_dir() else 0)
            if not os.access(entry.path, needed):
                return f"{entry.path} cannot be read and written"
    return ""
