"""Who may use the server: tokens, the sessions of browsers, and the log of all writes.

Tokens and cookies are random texts of 256 bits. The store has only their SHA-256 digests, which a random text of this
length makes as safe as a slow hash.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

from psycopg.types.json import Jsonb

from remit.errors import RemitError, UsageError
from remit.store.database import Database
from remit.store.storable import is_storable, to_storable

Role = Literal["viewer", "reviewer", "operator"]
#: From the least to the most permitted; each role may do what the roles before it may.
ROLES: tuple[Role, ...] = get_args(Role)
#: How long a browser stays signed in.
SESSION_SECONDS = 12 * 3600
#: How long the link that `remit serve` prints can be used.
LINK_SECONDS = 12 * 3600
_PREFIX = "remit_"
_MAX_NAME = 80
_MAX_SECRET = 200


class Person(NamedTuple):
    """Who sends a request, by a token or a session."""

    token: int
    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Return whether this person's role includes another one."""
        return ROLES.index(self.role) >= ROLES.index(role)


class AccessToken(NamedTuple):
    """A token in the store; the text of a token is shown once, when it is made."""

    id: int
    name: str
    role: Role
    created: datetime
    expires: datetime | None
    used: datetime | None = None
    revoked: datetime | None = None


class AuditEntry(NamedTuple):
    """A write: who, when, what, and how it ended. Without an outcome, it was interrupted."""

    id: int
    at: datetime
    who: str
    role: str
    host: str
    action: str
    target: str
    details: dict[str, Any]
    outcome: str | None


def digest_of_secret(secret: str) -> bytes:
    """Return what the store keeps of a token or a cookie."""
    return hashlib.sha256(secret[:_MAX_SECRET].encode("utf-8", "replace")).digest()


async def add_token(
    database: Database, name: str, role: Role, *, days: float | None = None, is_link: bool = False
) -> tuple[AccessToken, str]:
    """Make a token. Return it with its text, which cannot be read again."""
    if not is_storable(name) or not name.isprintable() or not 0 < len(name.strip()) <= _MAX_NAME:
        raise UsageError(f"the name of a token must have 1 to {_MAX_NAME} printable characters, not {name[:100]!r}")
    secret = _PREFIX + secrets.token_urlsafe(32)
    seconds = LINK_SECONDS if is_link else None if days is None else days * 86_400
    row = await database.row(
        "access.add_token",
        name=name.strip(),
        role=role,
        digest=digest_of_secret(secret),
        is_link=is_link,
        seconds=seconds,
    )
    if row is None:
        raise RemitError("the token was not stored")
    return AccessToken(**row), secret


async def list_tokens(database: Database) -> list[AccessToken]:
    """Return all tokens, also the revoked ones."""
    return [AccessToken(**row) for row in await database.rows("access.tokens")]


async def revoke_token(database: Database, token: int) -> str:
    """Revoke a token, end its sessions and return its name. Raises UsageError if it does not exist."""
    row = await database.row("access.revoke", token=token)
    if row is None:
        raise UsageError(f"there is no token {token}; `remit tokens list` shows all tokens")
    return str(row["name"])


async def person_of_token(database: Database, secret: str) -> Person | None:
    """Return who a bearer token belongs to, or None if it is not valid."""
    row = await database.row("access.of_bearer", digest=digest_of_secret(secret))
    if row is None:
        return None
    await database.rows("access.note_use", token=row["id"])
    return Person(row["id"], row["name"], row["role"])


async def person_of_session(database: Database, cookie: str) -> Person | None:
    """Return who a session belongs to, or None if it is not valid."""
    row = await database.row("access.of_session", digest=digest_of_secret(cookie))
    return Person(row["id"], row["name"], row["role"]) if row else None


async def begin_session(database: Database, secret: str, *, is_in_address: bool = False) -> str | None:
    """Exchange the token of a link, which is used up, or a bearer token for a session. Return the cookie, or None.

    An address stays in the history of a browser and in logs, so a bearer token `is_in_address` is not accepted.
    """
    digest = digest_of_secret(secret)
    row = await database.row("access.use_link", digest=digest)
    if row is None and not is_in_address:
        row = await database.row("access.of_bearer", digest=digest)
    if row is None:
        return None
    cookie = secrets.token_urlsafe(32)
    await database.rows(
        "access.begin_session", digest=digest_of_secret(cookie), token=row["id"], seconds=SESSION_SECONDS
    )
    return cookie


async def end_session(database: Database, cookie: str) -> None:
    """End a session."""
    await database.rows("access.end_session", digest=digest_of_secret(cookie))


async def drop_link(database: Database, token: int) -> None:
    """Remove the token of a link that was not used."""
    await database.rows("access.drop_link", token=token)


class AuditedWrite:
    """A write that is being made."""

    #: What was written, if the target does not name it.
    result = ""


@asynccontextmanager
async def audited(
    database: Database, person: Person, host: str, action: str, target: str, details: dict[str, Any] | None = None
) -> AsyncIterator[AuditedWrite]:
    """Log a write before it is made, and afterwards whether it was made or refused."""
    made = AuditedWrite()
    row = await database.row(
        "access.begin_write",
        who=person.name,
        role=person.role,
        host=host,
        action=action,
        target=to_storable(target)[:200],
        details=Jsonb(to_storable(details or {})),
    )
    number = int(row["id"]) if row else 0
    try:
        yield made
    except UsageError as error:
        await database.rows("access.end_write", id=number, outcome=to_storable(f"refused: {error}")[:500])
        raise
    except RemitError as error:
        await database.rows("access.end_write", id=number, outcome=to_storable(f"failed: {error}")[:500])
        raise
    await database.rows("access.end_write", id=number, outcome=f"done: {made.result}" if made.result else "done")


async def audit_log(database: Database, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
    """Return the newest writes, those before an entry's number."""
    return [AuditEntry(**row) for row in await database.rows("access.audit", before=before, limit=limit)]
