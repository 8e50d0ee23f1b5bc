"""The resources of the MCP server: rules, reports and transcripts, by address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

from remit.errors import UsageError
from remit.merging.model import Merge
from remit.operations.served import Caller
from remit.reports.formats import format_json
from remit.reports.layout import plain_lines
from remit.reports.merge.markdown import merge_markdown
from remit.reports.rules import rule_lines, rules_shape
from remit.rules.catalog import every_rule, find
from remit.store import dashboard, jobs, plans

_COLUMNS = 100


class McpResource(NamedTuple):
    """A resource. `{wanted}` in its address is a name or a number."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[Caller, str], Awaitable[str]]


class TranscriptMessage(msgspec.Struct, kw_only=True):
    """A message of a job's conversation as it is stored: without the brief, and without secrets."""

    number: int
    message: Any
    at: datetime


class TranscriptCall(msgspec.Struct, kw_only=True):
    """A tool call of a job; `output` may be cut, `length` is its whole length."""

    call: str
    turn: int
    name: str
    arguments: Any
    state: str
    output: str | None
    length: int | None
    is_failed: bool
    started: datetime | None
    finished: datetime | None


class TranscriptShape(msgspec.Struct, kw_only=True):
    """The transcript of a job."""

    schema: Literal["remit.transcript/1"] = "remit.transcript/1"
    job: int
    agent: str
    messages: list[TranscriptMessage]
    calls: list[TranscriptCall]


def all_rules() -> str:
    """Return all rules, as `remit rules --format json` prints them."""
    return format_json(rules_shape(every_rule()))


async def _rule(_: Caller, wanted: str) -> str:
    return plain_lines(rule_lines(find(wanted), _COLUMNS)) + "\n"


async def _job_report(caller: Caller, wanted: str) -> str:
    found = await jobs.get((await caller.open_store()).database, _number(wanted))
    if found.result is None:
        raise UsageError(f"there is no result of job {found.id} yet; it is {found.state}")
    return found.result


async def _plan_report(caller: Caller, wanted: str) -> str:
    number = _number(wanted)
    database = (await caller.open_store()).database
    plan, phases = await plans.get_plan(database, number), await plans.phases_of(database, number)
    merged = next((phase.merge for phase in reversed(phases) if phase.merge is not None), None)
    if merged is None:
        raise UsageError(f"there is no report of plan {number} yet; it is {plan.state}")
    return merge_markdown(msgspec.convert(merged, Merge))


async def _transcript(caller: Caller, wanted: str) -> str:
    database = (await caller.open_store()).database
    job = await jobs.get(database, _number(wanted))
    rows = await dashboard.transcript_of(database, job.id)
    shape = TranscriptShape(
        job=job.id,
        agent=job.agent,
        messages=[
            TranscriptMessage(number=row["number"], message=row["message"], at=row["created"]) for row in rows.messages
        ],
        calls=[TranscriptCall(**row) for row in rows.calls],
    )
    return format_json(shape)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise UsageError(f"there is no number {text[:40]!r}")
    return int(text)


ALL_RULES = "remit://rules"
JSON = "application/json"
_TEXT, _MARKDOWN = "text/plain", "text/markdown"
RESOURCES = (
    McpResource("remit://rules/{wanted}", "rule", "A rule", "A rule, by its name or code.", _TEXT, _rule),
    McpResource(
        "remit://reports/jobs/{wanted}",
        *("job-report", "The result of a job", "What a subagent reported, by the number of its job."),
        *(_MARKDOWN, _job_report),
    ),
    McpResource(
        "remit://reports/plans/{wanted}",
        *("plan-report", "The report of a plan", "The merged report of a plan or a review, by its number."),
        *(_MARKDOWN, _plan_report),
    ),
    McpResource(
        "remit://transcripts/{wanted}",
        *("transcript", "The transcript of a job", "Messages and tool calls of a job, by its number."),
        *(JSON, _transcript),
    ),
)
