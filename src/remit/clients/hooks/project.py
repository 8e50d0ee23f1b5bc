"""The project that an event belongs to, with its compiled settings."""

from __future__ import annotations

import os

from remit.clients.hooks.compiled import folder_of, is_fresh, read_compiled
from remit.clients.hooks.responses import describe_error
from remit.errors import EnvironmentBroken
from remit.gate.delegations import is_same_agent
from remit.gate.record_store import open_store
from remit.gate.redaction import load_rules
from remit.gate.session_store import open_session
from remit.gate.settings import VERIFY, GateSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: The placeholder for the agent's name in the compiled instructions.
AGENT_NAME = "[Agent Name]"
#: The profile of agents that are not under contract.
CLAIMS = "claims"
#: Other processes wait this long while one of them compiles.
COMPILE_SECONDS = 20.0


def _rules_for_secrets() -> Callable[[str], str]:
    from remit.secrets.scan import redact

    return redact


load_rules[:] = [_rules_for_secrets]


class ProjectContext:
    """A project: its settings, the agents under contract and their instructions; and the client with its mode."""

    def __init__(
        self, project: str, values: dict[str, Any] | None = None, *, client: str = "", mode: str = VERIFY
    ) -> None:
        self.compiled = values or {}
        self.project = project
        self.client = client
        #: The gate's folder.
        self.folder = folder_of(project)
        self.settings = GateSettings.from_mapping(self.compiled.get("gate"))
        self.settings.mode = mode
        #: Agent -> the kind of result that it must send.
        self.contract: dict[str, str] = self.compiled.get("contract", {})
        #: Kind of result -> the instructions on how to answer.
        self.prompts: dict[str, str] = self.compiled.get("prompts", {})
        self.profile: str = self.compiled.get("profile", "")
        #: The project's progress file.
        self.progress: str = self.compiled.get("progress") or os.path.join(project, ".remit", "progress.json")
        #: A message for the user about the settings themselves.
        self.notice = ""
        #: Whether the client accepts a changed input of a call, so that a launch can contain the instructions.
        self.changes_input = True

    @classmethod
    def open(cls, project: str, *, client: str = "", mode: str = VERIFY) -> ProjectContext:
        """Open a project and compile its settings if they have changed.

        If that fails, the earlier settings stay effective and `notice` has the reason.
        """
        values = read_compiled(project)
        if values is not None and is_fresh(values):
            return cls(project, values, client=client, mode=mode)
        try:
            return cls(project, recompile(project), client=client, mode=mode)
        except Exception as error:
            if values is None:
                raise
            context = cls(project, values, client=client, mode=mode)
            why = f"the settings could not be compiled; the earlier settings stay effective: {describe_error(error)}"
            context.notice = why
            return context

    def is_under_contract(self, agent_type: str) -> bool:
        """Whether this agent is asked for a result in the form of the contract."""
        name = self._contract_name(agent_type)
        return name is not None and (self.settings.denies or name in self.compiled.get("always", ()))

    def is_checked(self, agent_type: str) -> bool:
        """Whether reports of this agent are checked: against the contract, or only their claims."""
        return self.settings.others != "off" or self.is_under_contract(agent_type)

    def profile_of(self, agent_type: str) -> str:
        """Return the profile that reports of this agent are checked with."""
        return (self.profile or "v2") if self.is_under_contract(agent_type) else CLAIMS

    def kind_of(self, agent_type: str) -> str:
        """Return the kind of result that this agent must send; "" for an agent that is not under contract."""
        return self.contract[self._contract_name(agent_type) or ""] if self.is_under_contract(agent_type) else ""

    def prompt_for(self, agent_type: str) -> str:
        """Return the instructions for this agent; "" for an agent that is not under contract."""
        text = self.prompts.get(self.kind_of(agent_type), "")
        if not text:
            return ""
        from remit.contract.feedback import agent_title  # late: only a launch needs it

        return text.replace(AGENT_NAME, agent_title(agent_type) or AGENT_NAME)

    def _contract_name(self, agent_type: str) -> str | None:
        """Return the agent's name in the contract. An agent of a plugin is `plugin:agent`."""
        for name in (agent_type, agent_type.rpartition(":")[2]):
            if name and name in self.contract:
                return name
        if not agent_type:
            return None
        return next((name for name in self.contract if is_same_agent(name, agent_type)), None)

    def session(self, session: str) -> open_session:
        """Return the state of a session, for use in a `with` block."""
        return open_session(self.folder, session, client=self.client, mode=self.settings.mode)


def recompile(project: str) -> dict[str, Any]:
    """Compile a project's settings and return them. Of several processes, one compiles."""
    if not os.path.isdir(project):
        raise EnvironmentBroken(f"the folder {project} does not exist")
    with open_store(folder_of(project)).changing(COMPILE_SECONDS):
        values = read_compiled(project)
        if values is not None and is_fresh(values):
            return values
        from remit.clients.hooks.compiling import compile_project

        compile_project(project)
        values = read_compiled(project)
    if values is None:
        raise EnvironmentBroken(f"the settings of {project} were compiled but cannot be read")
    return values
