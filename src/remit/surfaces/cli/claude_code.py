"""`remit install`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remit.errors import UsageError
from remit.gate.settings import MODES
from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control, wrap_text
from remit.surfaces.cli.printing import columns, print_lines, print_text

if TYPE_CHECKING:
    from remit.clients.claude_code.setup.plan import FileChange, InstallPlan

_STYLES = {"+": "green", "-": "red", "~": "yellow", "@": "cyan"}


@click.command("install")
@click.argument("client", type=click.Choice(["claude-code"]))
@click.option("--project", type=click.Path(path_type=Path), help="The project; default: the one you are in.")
@click.option("--user", "is_user", is_flag=True, help="For every project of yours instead of one.")
@click.option("--mode", type=click.Choice(MODES), help="How strict the gate is; default: as configured, or standard.")
@click.option("--http", metavar="URL", help="Let hooks call this loopback address; a later version brings the server.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def install_command(
    client: str, project: Path | None, mode: str | None, http: str | None, form: str, *, is_user: bool, is_sure: bool
) -> int:
    """Put a client's subagents and orchestrator under contract.

    Shows every file that would change, and asks. Installing again changes nothing; `remit uninstall` takes it back.

    \b
    Examples:
      remit install claude-code --mode observe
      remit install claude-code --project ~/shop --yes
    """
    from remit.clients.claude_code.setup.install import apply_install, install_lock, plan_install, status_message
    from remit.clients.claude_code.setup.target import find_target

    place = find_target(project, is_user=is_user)
    with install_lock(place):
        plan = plan_install(place, mode=mode, http=http)
        if plan.changes and not confirm(plan, form, is_sure=is_sure):
            return 1
        # Without changes the record and the compiled settings are made anew all the same: that mends a lost one.
        apply_install(plan)
        return print_plan(plan, form, status_message(plan, client))


def confirm(plan: InstallPlan, form: str, *, is_sure: bool) -> bool:
    """Show what would be done and ask; without a person there, `--yes` has to say it."""
    if form == "text":
        print_lines(plan_lines(plan))
    if is_sure:
        return True
    if form == "json" or not sys.stdin.isatty():
        raise UsageError("nobody is there to be asked: give --yes to do it")
    if click.confirm("Go on?"):
        return True
    print_text("nothing was changed")
    return False


def print_plan(plan: InstallPlan, form: str, words: str) -> int:
    """Say what was done."""
    if form == "text":
        print_text(
            "\n".join(
                [*(f"kept {escape_control(line)}" for line in plan.kept), *map(escape_control, plan.notes), words]
            )
        )
        return 0
    from remit.reports.formats import format_json

    changed = [{"path": str(one.path), "change": one.mark} for one in plan.changes]
    report = {"schema": "remit.install/1", "changes": changed, "kept": plan.kept, "notes": plan.notes}
    print_text(format_json({**report, "outcome": words}))
    return 0


def plan_lines(plan: InstallPlan) -> list[Line]:
    """Every file by its name, and the differences in those that are shared with a person."""
    lines: list[Line] = []
    inside = [change for change in plan.changes if change.path.is_relative_to(plan.place.plugin)]
    for change in plan.changes:
        if change not in inside:
            lines += _lines(plan, change)
    if inside:
        words = f"{plan.place.told(plan.place.plugin)}/ ({len(inside)} files: the same as a plugin)"
        lines.append([Piece(f"{inside[0].mark} {escape_control(words)}", _STYLES[inside[0].mark])])
    return lines


def _lines(plan: InstallPlan, change: FileChange) -> list[Line]:
    lines: list[Line] = [[Piece(f"{change.mark} {escape_control(plan.place.told(change.path))}", _STYLES[change.mark])]]
    shown = change.difference() if change.is_shared else []
    lines += [[Piece(_fitting(f"    {escape_control(line)}"), _STYLES.get(line[:1], ""))] for line in shown]
    # Lines are cut to the screen: what is called is told whole.
    calls = plan.calls if change.path == plan.place.settings and change.after is not None else ""
    if calls:
        lines += [[Piece(row, "dim")] for row in wrap_text(f"each entry calls {escape_control(calls)}", columns(), 4)]
    return lines


def _fitting(text: str) -> str:
    return text if display_width(text) <= columns() else cut_width(text, columns() - 1) + "…"


@click.command("hook")
@click.argument("event", default="")
def hook_command(event: str) -> int:
    """Answer a hook of Claude Code: its payload on the input, the answer on the output.

    EVENT is the hook's event, for payloads that do not say it. The exit code is always 0. What
    `remit install claude-code` puts in place does the same and starts faster.

    \b
    Examples:
      remit hook PreToolUse < payload.json
    """
    from remit.clients.claude_code.events import run

    run(event)
    return 0


@click.command("uninstall")
@click.argument("client", type=click.Choice(["claude-code"]), default="claude-code")
@click.option("--project", type=click.Path(path_type=Path), help="The project; default: the one you are in.")
@click.option("--user", "is_user", is_flag=True, help="The install for every project of yours.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def uninstall_command(client: str, project: Path | None, form: str, *, is_user: bool, is_sure: bool) -> int:
    """Take an install back: hooks, files, and what the gate kept.

    Files that you have changed since stay, and are named.

    \b
    Examples:
      remit uninstall
      remit uninstall claude-code --user --yes
    """
    from remit.clients.claude_code.setup.install import install_lock
    from remit.clients.claude_code.setup.target import find_target
    from remit.clients.claude_code.setup.uninstall import apply_uninstall, is_empty_plan, plan_uninstall

    place = find_target(project, is_user=is_user)
    with install_lock(place):
        plan = plan_uninstall(place)
        if is_empty_plan(plan):
            return print_plan(plan, form, f"{client} is not under contract here: nothing to remove")
        if not confirm(plan, form, is_sure=is_sure):
            return 1
        apply_uninstall(plan)
        return print_plan(plan, form, f"{client} is no longer under contract here")
