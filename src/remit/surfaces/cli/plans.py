"""`remit plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remit.errors import UsageError
from remit.orchestrate.plan import ANSWERS
from remit.reports.layout import Line, Piece, escape_control, wrap_text
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.store import with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database
    from remit.store.plans import Escalation
    from remit.surfaces.cli.driving import DrivenPlan

#: Delegations that are shown.
_MOST = 20


@click.command("plan")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--repo", type=click.Path(path_type=Path), help="The folder to work in; default: the current one.")
@click.option("--resume", type=int, metavar="ID", help="Go on with this plan instead of reading a file.")
@click.option("--new", "is_new", is_flag=True, help="Begin anew although the same plan is unfinished.")
@click.option("--dry-run", is_flag=True, help="Only print what would be dispatched to whom.")
@click.option("--plugin-path", metavar="PATH", help="Folders of definitions, separated as in PATH.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def plan_command(file: Path | None, resume: int | None, form: str, **given: Any) -> int:
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
    registry = api.open_registry(given["plugin_path"] or configured["plugin_path"], api.allow_list(configured, None))
    plan = read_plan(file, registry) if file is not None else None
    if given["dry_run"] and plan is not None:
        from remit.reports.plans import dry_run_lines

        print_lines(dry_run_lines(plan, columns()))
        return 0

    async def work(database: Database, settings: Settings) -> DrivenPlan:
        from remit.dispatch.submit import Resolving
        from remit.orchestrate.api import begin_plan, check_drivable
        from remit.surfaces.cli.driving import drive_with_progress

        if plan is not None:
            number = await begin_plan(database, plan, given["repo"] or Path.cwd(), is_new=given["is_new"])
        else:
            number = (await check_drivable(database, resume or 0)).id
        return await drive_with_progress(database, settings, number, Resolving(registry=registry))

    return print_result(with_database(work), form)


def print_result(shown: DrivenPlan, form: str) -> int:
    """Print a plan as it stands; its exit code."""
    from remit.reports.formats import format_json
    from remit.reports.plans import next_step_text, plan_lines, plan_shape

    found = shown.found
    if form == "json":
        print_text(format_json(plan_shape(found)))
    else:
        print_lines(plan_lines(found, shown.uses, columns()))
        click.echo(next_step_text(found), err=True)
    if shown.stopped:
        click.echo(f"remit: stopped; `remit plan --resume {found.plan.id}` goes on", err=True)
        return 130
    return 0 if found.plan.state == "finished" and found.plan.outcome == "continue" else 1


@click.command("answer")
@click.argument("escalation", type=int)
@click.argument("verb", type=click.Choice(ANSWERS))
@click.option("--why", default="", help="The reason to skip, or what to tell the subagent.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def answer_command(escalation: int, verb: str, why: str, form: str) -> int:
    """Answer a question: retry, skip (with a reason), cancel the plan, or text for another try.

    \b
    Examples:
      remit answer 4 retry
      remit answer 4 skip --why "the module is going away"
      remit answer 4 text --why "look in src/legacy instead"
    """
    if verb in ("skip", "text") and not why.strip():
        raise UsageError(f"{verb} needs --why")

    from remit.orchestrate.answers import GivenAnswer, give_answer

    async def work(database: Database, _: Settings) -> GivenAnswer:
        return await give_answer(database, escalation, verb, why)

    given = with_database(work)
    if form == "json":
        from remit.reports.formats import format_json

        shape = {"schema": "remit.answer/1", "escalation": escalation, "plan": given.plan, "answer": verb}
        print_text(format_json(shape))
    else:
        print_text(given.next_action)
    return 0


@click.command("escalations")
@click.option("--all", "is_all", is_flag=True, help="Those that are answered too.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def escalations_command(form: str, *, is_all: bool) -> int:
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
        from remit.reports.formats import format_json

        shape = {"schema": "remit.escalations/1", "escalations": [escalation_shape(one) for one in found]}
        print_text(format_json(shape))
    else:
        print_lines(escalation_lines(found, columns()))
    return 0


@click.command("progress")
@click.option("--resume", is_flag=True, help="Only say what to do next.")
@click.option("--file", type=click.Path(path_type=Path), help="A progress file of another tool's.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def progress_command(file: Path | None, form: str, *, resume: bool) -> int:
    """Show where the work of this project stands.

    \b
    Examples:
      remit progress
      remit progress --resume
    """
    from remit.dispatch.settings import load_settings
    from remit.orchestrate.progress import find_progress, read_progress

    found = file or find_progress(Path.cwd(), load_settings().data)
    if found is None:
        raise UsageError("there is no progress file here; `remit plan` and `remit review` write one")
    progress = read_progress(found)
    if form == "json":
        from remit.reports.formats import format_json

        print_text(format_json({"schema": "remit.progress/1", **progress}))
    elif resume:
        print_text(escape_control(progress["resumptionContext"]["nextAction"]))
    else:
        print_lines(_lines(progress, found))
    return 0


def _lines(progress: dict[str, Any], file: Path) -> list[Line]:
    context = progress["resumptionContext"]
    facts = {
        "project": progress["project"],
        "status": progress["status"],
        "phase": progress["currentPhase"],
        "task": progress["currentTask"],
        "position": context["position"],
        "next": context["nextAction"],
        "key files": ", ".join(map(_words, context["keyFiles"])),
        "decisions": "; ".join(map(_words, context["decisions"])),
        "blockers": "; ".join(map(_words, [*context["blockers"], *_more(progress.get("blockers"))])),
    }
    lines: list[Line] = [[Piece(escape_control(str(file)), "dim")]]
    for label, words in facts.items():
        for number, row in enumerate(wrap_text(escape_control(str(words or "")), columns(), 12) if words else ()):
            lines.append(
                [Piece(f"{label:<12}" if number == 0 else "", "bold"), Piece(row[12:] if number == 0 else row)]
            )
    for words in progress["warnings"]:
        lines += [[Piece(row, "yellow")] for row in wrap_text(escape_control(f"warning: {_words(words)}"), columns())]
    current = [one for one in progress["delegations"] if _plan(one) == _plan(progress["delegations"][-1])]
    for one in current[-_MOST:]:
        shown = "  ".join(_told(one))
        lines += [[Piece(row, "dim")] for row in wrap_text(escape_control(shown), columns(), 2)]
    if older := len(progress["delegations"]) - len(current[-_MOST:]):
        lines.append([Piece(f"  and {older} earlier ones; --format json has them", "dim")])
    return lines


def _told(one: Any) -> list[str]:
    """A delegation in words."""
    if not isinstance(one, dict):
        return [str(one)]
    words = [one.get("phase"), one.get("name") or one.get("agent"), one.get("state"), one.get("verdict")]
    return [str(word) for word in (*words, f"job {one['job']}" if one.get("job") else "") if word]


def _plan(one: Any) -> Any:
    """Which plan a delegation belongs to; those of other tools belong to none."""
    return one.get("plan") if isinstance(one, dict) else None


def _more(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _words(one: Any) -> str:
    """A note that is text, or an object that has it under one of the usual names."""
    if not isinstance(one, dict):
        return str(one)
    return str(next((one[name] for name in ("description", "decision", "summary", "text") if one.get(name)), one))
