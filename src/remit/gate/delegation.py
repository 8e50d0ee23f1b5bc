"""A delegation of the orchestrator, as the gate records it."""

from __future__ import annotations

from remit.failure_policy import next_step
from remit.gate.session_entries import StateEntry
from remit.gate.tool_use import MAX_NAME_LENGTH


class Delegation(StateEntry):
    """A delegation of the orchestrator, from its launch to its outcome.

    `state` is `open`, `observed` (no result is awaited), `accepted`, `rejected` or `failed`.
    """

    agent: str = ""
    at: float = 0.0
    state: str = ""
    #: The subagent that runs it; empty until that is known.
    agent_id: str = ""
    #: The key of the failed delegation that this one repeats.
    retry_of: str = ""
    #: Whether another delegation repeats this one.
    retried: bool = False
    #: Path -> lines that were read instead; None if nothing may be, because the agent succeeded later.
    fallback: dict[str, int] | None
    #: Whether the prompt of the launch included the contract.
    contract_sent: bool = False
    #: Whether a retry may help; false if the subagent reported that it does not.
    is_recoverable: bool = True
    #: The name of the teammate that runs it; empty for a subagent.
    teammate: str = ""
    #: Whether its report may need a notice that the orchestrator has not got yet.
    untold: bool = False

    def __init__(self, agent: str, at: float = 0.0, *, state: str = "open", retry_of: str = "") -> None:
        super().__init__(agent=agent[:MAX_NAME_LENGTH], at=at, state=state, retry_of=retry_of)

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
