"""The project that an event belongs to, with its compiled settings."""

from __future__ import annotations

import os

from remit.clients.hooks.compiled import folder_of, is_fresh, is_replaced, read_compiled
from remit.clients.hooks.responses import describe_error
from remit.errors import EnvironmentBroken
from remit.gate.delegations import is_same_agent
from remit.gate.record_store import open_store
from remit.gate.redaction import load_rules
from remit.gate.session_store import open_session
from remit.gate.settings import GateSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from remit.gate.record_store import RecordStore
    from remit.gate.work_tree import TreeRecord

#: The placeholder for the agent's name in the compiled instructions.
AGENT_NAME = "[Agent Name]"
#: The profile of agents that are not under contract.
CLAIMS = "claims"
#: Other processes wait this long while one of them compiles.
COMPILE_SECONDS = 20.0
_REPLACED = (
    "something else than Remit changed or removed the compiled settings of the gate; they were compiled again from the "
    "settings that you confirmed"
)


def _rules_for_secrets() -> Callable[[str], str]:
    from remit.secrets.scan import redact

    return redact


load_rules[:] = [_rules_for_secrets]


#: Project -> its compiled values and the settings in them. `read_compiled` returns the same values for the same file.
_settings: dict[str, tuple[dict[str, Any], GateSettings]] = {}
_MAX_SETTINGS = 100


def _settings_of(project: str, values: dict[str, Any] | None) -> GateSettings:
    """Return the settings in compiled values. A process that answers many events builds them once."""
    if values is None:
        return GateSettings.from_mapping(None)
    known = _settings.get(project)
    if known is None or known[0] is not values:
        known = (values, GateSettings.from_mapping(values.get("gate")))
        if len(_settings) >= _MAX_SETTINGS:
            _settings.clear()
        _settings[project] = known
    return known[1]


class ProjectContext:
    """A project under contract: its settings, the agents under contract and their instructions."""

    def __init__(self, project: str, values: dict[str, Any] | None = None) -> None:
        compiled = values or {}
        self.project = project
        #: The gate's folder.
        self.folder = folder_of(project)
        self.settings = _settings_of(project, values)
        #: Agent -> the kind of result that it must send.
        self.contract: dict[str, str] = compiled.get("contract", {})
        #: Kind of result -> the instructions on how to answer.
        self.prompts: dict[str, str] = compiled.get("prompts", {})
        self.profile: str = compiled.get("profile", "")
        #: The project's progress file.
        self.progress: str = compiled.get("progress") or os.path.join(project, ".remit", "progress.json")
        #: A message for the user about the settings themselves.
        self.notice = str(compiled.get("notice") or "")
        #: The session whose transaction has begun, if it has.
        self.held: open_session | None = None
        #: The record of the work tree that `unchanged_tree` has just made, if it did.
        self.unchanged: TreeRecord | None = None
        #: Whether opening the project has compiled its settings.
        self.is_recompiled = False
        #: Whether the client accepts a changed input of a call, so that a launch can contain the instructions.
        self.changes_input = True

    @classmethod
    def open(cls, project: str) -> ProjectContext:
        """Open a project and compile its settings if they have changed.

        If that fails, the earlier settings stay effective and `notice` has the reason.
        """
        values = read_compiled(project)
        if values is not None and is_fresh(values):
            return cls(project, values)
        replaced = values is None and is_replaced(project)
        try:
            context = cls(project, recompile(project))
        except Exception as error:
            if values is None:
                raise
            context = cls(project, values)
            context.keep_earlier_settings(error)
        else:
            context.is_recompiled = True
            if replaced:
                context.notice = f"{_REPLACED}. {context.notice}".rstrip(". ")
        return context

    @classmethod
    def open_compiled(cls, project: str, store: RecordStore) -> ProjectContext | None:
        """Open a project with this store, or return None if its settings must be compiled first."""
        values = read_compiled(project, store)
        return cls(project, values) if values is not None and is_fresh(values) else None

    def keep_earlier_settings(self, error: Exception) -> None:
        """Note that the settings could not be compiled and that the earlier ones stay effective."""
        self.notice = (
            f"the settings could not be compiled; the earlier settings stay effective: {describe_error(error)}"
        )

    def is_under_contract(self, agent_type: str) -> bool:
        """Whether this agent is asked for a result in the form of the contract."""
        return self.settings.may("install") and self._contract_name(agent_type) is not None

    def is_checked(self, agent_type: str) -> bool:
        """Whether reports of this agent are checked: against the contract, or only their claims."""
        return self.settings.others != "off" or self.is_under_contract(agent_type)

    def is_awaited(self, agent_type: str) -> bool:
        """Whether a final answer waits for this agent, because its report may be sent back."""
        return self.settings.others == "claims" or self.is_under_contract(agent_type)

    def is_enforced(self, agent_type: str) -> bool:
        """Whether a report of this agent is sent back or reported if it is not accepted."""
        return self.settings.may("return") and self.is_awaited(agent_type)

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

    @property
    def is_observing(self) -> bool:
        """Whether hooks record decisions without changing anything."""
        return not self.settings.may("return")

    @property
    def is_denying(self) -> bool:
        """Whether calls may be denied."""
        return self.settings.may("deny")

    def session(self, session: str) -> open_session:
        """Return the state of a session, for use in a `with` block."""
        held, self.held = self.held, None
        return held or open_session(self.folder, session)


def recompile(project: str, *, force: bool = False) -> dict[str, Any]:
    """Compile a project's settings and return them.

    Of several processes, one compiles and the others use its result; with `force`, each of them compiles.
    """
    if not os.path.isdir(project):
        raise EnvironmentBroken(f"the folder {project} does not exist")
    with open_store(folder_of(project)).changing(COMPILE_SECONDS):
        values = None if force else read_compiled(project)
        if values is not None and is_fresh(values):
            return values
        from remit.clients.hooks.compiling import compile_project

        compile_project(project)
    values = read_compiled(project)
    if values is None:
        raise EnvironmentBroken(f"the settings of {project} were compiled but cannot be read")
    return values
