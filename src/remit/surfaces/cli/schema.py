"""`remit schema`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import click

from remit.errors import EnvironmentBroken
from remit.surfaces.cli.printing import print_text


@click.command("schema")
@click.argument("name", type=click.Choice(["result", "brief", "check", "merge", "job"]), default="result")
def command(name: str) -> int:
    """Print the JSON Schema of a result written as JSON, of a brief, of a report, or of a job.

    \b
    Examples:
      remit schema result
      remit schema brief
      remit schema check
      remit schema merge
      remit schema job
    """
    from remit.reports.json import pretty
    from remit.reports.shapes import brief_schema, check_schema, merge_schema, result_schema

    schemas = {"result": result_schema, "brief": brief_schema, "check": check_schema, "merge": merge_schema}
    print_text(pretty(_job_schema() if name == "job" else schemas[name]()))
    return 0


def _job_schema() -> dict[str, Any]:
    if find_spec("psycopg") is None:
        raise EnvironmentBroken("the schema of a job needs the extra remit[run]")
    from remit.reports.jobs import job_schema

    return job_schema()
