"""The command `remit verify`, and the steps that it shares with `remit check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import click

import remit as package
from remit.checking import Options, Verdict, check_text, read_source
from remit.clients.transcripts.reading import read_transcripts
from remit.contract.parse import MAX_BYTES
from remit.dispatch.telemetry import emit_verdicts
from remit.errors import UsageError
from remit.evidence.claims import claims_of
from remit.evidence.sources import Sources, open_sources
from remit.operations.documents import Check, Verify, verify_options
from remit.reports.claim_details import explain_lines
from remit.reports.formats import check_github, check_json, check_junit
from remit.reports.layout import escape_control
from remit.reports.shapes import FixShape
from remit.reports.verify import verify_lines, verify_markdown, verify_sarif
from remit.surfaces.cli.attesting import Documents, attest_verdicts
from remit.surfaces.cli.files import display_name, display_root, find_repository, find_texts
from remit.surfaces.cli.printing import (
    SlowNotice,
    operation_options,
    path_of,
    print_lines,
    print_text,
    terminal_columns,
)
from remit.verifying import fix_file


@click.command("verify")
@operation_options(Verify)
def command(wanted: Verify) -> int:
    """Check whether what a text states about the code is true, and since when not.

    FILE is any Markdown or plain text: an audit, a plan, the description of a pull request, a commit message, an
    agent's answer. It may be a folder (every Markdown and text file in it) or - for standard input. Its claims are
    looked up in the checkout: --repo, else the one that contains the first file, else the current folder.

    A claim is a location, a quote with a location, a name next to a location, a link to a file, or a command, test or
    commit of the project. Other prose is not checked.

    Each accusation is certain, likely, or worth a look. The exit code is 1 if a certain or likely one exists, otherwise
    0. With --fix, locations are corrected that moved, or that can mean only one file or line.

    \b
    Examples:
      remit verify audit.md
      remit verify docs/plan.md --rev v1.2.0 --claims
      remit verify docs/ --only certain
      remit verify audit.md --explain src/app.py:12
      git log -1 --format=%B | remit verify -
      remit verify audit.md --fix
      remit verify audit.md --attest audit.intoto.json
      remit verify pull-request.md --require-claims --format github
    """
    files = find_texts(wanted.paths)
    if wanted.fix and None in files:
        raise UsageError("--fix writes files; it cannot change standard input")
    if wanted.fix and wanted.attest is not None:
        raise UsageError("--fix changes the files; run --attest afterwards, without --fix")
    if wanted.explain is not None and wanted.form != "text":
        raise UsageError("--explain prints text; remove --format")
    options = verify_options(wanted)
    documents = Documents() if wanted.attest is not None else None
    root, origin = find_repository(path_of(wanted.repo), files)
    sources = open_sources(root, rev=wanted.rev, transcripts=read_transcripts(map(Path, wanted.transcripts)))
    try:
        with SlowNotice() as notice:
            answer = _verify_all(files, options, sources, notice, documents, fix=wanted.fix)
        _print(answer, f"{display_root(root)} ({origin})" if wanted.form == "text" else str(root), wanted)
    finally:
        sources.close()
    empty = finish_documents(wanted, documents, answer.verdicts, options, root)
    is_refused = bool(empty) and wanted.require_claims
    if is_refused and wanted.form != "text":  # the text form has a line for each
        click.echo(f"remit: no claims found in {escape_control(', '.join(empty))}", err=True)
    return 1 if is_refused or not all(verdict.accepted for verdict in answer.verdicts) else 0


def finish_documents(
    wanted: Check | Verify, documents: Documents | None, verdicts: list[Verdict], options: Options, root: Path
) -> list[str]:
    """Write the statement and store the verdicts, if that is wanted. Return the documents without claims."""
    if documents is not None:
        attest_verdicts(Path(wanted.attest or ""), documents, verdicts, options, root)
    emit_verdicts(verdicts, seconds=None)
    if wanted.record:
        from remit.surfaces.cli.recording import record_verdicts  # late: it needs the extra remit[run]

        record_verdicts(verdicts, "check" if isinstance(wanted, Check) else "verify", root)
    return [verdict.path for verdict in verdicts if not claims_of(verdict.evidence)]


def read_document(file: Path | None, documents: Documents | None) -> bytes:
    """Return the text of a document; None is standard input."""
    source = sys.stdin.buffer.read(MAX_BYTES + 1) if file is None else read_source(file)
    if documents is not None:
        documents.add(display_name(file), file, source)
    return source


class _Answer(NamedTuple):
    verdicts: list[Verdict]
    #: None without --fix.
    fixes: list[FixShape] | None


def _verify_all(
    files: list[Path | None],
    options: Options,
    sources: Sources,
    notice: SlowNotice,
    documents: Documents | None,
    *,
    fix: bool,
) -> _Answer:
    verdicts: list[Verdict] = []
    fixes: list[FixShape] = []
    for number, file in enumerate(files, 1):
        name = display_name(file)
        notice.update(f"checking {name}" + (f" ({number} of {len(files)})" if len(files) > 1 else ""))
        source = read_document(file, documents)
        if fix and file is not None:
            fixed = fix_file(file, source, name, options, sources)
            verdicts += fixed.verdicts
            fixes += (FixShape(name, one.line, one.old, one.new) for one in fixed.fixes)
        else:
            verdicts += check_text(source, name, options, sources)
    return _Answer(verdicts, fixes if fix else None)


def _print(answer: _Answer, root: str, wanted: Verify) -> None:
    form, (verdicts, fixes) = wanted.form, answer
    only, required = wanted.only, wanted.require_claims
    if wanted.explain is not None:
        _print_explanation(verdicts, wanted.explain)
    elif form == "text":
        shown = terminal_columns()
        print_lines(verify_lines(verdicts, shown, root=root, every=wanted.claims, only=only, fixes=fixes or ()))
    elif form == "markdown":
        print_text(verify_markdown(verdicts, root, fixes or (), only=only))
    elif form == "sarif":
        print_text(verify_sarif(verdicts, package.__version__, require_claims=required, only=only))
    elif form == "json":
        print_text(check_json(verdicts, root, fixes))
    elif form == "github":
        print_text(check_github(verdicts, require_claims=required, only=only))
    else:
        print_text(check_junit(verdicts, "verify", require_claims=required, only=only))


def _print_explanation(verdicts: list[Verdict], claim: str) -> None:
    lines = list(explain_lines(verdicts, claim, terminal_columns()))
    if not lines:
        raise UsageError(f"no claim matches {claim!r}; `--claims` lists all claims with their lines")
    print_lines(lines)
