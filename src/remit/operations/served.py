"""The operations that programs call: one table for the tools of the MCP server and the addresses of the API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, NamedTuple, TypeVar

import msgspec

from remit.configuration import load
from remit.dispatch.worker_settings import Settings
from remit.errors import UsageError
from remit.merging.merge_data import Merge
from remit.operations.contract import ExplainRule, Prompt, prompt_shape
from remit.operations.documents import (
    Check,
    Folders,
    Verify,
    check_document,
    verify_document,
)
from remit.operations.job_fields import Submit
from remit.operations.jobs import (
    Answer,
    Cancel,
    GivenAnswerShape,
    JobNumber,
    ListQuestions,
    QuestionList,
    answer_question,
    cancel_job,
    list_questions,
    submit_job,
)
from remit.operations.merge import MergeDocuments, merge_documents
from remit.reports.job_text import JobShape, job_shape
from remit.reports.rules import PromptShape, RuleListShape, rules_shape
from remit.reports.shapes import CheckShape
from remit.rules.catalog import find
from remit.store import jobs
from remit.store.database import Database

W = TypeVar("W", bound=msgspec.Struct)
A = TypeVar("A")


class Store(NamedTuple):
    """The open database, and the settings of jobs."""

    database: Database
    settings: Settings


class Caller(NamedTuple):
    """What the program that calls an operation may use, and how to reach the store."""

    folders: Folders
    open_store: Callable[[], Awaitable[Store]]
    #: Limits how many documents are checked at the same time.
    checks: AbstractAsyncContextManager[Any] = nullcontext()


class Tool(NamedTuple):
    """How an operation is called over MCP."""

    name: str
    title: str
    description: str


class Endpoint(NamedTuple):
    """How an operation is called over HTTP."""

    method: str
    path: str
    name: str
    summary: str
    #: The field of the operation that is in the path.
    in_path: str = ""
    status: int = 200

    @property
    def template(self) -> str:
        """The path without the types of its parameters."""
        return self.path.replace(":number", "")


class Answered(NamedTuple):
    """An answer with another HTTP status than that of the operation."""

    value: Any
    status: int


class Operation(NamedTuple):
    """An operation: the type of its arguments and of its answer, its function, and whether it changes nothing.

    One without a type of answer is a stream of events.
    """

    arguments: type[msgspec.Struct]
    answer: Any
    run: Callable[..., Awaitable[Any]]
    is_read_only: bool = True
    tool: Tool | None = None
    address: Endpoint | None = None
    #: Whether paths are looked up, so that the folders of the client must be known.
    uses_folders: bool = False

    @property
    def endpoint(self) -> Endpoint:
        """The address of an operation that has one."""
        assert self.address is not None  # noqa: S101 (the API has only these)
        return self.address


def _in_thread(work: Callable[[Folders, W], A]) -> Callable[[Caller, W], Awaitable[A]]:
    """Return the operation for a function on documents, which takes time and waits for its turn."""

    async def run(caller: Caller, wanted: W) -> A:
        async with caller.checks:
            return await asyncio.to_thread(work, caller.folders, wanted)

    return run


async def explain_rule(_: Caller, wanted: ExplainRule) -> RuleListShape:
    """Explain a rule."""
    return rules_shape([find(wanted.name or "")])


async def prompt_for(caller: Caller, wanted: Prompt) -> PromptShape:
    """Return the instructions for a kind of result."""
    return prompt_shape(wanted, load(caller.folders.start))


async def submit(caller: Caller, wanted: Submit) -> Answered:
    """Put a job into the queue. Unknown definitions and tools are refused."""
    store = await caller.open_store()
    strict = msgspec.structs.replace(wanted, policy="strict")
    accepted = await submit_job(store.database, store.settings, caller.folders.folder(wanted.repo or "."), strict)
    return Answered(job_shape(accepted.job), 201 if accepted.is_new else 200)


async def show_job(caller: Caller, wanted: JobNumber) -> JobShape:
    """Return a job with its result."""
    store = await caller.open_store()
    return job_shape(await jobs.get(store.database, wanted.job))


async def cancel(caller: Caller, wanted: Cancel) -> JobShape:
    """Cancel a job."""
    store = await caller.open_store()
    return job_shape(await cancel_job(store.database, store.settings, wanted.job or 0))


async def question_of(caller: Caller, number: int | None) -> tuple[int, str]:
    """Return the number and the text of an open question. Without a number, exactly one must be open."""
    listed = (await questions(caller, ListQuestions())).escalations
    matching = [question for question in listed if number in (None, question.id)]
    if len(matching) != 1:
        numbers = ", ".join(str(question.id) for question in listed[:20])
        which = f"there is no open question {number}" if number is not None else f"{len(listed)} questions are open"
        raise UsageError(f"{which}; the open ones are {numbers}" if listed else "no question is open")
    return matching[0].id, matching[0].reason


async def answer(caller: Caller, wanted: Answer) -> GivenAnswerShape:
    """Answer a question."""
    if wanted.answer is None:
        raise UsageError("pass an answer: this client cannot ask the person")
    store = await caller.open_store()
    number = wanted.question or (await question_of(caller, None))[0]
    return await answer_question(store.database, store.settings, number, wanted.answer, wanted.why.strip())


async def questions(caller: Caller, wanted: ListQuestions) -> QuestionList:
    """Return the open questions."""
    return await list_questions((await caller.open_store()).database, wanted)


_JOB = "/jobs/{number:number}"
_ITEM = "/review/{number:number}"
OPERATIONS = (
    Operation(
        *(Verify, CheckShape, _in_thread(verify_document)),
        tool=Tool(
            "verify_text",
            "Verify a text",
            "Check whether what a text states about the code is true: files, lines, quotes and names that it cites. "
            "Use it for any report, plan or review, before you rely on it. A text without such claims is accepted with "
            "the note `no claims found: nothing was compared`, which does not mean that it is true.",
        ),
        address=Endpoint("POST", "/verify", "verify", "Check the claims of a text"),
        uses_folders=True,
    ),
    Operation(
        *(Check, CheckShape, _in_thread(check_document)),
        tool=Tool(
            "check_result",
            "Check a result",
            "Check a subagent's result against the contract and the checkout. The verdict is accept, revise or reject, "
            "and each violation states what to fix.",
        ),
        address=Endpoint("POST", "/check", "check", "Check results against the contract"),
        uses_folders=True,
    ),
    Operation(
        *(ExplainRule, RuleListShape, explain_rule),
        tool=Tool(
            "explain_rule",
            "Explain a rule",
            "Explain a rule of the contract: what it checks, why, and how to fix a violation.",
        ),
    ),
    Operation(
        *(Prompt, PromptShape, prompt_for),
        tool=Tool(
            "prompt_for",
            "Instructions for a subagent",
            "Return the instructions to append to a subagent's task, so that its result has the form that is checked.",
        ),
        uses_folders=True,
    ),
    Operation(
        *(MergeDocuments, Merge, _in_thread(merge_documents)),
        tool=Tool(
            "merge_results",
            "Merge results",
            "Merge the results of several agents and SARIF files into one report: same findings once, conflicts, "
            "decision.",
        ),
        address=Endpoint("POST", "/merge", "merge", "Merge results into one report"),
        uses_folders=True,
    ),
    Operation(
        *(Submit, JobShape, submit, False),
        tool=Tool(
            "submit_job",
            "Submit a job",
            "Put a job for a subagent into the queue. A `remit worker` runs it. Unknown tools are refused. If no "
            "database is configured, the first call creates one of about 40 MB in the person's state folder.",
        ),
        address=Endpoint("POST", "/jobs", "submitJob", "Submit a job", status=201),
        uses_folders=True,
    ),
    Operation(
        *(JobNumber, JobShape, show_job),
        tool=Tool("get_job", "Show a job", "Return the state of a job, its verdict and its result."),
        address=Endpoint("GET", _JOB, "showJob", "Show a job with its result", in_path="job"),
    ),
    Operation(
        *(JobNumber, None, show_job),
        address=Endpoint("GET", f"{_JOB}/events", "followJob", "Follow the events of a job", in_path="job"),
    ),
    Operation(
        *(Cancel, JobShape, cancel, False),
        address=Endpoint("POST", f"{_JOB}/cancel", "cancelJob", "Cancel a job", in_path="job"),
    ),
    Operation(
        *(Answer, GivenAnswerShape, answer, False),
        tool=Tool(
            "answer_question",
            "Answer a question",
            "Answer an open question of a plan. Do not invent an answer: without `answer`, the person is asked.",
        ),
    ),
)
TOOLS = {operation.tool.name: operation for operation in OPERATIONS if operation.tool is not None}
