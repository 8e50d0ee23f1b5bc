"""`remit schema`."""

from __future__ import annotations

import click

from remit.surfaces.cli.printing import print_text


@click.command("schema")
@click.argument("name", type=click.Choice(["result", "brief", "check", "merge"]), default="result")
def command(name: str) -> int:
    """Print the JSON Schema of a result written as JSON, of a brief, or of a report.

    \b
    Examples:
      remit schema result
      remit schema brief
      remit schema check
      remit schema merge
    """
    from remit.reports.json import pretty
    from remit.reports.shapes import brief_schema, check_schema, merge_schema, result_schema

    schemas = {"result": result_schema, "brief": brief_schema, "check": check_schema, "merge": merge_schema}
    print_text(pretty(schemas[name]()))
    return 0
