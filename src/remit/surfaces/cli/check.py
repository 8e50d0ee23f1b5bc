"""`remit check`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from remit.checking import Options, Verdict, check_text, read_source
from remit.configuration import Configuration, load
from remit.contract.parse import MAX_BYTES
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.surfaces.cli.files import display_name, find_files, find_repository
from remit.surfaces.cli.printing import columns, print_lines, print_text

#: A progress bar is worth its lines from this many files on.
_MANY = 50
_PATH = click.Path(path_type=Path)


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--repo", type=_PATH, help="The checkout that claims are held against.")
@click.option("--rev", help="Hold claims against this commit instead of the files on disk.")
@click.option("--transcript", multiple=True, type=_PATH, help="What the agent did: a Claude Code transcript.")
@click.option("--receipts", multiple=True, type=_PATH, help="What the agent did: a file of receipts.")
@click.option("--rerun", metavar="CMD", help="Run CMD in the checkout and compare its outcome with what is claimed.")
@click.option("--profile", help="v2 (default), v1 or lenient.")
@click.option("--kind", help="The kind of result; default: by the agent's name.")
@click.option("--attempt", type=int, default=1, show_default=True, help="Which submission this is; 2 is final.")
@click.option("--scope", multiple=True, metavar="PATH", help="What the agent was sent to look at.")
@click.option("--override", multiple=True, metavar="RULE=REASON", help="Depart from a default rule.")
@click.option("--select", multiple=True, metavar="RULE", help="Check only this rule, code or family.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Leave this rule, code or family out.")
@click.option("--claims", is_flag=True, help="Show every claim, not only those that do not hold.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github", "junit"]), default="text", show_default=True
)
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Say for each result in FILE... whether it keeps the contract, and whether its claims hold.

    FILE is a file, a folder (every Markdown file in it but READMEs and the like) or - for standard input.
    Without --repo, claims are held against the checkout that the first file lies in, else the current folder.
    The exit code is 0 if every result is accepted and 1 if not.

    \b
    Examples:
      remit check answer.md
      remit check answer.md --repo ../shop --transcript agent.jsonl
      remit check results/ --profile v1 --format github
      cat answer.md | remit check - --format json
      remit check answer.md --attempt 2 --override confidence-reason="scored by a tool"
    """
    options = _options(given, load())
    files = find_files(paths)
    root, whence = find_repository(given["repo"], files)
    sources = open_sources(
        root,
        rev=given["rev"],
        transcripts=given["transcript"],
        receipts=given["receipts"],
        rerun=given["rerun"],
    )
    try:
        verdicts = list(_check_all(files, options, sources))
        if given["form"] == "text":
            _print_text(verdicts, sources, f"{root} ({whence})", every_claim=given["claims"])
        else:
            _print_for_programs(verdicts, given["form"], str(root))
    finally:
        if sources.workspace is not None:
            sources.workspace.close()
    return 0 if all(verdict.accepted for verdict in verdicts) else 1


def _options(given: dict[str, Any], settings: Configuration) -> Options:
    return Options(
        profile=given["profile"] or settings["profile"],
        kind=given["kind"],
        kinds=settings["agents.kinds"],
        attempt=given["attempt"],
        overrides=_overrides(given["override"], settings),
        select=given["select"] or tuple(settings["check.select"]),
        ignore=given["ignore"] or tuple(settings["check.ignore"]),
        scope=given["scope"],
    ).validated()


def _overrides(flags: tuple[str, ...], settings: Configuration) -> tuple[tuple[str, str], ...]:
    own = []
    for flag in flags:
        rule, equals, reason = flag.partition("=")
        if not equals:
            raise UsageError(f"--override takes RULE=REASON, not {flag!r}")
        own.append((rule.strip(), reason))
    return (*own, *settings["check.overrides"].items())


def _check_all(files: list[Path | None], options: Options, sources: Sources) -> Iterator[Verdict]:
    shown: Iterable[Path | None] = files
    if len(files) >= _MANY and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import track

        shown = track(files, "checking", console=Console(stderr=True), transient=True)
    for file in shown:
        source = sys.stdin.buffer.read(MAX_BYTES + 1) if file is None else read_source(file)
        yield from check_text(source, display_name(file), options, sources)


def _print_text(verdicts: list[Verdict], sources: Sources, root: str, *, every_claim: bool) -> None:
    from remit.reports.layout import Piece, escape_control
    from remit.reports.text import check_text_lines

    print_lines(check_text_lines(verdicts, columns(), sources.workspace, every_claim=every_claim))
    print_lines([[Piece(f"claims held against {escape_control(root)}", "dim")]])


def _print_for_programs(verdicts: list[Verdict], form: str, root: str) -> None:
    if form == "json":
        from remit.reports.formats import check_json

        print_text(check_json(verdicts, root))
    elif form == "github":
        from remit.reports.formats import check_github

        print_text(check_github(verdicts))
    else:
        from remit.reports.formats import check_junit

        print_text(check_junit(verdicts))
