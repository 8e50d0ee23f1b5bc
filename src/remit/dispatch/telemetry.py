"""OpenTelemetry: spans of jobs and plans, an event for each verdict, and metrics, if the OTEL_ variables ask for it.

Spans are built from the stored transcript when a job ends. Their ids are derived from the ids of the rows, so the spans
of a tree have the right parents on every worker. Texts of prompts, answers and tools are left out unless
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is true. A receiver that fails never affects a job.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from remit.checking import Verdict
from remit.store.database import Database

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext, SpanKind

    from remit.dispatch.otlp import Exporters

log = logging.getLogger("remit.telemetry")
_SIGNALS = ("TRACES", "LOGS", "METRICS")
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_TIMEOUT_MILLISECONDS = 5_000
_COUNT_SECONDS = 60.0
#: Rules that the explanation of a verdict lists.
_MAX_RULES = 20


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


@cache
def open_telemetry() -> Telemetry | None:
    """Return the telemetry of this process, or None if the environment does not ask for any."""
    exporters = _open_exporters(wanted_signals(os.environ))
    if exporters is None:
        return None
    return Telemetry(exporters, captures=os.environ.get(_CAPTURE, "").lower() == "true")


def _open_exporters(signals: frozenset[str]) -> Exporters | None:
    if not signals:
        return None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        log.warning("the OTEL_ variables ask for telemetry, which needs the extra remit[otel]; it is off")
        return None
    from remit.dispatch.otlp import open_exporters

    return open_exporters(signals)


def send_verdicts(verdicts: Iterable[Verdict], seconds: float | None = None, agent: str = "") -> None:
    """Send an event for each verdict, and wait until they are sent, or for some seconds. Never raises.

    `agent` is used for documents that do not name one.
    """
    try:
        exporters = _open_exporters(wanted_signals(os.environ) & {"logs"})
        if exporters is None:
            return
        for one in verdicts:
            report = {
                "violations": [{"rule": violation.rule} for violation in one.violations],
                "confidence": {"supported": one.confidence.supported},
            }
            about = evaluation({"report": report, "verdict": one.verdict, "submission": None})
            exporters.send_evaluation(None, time.time_ns(), {**about, "gen_ai.agent.name": one.agent or agent})
        # The exporter does not limit the whole time; a thread that is too slow ends with the process.
        thread = threading.Thread(target=_finish, args=(exporters,), name="remit-verdict-events", daemon=True)
        thread.start()
        thread.join(seconds)
    except Exception:  # telemetry must not change the outcome of a command
        log.exception("the telemetry of the verdicts could not be sent")


def _finish(exporters: Exporters) -> None:
    try:
        exporters.flush(_TIMEOUT_MILLISECONDS)
        exporters.close()
    except Exception:
        log.exception("the telemetry of the verdicts could not be sent")


def span_context(kind: str, number: int, created: datetime, trace: str) -> SpanContext:
    """Return the ids of a row's span: the same on every worker, and different for rows of other databases."""
    from opentelemetry.trace import SpanContext, TraceFlags

    own = hashlib.sha256(f"remit {kind} {number} {created.timestamp()}".encode()).digest()
    trace_id = hashlib.sha256(f"remit trace {trace}".encode()).digest()[:16]
    return SpanContext(
        int.from_bytes(trace_id), int.from_bytes(own[:8]), is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
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
        await asyncio.to_thread(self._exporters.flush, _TIMEOUT_MILLISECONDS)

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
        self._exporters.count_job(row, names, [one["verdict"] for one in results])

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
        from opentelemetry.trace import SpanKind

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
                "gen_ai.response.finish_reasons": [str(one)] if (one := message.get("finish_reason")) else None,
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
        from opentelemetry.trace import SpanContext

        own = hashlib.sha256(f"{parent.trace_id} {parent.span_id} {name}".encode()).digest()
        return SpanContext(parent.trace_id, int.from_bytes(own[:8]), is_remote=False, trace_flags=parent.trace_flags)

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
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanKind, Status, StatusCode

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
    rules = list(dict.fromkeys(str(one.get("rule")) for one in report.get("violations", [])))
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
