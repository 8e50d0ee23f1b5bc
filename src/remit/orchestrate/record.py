"""What a plan writes into the progress file, as it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remit.orchestrate.progress import progress_path, update
from remit.store.plans import Delegation


class Recorder:
    """Keeps the progress file of a project up to date with one plan."""

    def __init__(self, data: Path, workspace: Path, plan: int, name: str) -> None:
        self._file = progress_path(data)
        self._workspace = workspace
        self._plan = plan
        self._name = name

    async def _write(self, action: str, came_to: str, /, **fields: Any) -> None:
        entry = {"timestamp": datetime.now(UTC).isoformat(timespec="seconds"), "action": action, "status": came_to}

        def change(progress: dict[str, Any]) -> None:
            progress["workspaceId"] = progress["workspaceId"] or f"plan-{self._plan}"
            progress["project"] = progress["project"] or self._workspace.name
            progress["log"].append(entry)
            context = progress["resumptionContext"]
            for key, value in fields.items():
                if key in ("position", "nextAction"):
                    context[key] = value
                elif key == "warning":
                    progress["warnings"] = [
                        *progress["warnings"],
                        *([value] if value not in progress["warnings"] else []),
                    ]
                elif key == "delegations":
                    told = [_key(one) for one in value]
                    kept = [one for one in progress["delegations"] if _key(one) not in told]
                    progress["delegations"] = kept + value
                else:
                    progress[key] = value

        await asyncio.to_thread(update, self._file, change)

    async def phase(self, name: str) -> None:
        """A phase begins."""
        await self._write(
            f"phase {name}",
            "started",
            status="in_progress",
            currentPhase=name,
            currentTask=f"{self._name}: {name}",
            position=f"phase {name} of {self._name}",
            nextAction=f"Run `remit plan --resume {self._plan}` to go on with {name}",
        )

    async def merged(self, name: str, decision: str, delegations: Sequence[Delegation]) -> None:
        """A phase is over."""
        told = [
            {"plan": self._plan, "phase": name, "name": one.name, "agent": one.agent}
            | {"state": one.state, "verdict": one.verdict, "job": one.job}
            for one in delegations
        ]
        await self._write(
            f"phase {name}",
            decision,
            delegations=told,
            position=f"phase {name} of {self._name} is over",
            nextAction=f"Read the merged results of {name}, then `remit plan --resume {self._plan}`",
        )

    async def warn(self, words: str) -> None:
        """A failure."""
        await self._write("failure", "warning", warning=words)

    async def waits(self, state: str, phase: str) -> None:
        """The plan waits for a person, or is cancelled."""
        next_action = (
            f"Answer what plan {self._plan} asks: `remit escalations`, then `remit answer ID …`"
            if state == "waiting"
            else f"Plan {self._plan} was cancelled: decide what to do instead"
        )
        await self._write(f"phase {phase}", state, status="blocked", nextAction=next_action)

    async def finished(self, outcome: str) -> None:
        """The plan is over."""
        await self._write(
            self._name, outcome, status="completed", nextAction=f"Nothing is open; the last decision was {outcome}"
        )


def _key(one: Any) -> Any:
    """Which delegation an entry is about."""
    return [one.get(name) for name in ("plan", "phase", "name")] if isinstance(one, dict) else one
