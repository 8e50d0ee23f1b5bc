"""`remit serve`."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remit.aio import cancel_and_wait
from remit.clients.hooks.compiled import folder_of
from remit.gate.record_store import remove_store
from remit.surfaces.cli.printing import print_text
from remit.surfaces.cli.store import user_name, with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database
    from remit.surfaces.server.running import ServeOptions

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8321, show_default=True, help="0: any free port.")
@click.option("--url", metavar="URL", help="The address that people use, if it is not that of the host and port.")
@click.option("--certificate", type=_FILE, metavar="FILE", help="The certificate for HTTPS, with --key.")
@click.option("--key", type=_FILE, metavar="FILE", help="The private key of the certificate.")
@click.option("--behind-tls", "is_behind_tls", is_flag=True, help="A proxy in front of this server does HTTPS.")
@click.option("--open", "is_opened", is_flag=True, help="Open the browser.")
@click.option("--demo", "is_demo", is_flag=True, help="Show a week of made-up work in a scratch database.")
def command(*, is_opened: bool, is_demo: bool, **options: Any) -> int:
    """Start the dashboard and the API on this machine, and print a link that signs you in.

    The link can be used once. It stops with Ctrl-C. Others get access with `remit tokens add`. With REMIT_DATABASE_URL
    it shows the jobs of all hosts that share the database.

    \b
    Examples:
      remit serve --open
      remit serve --demo --open
      remit serve --host 0.0.0.0 --url https://remit.example --behind-tls
    """
    from remit.surfaces.server.running import ServeOptions as Options
    from remit.surfaces.server.running import check_options, serve

    wanted = Options(**options)
    check_options(wanted)

    def announce(address: str, link: str) -> None:
        print_text(f"Remit runs on {address}; sign in with this link, which works once:\n  {link}\nCtrl-C stops it.")
        if is_opened:
            click.launch(link)

    async def work(database: Database, settings: Settings) -> None:
        await serve(database, settings, wanted, user_name(), announce)

    if is_demo:
        _serve_demo(wanted, announce)
    else:
        with_database(work)
    click.echo("stopped", err=True)
    return 0


def _serve_demo(options: ServeOptions, announce: Callable[[str, str], None]) -> None:
    """Serve a week of made-up work. The database, the checkout and its digests are removed at the end."""
    from remit.demo.week import beat_forever, fill_demo
    from remit.dispatch.settings import load_settings
    from remit.store.database import open_database
    from remit.surfaces.server.running import serve

    async def work(folder: Path) -> None:
        settings = load_settings()._replace(database=None, data=folder / "data")
        async with open_database(None, settings.data) as database:
            await fill_demo(database, folder / "shop")
            beating = asyncio.create_task(beat_forever(database))
            try:
                await serve(database, settings, options, user_name(), announce, folder / "shop")
            finally:
                await cancel_and_wait(beating)

    with tempfile.TemporaryDirectory(prefix="remit-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        try:
            asyncio.run(work(folder))
        finally:
            remove_store(folder_of(str(folder / "shop")))
