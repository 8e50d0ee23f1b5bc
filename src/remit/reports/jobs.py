"""Jobs for people, and in the fixed JSON shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control, wrap_text
from remit.store.events import Event
from remit.store.jobs import Job, Outcome, State

OUTCOME_STYLES = {"completed": "green", "cancelled": "yellow", "max-turns": "yellow", "budget": "yellow"}
VERDICT_STYLES = {"accept": "bold green", "revise": "bold yellow", "reject": "bold red"}


class TokensShape(msgspec.Struct):
    """Tokens that a job has used."""

    input: int
    output: int
    cached: int


class JobShape(msgspec.Struct):
    """A job; `cost` is null where the price is not known, `result` is what there is, finished or not."""

    id: int
    agent: str
    definition: dict[str, Any] | None
    state: State
    outcome: Outcome | None
    error: str | None
    attempts: int
    turns: int
    tool_calls: int
    tokens: TokensShape
    cost: float | None
    verdict: str | None
    result: str | None
    created: datetime
    started: datetime | None
    finished: datetime | None
    #: What the job changed, where it had a worktree of its own.
    diff: str | None = None
    schema: Literal["remit.job/1"] = "remit.job/1"


def job_shape(job: Job) -> JobShape:
    """A job in the fixed shape."""
    return JobShape(
        id=job.id,
        agent=job.agent,
        definition=job.definition,
        state=job.state,
        outcome=job.outcome,
        error=job.error,
        attempts=job.attempt,
        turns=job.turns,
        tool_calls=job.tool_calls,
        tokens=TokensShape(job.input_tokens, job.output_tokens, job.cached_tokens),
        cost=job.cost if job.is_priced else None,
        verdict=job.verdict,
        result=job.result,
        created=job.created,
        started=job.started,
        finished=job.finished,
        diff=job.diff,
    )


def jobs_shape(jobs: Sequence[Job]) -> dict[str, Any]:
    """Jobs in the fixed shape."""
    return {"schema": "remit.jobs/1", "jobs": [job_shape(job) for job in jobs]}


def job_schema() -> dict[str, Any]:
    """JSON Schema of a job."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(JobShape)}


def list_lines(jobs: Sequence[Job], columns: int) -> Iterator[Line]:
    """One line a job."""
    if not jobs:
        yield [Piece("no jobs", "dim")]
        return
    room = max(columns - 68, 8)
    yield [Piece(f"{'job':>6}  {'agent':<22} {'state':<10} {'verdict':<8} {'turns':>5} {'tokens':>8}  task", "bold")]
    for job in jobs:
        how = job.outcome or job.state
        task = escape_control(" ".join(job.prompt[:200].split()))
        agent = cut_width(escape_control(job.agent), 22)
        yield [
            Piece(f"{job.id:>6}  {agent}{' ' * (22 - display_width(agent))} "),
            Piece(f"{how:<10} ", OUTCOME_STYLES.get(how, "red" if job.outcome else "")),
            Piece(f"{job.verdict or '':<8} ", VERDICT_STYLES.get(job.verdict or "", "")),
            Piece(f"{job.turns:>5} {job.input_tokens + job.output_tokens:>8}  ", "dim"),
            Piece(task if display_width(task) <= room else cut_width(task, room - 2) + " …"),
        ]


def job_lines(job: Job, columns: int, violations: Sequence[Mapping[str, Any]] = ()) -> Iterator[Line]:
    """Everything about one job; `violations` are what the check said of its last result."""
    how = job.outcome or job.state
    yield [
        Piece(f"job {job.id}", "bold"),
        Piece(f"  {escape_control(job.agent)}  "),
        Piece(how, OUTCOME_STYLES.get(how, "red" if job.outcome else "")),
        Piece(f"  {job.verdict}" if job.verdict else "", VERDICT_STYLES.get(job.verdict or "", "")),
    ]
    if job.error:
        for row in wrap_text(escape_control(job.error), columns, 2):
            yield [Piece(row, "red")]
    for one in violations if job.verdict != "accept" else ():
        words = f"{one.get('level')} {one.get('rule')} line {one.get('line')}: {one.get('message')}"
        for number, row in enumerate(wrap_text(escape_control(words), columns - 2, 2)):
            yield [Piece(row if number == 0 else f"  {row}", "yellow")]
    for row in wrap_text(usage_words(job), columns, 2):
        yield [Piece(row, "dim")]
    times = {"created": job.created, "started": job.started, "finished": job.finished}
    said = ", ".join(f"{name} {at.astimezone():%Y-%m-%d %H:%M:%S}" for name, at in times.items() if at is not None)
    for row in wrap_text(said, columns, 2):
        yield [Piece(row, "dim")]
    for row in wrap_text(f"task: {escape_control(' '.join(job.prompt[:2000].split()))}", columns, 2)[:4]:
        yield [Piece(row)]
    if job.result:
        yield []
        yield from ([Piece(escape_control(line))] for line in job.result.split("\n"))
    if job.diff:
        yield []
        yield from ([Piece(escape_control(line), "dim")] for line in job.diff.split("\n"))


def usage_words(job: Job) -> str:
    """What a job has used, in words."""
    cost = f", ${job.cost:.4f}" if job.is_priced and job.turns else ""
    attempts = f", attempt {job.attempt}" if job.attempt > 1 else ""
    cached = f" ({job.cached_tokens:,} cached)" if job.cached_tokens else ""
    tokens = f"{job.input_tokens:,}{cached} tokens in, {job.output_tokens:,} out"
    return f"{counted(job.turns, 'turn')}, {counted(job.tool_calls, 'tool call')}, {tokens}{cost}{attempts}"


def counted(number: int, word: str) -> str:
    """A number and its word, in the plural where it has to be."""
    return f"{number:,} {word}{'s' * (number != 1)}"


def event_lines(event: Event, columns: int) -> Iterator[Line]:
    """What happened, in a line or a few."""
    at = f"{event.at.astimezone():%H:%M:%S} "
    data = event.data
    words, style = _told(event.kind, data)
    # What was written for a person keeps its lines.
    said = words.split("\n") if event.kind == "told" else [words]
    rows = [row for one in said for row in wrap_text(escape_control(one), columns, len(at))] if words else []
    for number, row in enumerate(rows):
        yield [Piece(at if number == 0 else " " * len(at), "dim"), Piece(row[len(at) :], style)]


def _told(kind: str, data: dict[str, Any]) -> tuple[str, str]:
    if kind == "tool":
        said = data.get("arguments", [])
        pairs = said.items() if isinstance(said, dict) else said
        shown = " ".join(str(value) for _, value in pairs)
        return f"{data.get('name')} {' '.join(shown.split())[:160]}", ""
    if kind == "tool-done":
        why = f": {data['why']}" if data.get("why") else ""
        return (f"{data.get('name')} failed{why}", "yellow") if data.get("failed") else ("", "")
    if kind == "text":
        return " ".join(str(data.get("text", "")).split()), "dim"
    if kind == "told":
        return str(data.get("text", "")), "bold"
    if kind == "usage":
        cost = f", ${data['cost']:.4f}" if data.get("cost") else ""
        return f"{data.get('input', 0):,} tokens in, {data.get('output', 0):,} out{cost}", "dim"
    if kind == "finished":
        why = f": {data['error']}" if data.get("error") else ""
        return f"finished: {data.get('outcome')}{why}", OUTCOME_STYLES.get(str(data.get("outcome")), "red")
    if kind == "checked":
        advice = f", {data['advice']} of advice" if data.get("advice") else ""
        number = data.get("violations")
        words = counted(number, "violation") if isinstance(number, int) else f"{number} violations"
        return f"checked: {data.get('verdict')}, {words}{advice}", ""
    simple = {
        "started": f"attempt {data.get('attempt')} on {data.get('model')}",
        "turn": f"turn {data.get('turn')}",
        "waiting": f"waiting {data.get('seconds')} s: {data.get('why')}",
        "program": f"running {data.get('command')}",
    }
    return simple.get(kind, kind), ""
