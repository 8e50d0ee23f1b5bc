"""`remit dev`: the commands on the contract."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from remit.checking import read_source
from remit.configuration import load
from remit.contract.parse import parse
from remit.contract.render import render, to_json
from remit.errors import UsageError
from remit.operations.contract import ExplainRule, Prompt, prompt_shape
from remit.reports.agent_definitions import brief_schema
from remit.reports.formats import format_json
from remit.reports.gate_sessions import decision_schema
from remit.reports.rules import rule_lines, rule_list_lines, rules_shape
from remit.reports.shapes import check_schema, merge_schema, result_schema
from remit.rules.catalog import every_rule, find
from remit.surfaces.cli.printing import columns, operation_options, print_answer, print_text

_NAMES = ["result", "brief", "check", "merge", "decision", "job", "plan"]


@click.group("dev")
def dev_command() -> None:
    """Show the rules, the instructions and the schemas that results follow, and convert results.

    \b
    Examples:
      remit dev rules
      remit dev prompt --kind review
      remit dev schema result
      remit dev convert answer.md --to json
    """


@dev_command.command("rules")
@operation_options(ExplainRule)
def rules_command(wanted: ExplainRule) -> int:
    """List the rules, or explain the rule with this NAME or code.

    \b
    Examples:
      remit dev rules
      remit dev rules confidence-arithmetic
      remit dev rules --format json
    """
    chosen = (find(wanted.name),) if wanted.name else every_rule()
    lines = rule_lines(chosen[0], columns()) if wanted.name else rule_list_lines(chosen, columns())
    print_answer(wanted.form, rules_shape(chosen), lines)
    return 0


@dev_command.command("convert")
@click.argument("file", metavar="FILE")
@click.option("--to", "form", type=click.Choice(["md", "json"]), required=True, help="The format to write.")
def convert_command(file: str, form: str) -> int:
    """Convert results to canonical Markdown or JSON.

    FILE is a file or - for standard input. Several results become one Markdown file, or a JSON list.

    \b
    Examples:
      remit dev convert answer.md --to json
      remit dev convert answer.json --to md > answer.md
    """
    documents = parse(sys.stdin.buffer.read() if file == "-" else read_source(Path(file)))
    for document in documents:
        if document.refusal:
            raise UsageError(f"{file}: {document.refusal}")
        if not document.has_content:
            raise UsageError(f"{file}: no result in this file; run `remit check` to see what is missing")
    results = [document.result for document in documents]
    if form == "md":
        print_text("\n".join(render(result) for result in results))
        return 0
    encoded = [to_json(result) for result in results]
    output = encoded[0] if len(encoded) == 1 else b"[" + b",".join(encoded) + b"]"
    print_text(msgspec.json.format(output, indent=2).decode())
    return 0


@dev_command.command("prompt")
@operation_options(Prompt)
def prompt_command(wanted: Prompt) -> int:
    """Print the instructions that tell an agent how to write a result.

    They are generated from the kinds and rules that check the result.

    \b
    Examples:
      remit dev prompt --kind review
      remit dev prompt --kind exploration --profile v1
      remit dev prompt --kind review --agent qa-engineer
    """
    shape = prompt_shape(wanted, load())
    print_answer(wanted.form, shape, shape.text)
    return 0


@dev_command.command("schema")
@click.argument("name", type=click.Choice(_NAMES), default="result")
def schema_command(name: str) -> int:
    """Print the JSON Schema of a result or of a command's output.

    \b
    Examples:
      remit dev schema result
      remit dev schema brief
      remit dev schema check
      remit dev schema merge
      remit dev schema decision
      remit dev schema job
      remit dev schema plan
    """
    schemas = {"result": result_schema, "brief": brief_schema, "check": check_schema, "merge": merge_schema}
    schemas["decision"] = decision_schema
    print_text(format_json(_run_schema(name) if name in ("job", "plan") else schemas[name]()))
    return 0


def _run_schema(name: str) -> dict[str, Any]:
    from remit.reports import job_text, plan_text  # late: they need the extra remit[run]

    return job_text.job_schema() if name == "job" else plan_text.plan_schema()
