"""Telemetry of jobs and plans, received by a real OTLP receiver in this process."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from plan_building import CHAT, READ, begun, one, phase, plan, result
from support.running import Play
from support.waiting import until

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from remit.checking import check_text
from remit.clients.setup.hook_process import hook_command
from remit.dispatch.submit import Queueing
from remit.dispatch.telemetry import emit_verdicts, open_telemetry, wanted_signals
from remit.operations.documents import Check, Folders, Verify, check_document, verify_document
from remit.operations.merge import MergeDocuments, SourceDocument, merge_documents
from remit.surfaces.cli.group import remit
from remit.verifying import OPTIONS

pytest_plugins = ("support.running",)
GOOD = {"text": result("Keeper")}
SECRET = "the hidden passage"


class Receiver:
    """Receives OTLP over HTTP and keeps what it received."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.records: list[Any] = []
        self.metrics: dict[str, Any] = {}
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
        else:
            for metrics in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics |= {metric.name: metric for scope in metrics.scope_metrics for metric in scope.metrics}

    def named(self, prefix: str) -> list[Any]:
        """Return the spans whose name begins with a text."""
        return [span for span in self.spans if span.name.startswith(prefix)]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    found = Receiver()
    thread = threading.Thread(target=found.server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{found.server.server_port}")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "3600000")
    open_telemetry.cache_clear()
    yield found
    telemetry = open_telemetry()
    open_telemetry.cache_clear()
    if telemetry is not None:
        telemetry.close()
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
async def test_a_job_has_spans_a_verdict_and_usage(play: Play, receiver: Receiver) -> None:
    async with play(READ, GOOD) as fleet:
        job = await fleet.run(SECRET)
    (agent,) = receiver.named("invoke_agent")
    assert agent.name == "invoke_agent keeper"
    seen = attributes(agent)
    assert seen["gen_ai.operation.name"] == "invoke_agent"
    assert (seen["remit.job.id"], seen["remit.outcome"], seen["remit.verdict"]) == (job.id, "completed", "accept")
    assert seen["gen_ai.usage.input_tokens"] == job.input_tokens
    assert (len(receiver.named("chat")), len(receiver.named("execute_tool Read"))) == (2, 2)
    below = [*receiver.named("chat"), *receiver.named("execute_tool")]
    assert {(span.trace_id, span.parent_span_id) for span in below} == {(agent.trace_id, agent.span_id)}
    assert all(agent.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in below)
    (record,) = receiver.records
    assert record.event_name == "gen_ai.evaluation.result"
    assert (record.trace_id, record.span_id) == (agent.trace_id, agent.span_id)
    assert attributes(record)["gen_ai.evaluation.score.label"] == "accept"
    assert {"remit.jobs", "remit.verdicts", "remit.cost", "gen_ai.client.token.usage"} <= set(receiver.metrics)


@pytest.mark.anyio
async def test_texts_are_sent_only_on_request(play: Play, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    async with play(READ, GOOD, READ, GOOD) as fleet:
        await fleet.run(SECRET)
        assert b"def leak" not in receiver.raw
        assert b"The code was read" not in receiver.raw
        assert SECRET.encode() not in receiver.raw
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        open_telemetry.cache_clear()
        await fleet.run(SECRET)
        assert b"def leak" in receiver.raw
        assert b"The code was read" in receiver.raw


@pytest.mark.anyio
async def test_jobs_of_a_tree_have_their_parents_on_different_workers(play: Play, receiver: Receiver) -> None:
    async with play(CHAT, CHAT) as fleet:
        top = await fleet.run()
        below = await fleet.submit(queueing=Queueing(parent=top.id))
        await fleet.work()
        assert (await fleet.job(below)).state == "finished"
    first, second = receiver.named("invoke_agent")
    assert second.parent_span_id == first.span_id
    assert second.trace_id == first.trace_id
    assert not first.parent_span_id


@pytest.mark.anyio
async def test_the_jobs_of_a_plan_are_below_its_workflow(play: Play, receiver: Receiver) -> None:
    turns = {"scout": [READ, {"text": result("Scout")}], "helper": [READ, {"text": result("Helper")}]}
    team = phase("look", one("scout"), one("helper"))
    async with play(conversations=turns) as fleet, begun(fleet, plan(team)) as run:
        await run.drive()
    (workflow,) = receiver.named("invoke_workflow")
    assert workflow.name == "invoke_workflow a plan"
    agents = receiver.named("invoke_agent")
    assert len(agents) == 2
    assert {(span.trace_id, span.parent_span_id) for span in agents} == {(workflow.trace_id, workflow.span_id)}


@pytest.mark.anyio
async def test_a_job_that_fails_is_an_error_and_a_rejected_one_is_not(play: Play, receiver: Receiver) -> None:
    turns = {"chat": [CHAT], "stop": [{"text": "half", "stop": "max_tokens"}]}
    async with play(conversations=turns) as fleet:
        await fleet.run("chat")
        await fleet.run("stop")
    rejected, truncated = receiver.named("invoke_agent")
    assert (rejected.status.code, truncated.status.code) == (0, 2)
    assert attributes(truncated)["error.type"] == "truncated"
    assert attributes(receiver.records[0])["gen_ai.evaluation.score.label"] != "accept"


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
    assert wanted_signals(base) == {"traces", "logs", "metrics"}
    assert wanted_signals({**base, "OTEL_METRICS_EXPORTER": "none"}) == {"traces", "logs"}
    assert wanted_signals({**base, "OTEL_SDK_DISABLED": "true"}) == frozenset()
    assert wanted_signals({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}) == {"traces"}


@pytest.mark.parametrize(
    ("command", "text"),
    [("check", "# Not a result\n"), ("verify", "See `one.md:3`.\n"), ("merge", "# Not a result\n")],
)
def test_each_verdict_of_a_command_is_an_event(receiver: Receiver, tmp_path: Path, command: str, text: str) -> None:
    paths = [tmp_path / "one.md", tmp_path / "two.md"]
    for path in paths:
        path.write_text(text)
    done = CliRunner().invoke(remit, [command, *map(str, paths), "--repo", str(tmp_path)], standalone_mode=False)
    assert done.return_value == (0 if command == "merge" else 1), done.output
    assert [record.event_name for record in receiver.records] == ["gen_ai.evaluation.result"] * 2
    seen = attributes(receiver.records[0])
    assert seen["gen_ai.evaluation.score.label"] in ("revise", "reject")
    assert "remit.submission" not in seen
    assert b"nowhere" not in receiver.raw  # no text of the document
    assert (receiver.spans, receiver.metrics) == ([], {})


@pytest.mark.parametrize("tool", ["check_result", "verify_text", "merge_results"])
def test_each_verdict_of_the_mcp_server_is_an_event(receiver: Receiver, tmp_path: Path, tool: str) -> None:
    folders = Folders([tmp_path])
    if tool == "check_result":
        check_document(folders, Check(text="# Not a result\n"))
    elif tool == "merge_results":
        merge_documents(folders, MergeDocuments(documents=[SourceDocument(path="one.md", text="# nowhere\n")]))
    else:
        verify_document(folders, Verify(text="See `nowhere.py:3`.\n"))
    [record] = receiver.records
    assert record.event_name == "gen_ai.evaluation.result"
    assert b"nowhere" not in receiver.raw


@pytest.mark.process
def test_the_verdict_of_a_hook_is_an_event(receiver: Receiver, tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text('[gate]\nmode = "standard"\n')
    payload = {
        "hook_event_name": "SubagentStop",
        "session_id": "one",
        "cwd": str(tmp_path),
        "agent_id": "a1",
        "agent_type": "code-explorer",
        "agent_transcript_path": "",
        "last_assistant_message": "It is all in `nowhere.py:3`.",
        "stop_hook_active": False,
    }
    variables = {name: os.environ[name] for name in ("PATH", "OTEL_EXPORTER_OTLP_ENDPOINT")}
    done = subprocess.run(
        hook_command("SubagentStop", "codex"),
        input=json.dumps(payload).encode(),
        capture_output=True,
        cwd=tmp_path,
        env={**variables, "HOME": str(tmp_path / "home")},
        check=True,
    )
    assert json.loads(done.stdout)["decision"] == "block"
    [record] = receiver.records
    assert attributes(record)["gen_ai.agent.name"] == "code-explorer"
    assert attributes(record)["gen_ai.evaluation.score.label"] != "accept"
    assert b"nowhere" not in receiver.raw


def test_an_answer_does_not_wait_for_a_receiver_that_does_not_answer(receiver: Receiver) -> None:
    receiver.is_open.clear()
    emit_verdicts(check_text("See `nowhere.py:3`.", "a.md", OPTIONS), seconds=0.01)
    assert receiver.records == []
    receiver.is_open.set()
    until(lambda: receiver.records)


def test_a_receiver_that_fails_does_not_change_the_outcome_of_a_command(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.status = 400
    (tmp_path / "one.md").write_text("No claim here.\n")
    done = CliRunner().invoke(remit, ["verify", str(tmp_path / "one.md")], standalone_mode=False)
    assert done.return_value == 0, done.output
    monkeypatch.setenv("OTEL_LOGS_EXPORTER", "none")
    receiver.raw = b""
    CliRunner().invoke(remit, ["verify", str(tmp_path / "one.md")], standalone_mode=False)
    assert receiver.raw == b""
