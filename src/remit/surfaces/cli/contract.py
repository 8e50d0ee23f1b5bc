"""The commands on the contract: rules, prompt, convert."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from remit.checking import read_source
from remit.configuration import load
from remit.contract.parse import parse
from remit.contract.render import render, to_json
from remit.errors import UsageError
from remit.operations.contract import ExplainRule, Prompt, prompt_shape
from remit.reports.formats import format_json
from remit.reports.rules import rule_lines, rule_list_lines, rules_shape
from remit.reports.shapes import result_schema
from remit.rules.catalog import every_rule, find
from remit.surfaces.cli.printing import Words, columns, operation_options, print_answer, print_text


@click.command("rules")
@operation_options(ExplainRule)
def rules_command(wanted: ExplainRule) -> int:
    """List the rules, or explain the rule with this NAME or code.

    \b
    Examples:
      remit rules
      remit rules confidence-arithmetic
      remit rules --format json
    """
    chosen = (find(wanted.name),) if wanted.name else every_rule()
    lines = rule_lines(chosen[0], columns()) if wanted.name else rule_list_lines(chosen, columns())
    print_answer(wanted.form, rules_shape(chosen), lines)
    return 0


@click.command("convert")
@click.argument("file", metavar="FILE")
@click.option("--to", "form", type=Words(["json", "markdown"]), required=True, help="The format to write.")
def convert_command(file: str, form: str) -> int:
    """Convert results to canonical Markdown or JSON.

    FILE is a file or - for standard input. Several results become one Markdown file, or a JSON list.

    \b
    Examples:
      remit convert answer.md --to json
      remit convert answer.json --to markdown > answer.md
    """
    documents = parse(sys.stdin.buffer.read() if file == "-" else read_source(Path(file)))
    for document in documents:
        if document.refusal:
            raise UsageError(f"{file}: {document.refusal}")
        if not document.has_content:
            raise UsageError(f"{file}: no result in this file; run `remit check` to see what is missing")
    results = [document.result for document in documents]
    if form == "markdown":
        print_text("\n".join(render(result) for result in results))
        return 0
    encoded = [to_json(result) for result in results]
    output = encoded[0] if len(encoded) == 1 else b"[" + b",".join(encoded) + b"]"
    print_text(msgspec.json.format(output, indent=2).decode())
    return 0


@click.command("prompt")
@operation_options(Prompt)
def prompt_command(wanted: Prompt) -> int:
    """Print the instructions that tell an agent how to write a result.

    They are generated from the kinds and rules that check the result.

    \b
    Examples:
      remit prompt --kind review
      remit prompt --kind exploration --profile v1
      remit prompt --kind review --agent qa-engineer
      remit prompt --schema
    """
    if wanted.schema:
        print_text(format_json(result_schema()))
        return 0
    shape = prompt_shape(wanted, load())
    print_answer(wanted.form, shape, shape.text)
    return 0
