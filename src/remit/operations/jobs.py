"""The operations on jobs and questions: submit, run, cancel, retry, answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec

from remit.dispatch.submit import Queueing, Resolving, retry
from remit.dispatch.submit import submit as submit_request
from remit.dispatch.worker_settings import Settings
from remit.errors import UsageError
from remit.operations.declaration import CLI, PROGRAMS, Form, described
from remit.operations.job_fields import Run, TreeLimits
from remit.orchestrate.answers import give_answer
from remit.orchestrate.delegating import PlanResult, check_drivable, plan_result
from remit.orchestrate.plan_progress import record_answer, record_cancelled
from remit.reports.plan_text import QuestionShape, question_shape
from remit.store import jobs, plans
from remit.store.database import Database
from remit.store.jobs import Job, State

AnswerVerb = Literal["retry", "skip", "text", "cancel"]
ANSWERS: tuple[AnswerVerb, ...] = get_args(AnswerVerb)
_NEED_WORDS = ("skip", "text")
Verdict = Literal["accept", "revise", "reject"]
Number = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


class ListJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs to list."""

    state: Annotated[State | None, described("Only jobs in this state.")] = None
    agent: Annotated[str | None, described("Only jobs of this agent.")] = None
    verdict: Annotated[Verdict | None, described("Only jobs with this verdict.")] = None
    before: Annotated[Number | None, described("Only jobs before this number.", metavar="JOB")] = None
    limit: Annotated[int, described("At most this many.", ge=1, le=10_000)] = 50
    all: Annotated[bool, described("The jobs of all projects.")] = False
    form: Form = "text"


class JobNumber(msgspec.Struct, frozen=True, kw_only=True):
    """A job."""

    job: Annotated[Number, described("Its number.", is_argument=True)]
    form: Form = "text"


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """A job to cancel."""

    job: Annotated[Number | None, described("The number of the job.", required=PROGRAMS, is_argument=True)] = None
    plan: Annotated[
        int | None,
        described("Cancel this plan with its questions and its unfinished jobs.", on=CLI, metavar="ID"),
    ] = None
    form: Form = "text"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to a question of a plan or an orchestrator."""

    question: Annotated[
        Number | None,
        described(
            "Its number; over MCP not needed if only one is open.",
            required=["cli", "http"],
            metavar="ESCALATION",
            is_argument=True,
        ),
    ] = None
    answer: Annotated[
        AnswerVerb | None,
        described(
            "Without it, an MCP client asks the person, if it can do that.",
            required=["cli", "http"],
            metavar="{retry|skip|text|cancel}",
            is_argument=True,
        ),
    ] = None
    why: Annotated[str, described("The reason to skip, or a text for the subagent.", max_length=10_000)] = ""
    form: Form = "text"


class ListQuestions(msgspec.Struct, frozen=True, kw_only=True):
    """Which questions to list."""

    is_all: Annotated[bool, described("Include answered questions.", option="--all")] = False
    form: Form = "text"


class QuestionList(msgspec.Struct, kw_only=True):
    """Questions of plans and orchestrators."""

    schema: Literal["remit.escalations/1"] = "remit.escalations/1"
    escalations: list[QuestionShape]


class GivenAnswerShape(msgspec.Struct, kw_only=True):
    """A stored answer, and what continues the work."""

    schema: Literal["remit.answer/1"] = "remit.answer/1"
    escalation: int
    plan: int
    answer: str
    next_action: str


class AcceptedJob(NamedTuple):
    """A submitted job, and whether it is new: with a key that was used before, it is the earlier one."""

    job: Job
    is_new: bool


def job_request(wanted: Run) -> dict[str, Any]:
    """Return the request of a job: only what is set."""
    limits = {name: getattr(wanted, f"max_{name}") for name in ("tokens", "cost", "seconds")}
    request = {
        "prompt": wanted.task,
        "subagent_def": wanted.agent,
        **{name: getattr(wanted, name) for name in ("system", "allowed_tools", "model", "kind", "profile")},
        "contract": wanted.contract_version or wanted.contract,
        **{name: getattr(wanted, name) for name in ("max_turns", "input_vars", "isolation")},
        "limits": wanted.limits or {name: limit for name, limit in limits.items() if limit is not None} or None,
    }
    return {name: value for name, value in request.items() if value is not None}


def queueing_of(wanted: TreeLimits) -> Queueing:
    """Return how to queue a job: the fields that have the same names."""
    names = [name for name in Queueing._fields if name != "agent" and name in wanted.__struct_fields__]
    return Queueing(**{name: getattr(wanted, name) for name in names})


async def submit_job(
    database: Database, settings: Settings, folder: Path, wanted: Run, first_queue: str | None = None
) -> AcceptedJob:
    """Put a job into the queue; into `first_queue`, if a worker of this process takes it."""
    submitted = await submit_request(
        database,
        job_request(wanted),
        settings,
        folder,
        queueing=queueing_of(wanted)._replace(first_queue=first_queue),
        resolving=Resolving(plugin_path=wanted.plugin_path, policy=wanted.policy, allow_tools=wanted.allow_tools),
    )
    return AcceptedJob(await jobs.get(database, submitted.id), submitted.is_new)


async def cancel_job(database: Database, settings: Settings, number: int) -> Job:
    """Cancel a job and the jobs that it started."""
    await jobs.cancel(database, number)
    await record_cancelled(settings.texts, f"job {number}")
    return await jobs.get(database, number)


async def cancel_plan(database: Database, settings: Settings, number: int, why: str) -> PlanResult:
    """Cancel a plan with its questions and unfinished jobs."""
    plan = await check_drivable(database, number)
    if not await jobs.cancel_plan(database, number, why):
        raise UsageError(f"plan {number} is already {plan.state}")
    await record_cancelled(settings.texts, f"plan {number}")
    return await plan_result(database, number)


async def retry_job(database: Database, number: int) -> tuple[Job, str]:
    """Continue a job, or let it correct its result. Return it, and what happens as words."""
    action = await database.without_retry(lambda: retry(database, number))
    return await jobs.get(database, number), action


async def list_jobs(database: Database, settings: Settings, wanted: ListJobs, *, is_whole: bool) -> list[Job]:
    """Return jobs of this project or of all, the newest first."""
    project = None if wanted.all else settings.project
    chosen = {name: getattr(wanted, name) for name in ("state", "verdict", "before", "limit")}
    return await jobs.list_jobs(database, project=project, agent=printable(wanted.agent), **chosen, is_whole=is_whole)


def whole_number(text: str) -> int | None:
    """Return the number of a text of a program or a page, if it is one that a row can have."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def printable(text: str | None) -> str | None:
    """Return the text of a filter; None for an empty one. Raises UsageError for one that no row can have."""
    if text is not None and not (text.isprintable() and len(text) <= 200):
        raise UsageError("a filter must be printable text of at most 200 characters")
    return text or None


async def list_questions(database: Database, wanted: ListQuestions) -> QuestionList:
    """Return the open questions, or all."""
    escalations = await plans.escalations(database, is_open=not wanted.is_all)
    return QuestionList(escalations=[question_shape(row) for row in escalations])


async def answer_question(
    database: Database, settings: Settings, question: int, verb: str, words: str
) -> GivenAnswerShape:
    """Give an answer and return what to do next. Raises UsageError if it is not complete."""
    if verb not in ANSWERS:
        raise UsageError(f"the answer must be one of {', '.join(ANSWERS)}, not {verb[:40]!r}")
    if verb in _NEED_WORDS and not words.strip():
        raise UsageError(f"the answer {verb} needs a reason or a text")
    given = await give_answer(database, question, verb, words)
    await record_answer(settings.texts, question, given.next_action)
    return GivenAnswerShape(escalation=question, plan=given.plan, answer=verb, next_action=given.next_action)
