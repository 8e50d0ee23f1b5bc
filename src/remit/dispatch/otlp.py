"""What is sent over OTLP/HTTP: spans of jobs and plans, an event for each verdict, and metrics.

Spans are built from the stored transcript when a job ends. Their ids are derived from the ids of the rows, so the spans
of a tree have the right parents on every worker. Texts of prompts, answers and tools are left out unless
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is true.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import time
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
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
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from remit.checking import Verdict
from remit.store.database import Database

log = logging.getLogger("remit.telemetry")
_TIMEOUT_MILLISECONDS = 5_000
_COUNT_SECONDS = 60.0
#: Rules that the explanation of a verdict lists.
_MAX_RULES = 20


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

    def send_evaluation(self, context: SpanContext | None, moment: int, attributes: Mapping[str, Any]) -> None:
        """Queue the event of a verdict to be sent, at a span or without one."""
        if self._logs is not None:
            record = LogRecord(
                timestamp=moment,
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

    def flush(self) -> None:
        """Send what is queued, for at most a few seconds for each signal."""
        for provider in (self._spans, self._logs, self._metrics):
            if provider is not None:
                provider.force_flush(_TIMEOUT_MILLISECONDS)

    def close(self) -> None:
        """Stop the threads that send. What is queued is sent first."""
        for provider in (self._spans, self._logs, self._metrics):
            if provider is not None:
                provider.shutdown()


def send_verdicts(exporters: Exporters, verdicts: Iterable[Verdict], agent: str) -> None:
    """Queue an event for each verdict of a document."""
    for verdict in verdicts:
        report = {
            "violations": [{"rule": violation.rule} for violation in verdict.violations],
            "confidence": {"supported": verdict.confidence.supported},
        }
        attributes = evaluation({"report": report, "verdict": verdict.verdict, "submission": None})
        exporters.send_evaluation(None, time.time_ns(), {**attributes, "gen_ai.agent.name": verdict.agent or agent})


def span_context(kind: str, number: int, created: datetime, trace: str) -> SpanContext:
    """Return the ids of a row's span: the same on every worker, and different for rows of other databases."""

    digest = hashlib.sha256(f"remit {kind} {number} {created.timestamp()}".encode()).digest()
    trace_id = hashlib.sha256(f"remit trace {trace}".encode()).digest()[:16]
    return SpanContext(
        int.from_bytes(trace_id), int.from_bytes(digest[:8]), is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )


def _trace_of(row: Mapping[str, Any]) -> str:
    if row["plan"] is not None:
        return f"plan {row['plan']} {row['plan_created'].timestamp()}"
    return f"job {row['first']} {row['first_created'].timestamp()}"


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000


class Telemetry:
    """Sends what happened to jobs and plans to the receivers of this process."""

    def __init__(self, exporters: Exporters, *, captures: bool) -> None:
        self._exporters = exporters
        self._captures = captures
        self._next_count = 0.0

    async def job_ended(self, database: Database, job: int) -> None:
        """Send the spans, the verdicts and the usage of a job, if it has ended."""
        try:
            row = await database.row("telemetry.job", job=job)
            if row is None:
                return
            messages = await database.rows("telemetry.messages", job=job)
            calls = await database.rows("telemetry.calls", job=job)
            results = await database.rows("telemetry.results", job=job)
            await asyncio.to_thread(self._send_job, row, messages, calls, results)
        except Exception:  # telemetry must not end a worker
            log.exception("the telemetry of job %s could not be sent", job)

    async def plan_ended(self, database: Database, plan: int) -> None:
        """Send the span of a plan, if it has ended. The process of the plan may end after it."""
        try:
            row = await database.row("telemetry.plan", plan=plan)
            if row is not None and row["finished"] is not None:
                trace = f"plan {row['id']} {row['created'].timestamp()}"
                context = span_context("plan", row["id"], row["created"], trace)
                attributes = {
                    "gen_ai.operation.name": "invoke_workflow",
                    "gen_ai.workflow.name": row["name"],
                    "remit.plan.id": row["id"],
                    "remit.outcome": row["outcome"] or row["state"],
                }
                error = row["state"] if row["state"] == "cancelled" else None
                times = (row["created"], row["finished"])
                self._send([self._span(f"invoke_workflow {row['name']}", context, None, times, attributes, error)])
                await self.flush()
        except Exception:
            log.exception("the telemetry of plan %s could not be sent", plan)

    async def record_queue(self, database: Database) -> None:
        """Record how many jobs wait and run, at most once a minute: counting a million jobs takes a while."""
        if time.monotonic() < self._next_count:
            return
        self._next_count = time.monotonic() + _COUNT_SECONDS
        try:
            rows = await database.rows("telemetry.queue")
            self._exporters.set_queue({(row["queue"], row["state"]): row["number"] for row in rows})
        except Exception:
            log.exception("the state of the queue could not be recorded")

    async def flush(self) -> None:
        """Send what is left, for at most a few seconds for each signal."""
        await asyncio.to_thread(self._exporters.flush)

    def close(self) -> None:
        """Stop the threads that send."""
        self._exporters.close()

    def _send(self, spans: Iterable[ReadableSpan]) -> None:
        for span in spans:
            self._exporters.send_span(span)

    def _send_job(self, row: Mapping[str, Any], messages: list[Any], calls: list[Any], results: list[Any]) -> None:
        context = span_context("job", row["id"], row["created"], _trace_of(row))
        parent = self._parent(row)
        provider, _, model = (row["model"] or "").partition(":")
        names = {"gen_ai.provider.name": provider, "gen_ai.request.model": model} if model else {}
        begun = row["started"] or row["created"]
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": row["agent"],
            "gen_ai.agent.version": (row["definition"] or {}).get("digest"),
            "gen_ai.conversation.id": str(row["id"]),
            **names,
            "gen_ai.usage.input_tokens": row["input_tokens"],
            "gen_ai.usage.output_tokens": row["output_tokens"],
            "remit.job.id": row["id"],
            "remit.attempt": row["attempt"],
            "remit.outcome": row["outcome"],
            "remit.verdict": row["verdict"],
            "remit.cost.usd": float(row["cost"]),
        }
        error = None if row["outcome"] == "completed" else row["outcome"]
        spans = [
            self._span(f"invoke_agent {row['agent']}", context, parent, (begun, row["finished"]), attributes, error)
        ]
        spans += self._chats(row["id"], context, begun, messages, names)
        spans += [self._tool(row["id"], context, call) for call in calls]
        self._send(spans)
        for result in results:
            self._exporters.send_evaluation(context, _nanoseconds(result["created"]), evaluation(result))
        self._exporters.count_job(row, names, [result["verdict"] for result in results])

    @staticmethod
    def _parent(row: Mapping[str, Any]) -> SpanContext | None:
        if row["above"] is not None:
            return span_context("job", row["above"], row["above_created"], _trace_of(row))
        if row["plan"] is not None:
            return span_context("plan", row["plan"], row["plan_created"], _trace_of(row))
        return None

    def _chats(
        self, job: int, parent: SpanContext, begun: datetime, messages: list[Any], names: Mapping[str, str]
    ) -> Iterable[ReadableSpan]:
        """Yield a span for each answer of the model; it begins when the message before it was stored."""

        for number, row in enumerate(messages):
            message, asked = row["message"], begun
            begun = row["created"]
            if message.get("kind") != "response":
                continue
            usage = message.get("usage") or {}
            attributes = {
                "gen_ai.operation.name": "chat",
                **names,
                "gen_ai.response.model": message.get("model_name"),
                "gen_ai.response.id": message.get("provider_response_id"),
                "gen_ai.response.finish_reasons": [str(reason)] if (reason := message.get("finish_reason")) else None,
                "gen_ai.usage.input_tokens": usage.get("input_tokens"),
                "gen_ai.usage.output_tokens": usage.get("output_tokens"),
            }
            if self._captures:
                attributes["gen_ai.output.messages"] = json.dumps(message.get("parts"), ensure_ascii=False)
            context = self._below(parent, f"message {job} {number}")
            name = f"chat {names.get('gen_ai.request.model', '')}".rstrip()
            yield self._span(name, context, parent, (asked, row["created"]), attributes, None, SpanKind.CLIENT)

    def _tool(self, job: int, parent: SpanContext, call: Mapping[str, Any]) -> ReadableSpan:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call["name"],
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call["call"],
        }
        if self._captures:
            attributes["gen_ai.tool.call.arguments"] = json.dumps(call["arguments"], ensure_ascii=False)
            attributes["gen_ai.tool.call.result"] = call["output"] or ""
        context = self._below(parent, f"call {job} {call['call']}")
        times = (call["started"], call["finished"])
        error = "tool_error" if call["is_failed"] else None
        return self._span(f"execute_tool {call['name']}", context, parent, times, attributes, error)

    @staticmethod
    def _below(parent: SpanContext, name: str) -> SpanContext:

        digest = hashlib.sha256(f"{parent.trace_id} {parent.span_id} {name}".encode()).digest()
        return SpanContext(parent.trace_id, int.from_bytes(digest[:8]), is_remote=False, trace_flags=parent.trace_flags)

    def _span(
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        times: tuple[datetime, datetime],
        attributes: Mapping[str, Any],
        error: str | None,
        kind: SpanKind | None = None,
    ) -> ReadableSpan:

        known = {key: value for key, value in attributes.items() if value is not None}
        start, end = map(_nanoseconds, times)
        return ReadableSpan(
            name,
            context=context,
            parent=parent,
            resource=self._exporters.resource,
            attributes=known | ({"error.type": error} if error else {}),
            kind=kind or SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR) if error else Status(),
            start_time=start,
            end_time=max(start, end),
            instrumentation_scope=InstrumentationScope("remit", version("remit")),
        )


def evaluation(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a verdict's event: the rules that were violated, but no text of the agent."""
    report = result["report"] or {}
    rules = list(dict.fromkeys(str(violation.get("rule")) for violation in report.get("violations", [])))
    attributes: dict[str, Any] = {
        "gen_ai.evaluation.name": "remit",
        "gen_ai.evaluation.score.label": result["verdict"],
        "gen_ai.evaluation.explanation": ", ".join(rules[:_MAX_RULES]) or "no rule is violated",
    }
    if result["submission"] is not None:
        attributes["remit.submission"] = result["submission"]
    supported = (report.get("confidence") or {}).get("supported")
    if supported is not None:
        attributes["gen_ai.evaluation.score.value"] = float(supported)
    return attributes
