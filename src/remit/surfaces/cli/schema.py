"""`remit schema`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import click

from remit.errors import EnvironmentBroken
from remit.surfaces.cli.printing import print_text

_NAMES = ["result", "brief", "check", "merge", "decision", "job", "plan"]


@click.command("schema")
@click.argument("name", type=click.Choice(_NAMES), default="result")
def command(name: str) -> int:
    """Print the JSON Schema of a result written as JSON, of a report, or of what else `remit` reads and writes.

    \b
    Examples:
      remit schema result
      remit schema brief
      remit schema check
      remit schema merge
      remit schema decision
      remit schema job
      remit schema plan
    """
    from remit.reports.gate import decision_schema
    from remit.reports.json import pretty
    from remit.reports.shapes import brief_schema, check_schema, merge_schema, result_schema

    schemas = {"result": result_schema, "brief": brief_schema, "check": check_schema, "merge": merge_schema}
    schemas["decision"] = decision_schema
    print_text(pretty(_run_schema(name) if name in ("job", "plan") else schemas[name]()))
    return 0


def _run_schema(name: str) -> dict[str, Any]:
    if find_spec("psycopg") is None:
        raise EnvironmentBroken(f"the schema of a {name} needs the extra remit[run]")
    from remit.reports.jobs import job_schema
    from remit.reports.plans import plan_schema

    return job_schema() if name == "job" else plan_schema()
