"""`remit jobs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.store import need_extra, with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database

_FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)


class _ListFirst(click.Group):
    """A group of commands that, without the name of one, is its `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options that no command stands before are those of `list`."""
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("jobs", cls=_ListFirst, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> int | None:
    """Show jobs: those that wait, run and are finished.

    \b
    Examples:
      remit jobs                    the newest
      remit jobs --state queued     those that wait: options of `remit jobs list`
      remit jobs show 12            one, with its result
      remit jobs prune --days 30    remove what is old
    """
    if ctx.invoked_subcommand is None:
        code: int = ctx.invoke(list_command)
        return code
    return None


@command.command("list")
@click.option("--state", type=click.Choice(["queued", "running", "finished"]), help="Only jobs in this state.")
@click.option("--agent", help="Only jobs of this agent.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@_FORMAT
def list_command(state: str | None = None, agent: str | None = None, limit: int = 50, form: str = "text") -> int:
    """List jobs, the newest first.

    \b
    Examples:
      remit jobs list --state running
      remit jobs list --agent code-explorer --format json
    """
    need_extra()
    from remit.reports.jobs import jobs_shape, list_lines
    from remit.store import jobs

    async def work(database: Database, _: Settings) -> list[jobs.Job]:
        return await jobs.listed(database, state=state, agent=agent, limit=limit, is_whole=form == "json")

    found = with_database(work)
    if form == "json":
        _print_json(jobs_shape(found))
    else:
        print_lines(list_lines(found, columns()))
    return 0


@command.command("show")
@click.argument("job", type=int)
@_FORMAT
def show(job: int, form: str) -> int:
    """Show one job with its result, finished or not.

    \b
    Examples:
      remit jobs show 12
      remit jobs show 12 --format json
    """
    need_extra()
    from remit.reports.jobs import job_lines, job_shape
    from remit.store import jobs

    async def work(database: Database, _: Settings) -> tuple[jobs.Job, list[dict[str, Any]]]:
        return await jobs.get(database, job), await jobs.violations_of(database, job)

    found, violations = with_database(work)
    if form == "json":
        _print_json(job_shape(found))
    else:
        print_lines(job_lines(found, columns(), violations))
    return 0


@command.command("prune")
@click.option("--days", type=click.IntRange(0, 36_500), default=30, show_default=True, help="Keep what is younger.")
@_FORMAT
def prune(days: int, form: str) -> int:
    """Remove finished jobs that are old, with their transcripts, receipts and events.

    \b
    Examples:
      remit jobs prune --days 30
    """
    need_extra()
    from remit.store import jobs

    async def work(database: Database, settings: Settings) -> int:
        from remit.dispatch.leftovers import remove_leftovers

        gone = await jobs.prune(database, days)
        await remove_leftovers(database, settings.data, is_shared=settings.database is not None)
        return gone

    gone = with_database(work)
    if form == "json":
        _print_json({"schema": "remit.prune/1", "removed": gone})
    else:
        print_text(f"{gone} job{'s' * (gone != 1)} removed")
    return 0


def _print_json(value: Any) -> None:
    from remit.reports.json import pretty

    print_text(pretty(value))
