"""`remit convert`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from remit.checking import read_source
from remit.contract.parse import parse
from remit.contract.render import render, to_json
from remit.errors import UsageError
from remit.surfaces.cli.printing import print_text


@click.command("convert")
@click.argument("file", metavar="FILE")
@click.option("--to", "form", type=click.Choice(["md", "json"]), required=True, help="The form to write.")
def command(file: str, form: str) -> int:
    """Write the results in FILE (- for standard input) in canonical Markdown or as JSON.

    Several results become one Markdown file, or a JSON list.

    \b
    Examples:
      remit convert answer.md --to json
      remit convert answer.json --to md > answer.md
    """
    import msgspec

    documents = parse(sys.stdin.buffer.read() if file == "-" else read_source(Path(file)))
    for document in documents:
        if document.refusal:
            raise UsageError(f"{file}: {document.refusal}")
        if not document.has_content:
            raise UsageError(f"{file}: there is no result in it; `remit check` says what is missing")
    results = [document.result for document in documents]
    if form == "md":
        print_text("\n".join(render(result) for result in results))
        return 0
    encoded = [to_json(result) for result in results]
    whole = encoded[0] if len(encoded) == 1 else b"[" + b",".join(encoded) + b"]"
    print_text(msgspec.json.format(whole, indent=2).decode())
    return 0
