"""A delegation of the orchestrator, as the gate records it."""

from __future__ import annotations

from remit.failure_policy import next_step
from remit.gate.model import MAX_NAME_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Delegation:
    """A delegation of the orchestrator, from its launch to its outcome.

    `state` is `open`, `observed` (no result is awaited), `accepted`, `rejected` or `failed`.
    """

    __slots__ = (
        "agent",
        "agent_id",
        "at",
        "contract_sent",
        "fallback",
        "is_recoverable",
        "mark",
        "retried",
        "retry_of",
        "state",
        "teammate",
        "untold",
    )

    def __init__(self, agent: str, at: float = 0.0, *, state: str = "open", retry_of: str = "") -> None:
        self.agent = agent[:MAX_NAME_LENGTH]
        self.at = at
        self.state = state
        #: The subagent that runs it; empty until that is known.
        self.agent_id = ""
        #: The key of the failed delegation that this one repeats.
        self.retry_of = retry_of
        #: Whether another delegation repeats this one.
        self.retried = False
        #: Path -> lines that were read instead; None if nothing may be, because the agent succeeded later.
        self.fallback: dict[str, int] | None = {}
        #: The digest of the launching call, by which a client recognises the same event.
        self.mark = ""
        #: Whether the prompt of the launch included the contract.
        self.contract_sent = False
        #: Whether a retry may help; false if the subagent reported that it does not.
        self.is_recoverable = True
        #: The name of the teammate that runs it; empty for a subagent.
        self.teammate = ""
        #: Whether its report may need a notice that the orchestrator has not got yet.
        self.untold = False

    @property
    def is_open(self) -> bool:
        """Whether its result is awaited."""
        return self.state == "open"

    @property
    def has_failed(self) -> bool:
        """Whether it ended without an accepted result."""
        return self.state in ("failed", "rejected")

    @property
    def retries(self) -> int:
        """How often the task had been retried, this delegation included."""
        return 1 if self.retry_of else 0

    @property
    def may_be_retried(self) -> bool:
        """Whether it failed, and a retry is the next step."""
        return self.has_failed and self._step_after_failure == "retry" and not self.retried

    @property
    def allows_fallback(self) -> bool:
        """Whether it failed and no retry is left, so that the orchestrator may read for itself."""
        return self.has_failed and self._step_after_failure == "fall-back" and self.fallback is not None

    @property
    def _step_after_failure(self) -> str:
        """The step of the failure policy. Any delegation may be critical and may have been loading context."""
        return next_step(critical=True, loads_context=True, retries=self.retries, is_recoverable=self.is_recoverable)

    def as_dict(self) -> dict[str, Any]:
        """Return its entry in the state file."""
        values: dict[str, Any] = {
            "agent": self.agent,
            "agent_id": self.agent_id,
            "state": self.state,
            "retry_of": self.retry_of,
            "retried": self.retried,
            "fallback": self.fallback,
            "at": self.at,
        }
        if self.mark:
            values["mark"] = self.mark
        if self.contract_sent:
            values["told"] = True
        if not self.is_recoverable:
            values["recoverable"] = False
        if self.teammate:
            values |= {"teammate": self.teammate, "untold": self.untold}
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Delegation:
        """Build a delegation from its entry in the state file. A missing or wrong value is empty."""
        at, fallback = values.get("at"), values.get("fallback")
        entry = cls(_text(values.get("agent")), at if isinstance(at, int | float) else 0.0)
        entry.state = _text(values.get("state"))
        entry.agent_id = _text(values.get("agent_id"))
        entry.retry_of = _text(values.get("retry_of"))
        entry.retried = bool(values.get("retried"))
        entry.fallback = (
            {path: lines for path, lines in fallback.items() if isinstance(lines, int)}
            if isinstance(fallback, dict)
            else None
        )
        entry.mark = _text(values.get("mark"))
        entry.contract_sent = bool(values.get("told"))
        entry.is_recoverable = values.get("recoverable") is not False
        entry.teammate = _text(values.get("teammate"))
        entry.untold = values.get("untold") is True
        return entry


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
