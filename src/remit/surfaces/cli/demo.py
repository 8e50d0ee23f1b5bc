"""The command `remit demo`."""

from __future__ import annotations

import click

from remit.surfaces.cli.printing import form_option


@click.command("demo")
@click.option("--recorded", "is_recorded", is_flag=True, help="Play the recorded model although a key is set.")
@form_option()
def command(*, is_recorded: bool, form: str) -> int:
    """Review an example shop, and show what was claimed, what was false and what remains.

    Three subagents review the shop. With a key for a model, that model is used, which costs money; without one, a
    recording plays the model. The jobs, tools, checks, corrections and the merge are those of `remit review`. The
    database is removed at the end; the copy of the shop and the report stay in the folder `demo` of the state folder.

    \b
    Examples:
      remit demo
      remit demo --recorded --format json
    """
    from remit.surfaces.cli.playing import play  # late: it needs the extra remit[run]

    return play(is_recorded=is_recorded, form=form)
