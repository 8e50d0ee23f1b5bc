"""`remit uninstall`."""

from __future__ import annotations

from pathlib import Path

import click

from remit.surfaces.cli.install import agreed, tell


@click.command("uninstall")
@click.argument("client", type=click.Choice(["claude-code"]), default="claude-code")
@click.option("--project", type=click.Path(path_type=Path), help="The project; default: the one you are in.")
@click.option("--user", "is_user", is_flag=True, help="The install for every project of yours.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(client: str, project: Path | None, form: str, *, is_user: bool, is_sure: bool) -> int:
    """Take an install back: hooks, files, and what the gate kept.

    Files that you have changed since stay, and are named.

    \b
    Examples:
      remit uninstall
      remit uninstall claude-code --user --yes
    """
    from remit.clients.claude_code.setup.alone import alone
    from remit.clients.claude_code.setup.place import find_place
    from remit.clients.claude_code.setup.removing import apply_removal, is_nothing, plan_removal

    place = find_place(project, is_user=is_user)
    with alone(place):
        plan = plan_removal(place)
        if is_nothing(plan):
            return tell(plan, form, f"{client} is not under contract here: nothing to remove")
        if not agreed(plan, form, is_sure=is_sure):
            return 1
        apply_removal(plan)
        return tell(plan, form, f"{client} is no longer under contract here")
