"""The commands on plans: `remit plan`, `answer` and `escalations`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from remit.configuration import load
from remit.dispatch.settings import Settings
from remit.dispatch.submit import Resolving
from remit.errors import UsageError
from remit.evidence.sources import open_sources
from remit.operations.jobs import Answer, answer_question
from remit.orchestrate.api import begin_plan, check_drivable, check_keys
from remit.orchestrate.plan import Plan
from remit.orchestrate.plan_file import read_plan
from remit.registry import api
from remit.reports.formats import format_json
from remit.reports.layout import escape_control
from remit.reports.merge.text import merge_text_lines
from remit.reports.plans import (
    dry_run_lines,
    escalation_lines,
    escalation_shape,
    next_step_text,
    plan_lines,
    plan_shape,
    unreviewed_lines,
)
from remit.store import plans
from remit.store.database import Database
from remit.store.plans import Escalation
from remit.surfaces.cli.driving import DrivenPlan, drive_with_progress
from remit.surfaces.cli.operation_options import operation_options
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.store import is_served, with_database

#: Paths in a warning about scopes.
_SHOWN_SCOPES = 5


@click.command("plan")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--repo", type=click.Path(path_type=Path), help="The folder to work in; default: the current folder.")
@click.option("--resume", type=int, metavar="ID", help="Continue this plan instead of reading a file.")
@click.option("--new", "is_new", is_flag=True, help="Start a new plan although the same one is unfinished.")
@click.option("--dry-run", is_flag=True, help="Print the delegations without running them.")
@click.option("--plugin-path", metavar="PATH", help="Folders of definitions, separated as in PATH.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The output format.",
)
def plan_command(file: Path | None, resume: int | None, form: str, **options: Any) -> int:
    """Run the plan in FILE: phases of delegations that survive a crash.

    FILE is TOML or YAML. The results of each phase are merged and printed, and the merge decides how the plan
    continues. At the end, everything that the subagents reported is printed and written to a report. If a plan was
    interrupted, run the same command again to continue it. The exit code is 0 if the plan is finished with the
    decision to continue, otherwise 1.

    \b
    Examples:
      remit plan review.toml
      remit plan review.toml --dry-run
      remit plan --resume 3
    """
    if (file is None) == (resume is None):
        raise UsageError("pass either a FILE or --resume ID")
    configured = load()
    registry = api.open_registry(options["plugin_path"] or configured["plugin_path"], api.allow_list(configured, None))
    unknown: list[str] = []
    plan = read_plan(file, registry, unknown) if file is not None else None
    if options["dry_run"] and plan is not None:
        if form != "text":
            raise UsageError("a dry run has no JSON form; leave out --format json")

        _warn_about_agents(unknown)
        _warn_about_scopes(plan, options["repo"] or Path.cwd())
        print_lines(dry_run_lines(plan, columns()))
        return 0

    async def work(database: Database, settings: Settings) -> DrivenPlan:
        runs_here = not await is_served(database, settings, "default")
        if unknown and runs_here:
            raise UsageError(unknown[0])  # this process would run the plan, and it does not know the agent
        _warn_about_agents(unknown)
        if plan is not None:
            root = options["repo"] or Path.cwd()
            _warn_about_scopes(plan, root)
            number = await begin_plan(database, plan, root, is_new=options["is_new"])
        else:
            number = (await check_drivable(database, resume or 0)).id
        resolving = Resolving(registry=registry)
        if runs_here:
            await check_keys(database, number, resolving)
        return await drive_with_progress(database, settings, number, resolving, shows_results=True)

    return print_result(with_database(work), form)


def _warn_about_agents(unknown: list[str]) -> None:
    for text in unknown:
        more = " The worker" if text.endswith("?") else "; the worker"
        click.echo(f"{escape_control(text)}{more} of the job looks it up", err=True)


def _warn_about_scopes(plan: Plan, root: Path) -> None:
    """Warn about files that a delegation is about, that do not exist, and that no delegation writes."""
    delegations = [one for phase in plan.phases for one in phase.delegations]
    written = {path for one in delegations for path in one.writes}
    scopes = dict.fromkeys(path for one in delegations for path in one.scope)
    missing = [path for path in scopes if path not in written and not _exists(root, path)]
    if missing:
        more = f" and {len(missing) - _SHOWN_SCOPES} more" if len(missing) > _SHOWN_SCOPES else ""
        shown = ", ".join(escape_control(path) for path in missing[:_SHOWN_SCOPES])
        click.echo(f"the scope names what does not exist in {escape_control(str(root))}: {shown}{more}", err=True)


def _exists(root: Path, path: str) -> bool:
    """Return whether a path or pattern is in a folder."""
    try:
        return "*" in path or (root / path).exists()
    except (OSError, ValueError):
        return False


def print_result(driven: DrivenPlan, form: str) -> int:
    """Print a plan, and return the exit code."""
    found = driven.found
    if form == "json":
        print_text(format_json(plan_shape(found, driven.files)))
    else:
        print_lines(plan_lines(found, driven.uses, columns()))
        if driven.merged is not None:
            workspace = open_sources(Path(found.plan.workspace)).workspace
            print_lines([[], *merge_text_lines(driven.merged, columns(), workspace)])
        print_lines(unreviewed_lines(found, columns()))
        if driven.files:
            click.echo(f"report: {driven.files['html']}\n        {driven.files['md']}", err=True)
        click.echo(next_step_text(found), err=True)
    if driven.stopped:
        click.echo(f"remit: stopped; continue with `remit plan --resume {found.plan.id}`", err=True)
        return 130
    return 0 if found.plan.state == "finished" and found.plan.outcome == "continue" else 1


@click.command("answer")
@operation_options(Answer)
def answer_command(wanted: Answer) -> int:
    """Answer a question of a plan or an orchestrator.

    ESCALATION is the number of the question. `retry` tries the work again, `skip` continues without it, `cancel` ends
    the plan, and `text` tries again with a text for the subagent.

    \b
    Examples:
      remit answer 4 retry
      remit answer 4 skip --why "the module is going away"
      remit answer 4 text --why "look in src/legacy instead"
    """
    number, verb = wanted.question or 0, wanted.answer or ""
    if verb in ("skip", "text") and not wanted.why.strip():
        raise UsageError(f"{verb} needs --why")
    given = with_database(lambda database, settings: answer_question(database, settings, number, verb, wanted.why))
    if wanted.form == "json":
        shape = {"schema": given.schema, "escalation": number, "plan": given.plan, "answer": verb}
        print_text(format_json(shape))
    else:
        print_text(given.next_action)
    return 0


@click.command("escalations")
@click.option("--all", "is_all", is_flag=True, help="Include answered questions.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The output format.",
)
def escalations_command(form: str, *, is_all: bool) -> int:
    """List the open questions of plans and orchestrators. The exit code is 1 if a question is open.

    \b
    Examples:
      remit escalations
      remit escalations --format json
    """

    async def work(database: Database, _: Settings) -> list[Escalation]:
        return await plans.escalations(database, is_open=not is_all)

    found = with_database(work)
    if form == "json":
        shape = {"schema": "remit.escalations/1", "escalations": [escalation_shape(one) for one in found]}
        print_text(format_json(shape))
    else:
        print_lines(escalation_lines(found, columns()))
    return 1 if any(one.answer is None for one in found) else 0
