"""Jobs and their events as text, and jobs in their JSON shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from remit.contract.outcome import failure_in, status_in
from remit.reports.layout import (
    Line,
    Piece,
    cut_width,
    display_width,
    escape_control,
    format_count,
    wrap_text,
)
from remit.secrets.scan import redact
from remit.store.events import Event
from remit.store.jobs import Job, Outcome, State

OUTCOME_STYLES = {"completed": "green", "cancelled": "yellow", "max-turns": "yellow", "budget": "yellow"}
#: The units of an age, each with the number of its seconds.
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
VERDICT_STYLES = {"accept": "bold green", "revise": "bold yellow", "reject": "bold red"}


class TokensShape(msgspec.Struct):
    """The tokens of a job."""

    input: int
    output: int
    cached: int


class JobShape(msgspec.Struct):
    """A job; `cost` is null if the price is unknown, `result` may be partial if the job did not complete."""

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
    #: The changes of a job that ran in its own worktree.
    diff: str | None = None
    #: The status that its checked result states. FAILED is a failure of the job even if the document is accepted.
    status: str | None = None
    schema: Literal["remit.job/1"] = "remit.job/1"


def job_shape(job: Job) -> JobShape:
    """Return a job in the JSON shape."""
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
        status=status_in(job.result) if job.verdict is not None else None,
    )


class JobList(msgspec.Struct, kw_only=True):
    """Jobs, the newest first."""

    schema: Literal["remit.jobs/1"] = "remit.jobs/1"
    jobs: list[JobShape]


def jobs_shape(jobs: Sequence[Job]) -> JobList:
    """Return jobs in the JSON shape."""
    return JobList(jobs=[job_shape(job) for job in jobs])


def list_lines(jobs: Sequence[Job], columns: int, hosts: Mapping[int, str] | None = None) -> Iterator[Line]:
    """Yield one line for each job, and below a running one where it runs and since when."""
    if not jobs:
        yield [Piece("no jobs", "dim")]
        return
    width = max(columns - 68, 8)
    yield [Piece(f"{'job':>6}  {'agent':<22} {'state':<10} {'verdict':<8} {'turns':>5} {'tokens':>8}  task", "bold")]
    for job in jobs:
        state = job.outcome or job.state
        task = escape_control(" ".join(redact(job.prompt[:2000]).split())[:200])
        agent = cut_width(escape_control(job.agent), 22)
        yield [
            Piece(f"{job.id:>6}  {agent}{' ' * (22 - display_width(agent))} "),
            Piece(f"{state:<10} ", OUTCOME_STYLES.get(state, "red" if job.outcome else "")),
            Piece(f"{job.verdict or '':<8} ", VERDICT_STYLES.get(job.verdict or "", "")),
            Piece(f"{job.turns:>5} {job.input_tokens + job.output_tokens:>8}  ", "dim"),
            Piece(task if display_width(task) <= width else cut_width(task, width - 2) + " …"),
        ]
        yield from _running_lines(job, hosts, columns, 8)


def _running_lines(job: Job, hosts: Mapping[int, str] | None, columns: int, indent: int) -> Iterator[Line]:
    """Yield where a running job runs and since when, if that was asked for: `on db1 pid 4711, for 3 min`."""
    if job.state != "running" or hosts is None:
        return
    host = f"on {escape_control(hosts[job.id])}" if job.id in hosts else "on a worker that is gone"
    text = f"{host}, for {_age(datetime.now(UTC) - (job.started or job.created))}"
    yield [Piece(" " * indent + cut_width(text, columns - indent), "dim")]


def _age(age: timedelta) -> str:
    seconds = max(0, int(age.total_seconds()))
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    return f"{seconds // size} {unit}"


def job_lines(
    job: Job,
    columns: int,
    violations: Sequence[Mapping[str, Any]] = (),
    hosts: Mapping[int, str] | None = None,
) -> Iterator[Line]:
    """Yield everything about one job; `violations` are those of its last result, `hosts` where it runs."""
    state = job.outcome or job.state
    yield [
        Piece(f"job {job.id}", "bold"),
        Piece(f"  {escape_control(job.agent)}  "),
        Piece(state, OUTCOME_STYLES.get(state, "red" if job.outcome else "")),
        Piece(f"  {job.verdict}" if job.verdict else "", VERDICT_STYLES.get(job.verdict or "", "")),
    ]
    yield from _running_lines(job, hosts, columns, 2)
    if job.error:
        for row in wrap_text(escape_control(job.error), columns, 2):
            yield [Piece(row, "red")]
    if job.verdict is not None and (failure := failure_in(job.result)) is not None:
        for row in wrap_text(escape_control(failure.text), columns, 2):
            yield [Piece(row, "red")]
    hardest_first = sorted(violations, key=lambda violation: str(violation.get("level")))
    for violation in hardest_first if job.verdict != "accept" else ():
        text = (
            f"{violation.get('level')} {violation.get('rule')} line {violation.get('line')}: {violation.get('message')}"
        )
        for number, row in enumerate(wrap_text(escape_control(text), columns - 2, 2, keeps_paths=True)):
            yield [Piece(row if number == 0 else f"  {row}", "yellow")]
    for row in wrap_text(usage_text(job), columns, 2):
        yield [Piece(row, "dim")]
    times = {"created": job.created, "started": job.started, "finished": job.finished}
    text = ", ".join(
        f"{name} {time.astimezone():%Y-%m-%d %H:%M:%S}" for name, time in times.items() if time is not None
    )
    for row in wrap_text(text, columns, 2):
        yield [Piece(row, "dim")]
    for row in wrap_text(f"task: {escape_control(' '.join(redact(job.prompt[:2000]).split()))}", columns, 2)[:4]:
        yield [Piece(row)]
    if job.result:
        yield []
        yield from ([Piece(escape_control(line))] for line in job.result.split("\n"))
    if job.diff:
        yield []
        yield from ([Piece(escape_control(line), "dim")] for line in job.diff.split("\n"))


def usage_text(job: Job) -> str:
    """Return the usage of a job as text."""
    cost = f", ${job.cost:.4f}" if job.is_priced and job.turns else ""
    attempts = f", attempt {job.attempt}" if job.attempt > 1 else ""
    cached = f" ({job.cached_tokens:,} cached)" if job.cached_tokens else ""
    tokens = f"{job.input_tokens:,}{cached} tokens in, {job.output_tokens:,} out"
    return f"{format_count(job.turns, 'turn')}, {format_count(job.tool_calls, 'tool call')}, {tokens}{cost}{attempts}"


def event_lines(event: Event, columns: int) -> Iterator[Line]:
    """Yield the lines of an event."""
    clock = f"{event.at.astimezone():%H:%M:%S} "
    data = event.data
    text, style = _event_text(event.kind, data)
    # An answer and the text of an orchestrator for the user keep their lines, an answer without the empty ones.
    lines = text.split("\n") if event.kind in ("told", "text") else [text]
    if event.kind == "text":
        lines = [line for line in lines if line.strip()]
    rows = (
        [row for line in lines for row in wrap_text(escape_control(line), columns, len(clock), keeps_paths=True)]
        if text
        else []
    )
    for number, row in enumerate(rows):
        yield [Piece(clock if number == 0 else " " * len(clock), "dim"), Piece(row[len(clock) :], style)]


def _resolved_text(data: dict[str, Any]) -> str:
    """Return how the worker of a job resolved it."""
    definition = data.get("definition")
    name = (
        f"definition {definition.get('name')} of plugin {definition.get('plugin')}"
        if isinstance(definition, dict)
        else ""
    )
    return "; ".join([f"resolved by its worker: {name or 'no definition'}", *map(str, data.get("warnings") or ())])


def _event_text(kind: str, data: dict[str, Any]) -> tuple[str, str]:
    """Return the text of an event and its style."""
    if kind == "tool":
        arguments = data.get("arguments", [])
        pairs = arguments.items() if isinstance(arguments, dict) else arguments
        values = " ".join(str(value) for _, value in pairs)
        return f"{data.get('name')} {' '.join(values.split())[:160]}", ""
    if kind == "tool-done":
        why = f": {data['why']}" if data.get("why") else ""
        return (f"{data.get('name')} failed{why}", "yellow") if data.get("failed") else ("", "")
    if kind == "text":
        return str(data.get("text", "")).strip(), "dim"
    if kind == "told":
        return str(data.get("text", "")), "bold"
    if kind == "usage":
        cost = f", ${data['cost']:.4f}" if data.get("cost") else ""
        return f"{data.get('input', 0):,} tokens in, {data.get('output', 0):,} out{cost}", "dim"
    if kind == "finished":
        why = f": {data['error']}" if data.get("error") else ""
        return f"finished: {data.get('outcome')}{why}", OUTCOME_STYLES.get(str(data.get("outcome")), "red")
    if kind == "checked":
        advice = f", {data['advice']} advisory" if data.get("advice") else ""
        number = data.get("violations")
        violations = format_count(number, "violation") if isinstance(number, int) else f"{number} violations"
        return f"checked: {data.get('verdict')}, {violations}{advice}", ""
    simple = {
        "resolved": _resolved_text(data),
        "started": f"attempt {data.get('attempt')} on {data.get('model')}",
        "turn": f"turn {data.get('turn')}",
        "left": f"left in the queue: {data.get('why')}",
        "waiting": f"waiting {data.get('seconds')} s: {data.get('why')}",
        "program": f"running {data.get('command')}",
    }
    return simple.get(kind, kind), ""
