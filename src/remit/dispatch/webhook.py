"""Notices to a webhook: questions, finished plans, budgets at 80 percent and new critical findings.

The database adds a notice to the outbox in the transaction of what it is about. A worker sends it until the receiver
accepts it. A notice may arrive twice, if a worker dies after it was sent; its id is the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import json
import logging
import os
import ssl
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from remit.errors import ConfigurationError
from remit.secrets.scan import redact

if TYPE_CHECKING:
    from remit.store.database import Database

log = logging.getLogger("remit.notices")
#: The variable with the secret that signs notices.
SECRET = "REMIT_NOTICES_SECRET"  # noqa: S105 (a name)
SIGNATURE = "X-Remit-Signature"
#: After this number of tries a notice is given up.
MAX_TRIES = 12
_TIMEOUT = 10.0
_BATCH = 20
#: How long a sender keeps a notice to itself; longer than a batch takes.
_LEASE_SECONDS = 2 * _TIMEOUT * _BATCH
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 3600.0
_MAX_TEXT = 1_000


class Notice(NamedTuple):
    """A notice of the outbox."""

    id: int
    key: str
    kind: str
    data: dict[str, Any]
    created: datetime
    tries: int


class NoticeSettings(NamedTuple):
    """Where notices go. `link` is the address of the server that their links lead to."""

    webhook: str
    link: str

    def checked(self) -> NoticeSettings:
        """Return the settings; raise ConfigurationError if the address is not one of a web server."""
        try:
            parts = urlsplit(self.webhook)
            is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_valid = False
        if self.webhook and not is_valid:
            raise ConfigurationError("notices.webhook must be a URL that starts with https:// or http://")
        return self


async def deliver(database: Database, settings: NoticeSettings) -> int:
    """Send the notices that are due, and return how many were accepted."""
    if not settings.webhook:
        return 0
    await database.rows("notices.expire")
    sent = 0
    for row in await database.rows("notices.take", lease=_LEASE_SECONDS, limit=_BATCH):
        notice = Notice(**row)
        error = await asyncio.to_thread(send, notice, settings)
        if error is None:
            await database.rows("notices.sent", notice=notice.id)
            sent += 1
            continue
        is_last = notice.tries >= MAX_TRIES
        log.warning("notice %s: %s%s", notice.key, error, "; given up" if is_last else "")
        values = {"error": error, "delay": pause_after(notice.tries), "is_last": is_last}
        await database.rows("notices.failed", notice=notice.id, **values)
    await database.rows("notices.prune")
    return sent


async def note_day_budget(database: Database, budget: float, now: datetime | None = None) -> None:
    """Add a notice, once a day, if the jobs of today have spent 80 percent of the budget of a day."""
    if budget <= 0:
        return
    midnight = (now or datetime.now().astimezone()).replace(hour=0, minute=0, second=0, microsecond=0)
    key = f"budget-day-{midnight:%Y-%m-%d}"
    if not await database.rows("notices.is_known", key=key):
        await database.rows("notices.day", key=key, since=midnight, budget=budget)


def pause_after(tries: int) -> float:
    """Return the seconds until a notice is sent again."""
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (tries - 1))


def send(notice: Notice, settings: NoticeSettings) -> str | None:
    """Send one notice. Return None if the receiver accepted it, else the reason."""
    body = json.dumps(payload(notice, settings.link), ensure_ascii=True).encode("ascii")
    headers = {"Content-Type": "application/json", "User-Agent": "remit", "X-Remit-Notice": notice.key}
    secret = os.environ.get(SECRET, "")
    if secret:
        headers[SIGNATURE] = signature(body, secret, int(time.time()))
    address = urlsplit(settings.webhook)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    options: dict[str, Any] = {"context": ssl.create_default_context()} if address.scheme == "https" else {}
    connection = kind(str(address.hostname), address.port, timeout=_TIMEOUT, **options)
    try:
        path = (address.path or "/") + (f"?{address.query}" if address.query else "")
        connection.request("POST", path, body=body, headers=headers)
        answer = connection.getresponse()  # a redirect is not followed: it would send the notice to another receiver
        return None if 200 <= answer.status < 300 else f"the receiver answered {answer.status}"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return redact(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
    finally:
        connection.close()


def signature(body: bytes, secret: str, time: int) -> str:
    """Return `t=SECONDS,v1=HEX`: an HMAC-SHA256 of the time, a dot and the body."""
    digest = hmac.new(secret.encode(), f"{time}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={time},v1={digest}"


def payload(notice: Notice, link: str) -> dict[str, Any]:
    """Return the body of a notice: `text` is what Slack and compatible services show."""
    text, path = _TEXTS[notice.kind](notice.data)
    target = link.rstrip("/") + path
    return {
        "id": notice.key,
        "kind": notice.kind,
        "at": notice.created.isoformat(),
        "link": target,
        "text": f"{text}\n{target}",
        "data": notice.data,
    }


def _question(data: Mapping[str, Any]) -> tuple[str, str]:
    plan, question = data.get("plan"), data.get("question")
    return f"Question of plan {plan}: {plain(data.get('reason'))}", f"/plans/{plan}#question-{question}"


def _plan(data: Mapping[str, Any]) -> tuple[str, str]:
    return f"Plan finished: {plain(data.get('name'))} ({plain(data.get('outcome'))})", f"/plans/{data.get('plan')}"


def _budget(data: Mapping[str, Any]) -> tuple[str, str]:
    used, limit = (float(data.get(name) or 0) for name in ("used", "limit"))
    unit = plain(data.get("budget")).removeprefix("tree-")
    amounts = f"${used:.2f} of ${limit:.2f}" if unit == "cost" else f"{used:,.0f} of {limit:,.0f} tokens"
    share = f"{100 * used / limit:.0f} %" if limit else "all"
    if unit == "day":
        return f"The jobs of today have used {share} of the budget of a day: ${used:.2f} of ${limit:.2f}", "/"
    return f"Job {data.get('job')} ({plain(data.get('agent'))}) has used {share} of its budget: {amounts}", (
        f"/jobs/{data.get('job')}"
    )


def _critical(data: Mapping[str, Any]) -> tuple[str, str]:
    line = f":{data['line']}" if data.get("line") else ""
    place = f" at {plain(data.get('path'))}{line}" if data.get("path") else ""
    agents = ", ".join(plain(agent) for agent in data.get("agents") or ())
    return f"Critical finding{place}: {plain(data.get('title'))} ({agents})", f"/review/{data.get('item')}"


#: Kind -> its text and the path of its link.
_TEXTS: dict[str, Callable[[Mapping[str, Any]], tuple[str, str]]] = {
    "question": _question,
    "plan": _plan,
    "budget": _budget,
    "critical": _critical,
}


def plain(value: object) -> str:
    """Return text of agents without what Slack obeys: mentions, links and line breaks."""
    text = " ".join(str(value if value is not None else "").split())[:_MAX_TEXT]
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
