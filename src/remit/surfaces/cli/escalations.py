"""`remit escalations`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.store import with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database
    from remit.store.plans import Escalation


@click.command("escalations")
@click.option("--all", "is_all", is_flag=True, help="Those that are answered too.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(form: str, *, is_all: bool) -> int:
    """List what plans ask a person.

    \b
    Examples:
      remit escalations
      remit escalations --format json
    """
    from remit.reports.plans import escalation_lines, escalation_shape
    from remit.store import plans

    async def work(database: Database, _: Settings) -> list[Escalation]:
        return await plans.escalations(database, is_open=not is_all)

    found = with_database(work)
    if form == "json":
        from remit.reports.json import pretty

        shape = {"schema": "remit.escalations/1", "escalations": [escalation_shape(one) for one in found]}
        print_text(pretty(shape))
    else:
        print_lines(escalation_lines(found, columns()))
    return 0
