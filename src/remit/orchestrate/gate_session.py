"""The gate as an orchestrator of our own meets it: the same decisions, the same state, as for any other."""

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
    """Asks the gate before each touch of the project, and tells it what came of delegations."""

    def __init__(self, data: Path, root: Path, session: str, settings: GateSettings) -> None:
        self._folder = str(data / "gate")
        self._root = str(root)
        self._session = session
        self._settings = settings

    async def ask(self, tool: str, arguments: Mapping[str, Any], key: str) -> str | None:
        """None: the call may be made; else why not, and whom to delegate to."""
        return await asyncio.to_thread(self._ask, tool, arguments, key)

    def _ask(self, tool: str, arguments: Mapping[str, Any], key: str) -> str | None:
        with open_session(self._folder, self._session) as state:
            decision = decide(self._call(tool, arguments, key), state, self._settings, self._root)
        if decision.decision in ("allow", "warn") and decision.fault is None:
            return None
        return f"refused ({decision.rule}): {decision.reason or decision.fault}"

    async def done(self, tool: str, arguments: Mapping[str, Any], key: str, seconds: float, *, failed: bool) -> None:
        """A call that was let through has been made."""
        await asyncio.to_thread(self._done, tool, arguments, key, seconds, failed)

    def _done(self, tool: str, arguments: Mapping[str, Any], key: str, seconds: float, failed: bool) -> None:  # noqa: FBT001 (through a thread, by position)
        with open_session(self._folder, self._session) as state:
            call = self._call(tool, arguments, key)
            settle(call, None, seconds, state, self._settings, self._root, failed=failed)

    async def delegated(self, delegations: list[tuple[str, str]]) -> None:
        """Delegations begin: their keys and agents."""

        def work() -> None:
            with open_session(self._folder, self._session) as state:
                for key, agent in delegations:
                    if key not in state.delegations:
                        open_delegation(state, key, agent)

        await asyncio.to_thread(work)

    async def settled(self, key: str, one: Delegation, files: list[str]) -> None:
        """A delegation has ended; the files that an accepted result cites count as analysed. It ends only once."""

        def work() -> None:
            with open_session(self._folder, self._session) as state:
                if key not in state.delegations or state.delegations[key].is_open:
                    close_delegation(state, key, _OUTCOMES.get(one.state, "failed"), files=files)

        await asyncio.to_thread(work)

    def _call(self, tool: str, arguments: Mapping[str, Any], key: str) -> ToolUse:
        return ToolUse(tool, arguments, cwd=self._root, session=self._session, tool_use_id=key)
