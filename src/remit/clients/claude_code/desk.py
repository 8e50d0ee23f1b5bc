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

# ruff: noqa: PTH100, PTH116, PTH118, PTH120, PTH123
# pathlib takes as long to load as all of the gate.

from __future__ import annotations

import json
import os

from remit.gate.settings import GateSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from remit.gate.state import open_state

SCHEMA = "remit.compiled/1"
#: Below the project.
FOLDER = ".remit/gate"
FILE = "compiled.json"
#: What makes the file; another version of it tells subagents other things.
COMPILER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiling.py")
#: A larger file is not ours.
LARGEST = 4_000_000
#: What the compiled settings may come from; others are no matter of theirs, and may be secret.
_VARIABLES = ("REMIT_DATA", "REMIT_PROFILE")
_KINDS_OF_VARIABLES = ("REMIT_AGENTS_", "REMIT_CHECK_", "REMIT_GATE_")
#: How long compiling may take, and how long others wait for it.
COMPILE_SECONDS = 20.0


class Desk:
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
    def open(cls, project: str) -> Desk:
        """The desk of a project. What was changed since it was compiled is compiled anew; if that fails, what was
        in force stays so, and `notice` says it."""
        values = compiled(project)
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
        from remit.clients.claude_code.faults import told

        self.notice = f"the settings could not be compiled anew, the earlier ones stay in force: {told(error)}"

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
        from remit.gate.delegations import same_agent  # late: nearly all names are written as they are known

        return next((name for name in self.contract if same_agent(name, agent_type)), None)

    @property
    def observing(self) -> bool:
        """Whether nothing may be changed."""
        return self.settings.mode == "observe"

    def session(self, session: str) -> open_state:
        """The session's state, to be used in a `with` block."""
        from remit.gate.state import open_state as opened

        return opened(self.folder, session)


def folder_of(project: str) -> str:
    """Where the gate keeps what it knows of a project."""
    return os.path.join(project, FOLDER)


def project_of(cwd: str) -> str:
    """The project that a folder belongs to, where nobody says it: the nearest one that has been compiled, else the
    checkout, else the folder itself."""
    checkout = ""
    folder = os.path.abspath(cwd)
    while True:
        if os.path.lexists(os.path.join(folder, FOLDER, FILE)):
            return folder
        if not checkout and os.path.lexists(os.path.join(folder, ".git")):
            checkout = folder
        above = os.path.dirname(folder)
        if above == folder:
            return checkout or os.path.abspath(cwd)
        folder = above


def stamp(path: str) -> list[Any]:
    """What tells whether a file, or a folder's list of names, has changed; an absent one has a size of -1."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return [path, 0, -1]
    return [path, found.st_mtime_ns, found.st_size]


def environment() -> dict[str, str]:
    """The variables that the compiled settings may come from."""
    return {
        name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith(_KINDS_OF_VARIABLES)
    }


def compiled(project: str) -> dict[str, Any] | None:
    """The compiled file's values, stale or not; None: there is none that can be used."""
    try:
        descriptor = os.open(os.path.join(folder_of(project), FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            data = file.read(LARGEST + 1)
        values = json.loads(data) if len(data) <= LARGEST else None
    except (OSError, ValueError, RecursionError):
        return None
    return values if _is_ours(values) else None


def _is_ours(values: object) -> bool:
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        return False
    types = {"gate": dict, "contract": dict, "prompts": dict, "profile": str, "stamps": list}
    if not all(isinstance(values.get(name), kind) for name, kind in types.items()):
        return False
    texts = [*values["contract"].values(), *values["prompts"].values()]
    return all(isinstance(entry, str) for entry in texts)


def is_fresh(values: dict[str, Any]) -> bool:
    """Whether it was made by this very installation, and nothing that went into it has changed since."""
    if values.get("environment") != environment() or stamp(COMPILER) not in values["stamps"]:
        return False
    return all(
        isinstance(entry, list) and entry and isinstance(entry[0], str) and stamp(entry[0]) == entry
        for entry in values["stamps"]
    )


def refresh(project: str, *, force: bool = False) -> dict[str, Any]:
    """Compile the project's settings, once for all who wait for it; `force`: even if nothing has changed."""
    from remit.clients.claude_code.recompiling import recompile  # late: hardly any call needs it

    return recompile(project, force=force)
