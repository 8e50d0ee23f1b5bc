"""The sessions of a client in the project that a command stands in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.clients.claude_code.compiled import folder_of, project_of, read_compiled
from remit.clients.claude_code.results import KeptResult, list_results
from remit.configuration import Configuration, load
from remit.errors import UsageError
from remit.gate.session import SessionState
from remit.gate.session_store import LAST, RecordedSession, find_session, read_session, recorded_sessions
from remit.gate.settings import GateSettings, settings_mapping

if TYPE_CHECKING:
    from remit.checking import Options
    from remit.evidence.sources import Sources
    from remit.merging.inputs import Input


#: In what a client runs for a person (a slash command) it names the session.
OWN_SESSION = "CLAUDE_CODE_SESSION_ID"


class SessionProject:
    """A project with a gate: where it is, how it is set, and what was recorded in it."""

    def __init__(self, root: str, configured: Configuration) -> None:
        self.root = root
        self._configured = configured
        data = configured["data"]
        own = [str(Path(data).absolute() / "gate")] if data else []
        #: Of clients, and of orchestrators of our own if they keep their data elsewhere.
        self.folders = [folder_of(root), *own]

    def settings(self) -> GateSettings:
        """The gate's settings in force; the tools of definitions are those of the last compilation."""
        mapping = settings_mapping(self._configured)
        known = read_compiled(self.root)
        if known is not None:
            mapping["tools"] = known["gate"].get("tools", {})
        return GateSettings.from_mapping(mapping)

    def session(self, wanted: str) -> RecordedSession:
        """One session: `last`, its id, or how its id begins."""
        name = self.named(wanted)
        if name == wanted or read_session(self.folders[0], name) is not None:
            return find_session(self.folders, name)
        return RecordedSession(
            self.folders[0], name, SessionState(name)
        )  # the client's own, in which nothing was recorded yet

    def named(self, wanted: str) -> str:
        """The last session is the one that this command is run in, if a client says so; another may be later."""
        return os.environ.get(OWN_SESSION) or wanted if wanted == LAST else wanted

    def recorded(self) -> list[RecordedSession]:
        """All sessions, the latest first."""
        return recorded_sessions(self.folders)

    def kept(self, found: RecordedSession) -> list[KeptResult]:
        """The reports of its subagents, oldest first."""
        return list_results(found.folder, found.state.session or found.name)

    def results(self, found: RecordedSession) -> list[dict[str, Any]]:
        """The same as plain data; what is empty is null."""
        always = ("agent", "agent_id", "at", "attempt", "outcome", "violations", "changed")
        return [
            {name: getattr(one, name) for name in always}
            | {name: getattr(one, name) or None for name in ("verdict", "would", "path", "check")}
            for one in self.kept(found)
        ]

    def inputs(self, wanted: str, options: Options, sources: Sources, categories: Mapping[str, str]) -> list[Input]:
        """What its subagents sent, for a merge."""
        from remit.clients.claude_code.session_merge import merge_inputs_of  # late: only a merge needs it

        found = self.session(wanted)
        inputs = merge_inputs_of(self.kept(found), found.state, options, sources, categories)
        if not inputs:
            raise UsageError(f"in session {found.state.session} no subagent under contract has reported yet")
        return inputs

    def state_of(self, payload: Mapping[str, Any]) -> SessionState | None:
        """The state of the session that a payload names, if it has one."""
        named = payload.get("session_id")
        return read_session(self.folders[0], named) if isinstance(named, str) and named else None


def current_project(cwd: object = None) -> SessionProject:
    """The project of a folder, if that is one that is there; else of the current one."""
    folder = cwd if isinstance(cwd, str) and os.path.isdir(cwd) else os.getcwd()  # noqa: PTH109, PTH112 (any text)
    root = project_of(folder)
    return SessionProject(root, load(Path(root)))
