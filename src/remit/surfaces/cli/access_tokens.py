"""`remit tokens`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from remit.dispatch.settings import Settings
from remit.reports.formats import format_json
from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control
from remit.reports.ledger_shapes import AccessTokenShape, AccessTokensShape
from remit.store.access import AccessToken, Role, add_token, list_tokens, revoke_token
from remit.store.database import Database
from remit.surfaces.cli.printing import print_lines, print_text
from remit.surfaces.cli.store import with_database

_FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)


@click.group("tokens")
def command() -> None:
    """Manage the tokens of `remit serve`: who may see, decide and operate.

    A viewer sees everything, a reviewer also decides review items and answers questions, and an operator also submits,
    cancels and retries jobs.

    \b
    Examples:
      remit tokens add alice --role reviewer
      remit tokens list
      remit tokens revoke 3
    """


@command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(["viewer", "reviewer", "operator"]), default="viewer", show_default=True)
@click.option("--days", type=click.FloatRange(0, 3650, min_open=True), help="Days until it expires; default: never.")
@_FORMAT
def add(name: str, role: Role, days: float | None, form: str) -> int:
    """Make a token for NAME and print it. It cannot be printed again: only its digest is stored.

    \b
    Examples:
      remit tokens add alice --role reviewer
      remit tokens add ci --role operator --days 90 --format json
    """

    async def work(database: Database, _: Settings) -> tuple[AccessToken, str]:
        return await add_token(database, name, role, days=days)

    token, secret = with_database(work)
    if form == "json":
        print_text(format_json({"schema": "remit.token/1", **token._asdict(), "token": secret}))
    else:
        print_text(f"token {token.id} of {token.name} ({token.role}); it is shown once:\n  {secret}")
    return 0


@command.command("list")
@_FORMAT
def list_command(form: str) -> int:
    """List all tokens, also the revoked ones.

    \b
    Examples:
      remit tokens list
      remit tokens list --format json
    """

    async def work(database: Database, _: Settings) -> list[AccessToken]:
        return await list_tokens(database)

    tokens = with_database(work)
    if form == "json":
        print_text(format_json(AccessTokensShape(tokens=[AccessTokenShape(**one._asdict()) for one in tokens])))
    else:
        print_lines(_token_lines(tokens))
    return 0


@command.command("revoke")
@click.argument("token", type=int)
@_FORMAT
def revoke(token: int, form: str) -> int:
    """Revoke a token by its number and end the sessions that were begun with it.

    \b
    Examples:
      remit tokens revoke 3
    """

    async def work(database: Database, _: Settings) -> str:
        return await revoke_token(database, token)

    name = with_database(work)
    if form == "json":
        print_text(format_json({"schema": "remit.token/1", "id": token, "name": name, "revoked": True}))
    else:
        print_text(f"token {token} of {name} is revoked")
    return 0


def _token_lines(tokens: Sequence[AccessToken]) -> Iterator[Line]:
    if not tokens:
        yield [Piece("no tokens; `remit tokens add NAME` makes one", "dim")]
        return
    yield [Piece(f"{'token':>6}  {'name':<24} {'role':<9} {'created':<17} {'last used':<17} state", "bold")]
    for token in tokens:
        name = cut_width(escape_control(token.name), 24)
        used = f"{token.used.astimezone():%Y-%m-%d %H:%M}" if token.used else "never"
        state = "revoked" if token.revoked else f"until {token.expires.astimezone():%Y-%m-%d}" if token.expires else ""
        yield [
            Piece(f"{token.id:>6}  {name}{' ' * (24 - display_width(name))} {token.role:<9} "),
            Piece(f"{token.created.astimezone():%Y-%m-%d %H:%M}  {used:<17} ", "dim"),
            Piece(state, "red" if token.revoked else ""),
        ]
