"""Telemetry of jobs and plans, received by a real OTLP receiver in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from plan_building import CHAT, READ, result
from support.running import Play

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from remit.dispatch.telemetry import open_telemetry, wanted_signals

pytest_plugins = ("support.running",)
GOOD = {"text": result("Keeper")}
SECRET = "the hidden passage"


class Receiver:
    """Receives OTLP over HTTP and keeps what it received."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.records: list[Any] = []
        self.raw = b""
        self.status = 200
        self.is_open = threading.Event()
        self.is_open.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.is_open.wait()
                receiver.take(self.path, body)
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def take(self, path: str, body: bytes) -> None:
        """Decode a request."""
        self.raw += body
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        elif path == "/v1/logs":
            for logs in ExportLogsServiceRequest.FromString(body).resource_logs:
                self.records += [record for scope in logs.scope_logs for record in scope.log_records]

    def named(self, prefix: str) -> list[Any]:
        """Return the spans whose name begins with a text."""
        return [span for span in self.spans if span.name.startswith(prefix)]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    found = Receiver()
    thread = threading.Thread(target=found.server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{found.server.server_port}")
    open_telemetry.cache_clear()
    yield found
    open_telemetry.cache_clear()
    found.server.shutdown()
    found.server.server_close()
    thread.join()


def attributes(holder: Any) -> dict[str, Any]:
    """Return the attributes of a span or record."""
    found = {}
    for one_attribute in holder.attributes:
        value = one_attribute.value
        found[one_attribute.key] = getattr(value, value.WhichOneof("value"))
    return found


@pytest.mark.anyio
async def test_a_job_has_spans_and_a_verdict(play: Play, receiver: Receiver) -> None:
    async with play(READ, GOOD) as fleet:
        job = await fleet.run(SECRET)
    (agent,) = receiver.named("invoke_agent")
    assert agent.name == "invoke_agent keeper"
    assert attributes(agent)["gen_ai.operation.name"] == "invoke_agent"
    assert (len(receiver.named("chat")), len(receiver.named("execute_tool Read"))) == (2, 2)
    assert {span.trace_id for span in receiver.spans} == {agent.trace_id}
    (record,) = receiver.records
    assert record.event_name == "gen_ai.evaluation.result"
    seen = attributes(record)
    assert (seen["gen_ai.evaluation.score.label"], seen["remit.job.id"]) == ("accept", job.id)
    assert seen["gen_ai.agent.name"] == "keeper"


@pytest.mark.anyio
async def test_texts_are_sent_only_on_request(play: Play, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    async with play(READ, GOOD, READ, GOOD) as fleet:
        await fleet.run(SECRET)
        assert receiver.spans
        assert b"def leak" not in receiver.raw
        assert b"The code was read" not in receiver.raw
        assert SECRET.encode() not in receiver.raw
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        open_telemetry.cache_clear()
        await fleet.run(SECRET)
        assert b"def leak" in receiver.raw


@pytest.mark.anyio
async def test_a_receiver_that_fails_does_not_affect_a_job(play: Play, receiver: Receiver) -> None:
    receiver.status = 400
    async with play(READ, GOOD) as fleet:
        assert (await fleet.run()).verdict == "accept"


@pytest.mark.anyio
async def test_without_the_variables_nothing_is_sent(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    open_telemetry.cache_clear()
    async with play(CHAT) as fleet:
        await fleet.run()
    assert open_telemetry() is None


def test_the_standard_variables_choose_the_signals() -> None:
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    assert wanted_signals({}) == frozenset()
    assert wanted_signals(base) == {"traces", "logs"}
    assert wanted_signals({**base, "OTEL_LOGS_EXPORTER": "none"}) == {"traces"}
    assert wanted_signals({**base, "OTEL_SDK_DISABLED": "true"}) == frozenset()
    assert wanted_signals({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}) == {"traces"}
