"""`remit schema`."""

from __future__ import annotations

import click

from remit.surfaces.cli.printing import print_text


@click.command("schema")
@click.argument("name", type=click.Choice(["result", "check"]), default="result")
def command(name: str) -> int:
    """Print the JSON Schema of a result written as JSON, or of a report.

    \b
    Examples:
      remit schema result
      remit schema check
    """
    from remit.reports.json import pretty
    from remit.reports.shapes import check_schema, result_schema

    print_text(pretty(result_schema() if name == "result" else check_schema()))
    return 0
