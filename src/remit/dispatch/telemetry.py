"""OpenTelemetry, if the OTEL_ variables ask for it: which signals, and an event for each verdict.

A receiver that fails never affects a job or a command.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from remit.checking import Verdict

if TYPE_CHECKING:
    from remit.dispatch.otlp import Exporters, Telemetry

_SIGNALS = ("TRACES", "LOGS", "METRICS")
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
#: How long an answer waits until its events are sent. A receiver that takes longer may lose them.
ANSWER_SECONDS = 2.0
_NOT_SENT = "the telemetry of the verdicts could not be sent"


def wanted_signals(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the signals that the standard variables ask for: `traces`, `logs`, `metrics`."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return frozenset()
    base = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return frozenset(
        signal.lower()
        for signal in _SIGNALS
        if (base or environment.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"))
        and environment.get(f"OTEL_{signal}_EXPORTER", "otlp").lower() != "none"
    )


def is_receiver_named() -> bool:
    """Whether the standard variables name a receiver for any signal."""
    return any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ)


@cache
def open_telemetry() -> Telemetry | None:
    """Return the telemetry of this process, or None if the environment does not ask for any."""
    signals = wanted_signals(os.environ)
    if not is_installed(signals):
        return None
    from remit.dispatch.otlp import Telemetry, open_exporters

    return Telemetry(open_exporters(signals), captures=os.environ.get(_CAPTURE, "").lower() == "true")


def is_installed(signals: frozenset[str]) -> bool:
    """Return whether signals are wanted and can be sent."""
    if not signals:
        return False
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        _log("the OTEL_ variables ask for telemetry, which needs the extra remit[otel]; it is off")
        return False
    return True


def emit_verdicts(verdicts: Sequence[Verdict], *, seconds: float | None = ANSWER_SECONDS, agent: str = "") -> None:
    """Send an event for each verdict, and wait for this time at most; None waits as long as the exporter.

    `agent` is used for documents that do not name one. Never raises.
    """
    if not verdicts or not is_receiver_named():
        return
    try:
        signals = wanted_signals(os.environ) & {"logs"}
        if not is_installed(signals):
            return
        from remit.dispatch.otlp import open_exporters, send_verdicts

        exporters = open_exporters(signals)
        send_verdicts(exporters, verdicts, agent)
        # The exporter does not limit the whole time; a thread that is too slow ends with the process.
        thread = threading.Thread(target=_finish, args=(exporters,), name="remit-verdict-events", daemon=True)
        thread.start()
        thread.join(seconds)
    except Exception:  # noqa: BLE001 - it is logged, and telemetry must not change the outcome of a command
        _log(_NOT_SENT, is_error=True)


def _finish(exporters: Exporters) -> None:
    try:
        exporters.flush()
        exporters.close()
    except Exception:  # noqa: BLE001 - it is logged
        _log(_NOT_SENT, is_error=True)


def _log(text: str, *, is_error: bool = False) -> None:
    """Log a warning, or the exception that is handled."""
    import logging  # late: every check loads this module, and few environments ask for telemetry

    logging.getLogger("remit.telemetry").log(logging.ERROR if is_error else logging.WARNING, text, exc_info=is_error)
