"""`remit answer`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from remit.errors import UsageError
from remit.surfaces.cli.printing import print_text
from remit.surfaces.cli.store import with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database


@click.command("answer")
@click.argument("escalation", type=int)
@click.argument("verb", type=click.Choice(["retry", "skip", "cancel", "text"]))
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

    async def work(database: Database, _: Settings) -> str:
        from remit.orchestrate.questions import give_answer

        return await give_answer(database, escalation, verb, why)

    told = with_database(work)
    if form == "json":
        from remit.reports.json import pretty

        print_text(pretty({"schema": "remit.answer/1", "escalation": escalation, "answer": verb, "next": told}))
    else:
        print_text(told)
    return 0
