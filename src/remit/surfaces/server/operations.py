"""Operations of the API: one object is the address, the check of role and body, and the entry in OpenAPI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.errors import UsageError
from remit.operations.declaration import arguments_on, operation_of
from remit.operations.folders import Folders
from remit.operations.served import Answered, Caller, Operation, Store
from remit.store.access import Role
from remit.surfaces.server.problems import CONTENT_TYPE, Problem
from remit.surfaces.server.site import need_role, number_of, person_of, site_of

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
