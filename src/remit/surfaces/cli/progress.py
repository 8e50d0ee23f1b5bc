"""The command `remit plan progress`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from remit.dispatch.worker_settings import Settings, load_settings
from remit.errors import RemitError, UsageError
from remit.orchestrate.plan_progress import refresh_questions
from remit.orchestrate.progress_file import (
    find_progress,
    next_actions,
    open_questions,
    open_work,
    progress_path,
    read_progress,
    resolve_blocker,
    update_progress,
)
from remit.reports.formats import format_json
from remit.reports.layout import Line, Piece, escape_control, wrap_text
from remit.store.database import Database
from remit.surfaces.cli.printing import columns, form_option, print_lines, print_text
from remit.surfaces.cli.with_database import with_database

#: Delegations that `remit plan progress` shows.
_MAX_DELEGATIONS = 20


@click.command("progress")
@click.option("--resume", is_flag=True, help="Print only the next action.")
@click.option(
    "--file", type=click.Path(path_type=Path), help="Read this progress file, for example one of another tool."
)
@click.option("--resolved", metavar="TEXT", help="Remove the reported blockers that contain this text.")
@form_option()
def command(file: Path | None, resolved: str | None, form: str, *, resume: bool) -> int:
    """Show the progress of the work in this project, open questions, and the next action.

    --resume prints one line for each plan or orchestrator that is not finished. A blocker that a result reports remains
    until its phase runs again without it, or until --resolved. The exit code is 1 if a question is open.

    \b
    Examples:
      remit plan progress
      remit plan progress --resume
      remit plan progress --resolved "no price list"
    """
    settings = load_settings()
    path = file or find_progress(Path.cwd(), settings.texts)
    if path is None:
        raise UsageError("there is no progress file here; `remit plan run` and `remit review` write one")
    if resolved is not None:
        _resolve(path, resolved, is_own=path == progress_path(settings.texts))
    progress = read_progress(path)
    if path == progress_path(settings.texts) and settings.database and open_questions(progress):
        _refresh()
        progress = read_progress(path)
    if form == "json":
        print_text(format_json({"schema": "remit.progress/1", **progress}))
    elif resume:
        for action in next_actions(progress):
            print_text(escape_control(action))
    else:
        print_lines(_progress_lines(progress, path))
    return 1 if open_questions(progress) else 0


def _resolve(file: Path, text: str, *, is_own: bool) -> None:
    """Remove the reported blockers that contain a text."""
    if not is_own:
        raise UsageError(f"{file}: --resolved changes only Remit's own progress file")
    removed: list[str] = []
    update_progress(file, lambda progress: removed.extend(resolve_blocker(progress, text) if text.strip() else []))
    if not removed:
        raise UsageError(f"no reported blocker contains {text!r}; `remit plan progress` lists them")
    for one in removed:
        click.echo(f"resolved: {escape_control(one)}", err=True)


def _refresh() -> None:
    """Close the questions that were answered on another host of the same database, if it can be reached."""

    async def work(database: Database, settings: Settings) -> None:
        await refresh_questions(database, settings.texts)

    try:
        with_database(work)
    except RemitError as error:
        click.echo(f"open questions could not be compared with the database: {escape_control(str(error))}", err=True)


def _progress_lines(progress: dict[str, Any], file: Path) -> list[Line]:
    context = progress["resumptionContext"]
    facts = {
        "project": progress["project"],
        "status": progress["status"],
        "phase": progress["currentPhase"],
        "task": progress["currentTask"],
        "position": context["position"],
        "next": context["nextAction"],
        "key files": ", ".join(map(_note_text, context["keyFiles"])),
        "decisions": "; ".join(map(_note_text, context["decisions"])),
        "blockers": "; ".join(map(_note_text, [*context["blockers"], *_as_list(progress.get("blockers"))])),
    }
    lines: list[Line] = [[Piece(escape_control(str(file)), "dim")]]
    for label, fact in facts.items():
        for number, row in enumerate(wrap_text(escape_control(str(fact or "")), columns(), 12) if fact else ()):
            lines.append(
                [Piece(f"{label:<12}" if number == 0 else "", "bold"), Piece(row[12:] if number == 0 else row)]
            )
    lines += _work_lines(progress)
    for warning in progress["warnings"]:
        text = escape_control(f"warning: {_note_text(warning)}")
        lines += [[Piece(row, "yellow")] for row in wrap_text(text, columns())]
    current = [one for one in progress["delegations"] if _plan_of(one) == _plan_of(progress["delegations"][-1])]
    for one in current[-_MAX_DELEGATIONS:]:
        text = escape_control("  ".join(_delegation_facts(one)))
        lines += [[Piece(row, "dim")] for row in wrap_text(text, columns(), 2)]
    if older := len(progress["delegations"]) - len(current[-_MAX_DELEGATIONS:]):
        lines.append([Piece(f"  and {older} earlier delegations; see --format json", "dim")])
    return lines


def _work_lines(progress: dict[str, Any]) -> list[Line]:
    """Return the open questions, and the unfinished plans and orchestrators if there are several."""
    lines: list[Line] = []
    for one in open_questions(progress):
        text = f"question {one.get('id')} ({one.get('work')}): {one.get('reason')}"
        lines += [[Piece(row, "yellow")] for row in wrap_text(escape_control(text), columns(), 2)]
        lines.append(
            [Piece(f"    remit plan answer {one.get('id')} retry | skip --why … | cancel | text --why …", "dim")]
        )
    entries = open_work(progress)
    for one in entries if len(entries) > 1 else ():
        text = f"{one.get('key')}: {one.get('status')}, {one.get('position')}; {one.get('nextAction')}"
        lines += [[Piece(row)] for row in wrap_text(escape_control(text), columns(), 2)]
    return lines


def _delegation_facts(one: Any) -> list[str]:
    """Return what is shown of a delegation."""
    if not isinstance(one, dict):
        return [str(one)]
    facts = [one.get("phase"), one.get("name") or one.get("agent"), one.get("state"), one.get("verdict")]
    return [str(fact) for fact in (*facts, f"job {one['job']}" if one.get("job") else "") if fact]


def _plan_of(one: Any) -> Any:
    """Return the plan of a delegation; None for a delegation of another tool."""
    return one.get("plan") if isinstance(one, dict) else None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _note_text(one: Any) -> str:
    """Return the text of a note, which may be an object with the text under one of the usual keys."""
    if not isinstance(one, dict):
        return str(one)
    return str(next((one[name] for name in ("description", "decision", "summary", "text") if one.get(name)), one))
