"""The target of an install: a project, or the user's folder for all projects."""

from __future__ import annotations

import os
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from remit.clients.setup.hook_process import hook_command, hook_problem, shell_command
from remit.clients.setup.settings_file import own_groups, read_settings
from remit.contract.kinds import slug
from remit.dispatch.health import HealthFact
from remit.errors import RemitError, UsageError
from remit.gate.session_store import recorded_sessions
from remit.gate.settings import VERIFY
from remit.registry.definition import Definition
from remit.registry.plugin_root import PluginRoot
from remit.registry.plugins import Manifest, built_in_team, load_plugin
from remit.registry.tools import OFFERED, AllowList
from remit.workspace.safe_git import root_above

#: A gate never keeps more files in one folder.
_MAX_FILES = 10_000


class ClientSetup(ABC):
    """What an install of one client consists of: its files, its hooks, and how to recognise them."""

    #: The client's name on the command line.
    name = ""
    #: The client's program; "" if its name is that of the client.
    command = ""
    #: The folder of the client's agent definitions, in the client's folder, and the ending of their names.
    agents = "agents"
    ending = ".md"
    #: Agents of the team that the client defines itself.
    own_agents: frozenset[str] = frozenset()
    #: The client's folder in a project, and the file with the hooks in the client's folder: of a project, and of a user
    #: if it has another name.
    folder = ""
    hooks = ""
    user_hooks = ""
    #: The modes of an install. Only where calls can be denied there is more than one.
    modes: tuple[str, ...] = (VERIFY,)
    #: An event, and the payload of a subagent's end with `FALSE_REPORT`, with which `remit doctor` tests the hooks.
    probe: tuple[str, Mapping[str, Any]]

    @property
    def program(self) -> str:
        """The name of the client's program."""
        return self.command or self.name

    @abstractmethod
    def user_folder(self) -> Path:
        """Return the client's folder of the user."""

    def find_target(self, project: Path | None, *, is_user: bool) -> InstallTarget:
        """Return the user's folder, or the project that contains the current folder."""
        if is_user:
            if project is not None:
                raise UsageError("--user applies to all projects; omit --project")
            folder = self.user_folder()
            settings = folder / (self.user_hooks or self.hooks)
            return InstallTarget(Path.home(), folder, settings, is_user=True, client=self)
        root = project_root(project)
        folder = root / self.folder
        return InstallTarget(root, folder, folder / self.hooks, is_user=False, client=self)

    def hook_groups(self, mode: str) -> dict[str, dict[str, Any]]:
        """Return the group of each event in the client's settings; empty if a file of Remit contains the hooks."""
        return {}

    def mode_of(self, groups: Mapping[str, Mapping[str, Any]]) -> str:
        """Return the mode in the hooks of an install."""
        return VERIFY

    def is_ours(self, hook: object) -> bool:
        """Whether an entry of the client's settings is Remit's, including one of another installation."""
        return False

    def calls(self, mode: str) -> str:
        """Return what the hooks call, for a message."""
        return shell_command("EVENT", self.name)

    def hook_files(self, target: InstallTarget) -> dict[Path, str]:
        """Return the files of Remit that contain only hooks, with their content, in every mode."""
        return {}

    def team_files(self, target: InstallTarget) -> dict[Path, str]:
        """Return the files of Remit for the mode `orchestrator`, with their content: the agents."""
        return {target.folder / self.agents / name: text for name, text in self.agent_files().items()}

    @abstractmethod
    def definition_text(self, definition: Definition) -> str:
        """Return a definition in the client's format."""

    def agent_files(self) -> dict[str, str]:
        """Return the definitions of the built-in team in the client's format, by file name.

        Agents that the client has itself are left out: a file would replace the client's own definition.
        """
        team = (definition for definition in built_in_team().definitions if definition.name not in self.own_agents)
        return {f"{definition.name}{self.ending}": self.definition_text(definition) for definition in team}

    def agent_names(self, folder: Path) -> frozenset[str]:
        """Return the slugs of the agents that a folder of the client defines."""
        if not folder.is_dir():
            return frozenset()
        plugin = load_plugin(PluginRoot(str(folder)), AllowList(OFFERED), Manifest("agents", None, (".",)))
        return frozenset(slug(definition.name) for definition in plugin.definitions)

    def deny_rules(self, target: InstallTarget) -> list[str]:
        """Return the client's own rules against edits of guarded files."""
        return []

    def local_files(self, target: InstallTarget) -> dict[Path, Path]:
        """Return the paths with contents of this machine: the name for a message, and a file."""
        return {target.settings: target.settings}

    def disabled_hooks(self, target: InstallTarget) -> list[Path]:
        """Return the settings files that switch off all hooks."""
        return []

    def record_file(self, target: InstallTarget) -> Path:
        """Return the path of the install record."""
        return target.own / "installed.json"

    def facts(self, project: Path | None = None) -> Iterator[HealthFact]:
        """Check the installs in a project and for all projects, for `remit doctor`; without one, yield nothing."""
        for is_user in (False, True):
            target = self.find_target(None if is_user else project, is_user=is_user)
            try:
                is_installed, problem = self.find_hooks(target)
            except RemitError as error:
                is_installed, problem = True, str(error)
            if is_installed:
                yield self._fact(target, problem)

    def find_hooks(self, target: InstallTarget) -> tuple[bool, str]:
        """Return whether hooks of Remit are in the client's settings, and what is wrong with them; "" if nothing."""
        text = read_settings(target.settings)
        groups = own_groups(text, self.is_ours) if text is not None else {}
        wanted = self.hook_groups(self.mode_of(groups))
        if any(groups.get(event) != group for event, group in wanted.items()):
            return bool(groups), f"the hooks in {target.settings} are not those of this installation; {_again(target)}"
        return True, ""

    def _fact(self, target: InstallTarget, problem: str) -> HealthFact:
        """Return whether an install works, and when the client last sent an event."""
        problem = (
            problem or state_problem(target) or hook_problem(hook_command(self.probe[0], self.name), self.probe[1])
        )
        off = self.disabled_hooks(target)
        if off:
            problem = f"{' and '.join(map(str, off))} switches all hooks off (disableAllHooks)"
        if problem:
            return HealthFact(self.name, "bad", f"{problem}; nothing is checked until this is fixed")
        here = self.find_target(None, is_user=False)
        sessions = [one for one in recorded_sessions([str(here.gate)]) if one.state.client == self.name]
        works = "the hook process works: it sent a false report back in a test"
        if sessions:
            last = time.strftime("%Y-%m-%d %H:%M", time.localtime(sessions[0].state.updated))
            return HealthFact(self.name, "good", f"{works}; the last event of a session here was on {last}")
        step = self.next_step(target) or "start a new session"
        return HealthFact(self.name, "odd", f"{works}; no event of a session here has come yet: {step}")

    def next_step(self, target: InstallTarget) -> str:
        """Return what the user must do before the hooks run; "" if nothing."""
        return ""


class OwnFileSetup(ClientSetup):
    """A client whose hooks are in a file of Remit."""

    @abstractmethod
    def hooks_text(self) -> str:
        """Return the content of the file with the hooks."""

    def hook_files(self, target: InstallTarget) -> dict[Path, str]:
        """Return the file with the hooks."""
        return {target.settings: self.hooks_text()}

    def find_hooks(self, target: InstallTarget) -> tuple[bool, str]:
        """Return whether the file is there, and what is wrong with it; "" if nothing."""
        if not target.settings.is_file():
            return False, ""
        if target.settings.read_bytes() != self.hooks_text().encode():
            return True, f"{target.settings} was changed, or belongs to another installation; {_again(target)}"
        return True, ""


class InstallTarget(NamedTuple):
    """The folders of one install."""

    #: The folder that contains `.remit`.
    root: Path
    #: The client's folder: agents, skills, commands, settings.
    folder: Path
    #: The file that contains the hooks.
    settings: Path
    is_user: bool
    client: ClientSetup

    @property
    def gate(self) -> Path:
        """The folder of the gate's state and of the install record."""
        return self.root / ".remit" / "gate"

    @property
    def own(self) -> Path:
        """The folder of Remit's files for this client."""
        return self.root / ".remit" / self.client.name

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
        """Whether an install may have written this path: it is in the client's folder or in `.remit`, or above both."""
        normal = Path(os.path.normpath(path))
        if self.root in normal.parents and normal in self.folder.parents:
            return True  # `.config`, which contains the client's folder of the user
        return any(normal == folder or folder in normal.parents for folder in (self.folder, self.root / ".remit"))

    def refuse_links(self, path: Path) -> None:
        """Raise UsageError if a link would redirect a written file."""
        top = self.folder.parent if path.is_relative_to(self.folder) else self.root
        for above in (path, *path.parents):
            if above == top:
                return
            if above.is_symlink():
                raise UsageError(
                    f"{above} is a symbolic link, so a file would be written elsewhere; nothing was changed"
                )


def display_home(path: str) -> str:
    """Return an absolute path for a message, with `~` for the home folder."""
    home = Path.home()
    return f"~/{Path(path).relative_to(home).as_posix()}" if Path(path).is_relative_to(home) else path


def user_folder(variable: str, *parts: str) -> Path:
    """Return the folder that a variable names, or else the default in the home folder."""
    named_folder = os.environ.get(variable)
    return Path(named_folder).absolute() if named_folder else Path.home().joinpath(*parts)


def _again(target: InstallTarget) -> str:
    return f"run `remit install {target.client.name}{' --user' * target.is_user}` to use this one"


def project_root(project: Path | None) -> Path:
    """Return the project that contains the current folder, or the given one. Raises UsageError if it is missing."""
    start = (project or Path.cwd()).absolute()
    if not start.is_dir():
        raise UsageError(f"--project {project}: the folder does not exist")
    return start.resolve() if project is not None else root_above(start) or start.resolve()


def state_problem(target: InstallTarget) -> str:
    """Describe what prevents the gate from working, with its path; "" if nothing does."""
    folder = target.gate
    if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir()):
        return f"{folder} must be a folder, but is a link or a file"
    existing = next(path for path in (folder, *folder.parents) if path.exists())
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
