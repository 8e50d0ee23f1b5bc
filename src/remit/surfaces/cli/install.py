"""`remit install`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remit.errors import UsageError
from remit.gate.settings import MODES
from remit.reports.layout import Line, Piece
from remit.reports.visible import cut, visible, width, wrapped
from remit.surfaces.cli.printing import columns, print_lines, print_text

if TYPE_CHECKING:
    from remit.clients.claude_code.setup.changes import Change, Plan

_STYLES = {"+": "green", "-": "red", "~": "yellow", "@": "cyan"}


@click.command("install")
@click.argument("client", type=click.Choice(["claude-code"]))
@click.option("--project", type=click.Path(path_type=Path), help="The project; default: the one you are in.")
@click.option("--user", "is_user", is_flag=True, help="For every project of yours instead of one.")
@click.option("--mode", type=click.Choice(MODES), help="How strict the gate is; default: as configured, or standard.")
@click.option("--http", metavar="URL", help="Let hooks call this loopback address; a later version brings the server.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    client: str, project: Path | None, mode: str | None, http: str | None, form: str, *, is_user: bool, is_sure: bool
) -> int:
    """Put a client's subagents and orchestrator under contract.

    Shows every file that would change, and asks. Installing again changes nothing; `remit uninstall` takes it back.

    \b
    Examples:
      remit install claude-code --mode observe
      remit install claude-code --project ~/shop --yes
    """
    from remit.clients.claude_code.setup.alone import alone
    from remit.clients.claude_code.setup.ending import last_words
    from remit.clients.claude_code.setup.installing import apply_install, plan_install
    from remit.clients.claude_code.setup.place import find_place

    place = find_place(project, is_user=is_user)
    with alone(place):
        plan = plan_install(place, mode=mode, http=http)
        if plan.changes and not agreed(plan, form, is_sure=is_sure):
            return 1
        # Without changes the record and the compiled settings are made anew all the same: that mends a lost one.
        apply_install(plan)
        return tell(plan, form, last_words(plan, client))


def agreed(plan: Plan, form: str, *, is_sure: bool) -> bool:
    """Show what would be done and ask; without a person there, `--yes` has to say it."""
    if form == "text":
        print_lines(lines_of(plan))
    if is_sure:
        return True
    if form == "json" or not sys.stdin.isatty():
        raise UsageError("nobody is there to be asked: give --yes to do it")
    if click.confirm("Go on?"):
        return True
    print_text("nothing was changed")
    return False


def tell(plan: Plan, form: str, words: str) -> int:
    """Say what was done."""
    if form == "text":
        print_text("\n".join([*(f"kept {visible(line)}" for line in plan.kept), *map(visible, plan.notes), words]))
        return 0
    from remit.reports.json import pretty

    changed = [{"path": str(one.path), "change": one.mark} for one in plan.changes]
    report = {"schema": "remit.install/1", "changes": changed, "kept": plan.kept, "notes": plan.notes}
    print_text(pretty({**report, "outcome": words}))
    return 0


def lines_of(plan: Plan) -> list[Line]:
    """Every file by its name, and the differences in those that are shared with a person."""
    lines: list[Line] = []
    inside = [change for change in plan.changes if change.path.is_relative_to(plan.place.plugin)]
    for change in plan.changes:
        if change not in inside:
            lines += _lines(plan, change)
    if inside:
        words = f"{plan.place.told(plan.place.plugin)}/ ({len(inside)} files: the same as a plugin)"
        lines.append([Piece(f"{inside[0].mark} {visible(words)}", _STYLES[inside[0].mark])])
    return lines


def _lines(plan: Plan, change: Change) -> list[Line]:
    lines: list[Line] = [[Piece(f"{change.mark} {visible(plan.place.told(change.path))}", _STYLES[change.mark])]]
    shown = change.difference() if change.is_shared else []
    lines += [[Piece(_fitting(f"    {visible(line)}"), _STYLES.get(line[:1], ""))] for line in shown]
    # Lines are cut to the screen: what is called is told whole.
    calls = plan.calls if change.path == plan.place.settings and change.after is not None else ""
    if calls:
        lines += [[Piece(row, "dim")] for row in wrapped(f"each entry calls {visible(calls)}", columns(), 4)]
    return lines


def _fitting(text: str) -> str:
    return text if width(text) <= columns() else cut(text, columns() - 1) + "…"
