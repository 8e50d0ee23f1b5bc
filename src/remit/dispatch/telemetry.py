"""OpenTelemetry of jobs, if the OTEL_ variables ask for it: the spans of pydantic-ai, and an event for each verdict.

A receiver that fails never affects a job.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk.trace import TracerProvider
    from pydantic_ai.capabilities import Instrumentation

log = logging.getLogger("remit.telemetry")
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_FLUSH_MILLISECONDS = 5_000
#: Rules that the explanation of a verdict lists.
_MAX_RULES = 20


def wanted_signals(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the signals that the standard variables ask for: `traces`, `logs`."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return frozenset()
    base = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return frozenset(
        signal.lower()
        for signal in ("TRACES", "LOGS")
        if (base or environment.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"))
        and environment.get(f"OTEL_{signal}_EXPORTER", "otlp").lower() != "none"
    )


@cache
def open_telemetry() -> Telemetry | None:
    """Return the telemetry of this process, or None if the environment does not ask for any."""
    signals = wanted_signals(os.environ)
    if not signals:
        return None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        log.warning("the OTEL_ variables ask for telemetry, which needs the extra remit[otel]; it is off")
        return None
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({"service.version": version("remit"), **({} if named else {"service.name": "remit"})})
    spans = TracerProvider(resource=resource, shutdown_on_exit=False)
    events = LoggerProvider(resource, shutdown_on_exit=False)
    if "traces" in signals:
        spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    if "logs" in signals:
        events.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    return Telemetry(spans, events, captures=os.environ.get(_CAPTURE, "").lower() == "true")


class Telemetry:
    """Sends the spans and the verdicts of jobs to the receivers of this process."""

    def __init__(self, spans: TracerProvider, events: LoggerProvider, *, captures: bool) -> None:
        self._spans = spans
        self._events = events
        self._captures = captures

    def instrumentation(self) -> Instrumentation:
        """Return what makes an agent send spans of its run, its model calls and its tool calls."""
        from opentelemetry.metrics import NoOpMeterProvider
        from pydantic_ai.capabilities import Instrumentation
        from pydantic_ai.models.instrumented import InstrumentationSettings

        return Instrumentation(
            InstrumentationSettings(
                tracer_provider=self._spans,
                meter_provider=NoOpMeterProvider(),
                include_content=self._captures,
                include_binary_content=False,
                include_model_request_parameters=self._captures,
            )
        )

    def verdict(self, job: int, agent: str, verdict: str, rules: Sequence[str]) -> None:
        """Send the event of a verdict on the result of a job."""
        from opentelemetry._logs import LogRecord, SeverityNumber

        attributes: dict[str, Any] = {
            "gen_ai.evaluation.name": "remit",
            "gen_ai.evaluation.score.label": verdict,
            "gen_ai.evaluation.explanation": ", ".join(rules[:_MAX_RULES]) or "no rule is violated",
            "gen_ai.agent.name": agent,
            "remit.job.id": job,
        }
        record = LogRecord(
            severity_number=SeverityNumber.INFO, attributes=attributes, event_name="gen_ai.evaluation.result"
        )
        self._events.get_logger("remit", version("remit")).emit(record)

    def flush(self) -> None:
        """Send what waits, for some seconds at most."""
        self._spans.force_flush(_FLUSH_MILLISECONDS)
        self._events.force_flush(_FLUSH_MILLISECONDS)
