"""`remit answer`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from remit.errors import UsageError
from remit.orchestrate.model import ANSWERS
from remit.surfaces.cli.printing import print_text
from remit.surfaces.cli.store import with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database


@click.command("answer")
@click.argument("escalation", type=int)
@click.argument("verb", type=click.Choice(ANSWERS))
@click.option("--why", default="", help="The reason to skip, or what to tell the subagent.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(escalation: int, verb: str, why: str, form: str) -> int:
    """Answer a question: retry, skip (with a reason), cancel the plan, or text for another try.

    \b
    Examples:
      remit answer 4 retry
      remit answer 4 skip --why "the module is going away"
      remit answer 4 text --why "look in src/legacy instead"
    """
    if verb in ("skip", "text") and not why.strip():
        raise UsageError(f"{verb} needs --why")

    from remit.orchestrate.questions import Given, give_answer

    async def work(database: Database, _: Settings) -> Given:
        return await give_answer(database, escalation, verb, why)

    given = with_database(work)
    if form == "json":
        from remit.reports.json import pretty

        shape = {"schema": "remit.answer/1", "escalation": escalation, "plan": given.plan, "answer": verb}
        print_text(pretty(shape))
    else:
        print_text(given.next_action)
    return 0
