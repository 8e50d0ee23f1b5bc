"""The target of an install: a project, or the user's folder for all projects."""

from __future__ import annotations

import os
import tempfile
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from remit.errors import UsageError
from remit.workspace.safe_git import root_above

#: A gate never keeps more files in one folder.
_MAX_FILES = 10_000


class InstallTarget(NamedTuple):
    """The folders of one install."""

    #: The folder that contains `.remit`.
    root: Path
    #: The client's folder: agents, skills, commands, settings.
    claude: Path
    settings: Path
    is_user: bool

    @property
    def gate(self) -> Path:
        """The folder of the gate's state and of the install record."""
        return self.root / ".remit" / "gate"

    @property
    def plugin(self) -> Path:
        """The folder of the plugin, which has the same content as the settings."""
        return self.root / ".remit" / "claude-code" / "plugin"

    def record_path(self, path: Path) -> str:
        """Return a path as the record stores it: relative inside the root, absolute elsewhere."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    def display_path(self, path: Path) -> str:
        """Return a path for a message; paths in the home folder start with `~`."""
        return (
            f"~/{self.record_path(path)}" if self.is_user and path.is_relative_to(self.root) else self.record_path(path)
        )

    def path(self, record_path: str) -> Path:
        """Return the path of a name in the record."""
        return self.root / record_path

    def holds(self, path: Path) -> bool:
        """Whether an install may have written this path: it is in the client's folder or in `.remit`."""
        normal = Path(os.path.normpath(path))
        return any(normal == own or own in normal.parents for own in (self.claude, self.root / ".remit"))

    def refuse_links(self, path: Path) -> None:
        """Raise UsageError if a link would redirect a written file."""
        top = self.claude.parent if path.is_relative_to(self.claude) else self.root
        for one in (path, *path.parents):
            if one == top:
                return
            if one.is_symlink():
                raise UsageError(f"{one} is a symbolic link, so a file would be written elsewhere; nothing was changed")


def find_target(project: Path | None, *, is_user: bool) -> InstallTarget:
    """Return the user's folder, or the project that contains the current folder."""
    if is_user:
        if project is not None:
            raise UsageError("--user applies to all projects; omit --project")
        own = os.environ.get("CLAUDE_CONFIG_DIR")
        claude = Path(own).absolute() if own else Path.home() / ".claude"
        return InstallTarget(Path.home(), claude, claude / "settings.json", is_user=True)
    start = (project or Path.cwd()).absolute()
    if not start.is_dir():
        raise UsageError(f"--project {project}: the folder does not exist")
    root = start.resolve() if project is not None else root_above(start) or start.resolve()
    # The local settings: entries contain paths of this machine, and the shared settings are under version control.
    return InstallTarget(root, root / ".claude", root / ".claude" / "settings.local.json", is_user=False)


def state_problem(target: InstallTarget) -> str:
    """Describe what prevents the gate from working, with its path; "" if nothing does."""
    folder = target.gate
    if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
        return f"{folder} must be a folder, but is a link or a file"
    existing = next(one for one in (folder, *folder.parents) if one.exists())
    try:
        if existing == folder and folder.stat().st_uid != os.geteuid():
            return f"{folder} belongs to another user"
        with tempfile.TemporaryFile(dir=existing):
            pass
        return _inaccessible_file(folder) if existing == folder else ""
    except OSError as error:
        return f"{existing} cannot be written: {error.strerror}"


def _inaccessible_file(folder: Path) -> str:
    """Describe the first entry of the folder that this user may not read and write."""
    with os.scandir(folder) as entries:
        for entry in islice(entries, _MAX_FILES):
            needed = os.R_OK | os.W_OK | (os.X_OK if entry.is_dir() else 0)
            if not os.access(entry.path, needed):
                return f"{entry.path} cannot be read and written"
    return ""
