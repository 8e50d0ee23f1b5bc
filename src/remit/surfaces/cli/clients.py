"""`remit install`, `remit uninstall` and `remit hook`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from remit.clients.answer_event import run
from remit.clients.known_clients import CLIENTS
from remit.clients.setup.file_changes import FileChange, InstallPlan, record_file
from remit.clients.setup.install import apply_install, install_lock, installed_mode, plan_install, status_message
from remit.clients.setup.target import InstallTarget
from remit.clients.setup.uninstall import apply_uninstall, plan_uninstall, plan_uninstalls
from remit.errors import UsageError
from remit.gate.settings import MODES, VERIFY
from remit.reports.formats import format_json
from remit.reports.layout import Line, Piece, cut_width, display_width, escape_control, wrap_text
from remit.surfaces.cli.printing import columns, form_option, print_lines, print_text, terminal_columns

#: The question for the mode explains each in one line.
MEANINGS = {
    "verify": "checks what the assistant and its subagents say; no call is denied, nothing else installed",
    "orchestrator": "the assistant has to delegate: agents are installed, calls against the rules denied",
}
_STYLES = {"+": "green", "-": "red", "~": "yellow", "@": "cyan"}


@click.command("install")
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--project", type=click.Path(path_type=Path), help="The project; default: the current one.")
@click.option("--user", "is_user", is_flag=True, help="Install for all your projects instead of one.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="What Remit does; default: the installed mode, else you are asked, or verify with --yes.",
)
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask for confirmation.")
@form_option()
def install_command(
    client: str,
    project: Path | None,
    mode: str | None,
    form: str,
    *,
    is_user: bool,
    is_sure: bool,
) -> int:
    """Verify what a client's assistant and its subagents say, or put them under contract.

    Shows every file that would change and asks for confirmation. Installing again changes nothing, or changes the mode.
    Remove it with `remit uninstall`.

    \b
    Examples:
      remit install claude-code
      remit install claude-code --mode orchestrator
      remit install copilot --user
      remit install claude-code --project ~/shop --yes
    """
    target = CLIENTS[client].find_target(project, is_user=is_user)
    with install_lock(target):
        mode = mode or _choose_mode(target, form, is_sure=is_sure)
        plan = plan_install(target, mode=mode)
        if plan.changes:
            if not confirm([plan], form, is_sure=is_sure):
                return 1
        elif form == "text":
            print_remarks(plan)
        # Also without changes: the record and the compiled settings are written again, in case they were lost.
        apply_install(plan)
        return print_plan(plan, form, status_message(plan))


def _choose_mode(target: InstallTarget, form: str, *, is_sure: bool) -> str | None:
    """Return the mode of a new install; None if the installed one stays. A person on a terminal is asked."""
    if installed_mode(target) or len(target.client.modes) == 1 or is_sure or form == "json" or not sys.stdin.isatty():
        return None
    for name, meaning in MEANINGS.items():
        first, *rows = wrap_text(meaning, columns(), 13)
        print_text("\n".join([f"{name:<12} {first[13:]}", *rows]))
    answer: str = click.prompt("Which mode?", type=click.Choice(MODES), default=VERIFY)
    return answer


def confirm(plans: Sequence[InstallPlan], form: str, *, is_sure: bool) -> bool:
    """Show the changes and ask for confirmation. Without a terminal, `--yes` is required."""
    for plan in plans if form == "text" else ():
        if len(plans) > 1:
            print_lines([[Piece(f"{plan.target.client.name}:", "bold")]])
        print_lines(plan_lines(plan))
        print_remarks(plan)
    if is_sure:
        return True
    if form == "json" or not sys.stdin.isatty():
        raise UsageError("not a terminal; pass --yes to confirm")
    if click.confirm("Continue?"):
        return True
    print_text("nothing was changed")
    return False


def print_remarks(plan: InstallPlan) -> None:
    """Print what stays and what else the person must know, before the question."""
    for remark in (*(f"kept {line}" for line in plan.kept), *plan.notes):
        _print_wrapped(remark)


def _print_wrapped(text: str) -> None:
    """Print sentences: on a terminal in its width, in a pipe each as one line."""
    width = terminal_columns()
    for sentence in text.splitlines():
        plain = escape_control(sentence)
        print_text(plain if width is None else "\n".join(wrap_text(plain, width, keeps_paths=True)))


def print_plan(plan: InstallPlan, form: str, outcome: str) -> int:
    """Print the outcome, as JSON with the applied changes."""
    if form == "text":
        _print_wrapped(outcome)
        return 0

    changed = [{"path": str(change.path), "change": change.mark} for change in plan.changes]
    report = {"schema": "remit.install/1", "changes": changed, "kept": plan.kept, "notes": plan.notes}
    print_text(format_json({**report, "outcome": outcome}))
    return 0


def plan_lines(plan: InstallPlan) -> list[Line]:
    """Return each file by its name, with a diff for files that also belong to the user."""
    return [line for change in plan.changes for line in _lines(plan, change)]


def _lines(plan: InstallPlan, change: FileChange) -> list[Line]:
    lines: list[Line] = [
        [Piece(f"{change.mark} {escape_control(plan.target.display_path(change.path))}", _STYLES[change.mark])]
    ]
    diff = change.difference() if change.is_shared else []
    lines += [[Piece(_cut_to_screen(f"    {escape_control(line)}"), _STYLES.get(line[:1], ""))] for line in diff]
    # Lines of the diff are cut to the width of the screen, so the whole command is printed below.
    calls = plan.calls if change.path == plan.target.settings and change.after is not None else ""
    if calls:
        lines += [[Piece(row, "dim")] for row in wrap_text(f"each entry calls {escape_control(calls)}", columns(), 4)]
    return lines


def _cut_to_screen(text: str) -> str:
    return text if display_width(text) <= columns() else cut_width(text, columns() - 1) + "…"


@click.command("hook")
@click.argument("event", default="")
@click.option(
    "--client", type=click.Choice(list(CLIENTS)), default="claude-code", show_default=True, help="Who sends the event."
)
@click.option("--mode", type=click.Choice(MODES), default=VERIFY, show_default=True, help="The mode of the install.")
def hook_command(event: str, client: str, mode: str) -> int:
    """Answer a hook of a client: read the payload from stdin and print the answer.

    EVENT is used if the payload does not name its event. The exit code is always 0. The hooks that
    `remit install` installs do the same and start faster.

    \b
    Examples:
      remit hook SubagentStop < payload.json
      remit hook PreToolUse --mode orchestrator < payload.json
      remit hook SubagentStop --client codex < payload.json
    """
    run(event, client, mode)
    return 0


@click.command("uninstall")
@click.argument("client", type=click.Choice(list(CLIENTS)), required=False)
@click.option("--project", type=click.Path(path_type=Path), help="The project; default: the current one.")
@click.option("--user", "is_user", is_flag=True, help="Remove what is installed for all your projects instead.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask for confirmation.")
@form_option()
def uninstall_command(client: str | None, project: Path | None, form: str, *, is_user: bool, is_sure: bool) -> int:
    """Remove the install of all clients, or of one: hooks, files and, with the last, the gate's recorded state.

    Files that you have changed since the install stay, and are listed, as is what other commands stored.

    \b
    Examples:
      remit uninstall
      remit uninstall codex
      remit uninstall --user --yes
    """
    targets = [CLIENTS[name].find_target(project, is_user=is_user) for name in ([client] if client else CLIENTS)]
    with install_lock(targets[0]):
        plans = plan_uninstalls(targets)
        if not plans:
            nothing = plan_uninstall(targets[0])
            if form == "text":
                print_remarks(nothing)
            what = f"{client} is not" if client else "no client is"
            return print_plan(nothing, form, f"{what} installed here; nothing to remove" + _elsewhere(targets))
        if not confirm(plans, form, is_sure=is_sure):
            return 1
        for plan in plans:
            apply_uninstall(plan)
        names = ", ".join(plan.target.client.name for plan in plans)
        changes = [change for plan in plans for change in plan.changes]
        kept, notes = [line for plan in plans for line in plan.kept], [line for plan in plans for line in plan.notes]
        whole = plans[-1]._replace(changes=changes, kept=kept, notes=notes)
        return print_plan(whole, form, f"{names}: Remit's hooks and files are removed" + _elsewhere(targets))


def _elsewhere(targets: Sequence[InstallTarget]) -> str:
    """Return where Remit is still installed, with the command that removes it; "" if it is not known to be."""
    root, is_user = targets[0].root, targets[0].is_user
    here = [setup.find_target(None if is_user else root, is_user=is_user) for setup in CLIENTS.values()]
    user = [] if is_user else [setup.find_target(None, is_user=True) for setup in CLIENTS.values()]
    parts = [
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} still installed {where} (`{command}`)"
        for found, where, command in (
            (here, "here", "remit uninstall" + " --user" * is_user),
            (user, "for all your projects", "remit uninstall --user"),
        )
        if (names := [target.client.name for target in found if record_file(target).is_file()])
    ]
    return "; ".join(["", *parts])
