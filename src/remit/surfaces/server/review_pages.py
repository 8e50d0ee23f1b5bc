"""The review queue: the list, one item with its code and the agents' opinions, and the decisions of reviewers.

An item that a reviewer opens is locked for that reviewer for a while. The page chooses the id of a decision, so that a
request that is sent twice decides once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args
from urllib.parse import urlencode
from uuid import uuid4

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from remit.errors import RemitError
from remit.ledger.items import ItemKind
from remit.merging.merge_data import SCALE
from remit.operations.review_items import Undo, decide_item, page_of_items, place_of, whole_number
from remit.operations.served import lock_next, undo
from remit.store import review_queue
from remit.store.review_queue import ItemFilter, ItemState, ItemTaken, ReviewItem
from remit.surfaces.server.job_pages import coloured_lines
from remit.surfaces.server.site import (
    caller_of,
    choice_of,
    form_of,
    need_role,
    number_of,
    person_of,
    render,
    see_other,
    site_of,
    write,
)
from remit.workspace.commit import Commit
from remit.workspace.files import SourceFile, Workspace, WorkTree

PAGE_ITEMS = 100
#: Lines of code before and after the cited ones.
_AROUND = 8
_MAX_LINES = 80
#: The key, the verb and the text of each button.
BUTTONS = (("c", "confirm", "Confirm"), ("r", "reject", "Reject"), ("u", "unsure", "Not sure"), ("s", "skip", "Skip"))
_TEXTS = ("agent", "category", "path")


class CodeExcerpt(NamedTuple):
    """Lines of a file at a commit; `problem` states why they are missing."""

    start: int = 1
    lines: tuple[str, ...] = ()
    problem: str = ""


def item_filter_of(values: Mapping[str, str]) -> ItemFilter:
    """Return which items are asked for, from the parameters of an address or the fields of a form."""
    chosen = {name: values.get(name, "").strip()[:200] or None for name in _TEXTS}
    kind, severity, state = values.get("kind"), values.get("severity"), values.get("state") or "open"
    return ItemFilter(
        state=state if state in get_args(ItemState) else None,  # type: ignore[arg-type]
        kind=kind if kind in get_args(ItemKind) else None,  # type: ignore[arg-type]
        severity=severity if severity in SCALE else None,
        plan=whole_number(values.get("plan", "")),
        **{name: value if value and value.isprintable() else None for name, value in chosen.items()},
    )


def query_of(wanted: ItemFilter) -> dict[str, str]:
    """Return a filter as parameters of an address."""
    values = {name: str(value) for name, value in msgspec.structs.asdict(wanted).items() if value is not None}
    if wanted.state is None:
        values["state"] = "any"
    elif wanted.state == "open":
        del values["state"]
    return values


def address_of(path: str, wanted: ItemFilter, **more: str) -> str:
    """Return an address with a filter."""
    query = urlencode({**query_of(wanted), **more})
    return f"{path}?{query}" if query else path


async def item_list(request: Request) -> Response:
    """List items, the worst first."""
    site, wanted = site_of(request), item_filter_of(request.query_params)
    after = request.query_params.get("after", "")
    listed = await page_of_items(site.database, wanted, after, PAGE_ITEMS)
    person = person_of(request)
    return render(
        request,
        "review.html",
        items=listed.items,
        after=listed.after,
        is_first=place_of(after) is None,
        wanted=wanted,
        query=query_of(wanted),
        progress=await review_queue.progress(site.database, wanted, reviewer=person.name),
        choices={"state": (*get_args(ItemState), "any"), "kind": get_args(ItemKind), "severity": SCALE},
        history=await review_queue.history(site.database, limit=10),
        may_review=person.may("reviewer"),
        notice=choice_of(request, "notice", ("none",)),
    )


async def _lock(request: Request, item: ReviewItem) -> ReviewItem:
    """Lock an item for the reviewer who opens it. The own lock is only renewed, so that the audit log has it once."""
    database, reviewer = site_of(request).database, person_of(request).name
    if item.locked_by is not None:  # by the reviewer, or by another one, which `lock_item` refuses
        return await review_queue.lock_item(database, item.id, reviewer)
    async with write(request, "reviewer", "lock", f"item:{item.id}"):
        return await review_queue.lock_item(database, item.id, reviewer)


async def item_page(request: Request) -> Response:
    """Show one item. A reviewer who opens an open item locks it."""
    site, number, person = site_of(request), number_of(request), person_of(request)
    wanted = item_filter_of(request.query_params)
    item = await review_queue.get_item(site.database, number)
    may_decide = person.may("reviewer") and item.state in ("open", "unsure")
    taken = ""
    if may_decide:
        try:
            item = await _lock(request, item)
        except ItemTaken as error:
            taken, may_decide = error.by, False
    done = request.query_params.get("done", "")
    decisions = await review_queue.history(site.database, reviewer=person.name, limit=1)
    last = decisions[0] if decisions and decisions[0].undone is None else None
    code = await asyncio.to_thread(read_code, item, site.folder)
    return render(
        request,
        "item.html",
        item=item,
        body=body_view(item),
        code=code,
        coloured=coloured_lines("\n".join(code.lines), path=item.path or ""),
        wanted=wanted,
        query=query_of(wanted),
        progress=await review_queue.progress(site.database, wanted, reviewer=person.name),
        history=await review_queue.history(site.database, item=number),
        may_decide=may_decide,
        taken=taken,
        buttons=BUTTONS,
        decision=str(uuid4()),
        last=last,
        is_after=bool(done) and last is not None and last.id == done,
    )


def body_view(item: ReviewItem) -> dict[str, Any]:
    """Return the body of an item with all fields that the page uses."""
    body = item.body
    finding: dict[str, Any] = body.get("finding") or {}
    opinion = dict.fromkeys(("agent", "id", "severity", "confidence", "line", "title", "details", "claimed_confidence"))
    opinions = [{**opinion, "evidence": "", "flags": [], **stated} for stated in finding.get("opinions") or ()]
    conflicts = [
        {"kind": "", "finding": "", "agents": [], "why": "", **stated} for stated in body.get("conflicts") or ()
    ]
    result = {"agent": "", "status": "", "verdict": None, "confidence": None, **(body.get("result") or {})}
    return {
        "opinions": opinions,
        "conflicts": conflicts,
        "flags": finding.get("flags") or [],
        "verified": finding.get("verified"),
        "result": result if body.get("result") else None,
        "why": str(body.get("why") or ""),
        "text": str(body.get("text") or ""),
    }


def read_code(item: ReviewItem, served: Path) -> CodeExcerpt:
    """Return the code of an item at the commit it was checked against, if the checkout is on this host.

    Rows of the database must not name other files of this host: only commits are read, and the files on disk of
    `served`, the folder of the server, if it has no commit.
    """
    if not item.path:
        return CodeExcerpt(problem="The item is not about one file.")
    root = Path(item.project or "/nowhere")
    if not root.is_dir():
        return CodeExcerpt(problem="The checkout is not on the host of this server.")
    try:
        files: Workspace = Commit(root, item.revision or "HEAD")
    except RemitError:
        if item.revision or not root.resolve().is_relative_to(served.resolve()):
            return CodeExcerpt(problem="The checkout does not have the commit that the claims were checked against.")
        files = WorkTree(root)
    try:
        file = files.read(item.path)
    except RemitError:
        return CodeExcerpt(problem="The file cannot be read.")
    finally:
        files.close()
    if not isinstance(file, SourceFile):
        return CodeExcerpt(problem="There is no such text file.")
    line = item.line or 1
    start = max(1, line - _AROUND)
    last = min(max(item.end_line or 0, line) + _AROUND, start + _MAX_LINES)
    return CodeExcerpt(start, tuple(file.lines[start - 1 : last]))


async def next_page(request: Request) -> Response:
    """Lock the next item of the queue and lead to it."""
    form = await form_of(request)
    return await _lead_to_next(request, item_filter_of(form))


async def _lead_to_next(request: Request, wanted: ItemFilter, **more: str) -> Response:
    item = await lock_next(caller_of(request), wanted) if person_of(request).may("reviewer") else None
    if item is None:
        return see_other(address_of("/review", wanted, notice="none"))
    return see_other(address_of(f"/review/{item.id}", wanted, **more))


async def decide(request: Request) -> Response:
    """Store a decision and lead to the next item."""
    number = number_of(request)
    form = await form_of(request)
    verb, decision = form.get("verb", ""), form.get("decision", "")
    async with write(request, "reviewer", "decide", f"item:{number}", {"verb": verb, "decision": decision}):
        reviewer = person_of(request).name
        await decide_item(site_of(request).database, number, decision, verb, reviewer, form.get("note", ""))
    return await _lead_to_next(request, item_filter_of(form), done=decision)


async def undo_decision(request: Request) -> Response:
    """Undo a decision and lead to its item."""
    form = await form_of(request)
    need_role(request, "reviewer")
    undone = await undo(caller_of(request), Undo(decision=form.get("decision", ""), note=form.get("note", "")))
    return see_other(address_of(f"/review/{undone.item}", item_filter_of(form)))


async def renew(request: Request) -> Response:
    """Keep the lock of an item whose page is open."""
    is_kept = await review_queue.renew_lock(site_of(request).database, number_of(request), person_of(request).name)
    return Response(status_code=204 if is_kept else 409)


async def release(request: Request) -> Response:
    """Give an item back without a decision."""
    number = number_of(request)
    async with write(request, "reviewer", "release", f"item:{number}"):
        await review_queue.release_lock(site_of(request).database, number, person_of(request).name)
    return Response(status_code=204)


ROUTES = (
    Route("/review", item_list),
    Route("/review/next", next_page, methods=["POST"]),
    Route("/review/undo", undo_decision, methods=["POST"]),
    Route("/review/{number:number}", item_page),
    Route("/review/{number:number}/decide", decide, methods=["POST"]),
    Route("/review/{number:number}/renew", renew, methods=["POST"]),
    Route("/review/{number:number}/release", release, methods=["POST"]),
)
