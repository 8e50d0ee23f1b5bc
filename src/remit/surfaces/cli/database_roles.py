"""`remit db`."""

from __future__ import annotations

import click

from remit.dispatch.settings import Settings
from remit.errors import UsageError
from remit.store.database import Database
from remit.store.roles import RoleKind, apply_roles, check_names, role_script
from remit.surfaces.cli.printing import print_text
from remit.surfaces.cli.store import with_database


@click.group("db")
def command() -> None:
    """Prepare the shared database for several hosts.

    \b
    Examples:
      remit db roles --worker fleet_worker --submitter fleet_submitter
    """


@command.command("roles")
@click.option("--worker", metavar="NAME", help="The role of workers: runs jobs and plans.")
@click.option("--submitter", metavar="NAME", help="The role of submitters: submits jobs and reads results.")
@click.option("--apply", "is_applied", is_flag=True, help="Run the SQL instead of printing it.")
def roles(worker: str | None, submitter: str | None, *, is_applied: bool) -> int:
    """Print the SQL for roles with the least privileges, or run it.

    Run it with the account that owns the tables, and again after each upgrade: it also applies migrations. Roles that
    exist keep their passwords; new ones have none.

    \b
    Examples:
      remit db roles --worker fleet_worker --submitter fleet_submitter
      remit db roles --worker fleet_worker --apply
      remit db roles --submitter ci | psql "$REMIT_DATABASE_URL"
    """
    given: dict[RoleKind, str | None] = {"worker": worker, "submitter": submitter}
    names: dict[RoleKind, str] = {kind: name for kind, name in given.items() if name is not None}
    if not names:
        raise UsageError("name at least one role: --worker NAME or --submitter NAME")
    check_names(names)

    async def work(database: Database, _: Settings) -> list[str]:
        script = await role_script(database, names)
        if is_applied:
            await apply_roles(database, script)
        return script

    script = with_database(work)
    if is_applied:
        print_text("\n".join(f"role {name} is ready: {_SUMMARY[kind]}" for kind, name in names.items()))
        click.echo("remit: set a password for each new role in psql, with \\password NAME", err=True)
    else:
        print_text(";\n".join(["BEGIN", *script, "COMMIT;"]))
    return 0


_SUMMARY: dict[RoleKind, str] = {
    "worker": "it runs jobs and plans, and cannot change tables or read tokens",
    "submitter": "it submits jobs and reads results, and cannot change jobs",
}
