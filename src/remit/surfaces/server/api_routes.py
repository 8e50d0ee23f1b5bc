"""The API for programs: the addresses of `remit.operations.served`, and the OpenAPI document about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.errors import UsageError
from remit.operations import served
from remit.operations.declaration import arguments_on, convert_arguments
from remit.operations.served import Answered, Operation
from remit.surfaces.server.site import CONTENT_TYPE, Problem, caller_of, number_of
from remit.surfaces.server.streams import job_events

PREFIX = "/api/v1"
OPERATIONS = tuple(operation for operation in served.OPERATIONS if operation.address is not None)
_JSON = "application/json"
_STREAM = "text/event-stream"
_REFERENCE = "#/components/schemas/{name}"
#: What can go wrong with any operation.
_PROBLEMS = {
    "401": "the token is missing or not valid",
    "403": "the request comes from another site",
    "422": "the request cannot be processed; `detail` states why",
    "503": "the database is unavailable, or the server is busy; try again later",
}


def route_of(operation: Operation) -> Route:
    """Return the route of an operation. One without a type of answer is a stream of events."""
    address = operation.endpoint

    async def endpoint(request: Request) -> Response:
        if operation.answer is None:
            return await job_events(request)
        sent = await _arguments(request, operation)
        wanted = convert_arguments(operation.arguments, "http", sent)
        answer = await operation.run(caller_of(request), wanted)
        value, status = answer if isinstance(answer, Answered) else (answer, address.status)
        return Response(msgspec.json.encode(value), status_code=status, media_type=_JSON)

    return Route(PREFIX + address.path, endpoint, methods=[address.method], name=address.name)


async def _arguments(request: Request, operation: Operation) -> dict[str, Any]:
    """Return what a request sends: the fields of its body, and the one that is in the address."""
    address = operation.endpoint
    sent: dict[str, Any] = {}
    if _body_of(operation) is not None:
        try:
            sent = msgspec.json.decode(await request.body(), type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"the body is not what this operation needs: {error}") from error
        if address.in_path in sent:
            raise UsageError(f"the body is not what this operation needs: {address.in_path} is in the address")
    return {**sent, address.in_path: number_of(request)} if address.in_path else sent


def openapi_document(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """Return the OpenAPI document of all operations."""
    types = [operation.answer for operation in operations if operation.answer is not None]
    bodies = [body for operation in operations if (body := _body_of(operation)) is not None]
    _, components = msgspec.json.schema_components([*bodies, *types, Problem], ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        methods = paths.setdefault(PREFIX + operation.endpoint.template, {})
        methods[operation.endpoint.method.lower()] = _entry(operation)
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


def _body_of(operation: Operation) -> type[msgspec.Struct] | None:
    """Return the type of the body of a request, without the field that is in the address; None without a field."""
    body = arguments_on(operation.arguments, "http", operation.endpoint.in_path)
    return body if body.__struct_fields__ else None


def _entry(operation: Operation) -> dict[str, Any]:
    address = operation.endpoint
    entry: dict[str, Any] = {
        "operationId": address.name,
        "summary": address.summary,
        "responses": {str(address.status): _success(operation), **_problems(operation)},
    }
    if address.in_path:
        entry["parameters"] = [{"name": "number", "in": "path", "required": True, "schema": {"type": "integer"}}]
    if (body := _body_of(operation)) is not None:
        entry["requestBody"] = {"required": True, "content": {_JSON: {"schema": _schema(body)}}}
    return entry


def _success(operation: Operation) -> dict[str, Any]:
    if operation.answer is None:
        return {"description": "server-sent events", "content": {_STREAM: {"schema": {"type": "string"}}}}
    return {"description": "done", "content": {_JSON: {"schema": _schema(operation.answer)}}}


def _problems(operation: Operation) -> dict[str, Any]:
    wanted = dict(_PROBLEMS)
    if "{" in operation.endpoint.path:
        wanted["404"] = "it does not exist"
    content = {CONTENT_TYPE: {"schema": _schema(Problem)}}
    return {status: {"description": text, "content": content} for status, text in sorted(wanted.items())}


def _schema(wanted: Any) -> Any:
    (schema,), _ = msgspec.json.schema_components([wanted], ref_template=_REFERENCE)
    return schema
