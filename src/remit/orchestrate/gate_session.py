"""The gate for an orchestrator that Remit runs: the same decisions and the same state as in any other client."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.acceptance import judge_report
from remit.checking import Options
from remit.contract.outcome import failure_in
from remit.contract.parse import parse
from remit.failure_policy import can_retry
from remit.gate.decide import decide
from remit.gate.delegations import close_delegation, open_delegation
from remit.gate.model import ToolUse
from remit.gate.redaction import load_rules
from remit.gate.session_store import open_session
from remit.gate.settings import GateSettings
from remit.gate.settle import settle
from remit.registry.model import CLAIMS
from remit.secrets.scan import redact
from remit.store.plans import Delegation

load_rules[:] = [lambda: redact]

_OUTCOMES = {"accepted": "accepted", "rejected": "rejected"}


class GateSession:
    """Asks the gate before each access to the project, and reports calls and delegations to it."""

    def __init__(self, data: Path, root: Path, session: str, settings: GateSettings) -> None:
        self._folder = str(data / "gate")
        self._root = str(root)
        self._session = session
        # `verify` is about what others say. This orchestrator is Remit's own, and keeps its limits.
        self._settings = settings.with_mode("standard") if settings.mode == "verify" else settings

    async def ask(self, tool: str, arguments: Mapping[str, Any], key: str) -> str | None:
        """Return None if a call is allowed, else the reason and the agent to delegate to."""
        return await asyncio.to_thread(self._ask, tool, arguments, key)

    def _ask(self, tool: str, arguments: Mapping[str, Any], key: str) -> str | None:
        with open_session(self._folder, self._session) as state:
            decision = decide(self._call(tool, arguments, key), state, self._settings, self._root)
        if decision.decision in ("allow", "warn") and decision.fault is None:
            return None
        return f"refused ({decision.rule}): {decision.reason or decision.fault}"

    async def settle(self, tool: str, arguments: Mapping[str, Any], key: str, seconds: float, *, failed: bool) -> None:
        """Report that an allowed call was made."""
        await asyncio.to_thread(self._settle, tool, arguments, key, seconds, failed)

    def _settle(self, tool: str, arguments: Mapping[str, Any], key: str, seconds: float, failed: bool) -> None:  # noqa: FBT001 (through a thread, by position)
        with open_session(self._folder, self._session) as state:
            call = self._call(tool, arguments, key)
            settle(call, None, seconds, state, self._settings, self._root, failed=failed)

    async def open_delegations(self, delegations: list[tuple[str, str]]) -> None:
        """Report that delegations begin: their keys and agents."""

        def work() -> None:
            with open_session(self._folder, self._session) as state:
                for key, agent in delegations:
                    if key not in state.delegations:
                        open_delegation(state, key, agent)

        await asyncio.to_thread(work)

    async def close_delegation(self, key: str, one: Delegation) -> None:
        """Report that a delegation has ended; a repeated call has no effect.

        The files that an accepted result names as key references count as analysed, and a short read around a location
        that it cites is a verification. A failure that was retried, or that is not recoverable, allows a fallback read.
        """

        def work() -> None:
            accepted = (one.result or "") if one.state == "accepted" else ""
            failure = failure_in(one.result)
            is_recoverable = can_retry(one.retries) and (failure is None or failure.is_recoverable)
            cited = judge_report(accepted, Options(profile=CLAIMS), self._root).cited_locations if accepted else []
            with open_session(self._folder, self._session) as state:
                if key in state.delegations and not state.delegations[key].is_open:
                    return
                outcome = _OUTCOMES.get(one.state, "failed")
                close_delegation(state, key, outcome, files=cited_files(accepted), is_recoverable=is_recoverable)
                state.cite(cited)

        await asyncio.to_thread(work)

    def _call(self, tool: str, arguments: Mapping[str, Any], key: str) -> ToolUse:
        return ToolUse(tool, arguments, cwd=self._root, session=self._session, tool_use_id=key)


def cited_files(document: str) -> list[str]:
    """Return the files that the Key References of a result name."""
    locations = [row.location.strip("` ") for one in parse(document) for row in one.result.references]
    return sorted({re.split(r"[:#]", location)[0] for location in locations if location})
