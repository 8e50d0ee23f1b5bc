"""The exporters of OpenTelemetry: spans, logs and metrics over OTLP/HTTP, each only if it is asked for."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import version
from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, set_span_in_context


def open_exporters(signals: Collection[str]) -> Exporters:
    """Return exporters for these signals, with the receivers of the standard variables."""
    resource = _resource()
    spans = BatchSpanProcessor(OTLPSpanExporter()) if "traces" in signals else None
    logs = metrics = None
    if "logs" in signals:
        logs = LoggerProvider(resource, shutdown_on_exit=False)
        logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    if "metrics" in signals:
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metrics = MeterProvider([reader], resource, shutdown_on_exit=False)
    return Exporters(resource, spans, logs, metrics)


def _resource() -> Resource:
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource.create({"service.version": version("remit"), **({} if named else {"service.name": "remit"})})


class Exporters:
    """The receivers of one process. A signal without a receiver is dropped."""

    def __init__(
        self,
        resource: Resource,
        spans: BatchSpanProcessor | None,
        logs: LoggerProvider | None,
        metrics: MeterProvider | None,
    ) -> None:
        self.resource = resource
        self._spans = spans
        self._logs = logs
        self._metrics = metrics
        self._queue: Mapping[tuple[str, str], int] = {}
        if metrics is not None:
            meter = metrics.get_meter("remit", version("remit"))
            self._jobs = meter.create_counter("remit.jobs", "{job}", "Jobs that ended, by agent and outcome")
            self._verdicts = meter.create_counter("remit.verdicts", "{verdict}", "Results by agent and verdict")
            self._cost = meter.create_counter("remit.cost", "USD", "What the model calls of ended jobs cost")
            self._tokens = meter.create_histogram(
                "gen_ai.client.token.usage", "{token}", "Tokens of ended jobs by type"
            )
            self._seconds = meter.create_histogram(
                "gen_ai.client.operation.duration", "s", "Seconds from the start to the end of a job"
            )
            meter.create_observable_gauge(
                "remit.queue.jobs", [self._observe_queue], "{job}", "Jobs that wait or run, by queue"
            )

    def send_span(self, span: ReadableSpan) -> None:
        """Queue a span to be sent."""
        if self._spans is not None:
            self._spans.on_end(span)

    def send_evaluation(self, context: SpanContext | None, time: int, attributes: Mapping[str, Any]) -> None:
        """Queue the event of a verdict to be sent, at a span or without one."""
        if self._logs is not None:
            record = LogRecord(
                timestamp=time,
                context=set_span_in_context(NonRecordingSpan(context)) if context is not None else None,
                severity_number=SeverityNumber.INFO,
                attributes=dict(attributes),
                event_name="gen_ai.evaluation.result",
            )
            self._logs.get_logger("remit", version("remit")).emit(record)

    def count_job(self, row: Mapping[str, Any], names: Mapping[str, str], verdicts: Iterable[str]) -> None:
        """Add an ended job to the metrics."""
        if self._metrics is None:
            return
        agent = {"gen_ai.agent.name": row["agent"]}
        self._jobs.add(1, {**agent, "remit.outcome": row["outcome"]})
        self._cost.add(float(row["cost"]), {**agent, **names})
        for verdict in verdicts:
            self._verdicts.add(1, {**agent, "remit.verdict": verdict})
        common = {"gen_ai.operation.name": "invoke_agent", **agent, **names}
        for kind in ("input", "output"):
            self._tokens.record(row[f"{kind}_tokens"], {**common, "gen_ai.token.type": kind})
        if row["started"] is not None:
            self._seconds.record((row["finished"] - row["started"]).total_seconds(), common)

    def set_queue(self, numbers: Mapping[tuple[str, str], int]) -> None:
        """Set what the metric of the queue reports."""
        self._queue = numbers

    def _observe_queue(self, _: CallbackOptions) -> Iterable[Observation]:
        for (queue, state), number in self._queue.items():
            yield Observation(number, {"remit.queue": queue, "remit.state": state})

    def flush(self, timeout_milliseconds: int) -> None:
        """Send what is queued."""
        for one in (self._spans, self._logs, self._metrics):
            if one is not None:
                one.force_flush(timeout_milliseconds)

    def close(self) -> None:
        """Stop the threads that send. What is queued is sent first."""
        for one in (self._spans, self._logs, self._metrics):
            if one is not None:
                one.shutdown()
