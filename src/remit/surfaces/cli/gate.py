"""`remit gate`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from remit.clients.hooks.compiling import compile_project, confirm_settings
from remit.clients.hooks.recorded_project import current_project
from remit.gate.declarations import KINDS, refuse_without_effect
from remit.gate.declarations import declare as add_declaration
from remit.gate.ignore_rules import forget_rules
from remit.gate.log import dry_run, explain_decision, read_payload
from remit.gate.session_store import open_session
from remit.operations.audit import since_time
from remit.reports.gate_sessions import (
    decision_lines,
    declared_lines,
    declared_shape,
    log_lines,
    log_shape,
    status_lines,
    status_shape,
    trusted_lines,
    trusted_shape,
    untrue_lines,
    untrue_shape,
    why_lines,
    why_shape,
)
from remit.surfaces.cli.named_files import read_file
from remit.surfaces.cli.person import require_person
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
      remit gate why                                      the last denial, explained
      remit gate declare edit docs/specs/a.md --why "a typo"
      remit gate trust                                    confirm changed settings and changed files
      remit gate check < payload.json
    """


@command.command("check")
@click.option("--session", metavar="ID", help="Decide as in this session; default: the session of the payload.")
@form_option("json", "text")
def check(session: str | None, form: str) -> int:
    """Print the decision on the call in a hook's payload, without counting or recording it.

    The payload is read from stdin: a JSON object with tool_name, tool_input, cwd and session_id, as the client sends it
    before a call.

    \b
    Examples:
      remit gate check < payload.json
      echo '{"tool_name": "Bash", "tool_input": {"command": "sed -i s/a/b/ app.py"}}' | remit gate check
    """
    payload = read_payload(read_file(None))
    project = current_project(payload.get("cwd"))
    state = project.session(session).state if session else project.state_of(payload)
    decision = dry_run(payload, state, project.settings(), project.root).as_dict()
    print_answer(form, decision, decision_lines(decision, columns()))
    return 0


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
@click.option(
    "--denied", is_flag=True, help="Only calls that were denied, or would have been in another mode than observe."
)
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


@command.command("trust")
@_SESSION
@form_option()
def trust(session: str, form: str) -> int:
    """Confirm what changed: settings that are not obeyed yet, and changes without permission that you keep.

    Hooks obey a changed remit.toml or [tool.remit] only after this command. In strict, it ends the denial of writes
    after a change without permission. Only you can confirm: an agent that runs this command must ask first.

    \b
    Examples:
      remit gate trust
      remit gate trust --session 5b1e --format json
    """
    require_person("remit gate trust")
    project = current_project()
    compile_project(Path(project.root), confirm=True)
    files = confirm_settings(Path(project.root))
    kept: list[dict[str, Any]] = []
    if project.recorded():
        recorded = project.session(session)
        with open_session(recorded.folder, recorded.state.session or recorded.name) as state:
            changes = [change for change in state.changes if not change.decided]
            for change in changes:
                change.decided = "kept"
            kept = [vars(change) for change in changes]
        forget_rules(recorded.folder)
    shape = trusted_shape(files, kept)
    print_answer(form, shape, trusted_lines(shape, columns()))
    return 0


@command.command("why")
@click.argument("wanted", required=False, default="", metavar="[ID|RULE]")
@_SESSION
@form_option()
def why(wanted: str, session: str, form: str) -> int:
    """Explain a decision by the call's id or by a rule's name; default: the last call that was not just allowed.

    \b
    Examples:
      remit gate why
      remit gate why toolu_01A2b3
      remit gate why lookup-files
    """
    project = current_project()
    entry, rule, name = explain_decision(project.folders, project.named(session), wanted)
    shape = why_shape(entry, rule, name)
    print_answer(form, shape, why_lines(shape, columns()))
    return 0
