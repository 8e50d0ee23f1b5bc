"""`remit jobs`, `remit cancel`, `remit retry` and `remit submit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from remit.dispatch.correction import retry
from remit.dispatch.finish import remove_orphans
from remit.dispatch.settings import Settings
from remit.dispatch.submit import submit
from remit.errors import UsageError
from remit.orchestrate.api import PlanResult, check_drivable, plan_result
from remit.orchestrate.progress import record_cancelled
from remit.orchestrate.remote import RemoteServer
from remit.registry.tools import split_names
from remit.reports.formats import format_json
from remit.reports.jobs import job_lines, job_shape, jobs_shape, list_lines
from remit.reports.plans import plan_shape
from remit.store import jobs
from remit.store.database import Database
from remit.store.jobs import Job
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.request import (
    agent_and_task,
    queueing_from,
    request_from,
    request_options,
    resolving_from,
    task_text,
)
from remit.surfaces.cli.store import no_worker_notice, with_database

#: Fields of a queued job that only this host can set.
_OWN_FIELDS = ("first_queue", "tree", "agent")
_FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)


class _ListFirst(click.Group):
    """A group of commands whose default is `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass options without a command to `list`."""
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("jobs", cls=_ListFirst, invoke_without_command=True)
@click.pass_context
def jobs_command(ctx: click.Context) -> int | None:
    """Show jobs: queued, running and finished.

    \b
    Examples:
      remit jobs                    list the newest jobs
      remit jobs --state queued     list queued jobs (options as in `remit jobs list`)
      remit jobs show 12            show one job with its result
      remit jobs prune --days 30    remove old jobs
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

    async def work(database: Database, _: Settings) -> list[jobs.Job]:
        return await jobs.list_jobs(database, state=state, agent=agent, limit=limit, is_whole=form == "json")

    listed = with_database(work)
    if form == "json":
        _print_json(jobs_shape(listed))
    else:
        print_lines(list_lines(listed, columns()))
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

    async def work(database: Database, _: Settings) -> tuple[jobs.Job, list[dict[str, Any]]]:
        return await jobs.get(database, job), await jobs.violations_of(database, job)

    found, violations = with_database(work)
    if form == "json":
        _print_json(job_shape(found))
    else:
        print_lines(job_lines(found, columns(), violations))
    return 0


@jobs_command.command("prune")
@click.option(
    "--days",
    type=click.IntRange(0, 36_500),
    default=30,
    show_default=True,
    help="Keep jobs that finished in the last N days.",
)
@_FORMAT
def prune(days: int, form: str) -> int:
    """Remove old finished jobs with their transcripts, receipts and events.

    \b
    Examples:
      remit jobs prune --days 30
    """

    async def work(database: Database, settings: Settings) -> int:
        removed = await jobs.prune(database, days)
        await remove_orphans(database, settings.data, is_shared=settings.database is not None)
        return removed

    removed = with_database(work)
    if form == "json":
        _print_json({"schema": "remit.prune/1", "removed": removed})
    else:
        print_text(f"{removed} job{'s' * (removed != 1)} removed")
    return 0


def _print_json(value: Any) -> None:
    print_text(format_json(value))


@click.command("cancel")
@click.argument("job", type=int, required=False)
@click.option("--plan", type=int, metavar="ID", help="Cancel this plan with its questions and its unfinished jobs.")
@_FORMAT
def cancel_command(job: int | None, plan: int | None, form: str) -> int:
    """Cancel a job: a queued job never starts, a running job is stopped within a second.

    The jobs that it started are also cancelled, including those of an orchestrator's subagents, and its open
    questions are closed.

    \b
    Examples:
      remit cancel 12
      remit cancel --plan 3
    """
    if (job is None) == (plan is None):
        raise UsageError("pass either a JOB or --plan ID")
    if plan is not None:
        return _cancel_plan(plan, form)

    async def work(database: Database, settings: Settings) -> jobs.Job:
        await jobs.cancel(database, job or 0)
        await record_cancelled(settings.data, f"job {job}")
        return await jobs.get(database, job or 0)

    cancelled = with_database(work)
    if form == "json":
        _print_json(job_shape(cancelled))
    else:
        print_text(f"job {job} is {'cancelled' if cancelled.state == 'finished' else 'being stopped'}")
    return 0


def _cancel_plan(plan: int, form: str) -> int:

    async def work(database: Database, settings: Settings) -> PlanResult:
        row = await check_drivable(database, plan)
        if not await jobs.cancel_plan(database, plan, "a person cancelled the plan"):
            raise UsageError(f"plan {plan} is already {row.state}")
        await record_cancelled(settings.data, f"plan {plan}")
        return await plan_result(database, plan)

    found = with_database(work)
    if form == "json":
        _print_json(plan_shape(found))
    else:
        print_text(f"plan {plan} is cancelled")
    return 0


@click.command("retry")
@click.argument("job", type=int)
@_FORMAT
def retry_command(job: int, form: str) -> int:
    """Continue a job that did not complete, or let it correct its result.

    A job that did not complete continues from its transcript; finished steps are not repeated. A completed job whose
    result was `revise` gets its violations and may correct the result, once.

    \b
    Examples:
      remit retry 12
    """

    async def work(database: Database, settings: Settings) -> tuple[jobs.Job, str, str]:
        action = await database.without_retry(lambda: retry(database, job))
        retried = await jobs.get(database, job)
        return retried, action, await no_worker_notice(database, settings, retried.queue)

    retried, action, warning = with_database(work)
    if form == "json":
        _print_json(job_shape(retried))
    else:
        print_text(f"job {job} waits for a worker{action}")
    if warning:
        click.echo(warning, err=True)
    return 0


@click.command("submit")
@click.argument("words", nargs=-1, required=True, metavar="[AGENT] TASK")
@request_options
@click.option("--delay", type=float, help="Seconds to wait before the job may start.")
@click.option("--server", metavar="URL", help="Submit to this `remit serve`; REMIT_SERVER_TOKEN has the token.")
@_FORMAT
def submit_command(words: tuple[str, ...], server: str | None, **options: Any) -> int:
    """Put a job for AGENT into the queue and return. TASK is the prompt, or - for standard input.

    Without AGENT, the job has no definition. An AGENT that is unknown here is looked up by the worker of the job.

    \b
    Examples:
      remit submit code-explorer "trace the login flow"
      remit submit qa-engineer "review the last commit" --key review-1a2b --priority 5
      remit submit qa-engineer "review the last commit" --server https://remit.example
    """
    if server is not None:
        return _submit_remotely(words, server, options)

    agent, task = agent_and_task(words, options["plugin_path"])

    async def work(database: Database, settings: Settings) -> tuple[Job, bool, str]:
        submitted = await submit(
            database,
            request_from(agent, task, options),
            settings,
            options["repo"] or Path.cwd(),
            queueing=queueing_from(options),
            resolving=resolving_from(options),
        )
        job = await jobs.get(database, submitted.id)
        return job, submitted.is_new, await no_worker_notice(database, settings, job.queue)

    job, is_new, warning = with_database(work)
    if options["form"] == "json":
        _print_json(job_shape(job))
    else:
        print_text(f"job {job.id} {'waits' if is_new else 'already has this key'} ({job.agent})")
    if warning:
        click.echo(warning, err=True)
    return 0


def _submit_remotely(words: tuple[str, ...], server: str, options: dict[str, Any]) -> int:
    """Submit a job to a server. It resolves the definition, with the policy `strict`."""
    if len(words) > 2:
        raise UsageError("pass [AGENT] TASK; quote a task of several words")
    for name in ("plugin_path", "allow_tools", "policy"):
        if options[name] is not None:
            raise UsageError(f"--{name.replace('_', '-')} has no effect with --server: the server's settings apply")
    agent = words[0] if len(words) == 2 else None
    job = RemoteServer(server).submit(agent, task_text(words[-1]), **_remote_fields(options))
    if options["form"] == "json":
        _print_json(job)
    else:
        print_text(f"job {job['id']} waits on {server} ({job['agent']})")
    return 0


def _remote_fields(options: dict[str, Any]) -> dict[str, Any]:
    fields = request_from(None, "", options)
    fields["allowed_tools"] = split_names(options["allowed_tools"]) if options["allowed_tools"] else None
    queueing = {name: value for name, value in queueing_from(options)._asdict().items() if name not in _OWN_FIELDS}
    if options["repo"] is not None:
        fields["repo"] = str(options["repo"])
    own = {name: value for name, value in fields.items() if name not in ("prompt", "subagent_def")}
    return {name: value for name, value in {**own, **queueing}.items() if value not in (None, {})}
