"""Commands that only a person gives need a terminal, a token, or the consent that a client asked for.

A program of an agent has none of them. One that makes itself a terminal gets through: this is
a protection against mistakes, not a sandbox.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from remit.clients.hooks.compiled import folder_of, project_of
from remit.errors import UsageError
from remit.gate.person_commands import has_consent
from remit.orchestrate.remote import TOKEN_VARIABLE
from remit.reports.layout import escape_control
from remit.surfaces.cli.with_database import with_database

if TYPE_CHECKING:
    from remit.dispatch.worker_settings import Settings
    from remit.store.access import Person, Role
    from remit.store.database import Database


def require_person(command: str, role: Role = "reviewer") -> None:
    """Raise UsageError unless a person gives this command: at a terminal, with a token, or as a client has asked.

    REMIT_SERVER_TOKEN has a token of `remit tokens` with at least this role.
    """
    if has_terminal():
        return
    if has_consent(folder_of(project_of(os.getcwd())), command):  # noqa: PTH109 (a name)
        return
    secret = os.environ.get(TOKEN_VARIABLE, "")
    owner = _person_of(secret) if secret else None
    if owner is not None and owner.may(role):
        return
    kind = f"a token of `remit tokens add` (at least {role})"
    reason = f"`{command}` is for a person: run it in a terminal, or set {TOKEN_VARIABLE} to {kind}"
    if owner is not None:
        reason += f"; the token in {TOKEN_VARIABLE} is that of {escape_control(owner.name)}, a {owner.role}"
    elif secret:
        reason += f"; the token in {TOKEN_VARIABLE} is not valid in this database, or was revoked"
    raise UsageError(reason)


def has_terminal() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def _person_of(secret: str) -> Person | None:
    from remit.store.access import person_of_token  # late, as the database: most people have a terminal

    async def person(database: Database, _: Settings) -> Person | None:
        return await person_of_token(database, secret)

    return with_database(person)
