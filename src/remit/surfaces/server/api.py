"""The API for programs: one object is the address, the check of role and body, and the entry in OpenAPI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.errors import UsageError
from remit.ledger.ledger_entries import LedgerEntry
from remit.operations import served
from remit.operations.declaration import arguments_on, operation_of
from remit.operations.documents import Folders
from remit.operations.jobs import QuestionList, open_questions
from remit.operations.review_items import ItemList, page_of_items, whole_number
from remit.operations.served import Answered, Caller, Operation, Store
from remit.orchestrate.api import plan_result
from remit.reports.jobs import JobShape, job_shape
from remit.reports.plans import plan_shape
from remit.store import jobs, ledger, review_queue
from remit.store.access import Role
from remit.store.ledger import EntryFilter
from remit.store.review_queue import ReviewDecision, ReviewItem
from remit.surfaces.server.job_pages import job_filter_of
from remit.surfaces.server.review_pages import item_filter_of, lock_next
from remit.surfaces.server.site import CONTENT_TYPE, Problem, before_of, need_role, number_of, person_of, site_of, write
from remit.surfaces.server.streams import job_events

PREFIX = "/api/v1"
_JSON = "application/json"
_STREAM = "text/event-stream"
_REFERENCE = "#/components/schemas/{name}"
#: What can go wrong with any operation.
_PROBLEMS = {
    "401": "the token is missing or not valid",
    "403": "the role does not include this operation, or the request comes from another site",
    "422": "the request cannot be processed; `detail` states why",
}


class QueryParameter(NamedTuple):
    """A parameter of an address."""

    name: str
    description: str
    type: str = "string"


class ApiOperation(NamedTuple):
    """An operation: `answer` is the type of its answer, None for a stream; `body` the type of its JSON body."""

    method: str
    path: str
    name: str
    summary: str
    role: Role
    run: Callable[..., Awaitable[Any]]
    answer: Any = None
    body: type[msgspec.Struct] | None = None
    query: tuple[QueryParameter, ...] = ()
    status: int = 200

    @property
    def address(self) -> str:
        """The address in the OpenAPI document: without the types of its parameters."""
        return PREFIX + self.path.replace(":number", "")


def caller_of(request: Request) -> Caller:
    """Return who calls an operation. Roots and files of another machine mean nothing here."""
    site = site_of(request)

    async def store() -> Store:
        return Store(site.database, site.settings)

    host = request.client.host if request.client else ""
    folders = Folders([site.folder], may_read=False)
    return Caller(person_of(request), host, folders, store, checks=request.app.state.checks)


def served_operation(served: Operation) -> ApiOperation:
    """Return the operation of the API for one that programs call; the field in the address is not in the body."""
    address = served.address
    assert address is not None  # noqa: S101 (the table of the API has only these)
    body = arguments_on(served.arguments, "http", address.in_path)

    async def run(request: Request, sent: msgspec.Struct | None = None) -> Any:
        in_path = {address.in_path: number_of(request)} if address.in_path else {}
        return await served.run(caller_of(request), operation_of(served.arguments, sent or body(), **in_path))

    return ApiOperation(
        address.method,
        address.path,
        address.name,
        address.summary,
        served.role,
        run,
        served.answer,
        body if body.__struct_fields__ else None,
        status=address.status,
    )


def route_of(operation: ApiOperation) -> Route:
    """Return the route of an operation."""

    async def endpoint(request: Request) -> Response:
        need_role(request, operation.role)
        arguments = [await _body(request, operation.body)] if operation.body is not None else []
        answer = await operation.run(request, *arguments)
        if isinstance(answer, Response):
            return answer
        value, status = answer if isinstance(answer, Answered) else (answer, operation.status)
        return Response(msgspec.json.encode(value), status_code=status, media_type=_JSON)

    return Route(PREFIX + operation.path, endpoint, methods=[operation.method], name=operation.name)


async def _body(request: Request, wanted: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        return msgspec.json.decode(await request.body(), type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the body is not what this operation needs: {error}") from error


def openapi_document(operations: Sequence[ApiOperation], version: str) -> dict[str, Any]:
    """Return the OpenAPI document of all operations."""
    types = [one.body for one in operations if one.body is not None]
    types += [one.answer for one in operations if one.answer is not None]
    _, components = msgspec.json.schema_components([*types, Problem], ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.address, {})[one.method.lower()] = _entry(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Remit",
            "version": version,
            "description": "What `remit serve` answers to programs. The JSON shapes are those of the command line.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _entry(operation: ApiOperation) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"Needs the role {operation.role}.",
        "responses": {str(operation.status): _success(operation), **_problems(operation)},
    }
    names = [part.partition(":")[0].strip("{}") for part in operation.path.split("/") if part.startswith("{")]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _path_schema(operation, name)} for name in names
    ]
    parameters += [
        {"name": one.name, "in": "query", "description": one.description, "schema": {"type": one.type}}
        for one in operation.query
    ]
    if parameters:
        entry["parameters"] = parameters
    if operation.body is not None:
        entry["requestBody"] = {"required": True, "content": {_JSON: {"schema": _schema(operation.body)}}}
    return entry


def _path_schema(operation: ApiOperation, name: str) -> dict[str, Any]:
    return {"type": "integer"} if f"{{{name}:number}}" in operation.path else {"type": "string"}


def _success(operation: ApiOperation) -> dict[str, Any]:
    if operation.answer is None:
        return {"description": "server-sent events", "content": {_STREAM: {"schema": {"type": "string"}}}}
    return {"description": "done", "content": {_JSON: {"schema": _schema(operation.answer)}}}


def _problems(operation: ApiOperation) -> dict[str, Any]:
    wanted = dict(_PROBLEMS)
    if "{" in operation.path:
        wanted["404"] = "it does not exist"
    if operation.method != "GET" and operation.path.startswith("/review"):
        wanted["409"] = "another reviewer is deciding the item, or has decided it"
    content = {CONTENT_TYPE: {"schema": _schema(Problem)}}
    return {status: {"description": text, "content": content} for status, text in sorted(wanted.items())}


def _schema(wanted: Any) -> Any:
    (schema,), _ = msgspec.json.schema_components([wanted], ref_template=_REFERENCE)
    return schema


_MAX_LISTED = 500
_BEFORE = QueryParameter("before", "continue before this number", "integer")
_LIMIT = QueryParameter("limit", f"at most this many, 1 to {_MAX_LISTED}; default: 50", "integer")


class JobList(msgspec.Struct, kw_only=True):
    """Jobs, the newest first."""

    schema: Literal["remit.jobs/1"] = "remit.jobs/1"
    jobs: list[JobShape]


def limit_of(request: Request) -> int:
    """Return how many entries a request asks for."""
    text = request.query_params.get("limit", "50")
    limit = whole_number(text)
    if limit is None or not 0 < limit <= _MAX_LISTED:
        raise UsageError(f"limit must be from 1 to {_MAX_LISTED}, not {text[:40]!r}")
    return limit


async def list_all(request: Request) -> JobList:
    """List jobs."""
    site, wanted = site_of(request), job_filter_of(request)
    found = await site.database.filtered(
        "dashboard.whole_jobs",
        state=wanted.state,
        agent=wanted.agent,
        verdict=wanted.verdict,
        before=before_of(request),
        limit=limit_of(request),
    )
    return JobList(jobs=[job_shape(jobs.as_job(row)) for row in found])


async def show_plan(request: Request) -> dict[str, Any]:
    """Return one plan with its phases, questions and merged report."""
    return plan_shape(await plan_result(site_of(request).database, number_of(request)))


async def questions(request: Request) -> QuestionList:
    """Return the open questions."""
    return await open_questions(site_of(request).database)


_JOB_FILTERS = (
    QueryParameter("state", "queued, running or finished"),
    QueryParameter("agent", "the name of an agent"),
    QueryParameter("verdict", "accept, revise or reject"),
)


class NextItem(msgspec.Struct, kw_only=True):
    """The item that the caller has locked, or null if none waits."""

    schema: Literal["remit.review-item/1"] = "remit.review-item/1"
    item: ReviewItem | None


class FilterBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which items are meant."""

    kind: str = ""
    severity: str = ""
    agent: str = ""
    category: str = ""
    path: str = ""
    plan: str = ""


class LedgerList(msgspec.Struct, kw_only=True):
    """Entries of the ledger, the newest first."""

    schema: Literal["remit.ledger/1"] = "remit.ledger/1"
    entries: list[LedgerEntry]


async def list_items(request: Request) -> ItemList:
    """List items of the review queue."""
    wanted, after = item_filter_of(request.query_params), request.query_params.get("after", "")
    return await page_of_items(site_of(request).database, wanted, after, limit_of(request))


async def show_item(request: Request) -> NextItem:
    """Return one item."""
    return NextItem(item=await review_queue.get_item(site_of(request).database, number_of(request)))


async def next_item(request: Request, body: FilterBody) -> NextItem:
    """Lock the next item for the caller and return it."""
    return NextItem(item=await lock_next(request, item_filter_of(msgspec.structs.asdict(body))))


async def undo(request: Request) -> ReviewDecision:
    """Undo a decision; one of another reviewer with a `note`, a parameter of the address."""
    decision, note = str(request.path_params["decision"]), request.query_params.get("note", "")
    async with write(request, "reviewer", "undo", f"decision:{decision[:40]}", {"note": note} if note else None):
        return await review_queue.undo(site_of(request).database, decision, person_of(request).name, note=note)


async def list_ledger(request: Request) -> LedgerList:
    """List entries of the ledger."""
    wanted: dict[str, Any] = {
        name: value
        for name in ("agent", "source", "verdict")
        if (value := request.query_params.get(name)) and value.isprintable()
    }
    for name in ("job", "plan"):
        text = request.query_params.get(name, "")
        if text and whole_number(text) is None:
            raise UsageError(f"{name} must be a number, not {text[:40]!r}")
        wanted |= {name: whole_number(text)} if text else {}
    entries = await ledger.list_entries(
        site_of(request).database, EntryFilter(**wanted), before=before_of(request), limit=limit_of(request)
    )
    return LedgerList(entries=entries)


_ITEM_FILTERS = tuple(
    QueryParameter(name, text)
    for name, text in (
        ("state", "open (default), confirmed, rejected, unsure or any"),
        ("kind", "finding, conflict or result"),
        ("severity", "critical, important or minor"),
        ("agent", "one of the agents that report it"),
        ("category", "the category of the finding"),
        ("path", "the start of the path"),
        ("after", "continue after this item"),
    )
)
_ITEM = "/review/{number:number}"
OPERATIONS: tuple[ApiOperation, ...] = (
    *(served_operation(operation) for operation in served.OPERATIONS if operation.address is not None),
    ApiOperation(
        "GET", "/jobs", "listJobs", "List jobs", "viewer", list_all, JobList, query=(*_JOB_FILTERS, _BEFORE, _LIMIT)
    ),
    ApiOperation(
        "GET", "/jobs/{number:number}/events", "followJob", "Follow the events of a job", "viewer", job_events
    ),
    ApiOperation("GET", "/plans/{number:number}", "showPlan", "Show a plan", "viewer", show_plan, dict[str, Any]),
    ApiOperation("GET", "/questions", "listQuestions", "List the open questions", "viewer", questions, QuestionList),
    ApiOperation(
        *("GET", "/review", "listItems", "List items of the review queue", "viewer", list_items, ItemList),
        query=(*_ITEM_FILTERS, _LIMIT),
    ),
    ApiOperation("POST", "/review/next", "nextItem", "Lock the next item", "reviewer", next_item, NextItem, FilterBody),
    ApiOperation("GET", _ITEM, "showItem", "Show an item", "viewer", show_item, NextItem),
    ApiOperation(
        "POST", "/review/decisions/{decision}/undo", "undoDecision", "Undo a decision", "reviewer", undo, ReviewDecision
    ),
    ApiOperation(
        *("GET", "/ledger", "listLedger", "List entries of the ledger", "viewer", list_ledger, LedgerList),
        query=(
            QueryParameter("agent", "the name of an agent"),
            QueryParameter("source", "job, plan, hook, check, verify, merge or review"),
            QueryParameter("verdict", "accept, revise or reject"),
            QueryParameter("job", "the number of a job", "integer"),
            QueryParameter("plan", "the number of a plan", "integer"),
            QueryParameter("before", "continue before this number", "integer"),
            _LIMIT,
        ),
    ),
)
