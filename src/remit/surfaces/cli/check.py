"""The command `remit check`."""

from __future__ import annotations

from pathlib import Path

import click

from remit.checking import Verdict
from remit.configuration import load
from remit.evidence.sources import Sources
from remit.operations.documents import Check, check_options, check_texts, sources_of
from remit.reports.formats import check_github, check_json
from remit.reports.layout import Piece, escape_control, wrap_text
from remit.reports.verdict_text import check_text_lines
from remit.surfaces.cli.named_files import display_root, find_files, find_repository
from remit.surfaces.cli.printing import (
    columns,
    operation_options,
    path_of,
    print_lines,
    print_text,
)
from remit.surfaces.cli.verify import finish_documents, read_documents


@click.command("check")
@operation_options(Check)
def command(wanted: Check) -> int:
    """Check results against the contract and their claims against the checkout.

    FILE is a file, a folder (every Markdown file in it except READMEs and similar pages) or - for standard input.
    Without --repo, claims are checked against the checkout that contains the first file, else the current folder.
    The exit code is 0 if every result is accepted, otherwise 1.

    \b
    Examples:
      remit check answer.md
      remit check answer.md --repo ../shop --transcript agent.jsonl
      remit check results/ --profile v1 --format github
      cat answer.md | remit check - --format json
      remit check answer.md --attempt 2 --override confidence-reason="scored by a tool"
    """
    options = check_options(wanted, load())
    files = find_files(wanted.paths)
    root, origin = find_repository(path_of(wanted.repo), files)
    with sources_of(root, wanted) as sources:
        verdicts = list(check_texts(read_documents(files), options, sources))
        _print_verdicts(verdicts, wanted, sources, root, origin)
    empty = finish_documents(wanted, verdicts, root)
    is_accepted = all(verdict.accepted for verdict in verdicts)
    return 1 if not is_accepted or (empty and wanted.require_claims) else 0


def _print_verdicts(verdicts: list[Verdict], wanted: Check, sources: Sources, root: Path, origin: str) -> None:
    if wanted.form == "text":
        print_lines(check_text_lines(verdicts, columns(), sources.workspace))
        source = f"claims checked against {escape_control(f'{display_root(root)} ({origin})')}"
        print_lines([Piece(row, "dim")] for row in wrap_text(source, columns()))
    elif wanted.form == "json":
        print_text(check_json(verdicts, str(root)))
    else:
        print_text(check_github(verdicts, require_claims=wanted.require_claims))
