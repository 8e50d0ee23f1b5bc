"""The tools of the MCP server: one object is a tool's name, texts, arguments, answer and work.

The types of arguments and answers are those of the API and of the command line, so their schemas are too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Annotated, Any, Literal, NamedTuple
from uuid import uuid4

import msgspec

from remit.checking import Options
from remit.configuration import load
from remit.contract.kinds import KINDS
from remit.dispatch.settings import Settings
from remit.errors import UsageError
from remit.ledger.items import ItemKind
from remit.merging.model import Merge, Policy
from remit.reports.jobs import JobShape, job_shape
from remit.reports.rules import PromptShape, RuleListShape, rules_shape
from remit.reports.shapes import CheckShape
from remit.rules.catalog import find
from remit.rules.instructions import instructions
from remit.store import jobs
from remit.store.access import Person, Role, audited
from remit.store.database import Database
from remit.store.review_queue import ItemFilter, ItemState, ReviewDecision, Verb
from remit.surfaces.requests.folders import Folders
from remit.surfaces.requests.posted_decisions import ItemList, decide_posted, page_of_items
from remit.surfaces.requests.posted_documents import (
    CheckBody,
    MergeBody,
    PostedDocument,
    VerifyBody,
    check_document,
    merge_documents,
    verify_document,
)
from remit.surfaces.requests.posted_jobs import (
    AnswerVerb,
    GivenAnswerShape,
    JobSubmission,
    answer_posted,
    open_questions,
    submit_posted,
)

_MAX_LISTED = 100
_Number = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
_Text = Annotated[str | None, msgspec.Meta(description="The text. Without it, the file at `path` is read.")]
_Path = Annotated[str, msgspec.Meta(description="The file to read, or the name of the text in the answer.")]
_Repo = Annotated[str, msgspec.Meta(description="The checkout that the claims are about; default: the working folder.")]
_Rev = Annotated[str | None, msgspec.Meta(description="A commit of the checkout instead of its files on disk.")]
_Profile = Annotated[str | None, msgspec.Meta(description="How strict: v1, v2 or claims; default: the configured one.")]
_Kind = Annotated[str | None, msgspec.Meta(description=f"The kind of the result: {', '.join(KINDS)}.")]


class Store(NamedTuple):
    """The open database, and the settings of jobs."""

    database: Database
    settings: Settings


class Caller(NamedTuple):
    """Who calls a tool, what this program may use, and how to reach the store."""

    person: Person
    #: Where the call comes from, for the audit log.
    host: str
    folders: Folders
    open_store: Callable[[], Awaitable[Store]]
    #: Whether a document may be read from a file. A caller on another machine has to send its text.
    may_read_files: bool = True
    #: Limits how many documents are checked at the same time.
    checks: AbstractAsyncContextManager[Any] = nullcontext()


class VerifyArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Any text whose claims about the code are checked."""

    text: _Text = None
    path: _Path = "-"
    repo: _Repo = "."
    rev: _Rev = None


class CheckArguments(VerifyArguments, kw_only=True, forbid_unknown_fields=True):
    """A document with results to check."""

    profile: _Profile = None
    kind: _Kind = None
    agent: Annotated[str | None, msgspec.Meta(description="The agent that wrote the result.")] = None
    attempt: Annotated[int, msgspec.Meta(description="Which try this is: 1 or 2.")] = 1


class RuleName(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A rule."""

    name: Annotated[str, msgspec.Meta(description="Its name or code, such as `reference-missing` or EVD001.")]


class PromptWanted(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which instructions."""

    kind: Annotated[str, msgspec.Meta(description=f"The kind of result: {', '.join(KINDS)}.")] = "generic"
    profile: _Profile = None
    agent: Annotated[str, msgspec.Meta(description="The agent that signs its result with this name.")] = ""


class SourceDocument(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A result, a SARIF file or an earlier merge."""

    path: _Path
    text: _Text = None


class MergeArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Documents to merge into one report."""

    documents: list[SourceDocument]
    repo: _Repo = "."
    profile: _Profile = None
    threshold: Annotated[float | None, msgspec.Meta(description="The lowest confidence of a finding, 0 to 100.")] = None
    policy: Policy | None = None
    expect: Annotated[list[str], msgspec.Meta(description="Agents whose results must be there.")] = []


class JobNumber(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A job."""

    job: _Number


class FindingFilter(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which items of the review queue, and which page of them."""

    state: ItemState | Literal["any"] = "open"
    kind: ItemKind | None = None
    severity: Literal["critical", "important", "minor"] | None = None
    agent: str | None = None
    category: str | None = None
    path: Annotated[str | None, msgspec.Meta(description="The start of the path.")] = None
    plan: _Number | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=_MAX_LISTED)] = 20
    after: Annotated[str, msgspec.Meta(description="The `after` of the page before.", max_length=40)] = ""


class AnswerArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An answer to a question of a plan or an orchestrator."""

    question: Annotated[_Number | None, msgspec.Meta(description="Its number; not needed if only one is open.")] = None
    answer: Annotated[
        AnswerVerb | None, msgspec.Meta(description="Without it, the person is asked, if the client can do that.")
    ] = None
    why: Annotated[str, msgspec.Meta(description="The reason or the text of the answer.", max_length=10_000)] = ""


class DecisionArguments(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A decision on an item of the review queue."""

    item: _Number
    verb: Verb
    note: Annotated[str, msgspec.Meta(description="The reason, for people.", max_length=4_000)] = ""
    id: Annotated[str | None, msgspec.Meta(description="A UUID: a call that is repeated with it decides once.")] = None


async def verify_text(caller: Caller, wanted: VerifyArguments) -> CheckShape:
    """Check the claims of a text."""
    body = VerifyBody(text=_text(caller, wanted.text, wanted.path), path=wanted.path, repo=wanted.repo, rev=wanted.rev)
    async with caller.checks:
        return await asyncio.to_thread(verify_document, caller.folders, body)


async def check_result(caller: Caller, wanted: CheckArguments) -> CheckShape:
    """Check a result."""
    fields = {**msgspec.structs.asdict(wanted), "text": _text(caller, wanted.text, wanted.path)}
    async with caller.checks:
        return await asyncio.to_thread(check_document, caller.folders, CheckBody(**fields))


async def explain_rule(_: Caller, wanted: RuleName) -> RuleListShape:
    """Explain a rule."""
    return rules_shape([find(wanted.name).rule])


async def prompt_for(caller: Caller, wanted: PromptWanted) -> PromptShape:
    """Return the instructions for a kind of result."""
    profile = wanted.profile or load(caller.folders.start)["profile"]
    Options(kind=wanted.kind, profile=profile).validated()
    return PromptShape(kind=wanted.kind, profile=profile, text=instructions(wanted.kind, profile, wanted.agent))


async def merge_results(caller: Caller, wanted: MergeArguments) -> Merge:
    """Merge results."""
    documents = [PostedDocument(path=one.path, text=_text(caller, one.text, one.path)) for one in wanted.documents]
    fields = {name: getattr(wanted, name) for name in wanted.__struct_fields__}
    async with caller.checks:
        return await asyncio.to_thread(merge_documents, caller.folders, MergeBody(**{**fields, "documents": documents}))


def _text(caller: Caller, text: str | None, path: str) -> str:
    if text is not None:
        return text
    if path == "-" or not caller.may_read_files:
        raise UsageError("pass the text" if not caller.may_read_files else "pass a text, or the path of a file")
    return caller.folders.read(path).decode("utf-8", "replace")


async def submit_job(caller: Caller, wanted: JobSubmission) -> JobShape:
    """Put a job into the queue."""
    store = await caller.open_store()
    details = {"key": wanted.key, "queue": wanted.queue}
    async with audited(store.database, caller.person, caller.host, "submit", f"agent:{wanted.agent}", details):
        return (await submit_posted(store.database, store.settings, caller.folders, wanted)).job


async def get_job(caller: Caller, wanted: JobNumber) -> JobShape:
    """Return a job."""
    store = await caller.open_store()
    return job_shape(await jobs.get(store.database, wanted.job))


async def list_findings(caller: Caller, wanted: FindingFilter) -> ItemList:
    """List items of the review queue."""
    store = await caller.open_store()
    chosen = ItemFilter(
        state=wanted.state if wanted.state != "any" else None,
        kind=wanted.kind,
        severity=wanted.severity,
        plan=wanted.plan,
        **{name: _printable(getattr(wanted, name)) for name in ("agent", "category", "path")},
    )
    return await page_of_items(store.database, chosen, wanted.after, wanted.limit)


def _printable(text: str | None) -> str | None:
    if text is not None and not (text.isprintable() and len(text) <= 200):
        raise UsageError("a filter must be printable text of at most 200 characters")
    return text or None


async def question_of(caller: Caller, number: int | None) -> tuple[int, str]:
    """Return the number and the text of an open question. Without a number, exactly one must be open."""
    listed = (await open_questions((await caller.open_store()).database)).escalations
    found = [one for one in listed if number in (None, one.id)]
    if len(found) != 1:
        numbers = ", ".join(str(one.id) for one in listed[:20])
        which = f"there is no open question {number}" if number is not None else f"{len(listed)} questions are open"
        raise UsageError(f"{which}; the open ones are {numbers}" if listed else "no question is open")
    return found[0].id, found[0].reason


async def answer_question(caller: Caller, wanted: AnswerArguments) -> GivenAnswerShape:
    """Answer a question."""
    if wanted.answer is None:
        raise UsageError("pass an answer: this client cannot ask the person")
    store = await caller.open_store()
    number, _ = await question_of(caller, wanted.question)
    details = {"answer": wanted.answer, "words": wanted.why}
    async with audited(store.database, caller.person, caller.host, "answer", f"question:{number}", details):
        return await answer_posted(store.database, store.settings, number, wanted.answer, wanted.why.strip())


async def record_decision(caller: Caller, wanted: DecisionArguments) -> ReviewDecision:
    """Decide an item of the review queue."""
    store, name = await caller.open_store(), wanted.id or str(uuid4())
    details = {"verb": wanted.verb, "decision": name}
    async with audited(store.database, caller.person, caller.host, "decide", f"item:{wanted.item}", details):
        return await decide_posted(store.database, wanted.item, name, wanted.verb, caller.person.name, wanted.note)


class McpTool(NamedTuple):
    """A tool. Its role is what the API requires for the same; a viewer changes nothing."""

    name: str
    title: str
    description: str
    arguments: type[msgspec.Struct]
    answer: Any
    run: Callable[..., Awaitable[Any]]
    role: Role = "viewer"
    #: Whether paths are looked up, so that the folders of the client must be known.
    uses_folders: bool = False

    @property
    def is_read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.role == "viewer"

    def schemas(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the JSON Schemas of the arguments and of the answer."""
        return _object_schema(self.arguments), _object_schema(self.answer)

    def decode(self, arguments: Mapping[str, Any]) -> msgspec.Struct:
        """Return the arguments of a call. Some models send numbers as text. Raises UsageError if they do not fit."""
        try:
            return msgspec.convert(arguments, self.arguments, strict=False)
        except (msgspec.ValidationError, RecursionError) as error:
            raise UsageError(f"the arguments do not fit: {error}") from error


def _object_schema(wanted: Any) -> dict[str, Any]:
    """Return a schema whose root is an object, as MCP requires, and not a reference to one."""
    schema = msgspec.json.schema(wanted)
    definitions: dict[str, Any] = schema["$defs"]
    name = schema["$ref"].rpartition("/")[2]
    return {**definitions.pop(name), **({"$defs": definitions} if definitions else {})}


TOOLS = (
    McpTool(
        "verify_text",
        "Verify a text",
        "Check whether what a text states about the code is true: files, lines, quotes and names that it cites. "
        "Use it for any report, plan or review, before you rely on it.",
        *(VerifyArguments, CheckShape, verify_text),
        uses_folders=True,
    ),
    McpTool(
        "check_result",
        "Check a result",
        "Check a subagent's result against the contract and the checkout. The verdict is accept, revise or reject, "
        "and each violation states what to fix.",
        *(CheckArguments, CheckShape, check_result),
        uses_folders=True,
    ),
    McpTool(
        "explain_rule",
        "Explain a rule",
        "Explain a rule of the contract: what it checks, why, and how to fix a violation.",
        *(RuleName, RuleListShape, explain_rule),
    ),
    McpTool(
        "prompt_for",
        "Instructions for a subagent",
        "Return the instructions to append to a subagent's task, so that its result has the form that is checked.",
        *(PromptWanted, PromptShape, prompt_for),
        uses_folders=True,
    ),
    McpTool(
        "merge_results",
        "Merge results",
        "Merge the results of several agents and SARIF files into one report: same findings once, conflicts, decision.",
        *(MergeArguments, Merge, merge_results),
        uses_folders=True,
    ),
    McpTool(
        "submit_job",
        "Submit a job",
        "Put a job for a subagent into the queue. A `remit worker` runs it. Unknown tools are refused.",
        *(JobSubmission, JobShape, submit_job, "operator"),
        uses_folders=True,
    ),
    McpTool(
        *("get_job", "Show a job", "Return the state of a job, its verdict and its result."),
        *(JobNumber, JobShape, get_job),
    ),
    McpTool(
        "list_findings",
        "List findings",
        "List findings, conflicts and results that a person should decide, the worst first.",
        *(FindingFilter, ItemList, list_findings),
    ),
    McpTool(
        "answer_question",
        "Answer a question",
        "Answer an open question of a plan. Do not invent an answer: without `answer`, the person is asked.",
        *(AnswerArguments, GivenAnswerShape, answer_question, "reviewer"),
    ),
    McpTool(
        "record_decision",
        "Record a decision",
        "Record what the person decided about a finding: confirm, reject, unsure or skip. Never decide for the person.",
        *(DecisionArguments, ReviewDecision, record_decision, "reviewer"),
    ),
)
