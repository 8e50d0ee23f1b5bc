"""The gate for an orchestrator that Remit runs: the same decisions and the same state as in any other client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.gate.decide import decide
from remit.gate.delegations import close_delegation, open_delegation
from remit.gate.model import ToolUse
from remit.gate.session_store import open_session
from remit.gate.settings import GateSettings
from remit.gate.settle import settle
from remit.store.plans import Delegation

_OUTCOMES = {"accepted": "accepted", "rejected": "rejected"}


class GateSession:
    """Asks the gate before each access to the project, and reports calls and delegations to it."""

    def __init__(self, data: Path, root: Path, session: str, settings: GateSettings) -> None:
        self._folder = str(data / "gate")
        self._root = str(root)
        self._session = session
        self._settings = settings

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

    async def close_delegation(self, key: str, one: Delegation, files: list[str]) -> None:
        """Report that a delegation has ended; a repeated call has no effect.

        `files` are the files that an accepted result cites. They count as analysed.
        """

        def work() -> None:
            with open_session(self._folder, self._session) as state:
                if key not in state.delegations or state.delegations[key].is_open:
                    close_delegation(state, key, _OUTCOMES.get(one.state, "failed"), files=files)

        await asyncio.to_thread(work)

    def _call(self, tool: str, arguments: Mapping[str, Any], key: str) -> ToolUse:
        return ToolUse(tool, arguments, cwd=self._root, session=self._session, tool_use_id=key)
