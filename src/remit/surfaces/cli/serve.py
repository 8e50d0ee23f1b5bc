"""`remit serve` and `remit tokens`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from remit.clients.hooks.compiled import folder_of
from remit.demo.week import fill_demo
from remit.dispatch.worker_settings import Settings, load_settings
from remit.gate.record_store import remove_store
from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control
from remit.reports.ledger_shapes import AccessTokenShape, AccessTokensShape
from remit.store.access import AccessToken, Role, add_token, list_tokens, revoke_token
from remit.store.database import Database, open_database
from remit.surfaces.cli.person import require_person
from remit.surfaces.cli.printing import form_option, print_answer, print_text
from remit.surfaces.cli.with_database import scratch_folder, user_name, with_database

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8321, show_default=True, help="0: any free port.")
@click.option("--url", metavar="URL", help="The address that people use, if it is not that of the host and port.")
@click.option("--certificate", type=_FILE, metavar="FILE", help="The certificate for HTTPS, with --key.")
@click.option("--key", type=_FILE, metavar="FILE", help="The private key of the certificate.")
@click.option("--behind-tls", "is_behind_tls", is_flag=True, help="A proxy in front of this server does HTTPS.")
@click.option("--open", "is_opened", is_flag=True, help="Open the browser.")
@click.option("--demo", "is_demo", is_flag=True, help="Show a week of recorded work in a scratch database.")
def serve_command(*, is_opened: bool, is_demo: bool, **options: Any) -> int:
    """Start the dashboard and the API on this machine, and print a link that signs you in.

    The link can be used once. It stops with Ctrl-C. Others get access with `remit tokens add`. With REMIT_DATABASE_URL
    it shows the jobs of all hosts that share the database.

    \b
    Examples:
      remit serve --open
      remit serve --demo --open
      remit serve --host 0.0.0.0 --url https://remit.example --behind-tls
    """
    from remit.surfaces.server.running import (  # late: it needs the extra remit[serve]
        ServeOptions,
        check_options,
        serve,
    )

    wanted = ServeOptions(**options)
    check_options(wanted)

    def announce(address: str, link: str) -> None:
        print_text(f"Remit runs on {address}; sign in with this link, which works once:\n  {link}\nCtrl-C stops it.")
        if is_opened:
            click.launch(link)

    async def run(database: Database, settings: Settings, folder: Path | None = None) -> None:
        await serve(database, settings, wanted, user_name(), announce, folder)

    if is_demo:
        _serve_demo(run)
    else:
        with_database(run)
    click.echo("stopped", err=True)
    return 0


def _serve_demo(run: Callable[[Database, Settings, Path], Awaitable[None]]) -> None:
    """Serve a week of recorded work. The database, the checkout and its digests are removed at the end."""
    click.echo("playing a week of recorded work: a few seconds", err=True)

    async def work(folder: Path) -> None:
        settings = load_settings()._replace(database=None, data=folder / "data")
        async with open_database(None, settings.data) as database:
            await fill_demo(database, settings, folder / "shop")
            await run(database, settings, folder / "shop")

    with scratch_folder() as folder:
        try:
            asyncio.run(work(folder))
        finally:
            remove_store(folder_of(str(folder / "shop")))


@click.group("tokens")
def tokens_command() -> None:
    """Manage the tokens of `remit serve`: who may see, decide and operate.

    A viewer sees everything, a reviewer also decides review items and answers questions, and an operator also submits,
    cancels and retries jobs.

    \b
    Examples:
      remit tokens add alice --role reviewer
      remit tokens list
      remit tokens revoke 3
    """


@tokens_command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(["viewer", "reviewer", "operator"]), default="viewer", show_default=True)
@click.option("--days", type=click.FloatRange(0, 3650, min_open=True), help="Days until it expires; default: never.")
@form_option()
def add(name: str, role: Role, days: float | None, form: str) -> int:
    """Make a token for NAME and print it. It cannot be printed again: only its digest is stored.

    \b
    Examples:
      remit tokens add alice --role reviewer
      remit tokens add ci --role operator --days 90 --format json
    """

    require_person("remit tokens", "operator")

    async def work(database: Database, _: Settings) -> tuple[AccessToken, str]:
        return await add_token(database, name, role, days=days)

    token, secret = with_database(work)
    print_answer(
        form,
        {"schema": "remit.token/1", **token._asdict(), "token": secret},
        f"token {token.id} of {token.name} ({token.role}); it is shown once:\n  {secret}",
    )
    return 0


@tokens_command.command("list")
@form_option()
def list_command(form: str) -> int:
    """List all tokens, also the revoked ones.

    \b
    Examples:
      remit tokens list
      remit tokens list --format json
    """
    tokens = with_database(lambda database, _: list_tokens(database))
    print_answer(
        form, AccessTokensShape(tokens=[AccessTokenShape(**token._asdict()) for token in tokens]), _token_lines(tokens)
    )
    return 0


@tokens_command.command("revoke")
@click.argument("token", type=int)
@form_option()
def revoke(token: int, form: str) -> int:
    """Revoke a token by its number and end the sessions that were begun with it.

    \b
    Examples:
      remit tokens revoke 3
    """
    require_person("remit tokens", "operator")
    name = with_database(lambda database, _: revoke_token(database, token))
    print_answer(
        form,
        {"schema": "remit.token/1", "id": token, "name": name, "revoked": True},
        f"token {token} of {name} is revoked",
    )
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
