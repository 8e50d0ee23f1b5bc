"""`remit plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remit.errors import UsageError
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.store import with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database
    from remit.surfaces.cli.driving import Shown


@click.command("plan")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--repo", type=click.Path(path_type=Path), help="The folder to work in; default: the current one.")
@click.option("--resume", type=int, metavar="ID", help="Go on with this plan instead of reading a file.")
@click.option("--new", "is_new", is_flag=True, help="Begin anew although the same plan is unfinished.")
@click.option("--dry-run", is_flag=True, help="Only print what would be dispatched to whom.")
@click.option("--plugin-path", metavar="PATH", help="Folders of definitions, separated as in PATH.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(file: Path | None, resume: int | None, form: str, **given: Any) -> int:
    """Run the plan in FILE (TOML or YAML): phases of delegations, each merged and decided on.

    A plan that was interrupted goes on where it was when it is run again. Exit code 0: finished, with a decision
    to continue; 1 otherwise.

    \b
    Examples:
      remit plan review.toml
      remit plan review.toml --dry-run
      remit plan --resume 3
    """
    from remit.configuration import load
    from remit.orchestrate.plan_file import read_plan
    from remit.registry import api

    if (file is None) == (resume is None):
        raise UsageError("give either a FILE or --resume ID")
    configured = load()
    registry = api.opened(given["plugin_path"] or configured["plugin_path"], api.allow_list(configured, None))
    plan = read_plan(file, registry) if file is not None else None
    if given["dry_run"] and plan is not None:
        from remit.reports.plans import dry_run_lines

        print_lines(dry_run_lines(plan, columns()))
        return 0

    async def work(database: Database, settings: Settings) -> Shown:
        from remit.dispatch.submitting import Resolving
        from remit.orchestrate.api import begin, drivable
        from remit.surfaces.cli.driving import drive_shown

        if plan is not None:
            number = await begin(database, plan, given["repo"] or Path.cwd(), is_new=given["is_new"])
        else:
            number = (await drivable(database, resume or 0)).id
        return await drive_shown(database, settings, number, Resolving(registry=registry))

    return finish(with_database(work), form)


def finish(shown: Shown, form: str) -> int:
    """Print a plan as it stands; its exit code."""
    from remit.reports.json import pretty
    from remit.reports.plans import further_words, plan_lines, plan_shape

    found = shown.found
    if form == "json":
        print_text(pretty(plan_shape(found)))
    else:
        print_lines(plan_lines(found, shown.uses, columns()))
        click.echo(further_words(found), err=True)
    if shown.stopped:
        click.echo(f"remit: stopped; `remit plan --resume {found.plan.id}` goes on", err=True)
        return 130
    return 0 if found.plan.state == "finished" and found.plan.outcome == "continue" else 1
