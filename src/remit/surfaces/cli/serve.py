"""`remit serve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remit.surfaces.cli.printing import print_text
from remit.surfaces.cli.with_database import with_database

if TYPE_CHECKING:
    from remit.dispatch.worker_settings import Settings
    from remit.store.database import Database

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8321, show_default=True, help="0: any free port.")
@click.option("--url", metavar="URL", help="The address that people use, if it is not that of the host and port.")
@click.option("--certificate", type=_FILE, metavar="FILE", help="The certificate for HTTPS, with --key.")
@click.option("--key", type=_FILE, metavar="FILE", help="The private key of the certificate.")
@click.option("--behind-tls", "is_behind_tls", is_flag=True, help="A proxy in front of this server does HTTPS.")
@click.option("--open", "is_opened", is_flag=True, help="Open the browser.")
def serve_command(*, is_opened: bool, **options: Any) -> int:
    """Start the dashboard and the API on this machine, and print a link that signs you in.

    The link can be used once. The server stops with Ctrl-C. Programs send the token that REMIT_SERVER_TOKEN has for
    this command. With REMIT_DATABASE_URL it shows the jobs of all hosts that share the database.

    \b
    Examples:
      remit serve --open
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

    async def run(database: Database, settings: Settings) -> None:
        await serve(database, settings, wanted, announce)

    with_database(run)
    click.echo("stopped", err=True)
    return 0
