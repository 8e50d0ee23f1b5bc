"""`remit gate`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from remit.clients.hooks.recorded_project import current_project
from remit.gate.declarations import KINDS, refuse_without_effect
from remit.gate.declarations import declare as add_declaration
from remit.gate.session_store import open_session
from remit.operations.audit import since_time
from remit.reports.gate_sessions import (
    declared_lines,
    declared_shape,
    log_lines,
    log_shape,
    status_lines,
    status_shape,
    untrue_lines,
    untrue_shape,
)
from remit.surfaces.cli.printing import columns, form_option, print_answer

_SESSION = click.option(
    "--session", default="last", metavar="ID", help="The session: last (default), its id, or a prefix of the id."
)


@click.group("gate")
def command() -> None:
    """Inspect the gate: decisions on calls, denials of a session and their reasons, and your declarations.

    \b
    Examples:
      remit gate status                                   the latest session
      remit gate log --denied                             denied calls, and what they would have cost
      remit gate declare edit docs/specs/a.md --why "a typo"
    """


@command.command("declare")
@click.argument("kind", type=click.Choice(list(KINDS)))
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--why", required=True, metavar="TEXT", help="The reason; it is kept in the session's record.")
@_SESSION
@form_option()
def declare(kind: str, paths: tuple[str, ...], why: str, session: str, form: str) -> int:
    """Allow the orchestrator to edit, verify or present files directly. Only you can declare this.

    edit: trivial edits of these specification files. verify: read files again that an accepted result covers.
    presentation: read files to show them to you. A declaration is valid until the session ends.

    \b
    Examples:
      remit gate declare edit docs/specs/orders.md --why "fix the typo now"
      remit gate declare verify src/app.py --why "I doubt the result"
      remit gate declare presentation src/app.py --why "show me the handler"
    """
    project = current_project()
    recorded = project.session(session)
    here = {"cwd": str(Path.cwd()), "project": project.root}
    if kind == "edit":
        refuse_without_effect(paths, project.settings(), **here)
    with open_session(recorded.folder, recorded.state.session or recorded.name) as state:
        names = add_declaration(state, kind, paths, why, **here)
    missing = [name for name in names if not Path(project.root, name).exists()]
    shape = declared_shape(recorded.state.session, kind, names, why, missing)
    print_answer(form, shape, declared_lines(shape, KINDS[kind], columns()))
    return 0


@command.command("log")
@_SESSION
@click.option("--denied", is_flag=True, help="Only calls that were denied, and answers that were sent back.")
@form_option()
def log_command(session: str, form: str, *, denied: bool) -> int:
    """Show the decisions of a session, with their reasons and costs.

    \b
    Examples:
      remit gate log
      remit gate log --denied --session 5b1e
      remit gate log --format json
    """
    state = current_project().session(session).state
    print_answer(form, log_shape(state, denied=denied), log_lines(state, columns(), denied=denied))
    return 0


@command.command("status")
@_SESSION
@click.option("--since", metavar="TIME", help="Only count untrue statements, in all sessions: 7d, 12h, or a date.")
@form_option()
def status(session: str, since: str | None, form: str) -> int:
    """Show a summary of a session: window, decisions, delegations, results with verdicts, warnings.

    \b
    Examples:
      remit gate status
      remit gate status --since 7d
      remit gate status --session 5b1e --format json
    """
    project = current_project()
    if since is not None:
        counted = untrue_shape([entry.state for entry in project.recorded()], since_time(since), since)
        print_answer(form, counted, untrue_lines(counted, columns()))
        return 0
    recorded = project.session(session)
    rows = [{"session": entry.state.session, "updated": entry.state.updated} for entry in project.recorded()]
    today = time.strftime("%Y-%m-%d")
    results = project.results(recorded)
    shape = status_shape(recorded.state, project.settings(), results, rows, project=project.root, today=today)
    print_answer(form, shape, status_lines(shape, columns()))
    return 0
