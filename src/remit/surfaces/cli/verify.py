"""The command `remit verify`, and the steps that it shares with `remit check`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

import click

import remit as package
from remit.checking import Verdict, read_source
from remit.configuration import load
from remit.contract.parse import MAX_BYTES
from remit.errors import UsageError
from remit.evidence.claims import claims_of
from remit.operations.documents import (
    Check,
    Correction,
    NamedText,
    Verified,
    Verify,
    verify_texts,
    write_corrections,
)
from remit.reports.claim_details import explain_lines
from remit.reports.formats import check_github, check_json
from remit.reports.layout import Line, Piece, escape_control, format_count
from remit.reports.verify_project import project_lines
from remit.reports.verify_text import change_text, verify_lines, verify_markdown, verify_sarif
from remit.surfaces.cli.named_files import display_name, display_root, find_repository, find_texts
from remit.surfaces.cli.printing import (
    SlowNotice,
    can_ask,
    operation_options,
    path_of,
    print_lines,
    print_text,
    terminal_columns,
)
from remit.workspace.project_documents import project_documents


@click.command("verify")
@operation_options(Verify)
def command(wanted: Verify) -> int:
    """Check whether what a text states about the code is true, and since when not.

    FILE is any Markdown or plain text: an audit, a plan, the description of a pull request, a commit message, an
    agent's answer. It may be a folder (every Markdown and text file in it) or - for standard input. Its claims are
    looked up in the checkout: --repo, else the one that contains the first file, else the current folder.

    Without FILE, the tracked documents that people and assistants read are verified: README, AGENTS.md, CLAUDE.md,
    CONTRIBUTING, docs, agents, commands and skills. With --affected-by, only claims fail that held at the commit where
    this branch left REV and do not hold now, and claims on changed lines.

    A claim is a location, a quote with a location, a name next to a location, a link to a file, or a command, test or
    commit of the project. Other prose is not checked.

    In a result or an answer on standard input, every claim that does not hold fails; in a file, what is strong: what is
    outdated, a quote that differs, a line past the end, a line of a missing file; in the project's documents, what is
    outdated. --strict treats a file as a report. The exit code is 1 if a claim fails, otherwise 0. With --fix,
    locations are corrected that moved: a diff is shown, and the files are written after a question or with --write.

    \b
    Examples:
      remit verify
      remit verify --affected-by
      remit verify audit.md
      remit verify docs/plan.md --rev v1.2.0 --all
      remit verify docs/ --strict
      remit verify audit.md --explain src/app.py:12
      git log -1 --format=%B | remit verify -
      remit verify audit.md --fix
      remit verify pull-request.md --require-claims --format github
    """
    _refuse_conflicts(wanted)
    chosen = _texts(wanted)
    with SlowNotice() as notice:
        answer = verify_texts(chosen.root, wanted, read_documents(chosen.files, notice.update))
    if answer.waiting and _may_write(answer, wanted):
        answer = write_corrections(answer)
    if answer.problem:
        click.echo(f"remit: {escape_control(answer.problem)}", err=True)
    _print(answer, chosen, wanted)
    empty = finish_documents(wanted, answer.verdicts, chosen.root)
    is_refused = bool(empty) and wanted.require_claims
    if is_refused and wanted.form != "text":  # the text form has a line for each
        click.echo(f"remit: no claims found in {escape_control(', '.join(empty))}", err=True)
    return 1 if is_refused or not all(verdict.accepted for verdict in answer.verdicts) else 0


def _refuse_conflicts(wanted: Verify) -> None:
    if wanted.fix and "-" in wanted.paths:
        raise UsageError("--fix writes files; it cannot change standard input")
    if wanted.write and not wanted.fix:
        raise UsageError("--write writes what --fix corrects; add --fix")
    if wanted.explain is not None and wanted.form != "text":
        raise UsageError("--explain prints text; remove --format")
    if wanted.affected_by is None:
        return
    if wanted.rev is not None or wanted.fix or wanted.transcripts or "-" in wanted.paths:
        raise UsageError("--affected-by compares the documents on disk; remove --rev, --fix, --transcript and -")


class _Texts(NamedTuple):
    """The texts to verify, and the checkout of their claims."""

    files: list[Path | None]
    root: Path
    #: How the checkout was chosen.
    origin: str
    #: Whether they are the documents of the project that no command line named.
    is_project: bool


def _texts(wanted: Verify) -> _Texts:
    if wanted.paths:
        files = find_texts(wanted.paths)
        return _Texts(files, *find_repository(path_of(wanted.repo), files), is_project=False)
    root, origin = find_repository(path_of(wanted.repo), [])
    configured = load(root)
    documents, excluded = configured["verify.documents"], configured["verify.exclude"]
    try:
        paths = project_documents(root, documents, excluded)
    except ValueError as error:
        raise UsageError(f"verify.documents or verify.exclude: {error}") from error
    if paths is None:
        raise UsageError("without a FILE, the documents of a git checkout are verified; this folder is not in one")
    if not paths:
        raise UsageError(f"{root} tracks no README, AGENTS.md, CONTRIBUTING or other document; name the FILE")
    return _Texts([_shortest(root / path) for path in paths], root, origin, is_project=True)


def _shortest(path: Path) -> Path:
    """Return a path as a user in the current folder writes it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def finish_documents(wanted: Check | Verify, verdicts: list[Verdict], root: Path) -> list[str]:
    """Store the verdicts, if that is wanted. Return the documents without claims."""
    return [verdict.path for verdict in verdicts if not claims_of(verdict.evidence)]


def read_documents(files: Sequence[Path | None], notice: Callable[[str], None] = lambda _: None) -> Iterator[NamedText]:
    """Yield the text of each file; None is standard input."""
    for number, file in enumerate(files, 1):
        name = display_name(file)
        notice(f"checking {name}" + (f" ({number} of {len(files)})" if len(files) > 1 else ""))
        source = sys.stdin.buffer.read(MAX_BYTES + 1) if file is None else read_source(file)
        yield NamedText(name, source, file)


def _may_write(answer: Verified, wanted: Verify) -> bool:
    """Show the corrections, and return whether they are to be written."""
    count = format_count(sum(len(waiting.fixed.fixes) for waiting in answer.waiting), "correction")
    if wanted.form == "text":
        print_lines(line for waiting in answer.waiting for line in _diff_lines(waiting))
    if wanted.write or (can_ask(wanted.form) and click.confirm(f"Write {count}?")):
        return True
    click.echo(f"remit: {count} not written; --fix --write writes them", err=True)
    return False


def _diff_lines(waiting: Correction) -> Iterator[Line]:
    """Yield the unified diff of a correction."""
    name, source, *_ = waiting.text
    before, after = source.decode("utf-8", "replace").split("\n"), waiting.fixed.text.split("\n")
    for line in unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="", n=0):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        yield [Piece(escape_control(line), "bold" if line[:3] in ("+++", "---") else style)]


def _print(answer: Verified, texts: _Texts, wanted: Verify) -> None:
    form, verdicts, fixes, base = wanted.form, answer.verdicts, answer.fixes, answer.base
    required, root = wanted.require_claims, display_root(texts.root)
    shown = f"{root} ({texts.origin})"
    summary = change_text(verdicts, base, is_empty=bool(answer.problem)) if base else ""
    if wanted.explain is not None:
        _print_explanation(verdicts, wanted.explain)
    elif form == "text" and (base or (texts.is_project and not wanted.every and not fixes)):
        print_lines(project_lines(verdicts, terminal_columns(), root=shown, change=summary))
    elif form == "text":
        width = terminal_columns()
        print_lines(verify_lines(verdicts, width, root=shown, every=wanted.every, fixes=fixes or ()))
    elif form == "markdown":
        print_text(verify_markdown(verdicts, root, fixes or (), change=summary, every=wanted.every))
    elif form == "sarif":
        version = package.__version__
        print_text(verify_sarif(verdicts, version, change=summary, require_claims=required))
    elif form == "json":
        print_text(check_json(verdicts, str(texts.root), fixes))
    else:
        print_text(check_github(verdicts, require_claims=required))


def _print_explanation(verdicts: list[Verdict], claim: str) -> None:
    lines = list(explain_lines(verdicts, claim, terminal_columns()))
    if not lines:
        raise UsageError(f"no claim matches {claim!r}; `--all` lists all claims with their lines")
    print_lines(lines)
