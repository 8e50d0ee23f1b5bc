"""Find the recorded sessions of the current project."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from remit.checking import Options
from remit.clients.hooks.compiled import folder_of, project_of, read_compiled
from remit.clients.hooks.results import MAX_CHECK_BYTES, MAX_TEXT_BYTES, KeptResult, list_results
from remit.configuration import Configuration, load
from remit.contract.kinds import slug
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.gate.session import SessionState
from remit.gate.session_store import LAST, RecordedSession, find_session, read_session, recorded_sessions
from remit.gate.settings import GateSettings, settings_mapping
from remit.merging.inputs import failed_report, read_report
from remit.merging.merge import merge
from remit.merging.merge_data import OBSERVED, MergeSettings, Report

#: The client sets this variable to its session in the environment of slash commands.
OWN_SESSION = "CLAUDE_CODE_SESSION_ID"


class SessionProject:
    """A project with a gate: its folders, its settings and its recorded sessions."""

    def __init__(self, root: str, configured: Configuration) -> None:
        self.root = root
        self._configured = configured
        #: The folders of recorded sessions: the client's, and those of Remit's own orchestrator.
        self.folders = [folder_of(root)]

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

    def kept(self, session: RecordedSession) -> list[KeptResult]:
        """Return the reports of a session's subagents, the oldest first."""
        return list_results(session.folder, session.state.session or session.name)

    def results(self, session: RecordedSession) -> list[dict[str, Any]]:
        """Return the same reports as plain data; empty values are null."""
        fields = ("agent", "agent_id", "at", "attempt", "outcome", "violations", "changed", "tokens")
        return [
            {name: getattr(result, name) for name in fields}
            | {name: getattr(result, name) or None for name in ("verdict", "path", "check")}
            for result in self.kept(session)
        ]

    def reports(self, wanted: str, options: Options, sources: Sources) -> list[Report]:
        """Return the reports of a session for a merge."""
        session = self.session(wanted)
        reports = merge_reports_of(self.kept(session), session.state, options, sources)
        if not reports:
            raise UsageError(f"session {session.state.session} has no checked report of a subagent yet")
        return reports


def current_project(cwd: object = None) -> SessionProject:
    """Return the project that contains a folder, or else the current folder."""
    folder = cwd if isinstance(cwd, str) and os.path.isdir(cwd) else os.getcwd()
    root = project_of(folder)
    return SessionProject(root, load(Path(root)))


def final_texts(kept: Sequence[KeptResult], state: SessionState) -> list[KeptResult]:
    """Return the last judged report of each subagent, except those whose retry was accepted."""
    latest = {result.agent_id: result for result in kept if result.verdict or result.outcome == "failed"}
    settled = {name for key in _accepted_retries(state) for name in (key, state.delegations[key].agent_id)}
    return [result for result in latest.values() if result.verdict == "accept" or result.agent_id not in settled]


def merge_reports_of(
    kept: Sequence[KeptResult], state: SessionState, options: Options, sources: Sources
) -> list[Report]:
    """Return the reports of a session's merge; empty if nothing of it was checked.

    An agent that failed without a report takes part as failed. One that was only observed, or of which only the claims
    were checked, is named as such.
    """
    reports = [text for text in final_texts(kept, state) if not text.is_outside_contract]
    inputs = [_report(report, options, sources) for report in reports]
    failed = _agents_without_report(state, {report.agent_id for report in reports})
    others = _outside_contract(kept, reports)
    inputs += [msgspec.structs.replace(failed_report(name), verdict=others.pop(name, None)) for name in failed]
    if not inputs:
        return []
    return [*inputs, *(_observed(name, verdict) for name, verdict in sorted(others.items()))]


def _outside_contract(kept: Sequence[KeptResult], reports: Sequence[KeptResult]) -> dict[str, str | None]:
    """Return the agents that were not asked for a report, with the worst verdict on their claims, if checked."""
    checked = {report.agent_id for report in reports}
    others = (result for result in kept if result.outcome == "observed" or result.is_outside_contract)
    latest = {result.agent_id: result for result in others if result.agent_id not in checked}
    verdicts: dict[str, str | None] = {}
    for result in latest.values():
        verdict = (result.verdict or None) if result.is_outside_contract else None
        earlier = verdicts.get(_name(result.agent), verdict)
        verdicts[_name(result.agent)] = max(verdict or "", earlier or "") or None  # accept < reject < revise
    return verdicts


def conflicts_in(kept: Sequence[KeptResult], state: SessionState, project: str, profile: str) -> list[str]:
    """Return what the accepted reports of a session contradict each other in, a line for each conflict.

    They are merged with the confirmed settings of the project.
    """
    accepted = [result for result in kept if result.outcome == "accepted" and not result.is_outside_contract]
    if len({text.agent for text in final_texts(accepted, state)}) < 2:
        return []
    options = Options(profile=profile).validated()
    settings = msgspec.convert((read_compiled(project) or {}).get("merge", {}), MergeSettings)
    with open_sources(project) as sources:
        merged = merge(merge_reports_of(accepted, state, options, sources), settings)
    return [
        f"{conflict.finding} ({conflict.kind}; {', '.join(conflict.agents)}): {conflict.why}"
        for conflict in merged.conflicts
    ]


def _observed(agent: str, verdict: str | None) -> Report:
    return Report(agent=agent, status=OBSERVED, verdict=verdict)


def _accepted_retries(state: SessionState) -> set[str]:
    """Return the keys of delegations whose retry was accepted."""
    return {
        entry.retry_of
        for entry in state.delegations.values()
        if entry.state == "accepted" and entry.retry_of in state.delegations
    }


def _agents_without_report(state: SessionState, reported: set[str]) -> list[str]:
    """Return the agents of failed delegations that have neither a report nor an accepted retry."""
    settled = _accepted_retries(state)
    return [
        _name(entry.agent)
        for key, entry in state.delegations.items()
        if entry.has_failed and key not in settled and not reported & {key, entry.agent_id}
    ]


def _report(result: KeptResult, options: Options, sources: Sources) -> Report:
    """Return a report under its sender's name, as it was judged when it arrived.

    A text that cannot be read is one failed agent: the other reports are merged.
    """
    agent = _name(result.agent)
    report = _stored_report(result, agent) or _read_again(result, agent, options, sources)
    return msgspec.structs.replace(report, status="FAILED") if result.outcome == "failed" else report


def _stored_report(result: KeptResult, agent: str) -> Report | None:
    """Return the stored report; None for one of an earlier version."""
    try:
        with Path(result.merge).open("rb") as file:
            report = msgspec.json.decode(file.read(MAX_CHECK_BYTES), type=Report)
    except (OSError, msgspec.DecodeError):
        return None
    return report if report.agent == agent else None


def _read_again(result: KeptResult, agent: str, options: Options, sources: Sources) -> Report:
    try:
        with Path(result.path).open("rb") as file:
            data = file.read(MAX_TEXT_BYTES)
    except OSError:
        return failed_report(agent)
    return read_report(data, agent, options, sources, result.verdict or None)


def _name(agent: str) -> str:
    return slug(agent.rpartition(":")[2])
