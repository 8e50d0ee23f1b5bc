"""The command `remit verify`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from remit.checking import Verdict, check_text, read_source
from remit.contract.parse import MAX_BYTES
from remit.dispatch.verdict_events import emit_verdicts
from remit.errors import UsageError
from remit.evidence.claims import claims_of
from remit.evidence.sources import Sources, open_sources
from remit.surfaces.cli.files import display_name, display_root, find_repository, find_texts
from remit.surfaces.cli.printing import SlowNotice, columns, print_lines, print_text
from remit.surfaces.cli.recording import attest_option, documents_to_attest, record_option, record_verdicts
from remit.verifying import OPTIONS, fix_file

if TYPE_CHECKING:
    from remit.reports.shapes import FixShape
    from remit.surfaces.cli.attesting import Documents

_PATH = click.Path(path_type=Path)
_FORMATS = ["text", "json", "sarif", "github", "junit", "markdown"]


@click.command("verify")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--repo", type=_PATH, help="The checkout that claims are checked against.")
@click.option("--rev", help="Check claims against this commit; default: the commit that the text names.")
@click.option("--transcript", multiple=True, type=_PATH, help="A transcript of the session that produced the text.")
@click.option("--require-claims", is_flag=True, help="Exit with 1 if a text has no claims.")
@click.option("--claims", is_flag=True, help="Show every claim, not only those that fail.")
@click.option("--fix", is_flag=True, help="Write full paths and correct lines into the files.")
@record_option
@attest_option
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True, help="The output format."
)
def command(paths: tuple[str, ...], **flags: Any) -> int:
    """Check whether what a text states about the code is true.

    FILE is any Markdown or plain text: an audit, a plan, the description of a pull request, a commit message, an
    agent's answer. It may be a folder (every Markdown and text file in it) or - for standard input. Its claims are
    looked up in the checkout: --repo, else the one that contains the first file, else the current folder. The exit
    code is 0 if no claim fails, otherwise 1.

    A claim is a location (a path with a line, or a path in a column such as File), a fenced quote with a location, or
    a symbol in brackets after a location. Other prose and inline code are not checked.

    With --fix, references are corrected where exactly one file or line can be meant.

    \b
    Examples:
      remit verify audit.md
      remit verify docs/plan.md --rev v1.2.0 --claims
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
    documents = documents_to_attest(flags)
    root, origin = find_repository(flags["repo"], files)
    sources = open_sources(root, rev=flags["rev"], transcripts=flags["transcript"])
    try:
        with SlowNotice() as notice:
            answer = _verify_all(files, sources, notice, documents, fix=flags["fix"])
        _print(answer, f"{display_root(root)} ({origin})" if flags["form"] == "text" else str(root), flags)
    finally:
        sources.close()
    if documents is not None:
        from remit.surfaces.cli.attesting import attest_verdicts  # late, as others here: the option is rare

        attest_verdicts(flags["attest"], documents, answer.verdicts, OPTIONS, root)
    emit_verdicts(answer.verdicts, seconds=None)
    if flags["record"]:
        record_verdicts(answer.verdicts, "verify", root)
    empty = [verdict.path for verdict in answer.verdicts if not claims_of(verdict.evidence)]
    is_refused = bool(empty) and flags["require_claims"]
    if is_refused and flags["form"] != "text":  # the text form has a line for each
        from remit.reports.layout import escape_control

        click.echo(f"remit: no claims found in {escape_control(', '.join(empty))}", err=True)
    return 1 if is_refused or not all(verdict.accepted for verdict in answer.verdicts) else 0


class _Answer(NamedTuple):
    verdicts: list[Verdict]
    #: None without --fix.
    fixes: list[FixShape] | None


def _verify_all(
    files: list[Path | None], sources: Sources, notice: SlowNotice, documents: Documents | None, *, fix: bool
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
            from remit.reports.shapes import FixShape

            fixed = fix_file(file, source, name, OPTIONS, sources)
            verdicts += fixed.verdicts
            fixes += (FixShape(name, one.line, one.old, one.new) for one in fixed.fixes)
        else:
            verdicts += check_text(source, name, OPTIONS, sources)
    return _Answer(verdicts, fixes if fix else None)


def _print(answer: _Answer, root: str, flags: dict[str, Any]) -> None:
    form, (verdicts, fixes) = flags["form"], answer
    if form == "text":
        from remit.reports.layout import Piece, escape_control, wrap_text
        from remit.reports.verify import revision_text, verify_lines

        print_lines(verify_lines(verdicts, columns(), every=flags["claims"], fixes=fixes or ()))
        where = dict.fromkeys(map(revision_text, verdicts))
        source = f"checked against {escape_control(root)}, {', '.join(where)}"
        print_lines([Piece(row, "dim")] for row in wrap_text(source, columns()))
    elif form in ("markdown", "sarif"):
        from remit import __version__
        from remit.reports.verify import verify_markdown, verify_sarif

        is_markdown, required = form == "markdown", flags["require_claims"]
        print_text(
            verify_markdown(verdicts, root, fixes or ())
            if is_markdown
            else verify_sarif(verdicts, __version__, require_claims=required)
        )
    else:
        from remit.reports.formats import check_github, check_json, check_junit

        if form == "json":
            print_text(check_json(verdicts, root, fixes))
        else:
            is_github, required = form == "github", flags["require_claims"]
            print_text(
                check_github(verdicts, require_claims=required)
                if is_github
                else check_junit(verdicts, "verify", require_claims=required)
            )
