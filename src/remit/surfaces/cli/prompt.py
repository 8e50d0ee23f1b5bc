"""`remit prompt`."""

from __future__ import annotations

import click

from remit.surfaces.cli.printing import print_text


@click.command("prompt")
@click.option("--kind", default="generic", show_default=True, help="The kind of result the agent sends.")
@click.option("--profile", help="The profile it is held to; default: the configured one.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(kind: str, profile: str | None, form: str) -> int:
    """Print the text that tells an agent how to answer.

    It is made from the same kinds and rules that check the answer.

    \b
    Examples:
      remit prompt --kind review
      remit prompt --kind exploration --profile v1
    """
    from remit.checking import Options
    from remit.configuration import load
    from remit.rules.instructions import instructions

    profile = profile or load()["profile"]
    Options(kind=kind, profile=profile).validated()
    text = instructions(kind, profile)
    if form == "json":
        from remit.reports.json import pretty

        text = pretty({"schema": "remit.prompt/1", "kind": kind, "profile": profile, "text": text})
    print_text(text)
    return 0
