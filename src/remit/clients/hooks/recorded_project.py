"""Find the recorded sessions of the current project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.clients.hooks.compiled import folder_of, project_of, read_compiled
from remit.clients.hooks.results import KeptResult, list_results
from remit.clients.hooks.session_merge import merge_inputs_of
from remit.configuration import Configuration, load
from remit.errors import UsageError
from remit.gate.session import SessionState
from remit.gate.session_store import LAST, RecordedSession, find_session, read_session, recorded_sessions
from remit.gate.settings import GateSettings, settings_mapping

if TYPE_CHECKING:
    from remit.checking import Options
    from remit.evidence.sources import Sources
    from remit.merging.inputs import Input


#: The client sets this variable to its session in the environment of slash commands.
OWN_SESSION = "CLAUDE_CODE_SESSION_ID"


class SessionProject:
    """A project with a gate: its folders, its settings and its recorded sessions."""

    def __init__(self, root: str, configured: Configuration) -> None:
        self.root = root
        self._configured = configured
        data = configured["data"]
        own = [str(Path(data).absolute() / "gate")] if data else []
        #: The folder of the client's sessions, and that of `remit orchestrate` if its data is elsewhere.
        self.folders = [folder_of(root), *own]

    def settings(self) -> GateSettings:
        """Return the effective settings of the gate, with the definitions' tools of the last compilation."""
        mapping = settings_mapping(self._configured)
        compiled = read_compiled(self.root)
        if compiled is not None:
            mapping["tools"] = compiled["gate"].get("tools", {})
        return GateSettings.from_mapping(mapping)

    def session(self, wanted: str) -> RecordedSession:
        """Return a session by `last`, its id, or a prefix of the id."""
        name = self.named(wanted)
        if name == wanted or read_session(self.folders[0], name) is not None:
            return find_session(self.folders, name)
        # The client's current session, which has no record yet.
        return RecordedSession(self.folders[0], name, SessionState(name))

    def named(self, wanted: str) -> str:
        """Return the id of the client's current session for `last`, if the command runs in one."""
        return os.environ.get(OWN_SESSION) or wanted if wanted == LAST else wanted

    def recorded(self) -> list[RecordedSession]:
        """Return all sessions, the latest first."""
        return recorded_sessions(self.folders)

    def kept(self, found: RecordedSession) -> list[KeptResult]:
        """Return the reports of a session's subagents, the oldest first."""
        return list_results(found.folder, found.state.session or found.name)

    def results(self, found: RecordedSession) -> list[dict[str, Any]]:
        """Return the same reports as plain data; empty values are null."""
        fields = ("agent", "agent_id", "at", "attempt", "outcome", "violations", "changed")
        return [
            {name: getattr(one, name) for name in fields}
            | {name: getattr(one, name) or None for name in ("verdict", "would", "path", "check")}
            for one in self.kept(found)
        ]

    def inputs(self, wanted: str, options: Options, sources: Sources) -> list[Input]:
        """Return the reports of a session as inputs of a merge."""
        found = self.session(wanted)
        inputs = merge_inputs_of(self.kept(found), found.state, options, sources)
        if not inputs:
            raise UsageError(f"session {found.state.session} has no report of a subagent under contract yet")
        return inputs

    def state_of(self, payload: Mapping[str, Any]) -> SessionState | None:
        """Return the state of the session that a payload names, if it is recorded."""
        session = payload.get("session_id")
        return read_session(self.folders[0], session) if isinstance(session, str) and session else None


def current_project(cwd: object = None) -> SessionProject:
    """Return the project that contains a folder, or else the current folder."""
    folder = cwd if isinstance(cwd, str) and os.path.isdir(cwd) else os.getcwd()
    root = project_of(folder)
    return SessionProject(root, load(Path(root)))
