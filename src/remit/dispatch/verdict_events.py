"""Send an event of OpenTelemetry for each verdict, if the environment names a receiver."""

from __future__ import annotations

import os
from collections.abc import Sequence

from remit.checking import Verdict

#: How long an answer waits until its events are sent. A receiver that takes longer may lose them.
ANSWER_SECONDS = 2.0


def is_receiver_named() -> bool:
    """Whether the standard variables name a receiver for any signal."""
    return any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ)


def emit_verdicts(verdicts: Sequence[Verdict], *, seconds: float | None = ANSWER_SECONDS, agent: str = "") -> None:
    """Send an event for each verdict, and wait for this time at most; None waits as long as the exporter."""
    if not verdicts or not is_receiver_named():
        return
    from remit.dispatch.telemetry import send_verdicts  # late: it is rarely needed, and slow to load

    send_verdicts(verdicts, seconds, agent)
