"""What the pages of the server show: figures of today, lists by page, the tree and the transcript of a job.

Each query uses an index, so that it stays fast with a million finished jobs.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from psycopg.rows import DictRow

from remit.store.database import Database
from remit.store.events import Event
from remit.store.jobs import Job

PAGE_ROWS = 100
#: Jobs of one tree, and rows of one transcript, that a page shows.
MAX_TREE = 300
MAX_ROWS = 1_000
#: Characters of the output of one tool call that a page shows.
MAX_OUTPUT = 20_000
#: A running job without a finished step for this long is shown as stuck.
STUCK_SECONDS = 300.0
_MAX_EVENTS = 60
#: Jobs whose tasks are searched for words: their texts have no index.
MAX_SEARCHED = 10_000


class JobFilter(NamedTuple):
    """Which jobs to list."""

    state: str | None = None
    verdict: str | None = None
    outcome: str | None = None
    agent: str | None = None
    #: What the task contains, in any case.
    words: str | None = None


class Figures(msgspec.Struct, kw_only=True):
    """The figures of the overview."""

    queued: int = 0
    running: int = 0
    finished: int = 0
    completed: int = 0
    judged: int = 0
    accepted: int = 0
    cost: float = 0.0
    tokens: int = 0
    questions: int = 0

    @property
    def acceptance(self) -> float | None:
        """The share of accepted results of today, or None without any."""
        return self.accepted / self.judged if self.judged else None


class TranscriptRows(NamedTuple):
    """The transcript of a job: messages, tool calls and receipts."""

    messages: list[DictRow]
    calls: list[DictRow]
    receipts: list[DictRow]


async def figures(database: Database, since: datetime) -> Figures:
    """Return the figures since a time, usually midnight."""
    states = await database.row("dashboard.states") or {}
    today = await database.row("dashboard.today", since=since) or {}
    running = await database.row("dashboard.running_cost") or {"cost": 0, "tokens": 0}
    questions = await database.row("dashboard.open_questions") or {"questions": 0}
    return Figures(
        queued=states.get("queued", 0),
        running=states.get("running", 0),
        finished=today.get("finished", 0),
        completed=today.get("completed", 0),
        judged=today.get("judged", 0),
        accepted=today.get("accepted", 0),
        cost=float(today.get("cost", 0)) + float(running["cost"]),
        tokens=int(today.get("tokens", 0)) + int(running["tokens"]),
        questions=questions["questions"],
    )


async def active_jobs(database: Database, state: str, seconds: float, limit: int = 50) -> list[DictRow]:
    """Return running or queued jobs, the oldest first; a worker without a heartbeat for `seconds` is dead."""
    return await database.rows("dashboard.active", state=state, timeout=seconds, stuck=STUCK_SECONDS, limit=limit)


async def listed_workers(database: Database, seconds: float) -> list[DictRow]:
    """Return the workers, the latest heartbeat first; one without a heartbeat for `seconds` is dead."""
    return await database.rows("dashboard.workers", timeout=seconds)


async def page_of_jobs(
    database: Database, wanted: JobFilter, before: int | None, limit: int = PAGE_ROWS
) -> tuple[list[DictRow], int | None]:
    """Return a page of jobs, the newest first, and the number to continue before; None on the last page."""
    values: dict[str, Any] = {"before": before, "limit": limit + 1}
    if wanted.words:
        values |= {**wanted._asdict(), "words": contains(wanted.words), "searched": MAX_SEARCHED}
        jobs = await database.rows("dashboard.jobs_by_words", **values)
    elif wanted.state:
        jobs = await database.rows("dashboard.jobs_by_state", state=wanted.state, agent=wanted.agent, **values)
    elif wanted.verdict:
        jobs = await database.rows("dashboard.jobs_by_verdict", verdict=wanted.verdict, agent=wanted.agent, **values)
    elif wanted.outcome:
        jobs = await database.rows("dashboard.jobs_by_outcome", outcome=wanted.outcome, agent=wanted.agent, **values)
    elif wanted.agent:
        jobs = await database.rows("dashboard.jobs_by_agent", agent=wanted.agent, **values)
    else:
        jobs = await database.rows("dashboard.jobs", **values)
    return jobs[:limit], jobs[limit - 1]["id"] if len(jobs) > limit else None


def contains(words: str) -> str:
    """Return the pattern of LIKE for texts that contain some words."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", words) + "%"


async def agent_names(database: Database) -> list[str]:
    """Return the names of all agents that have jobs and whose names can be typed."""
    return [row["agent"] for row in await database.rows("dashboard.agents") if row["agent"].isprintable()]


async def tree_of(database: Database, job: Job) -> list[DictRow]:
    """Return the jobs of the tree that a job belongs to, each after its parent."""
    jobs = await database.rows("dashboard.tree", top=job.root or job.id, limit=MAX_TREE)
    numbers = {row["id"] for row in jobs}
    below: dict[int | None, list[DictRow]] = {}
    for row in jobs:
        below.setdefault(row["parent"] if row["parent"] in numbers else None, []).append(row)
    ordered: list[DictRow] = []
    waiting = list(reversed(below.get(None, [])))
    while waiting:
        row = waiting.pop()
        ordered.append(row)
        waiting.extend(reversed(below.get(row["id"], [])))
    return ordered


async def transcript_of(database: Database, job: int) -> TranscriptRows:
    """Return the transcript of a job, as far as a page shows it."""
    return TranscriptRows(
        await database.rows("dashboard.messages", job=job, limit=MAX_ROWS),
        await database.rows("dashboard.calls", job=job, limit=MAX_ROWS, characters=MAX_OUTPUT),
        await database.rows("dashboard.receipts", job=job, limit=MAX_ROWS),
    )


async def results_of(database: Database, job: int) -> list[DictRow]:
    """Return the checked results of a job with their verdicts and reports, in order."""
    return await database.rows("transcript.results", job=job)


async def returned_results(database: Database, since: datetime, limit: int) -> list[DictRow]:
    """Return the last results since a time that were sent back or rejected, with their violations, the newest first."""
    return await database.rows("dashboard.returned_results", since=since, limit=limit)


async def last_events(database: Database, job: int) -> list[Event]:
    """Return the last events of a job, in order."""
    events = await database.rows("dashboard.last_events", job=job, limit=_MAX_EVENTS)
    return [Event(**row) for row in reversed(events)]


async def plan_of_job(database: Database, job: int) -> int | None:
    """Return the plan that a job belongs to, or None."""
    row = await database.row("dashboard.plan_of_job", job=job)
    return int(row["plan"]) if row else None


async def page_of_plans(
    database: Database, state: str | None, before: int | None, limit: int = PAGE_ROWS, *, words: str | None = None
) -> tuple[list[DictRow], int | None]:
    """Return a page of plans, the newest first, and the number to continue before; None on the last page."""
    pattern = contains(words) if words else None
    plans = await database.rows("dashboard.plans", state=state, before=before, limit=limit + 1, words=pattern)
    return plans[:limit], plans[limit - 1]["id"] if len(plans) > limit else None


async def last_steps(database: Database, plan: int, limit: int = 200) -> list[DictRow]:
    """Return the last steps of a plan with their reasons, in order."""
    return list(reversed(await database.rows("dashboard.steps", plan=plan, limit=limit)))
