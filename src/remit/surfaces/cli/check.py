"""The command `remit check`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from remit.checking import Options, Verdict, check_text, read_source
from remit.clients.transcripts import read_transcripts
from remit.configuration import Configuration, load
from remit.contract.parse import MAX_BYTES
from remit.dispatch.verdict_events import emit_verdicts
from remit.errors import UsageError
from remit.evidence.claims import claims_of
from remit.evidence.sources import Sources, open_sources
from remit.ledger.dismissing import stored_dismissals
from remit.merging.dismissals import dismissed_in
from remit.merging.model import MergedFinding
from remit.reports.formats import check_github, check_json, check_junit
from remit.reports.layout import Piece, escape_control, wrap_text
from remit.reports.text import check_text_lines
from remit.surfaces.cli.attesting import Documents, attest_verdicts
from remit.surfaces.cli.files import display_name, display_root, find_files, find_repository
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.recording import attest_option, documents_to_attest, record_option, record_verdicts

_PATH = click.Path(path_type=Path)


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--repo", type=_PATH, help="The checkout that claims are checked against.")
@click.option("--rev", help="Check claims against this commit instead of the files on disk.")
@click.option("--transcript", multiple=True, type=_PATH, help="A Claude Code transcript of the agent's work.")
@click.option("--receipts", multiple=True, type=_PATH, help="A file of receipts of the agent's tool calls.")
@click.option("--rerun", metavar="CMD", help="Run CMD in the checkout and compare its outcome with the claimed one.")
@click.option("--profile", help="The profile: v2 (default), v1, lenient or claims.")
@click.option("--kind", help="The kind of result; default: derived from the agent's name.")
@click.option("--agent", metavar="NAME", help="The agent that was asked; a result under another name is refused.")
@click.option("--attempt", type=int, default=1, show_default=True, help="The number of the submission; 2 is final.")
@click.option("--scope", multiple=True, metavar="PATH", help="A file or folder that the agent was asked to look at.")
@click.option("--override", multiple=True, metavar="RULE=REASON", help="Override a default rule, with a reason.")
@click.option("--select", multiple=True, metavar="RULE", help="Check only this rule, code or family.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Skip this rule, code or family.")
@click.option("--require-claims", is_flag=True, help="Exit with 1 if a result has no claims.")
@click.option("--claims", is_flag=True, help="Show every claim, not only those that do not hold.")
@record_option
@attest_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "junit"]),
    default="text",
    show_default=True,
    help="The output format.",
)
def command(paths: tuple[str, ...], **flags: Any) -> int:
    """Check results against the contract and their claims against the checkout.

    FILE is a file, a folder (every Markdown file in it except READMEs and similar pages) or - for standard input.
    Without --repo, claims are checked against the checkout that contains the first file, else the current folder.
    The exit code is 0 if every result is accepted, otherwise 1. Findings that a person dismissed are listed as
    dismissed; the verdict is about the document and stays the same.

    \b
    Examples:
      remit check answer.md
      remit check answer.md --repo ../shop --transcript agent.jsonl
      remit check results/ --profile v1 --format github
      cat answer.md | remit check - --format json
      remit check answer.md --attest answer.intoto.json
      remit check answer.md --attempt 2 --override confidence-reason="scored by a tool"
    """
    options = _options(flags, load())
    files = find_files(paths)
    root, origin = find_repository(flags["repo"], files)
    sources = open_sources(
        root,
        rev=flags["rev"],
        transcripts=read_transcripts(flags["transcript"]),
        receipts=flags["receipts"],
        rerun=flags["rerun"],
    )
    try:
        documents = documents_to_attest(flags)
        verdicts = list(_check_all(files, options, sources, documents))
        dismissed = _dismissed(verdicts, sources)
        if flags["form"] == "text":
            _print_text(verdicts, sources, f"{display_root(root)} ({origin})", dismissed, every_claim=flags["claims"])
        else:
            _print_for_programs(verdicts, flags, str(root), dismissed)
    finally:
        sources.close()
    if documents is not None:
        attest_verdicts(flags["attest"], documents, verdicts, options, root)
    emit_verdicts(verdicts, seconds=None)
    if flags["record"]:
        record_verdicts(verdicts, "check", root)
    empty = any(not claims_of(verdict.evidence) for verdict in verdicts)
    is_accepted = all(verdict.accepted for verdict in verdicts)
    return 1 if not is_accepted or (empty and flags["require_claims"]) else 0


def _options(flags: dict[str, Any], settings: Configuration) -> Options:
    return Options(
        profile=flags["profile"] or settings["profile"],
        kind=flags["kind"],
        kinds=settings["agents.kinds"],
        agent=flags["agent"],
        attempt=flags["attempt"],
        overrides=_overrides(flags["override"], settings),
        select=flags["select"] or tuple(settings["check.select"]),
        ignore=flags["ignore"] or tuple(settings["check.ignore"]),
        scope=flags["scope"],
        with_history=(flags["profile"] or settings["profile"]) == "claims",
    ).validated()


def _overrides(options: tuple[str, ...], settings: Configuration) -> tuple[tuple[str, str], ...]:
    overrides = []
    for option in options:
        rule, equals, reason = option.partition("=")
        if not equals:
            raise UsageError(f"--override takes RULE=REASON, not {option!r}")
        overrides.append((rule.strip(), reason))
    return (*overrides, *settings["check.overrides"].items())


def _check_all(
    files: list[Path | None], options: Options, sources: Sources, documents: Documents | None
) -> Iterator[Verdict]:
    for file in files:
        source = sys.stdin.buffer.read(MAX_BYTES + 1) if file is None else read_source(file)
        if documents is not None:
            documents.add(display_name(file), file, source)
        yield from check_text(source, display_name(file), options, sources)


def _dismissed(verdicts: list[Verdict], sources: Sources) -> list[Sequence[MergedFinding]]:
    """Return the dismissed findings of each verdict; empty if the checkout has no file of dismissals."""
    workspace = sources.workspace
    if workspace is None or not (workspace.root / ".remit-dismissals.toml").is_file():
        return []
    entries = stored_dismissals(workspace.root)
    return [dismissed_in(verdict, entries, workspace) for verdict in verdicts]


def _print_text(
    verdicts: list[Verdict],
    sources: Sources,
    root: str,
    dismissed: Sequence[Sequence[MergedFinding]],
    *,
    every_claim: bool,
) -> None:
    print_lines(check_text_lines(verdicts, columns(), sources.workspace, every_claim=every_claim, dismissed=dismissed))
    source = f"claims checked against {escape_control(root)}"
    print_lines([Piece(row, "dim")] for row in wrap_text(source, columns()))


def _print_for_programs(
    verdicts: list[Verdict], flags: dict[str, Any], root: str, dismissed: Sequence[Sequence[MergedFinding]]
) -> None:
    form, required = flags["form"], flags["require_claims"]
    if form == "json":
        print_text(check_json(verdicts, root, dismissed=dismissed))
    elif form == "github":
        print_text(check_github(verdicts, require_claims=required))
    else:
        print_text(check_junit(verdicts, require_claims=required))
