"""The API for documents: check, verify and merge posted texts against the checkout of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from remit.merging.model import Merge
from remit.reports.shapes import CheckShape
from remit.surfaces.requests.folders import Folders
from remit.surfaces.requests.posted_documents import (
    CheckBody,
    MergeBody,
    VerifyBody,
    check_document,
    merge_documents,
    verify_document,
)
from remit.surfaces.server.operations import Operation
from remit.surfaces.server.site import site_of

B = TypeVar("B")
A = TypeVar("A")
#: Requests whose documents are checked at the same time; the others wait.
MAX_AT_A_TIME = 2


async def check(request: Request, body: CheckBody) -> CheckShape:
    """Check the results in a document, as `remit check` does."""
    return await _done(request, check_document, body)


async def verify(request: Request, body: VerifyBody) -> CheckShape:
    """Check the claims of any text, as `remit verify` does."""
    return await _done(request, verify_document, body)


async def merge(request: Request, body: MergeBody) -> Merge:
    """Merge documents into one report, as `remit merge` does."""
    return await _done(request, merge_documents, body)


async def _done(request: Request, work: Callable[[Folders, B], A], body: B) -> A:
    async with request.app.state.checks:
        return await asyncio.to_thread(work, Folders([site_of(request).folder]), body)


OPERATIONS = (
    Operation("POST", "/check", "check", "Check results against the contract", "viewer", check, CheckShape, CheckBody),
    Operation("POST", "/verify", "verify", "Check the claims of a text", "viewer", verify, CheckShape, VerifyBody),
    Operation("POST", "/merge", "merge", "Merge results into one report", "viewer", merge, Merge, MergeBody),
)
