"""What an answer needs to know of a project, compiled beforehand into one small file.

The file is JSON, private, at `<project>/.remit/gate/compiled.json`:

    schema       "remit.compiled/1"
    version      of the remit that made it
    gate         the mapping of `GateSettings`
    contract     agent -> the kind of result that it must send; only these agents are held to the contract
    prompts      kind -> the text that tells a subagent how to answer
    profile      what results are held to
    environment  the variables that were in force, see `environment`
    stamps       [path, mtime_ns, size] of each file that went into it, see `stamp`

It may have come with a clone, so nothing in it says what code is run; and as it must hold the stamp of our own
compiler, one that was not made here is made anew.
"""

from __future__ import annotations

import os

from remit.clients.claude_code.compiled import FILE, folder_of, is_fresh, read_compiled
from remit.clients.claude_code.libraries import make_libraries_importable
from remit.errors import EnvironmentBroken
from remit.gate.settings import GateSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.session_store import open_session

#: How long compiling may take, and how long others wait for it.
COMPILE_SECONDS = 20.0


class ProjectContext:
    """A project under contract: its settings, who is held to the contract, and what they are told."""

    __slots__ = ("contract", "folder", "notice", "profile", "project", "prompts", "renewed", "settings")

    def __init__(self, project: str, values: dict[str, Any] | None = None) -> None:
        known = values or {}
        self.project = project
        self.folder = folder_of(project)
        self.settings = GateSettings.from_mapping(known.get("gate"))
        self.contract: dict[str, str] = known.get("contract", {})
        self.prompts: dict[str, str] = known.get("prompts", {})
        self.profile: str = known.get("profile", "")
        #: What a person must be told of the settings themselves.
        self.notice = ""
        #: Whether its settings were compiled a moment ago.
        self.renewed = False

    @classmethod
    def open(cls, project: str) -> ProjectContext:
        """The desk of a project. What was changed since it was compiled is compiled anew; if that fails, what was
        in force stays so, and `notice` says it."""
        values = read_compiled(project)
        if values is not None and is_fresh(values):
            return cls(project, values)
        try:
            desk = cls(project, refresh(project))
        except Exception as error:
            if values is None:
                raise
            desk = cls(project, values)
            desk.keep_in_force(error)
        else:
            desk.renewed = True
        return desk

    def keep_in_force(self, error: Exception) -> None:
        """The settings could not be compiled anew: these stay, and a person is told so."""
        from remit.clients.claude_code.responses import describe_error

        self.notice = (
            f"the settings could not be compiled anew, the earlier ones stay in force: {describe_error(error)}"
        )

    def under_contract(self, agent_type: str) -> bool:
        """Whether this agent is held to the contract."""
        return self._known(agent_type) is not None

    def kind_of(self, agent_type: str) -> str:
        """The kind of result that this agent must send; nothing for one that is not under contract."""
        return self.contract.get(self._known(agent_type) or "", "")

    def prompt_for(self, agent_type: str) -> str:
        """What this agent is told of the contract; nothing for one that is not under it."""
        return self.prompts.get(self.kind_of(agent_type), "")

    def _known(self, agent_type: str) -> str | None:
        """An agent by the name of its contract: that of a plugin is `plugin:agent`."""
        for name in (agent_type, agent_type.rpartition(":")[2]):
            if name and name in self.contract:
                return name
        if not agent_type:
            return None
        from remit.gate.delegations import is_same_agent  # late: nearly all names are written as they are known

        return next((name for name in self.contract if is_same_agent(name, agent_type)), None)

    @property
    def observing(self) -> bool:
        """Whether nothing may be changed."""
        return self.settings.mode == "observe"

    def session(self, session: str) -> open_session:
        """The session's state, to be used in a `with` block."""
        from remit.gate.session_store import open_session as opened

        return opened(self.folder, session)


def refresh(project: str, *, force: bool = False) -> dict[str, Any]:
    """Compile the project's settings, once for all who wait for it; `force`: even if nothing has changed."""

    return recompile(project, force=force)


def recompile(project: str, *, force: bool = False) -> dict[str, Any]:
    """Compile, unless somebody else did it meanwhile; the new values."""
    from remit.gate.session_store import make_private
    from remit.workspace.atomic_write import file_lock

    if not os.path.isdir(project):
        raise EnvironmentBroken(f"there is no folder {project}")
    folder = folder_of(project)
    make_private(folder)
    lock = file_lock(os.path.join(folder, FILE + ".lock"), COMPILE_SECONDS)
    try:
        values = None if force else read_compiled(project)
        if values is not None and is_fresh(values):
            return values
        make_libraries_importable()
        from pathlib import Path

        from remit.clients.claude_code.compiling import compile_project

        compile_project(Path(project))
    finally:
        os.close(lock)
    values = read_compiled(project)
    if values is None:
        raise EnvironmentBroken(f"the settings of {project} were compiled, and cannot be read")
    return values
