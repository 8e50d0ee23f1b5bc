"""The command `remit verify`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
from msgspec.structs import replace

from remit import __version__
from remit.checking import Options, Verdict, check_text, read_source
from remit.clients.transcripts import read_transcripts
from remit.contract.parse import MAX_BYTES
from remit.dispatch.verdict_events import emit_verdicts
from remit.errors import UsageError
from remit.evidence.claims import claims_of
from remit.evidence.model import RELIABILITIES
from remit.evidence.sources import Sources, open_sources
from remit.reports.claim_details import explain_lines
from remit.reports.formats import check_github, check_json, check_junit
from remit.reports.layout import escape_control
from remit.reports.shapes import FixShape
from remit.reports.verify import verify_lines, verify_markdown, verify_sarif
from remit.surfaces.cli.attesting import Documents, attest_verdicts
from remit.surfaces.cli.files import display_name, display_root, find_repository, find_texts
from remit.surfaces.cli.printing import SlowNotice, print_lines, print_text, terminal_columns
from remit.surfaces.cli.recording import attest_option, documents_to_attest, record_option, record_verdicts
from remit.verifying import OPTIONS, fix_file

_PATH = click.Path(path_type=Path)
_FORMATS = ["text", "json", "sarif", "github", "junit", "markdown"]


@click.command("verify")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--repo", type=_PATH, help="The checkout that claims are checked against.")
@click.option("--rev", help="Check claims against this commit; default: the files on disk.")
@click.option("--transcript", multiple=True, type=_PATH, help="A transcript of the session that produced the text.")
@click.option("--require-claims", is_flag=True, help="Exit with 1 if a text has no claims.")
@click.option("--claims", is_flag=True, help="Show every claim, not only those that fail or are worth a look.")
@click.option("--strict", is_flag=True, help="Let accusations fail that are only worth a look.")
@click.option(
    "--only",
    type=click.Choice(RELIABILITIES),
    default="look",
    show_default=True,
    help="Hide accusations that are less reliable.",
)
@click.option("--explain", metavar="CLAIM", help="Show how a claim was judged: a line, a location or words of it.")
@click.option("--fix", is_flag=True, help="Write full paths and correct lines into the files.")
@record_option
@attest_option
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True, help="The output format."
)
def command(paths: tuple[str, ...], **flags: Any) -> int:
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
    files = find_texts(paths)
    if flags["fix"] and None in files:
        raise UsageError("--fix writes files; it cannot change standard input")
    if flags["fix"] and flags["attest"] is not None:
        raise UsageError("--fix changes the files; run --attest afterwards, without --fix")
    if flags["explain"] is not None and flags["form"] != "text":
        raise UsageError("--explain prints text; remove --format")
    options = _options(flags)
    documents = documents_to_attest(flags)
    root, origin = find_repository(flags["repo"], files)
    sources = open_sources(root, rev=flags["rev"], transcripts=read_transcripts(flags["transcript"]))
    try:
        with SlowNotice() as notice:
            answer = _verify_all(files, options, sources, notice, documents, fix=flags["fix"])
        _print(answer, f"{display_root(root)} ({origin})" if flags["form"] == "text" else str(root), flags)
    finally:
        sources.close()
    if documents is not None:
        attest_verdicts(flags["attest"], documents, answer.verdicts, options, root)
    emit_verdicts(answer.verdicts, seconds=None)
    if flags["record"]:
        record_verdicts(answer.verdicts, "verify", root)
    empty = [verdict.path for verdict in answer.verdicts if not claims_of(verdict.evidence)]
    is_refused = bool(empty) and flags["require_claims"]
    if is_refused and flags["form"] != "text":  # the text form has a line for each
        click.echo(f"remit: no claims found in {escape_control(', '.join(empty))}", err=True)
    return 1 if is_refused or not all(verdict.accepted for verdict in answer.verdicts) else 0


class _Answer(NamedTuple):
    verdicts: list[Verdict]
    #: None without --fix.
    fixes: list[FixShape] | None


def _options(flags: dict[str, Any]) -> Options:
    """Return the options: which accusations fail. What is hidden does not fail."""
    only = flags["only"]
    if flags["strict"] and only != "look":
        raise UsageError(f"--strict lets all accusations fail, and --only {only} hides some; use one of them")
    if flags["strict"]:
        return replace(OPTIONS, least="look")
    return replace(OPTIONS, least="certain") if only == "certain" else OPTIONS


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
        source = sys.stdin.buffer.read(MAX_BYTES + 1) if file is None else read_source(file)
        if documents is not None:
            documents.add(name, file, source)
        if fix and file is not None:
            fixed = fix_file(file, source, name, options, sources)
            verdicts += fixed.verdicts
            fixes += (FixShape(name, one.line, one.old, one.new) for one in fixed.fixes)
        else:
            verdicts += check_text(source, name, options, sources)
    return _Answer(verdicts, fixes if fix else None)


def _print(answer: _Answer, root: str, flags: dict[str, Any]) -> None:
    form, (verdicts, fixes) = flags["form"], answer
    only, required = flags["only"], flags["require_claims"]
    if flags["explain"] is not None:
        _print_explanation(verdicts, flags["explain"])
    elif form in ("text", "markdown", "sarif"):
        if form == "text":
            shown = terminal_columns()
            print_lines(verify_lines(verdicts, shown, root=root, every=flags["claims"], only=only, fixes=fixes or ()))
        elif form == "markdown":
            print_text(verify_markdown(verdicts, root, fixes or (), only=only))
        else:
            print_text(verify_sarif(verdicts, __version__, require_claims=required, only=only))
    elif form == "json":
        print_text(check_json(verdicts, root, fixes))
    elif form == "github":
        print_text(check_github(verdicts, require_claims=required, only=only))
    else:
        print_text(check_junit(verdicts, "verify", require_claims=required, only=only))


def _print_explanation(verdicts: list[Verdict], wanted: str) -> None:
    lines = list(explain_lines(verdicts, wanted, terminal_columns()))
    if not lines:
        raise UsageError(f"no claim matches {wanted!r}; `--claims` lists all claims with their lines")
    print_lines(lines)
