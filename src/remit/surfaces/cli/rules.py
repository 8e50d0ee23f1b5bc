"""`remit rules`."""

from __future__ import annotations

import click

from remit.surfaces.cli.printing import columns, print_lines, print_text


@click.command("rules")
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(name: str | None, form: str) -> int:
    """List every rule, or explain one by its NAME or code, with a good and a bad example.

    \b
    Examples:
      remit rules
      remit rules confidence-arithmetic
      remit rules --format json
    """
    from remit.reports.rules import rule_lines, rule_list_lines, rules_shape
    from remit.rules.catalog import CATALOG, find

    chosen = (find(name),) if name else CATALOG
    if form == "json":
        from remit.reports.json import pretty

        print_text(pretty(rules_shape(chosen)))
    elif name:
        print_lines(rule_lines(chosen[0], columns()))
    else:
        print_lines(rule_list_lines(chosen, columns()))
    return 0
