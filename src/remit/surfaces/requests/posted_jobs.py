"""Jobs and answers that a program sends. The policy is strict: unknown definitions and tools are refused."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import msgspec

from remit.dispatch.settings import Settings
from remit.errors import UsageError
from remit.registry.model import Limits
from remit.reports.jobs import JobShape, job_shape
from remit.store import jobs, plans
from remit.store.database import Database
from remit.surfaces.requests.folders import Folders

AnswerVerb = Literal["retry", "skip", "text", "cancel"]
ANSWERS: tuple[AnswerVerb, ...] = get_args(AnswerVerb)
_NEED_WORDS = ("skip", "text")


class JobSubmission(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job to submit. The policy is always `strict`: unknown definitions and tools are refused."""

    task: str
    #: The definition; null: the job has none.
    agent: str | None = None
    #: The folder to work in, relative to the folder that the server was started in.
    repo: str = "."
    system: str | None = None
    allowed_tools: list[str] | None = None
    model: str | None = None
    kind: str | None = None
    profile: str | None = None
    contract: Literal["none"] | None = None
    max_turns: int | None = None
    input_vars: dict[str, str] = {}
    limits: Limits | None = None
    isolation: Literal["worktree"] | None = None
    queue: str = "default"
    priority: int = 0
    key: str | None = None
    delay: float = 0
    parent: int | None = None
    tree_max_tokens: int | None = None
    tree_max_cost: float | None = None
    tree_max_turns: int | None = None
    tree_max_seconds: float | None = None


class QuestionShape(msgspec.Struct, kw_only=True):
    """A question of a plan or an orchestrator."""

    id: int
    plan: int
    agent: str | None
    reason: str
    answer: str | None
    words: str | None


class QuestionList(msgspec.Struct, kw_only=True):
    """The open questions."""

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

    job: JobShape
    is_new: bool


async def submit_posted(database: Database, settings: Settings, folders: Folders, body: JobSubmission) -> AcceptedJob:
    """Put a job into the queue."""
    from remit.dispatch.submit import Queueing, Resolving, submit  # late: it loads the libraries of models

    fields = msgspec.structs.asdict(body)
    queueing = Queueing(**{name: fields.pop(name) for name in Queueing._fields if name in fields and name != "agent"})
    wanted = {**fields, "prompt": fields.pop("task"), "subagent_def": fields.pop("agent")}
    del wanted["repo"], wanted["task"], wanted["agent"]
    submitted = await submit(
        database,
        {name: value for name, value in wanted.items() if value is not None},
        settings,
        folders.folder(body.repo),
        queueing=queueing,
        resolving=Resolving(policy="strict"),
    )
    return AcceptedJob(job_shape(await jobs.get(database, submitted.id)), submitted.is_new)


async def open_questions(database: Database) -> QuestionList:
    """Return the open questions."""
    from remit.reports.plans import escalation_shape

    found = await plans.escalations(database, is_open=True)
    return QuestionList(escalations=[QuestionShape(**escalation_shape(one)) for one in found])


async def answer_posted(
    database: Database, settings: Settings, question: int, verb: str, words: str
) -> GivenAnswerShape:
    """Give an answer and return what to do next. Raises UsageError if it is not complete."""
    from remit.orchestrate.answers import give_answer
    from remit.orchestrate.progress import record_answer

    if verb not in ANSWERS:
        raise UsageError(f"the answer must be one of {', '.join(ANSWERS)}, not {verb[:40]!r}")
    if verb in _NEED_WORDS and not words:
        raise UsageError(f"the answer {verb} needs a reason or a text")
    given = await give_answer(database, question, verb, words)
    await record_answer(settings.data, question, given.next_action)
    return GivenAnswerShape(escalation=question, plan=given.plan, answer=verb, next_action=given.next_action)
