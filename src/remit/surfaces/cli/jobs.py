"""`remit jobs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.request import queueing_from, request_from, request_options, resolving_from, task_text
from remit.surfaces.cli.store import need_extra, no_worker_notice, with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database
    from remit.store.jobs import Job

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
def jobs_command(ctx: click.Context) -> int | None:
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


@jobs_command.command("list")
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
        return await jobs.list_jobs(database, state=state, agent=agent, limit=limit, is_whole=form == "json")

    found = with_database(work)
    if form == "json":
        _print_json(jobs_shape(found))
    else:
        print_lines(list_lines(found, columns()))
    return 0


@jobs_command.command("show")
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


@jobs_command.command("prune")
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
        from remit.dispatch.finish import remove_orphans

        gone = await jobs.prune(database, days)
        await remove_orphans(database, settings.data, is_shared=settings.database is not None)
        return gone

    gone = with_database(work)
    if form == "json":
        _print_json({"schema": "remit.prune/1", "removed": gone})
    else:
        print_text(f"{gone} job{'s' * (gone != 1)} removed")
    return 0


def _print_json(value: Any) -> None:
    from remit.reports.formats import format_json

    print_text(format_json(value))


@click.command("cancel")
@click.argument("job", type=int)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def cancel_command(job: int, form: str) -> int:
    """Cancel a job: one that waits never begins, one that runs is stopped within a second.

    The jobs that it started are cancelled with it, those of an orchestrator's subagents too.

    \b
    Examples:
      remit cancel 12
    """
    need_extra()
    from remit.reports.jobs import job_shape
    from remit.store import jobs

    async def work(database: Database, _: Settings) -> jobs.Job:
        await jobs.cancel(database, job)
        return await jobs.get(database, job)

    found = with_database(work)
    if form == "json":
        from remit.reports.formats import format_json

        print_text(format_json(job_shape(found)))
    else:
        print_text(f"job {job} is {'cancelled' if found.state == 'finished' else 'being stopped'}")
    return 0


@click.command("retry")
@click.argument("job", type=int)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def retry_command(job: int, form: str) -> int:
    """Let a job that did not complete go on from its transcript; finished steps are not run again.

    \b
    Examples:
      remit retry 12
    """
    need_extra()
    from remit.reports.jobs import job_shape
    from remit.store import jobs

    async def work(database: Database, settings: Settings) -> tuple[jobs.Job, str]:
        await database.without_retry(lambda: jobs.retry(database, job))
        again = await jobs.get(database, job)
        return again, await no_worker_notice(database, settings, again.queue)

    found, warning = with_database(work)
    if form == "json":
        from remit.reports.formats import format_json

        print_text(format_json(job_shape(found)))
    else:
        print_text(f"job {job} waits for a worker")
    if warning:
        click.echo(warning, err=True)
    return 0


@click.command("submit")
@click.argument("agent")
@click.argument("task")
@request_options
@click.option("--delay", type=float, help="Begin only after so many seconds.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def submit_command(agent: str, task: str, **given: Any) -> int:
    """Put a job for AGENT into the queue and return. TASK is what it shall do, or - for standard input.

    \b
    Examples:
      remit submit code-explorer "trace the login flow"
      remit submit qa-engineer "review the last commit" --key review-1a2b --priority 5
    """
    need_extra()
    from remit.dispatch.submit import submit
    from remit.reports.jobs import job_shape
    from remit.store import jobs

    async def work(database: Database, settings: Settings) -> tuple[Job, bool, str]:
        submitted = await submit(
            database,
            request_from(agent, task_text(task), given),
            settings,
            given["repo"] or Path.cwd(),
            queueing=queueing_from(given),
            resolving=resolving_from(given),
        )
        job = await jobs.get(database, submitted.id)
        return job, submitted.is_new, await no_worker_notice(database, settings, job.queue)

    job, is_new, warning = with_database(work)
    if given["form"] == "json":
        from remit.reports.formats import format_json

        print_text(format_json(job_shape(job)))
    else:
        print_text(f"job {job.id} {'waits' if is_new else 'has this key already'} ({job.agent})")
    if warning:
        click.echo(warning, err=True)
    return 0
