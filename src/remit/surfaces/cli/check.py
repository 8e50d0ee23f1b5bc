"""`remit check`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from remit.checking import Options, Verdict, check_text, read_source
from remit.configuration import Configuration, load
from remit.errors import UsageError
from remit.surfaces.cli.printing import columns, print_lines, print_text

#: A progress bar is worth its lines from this many files on.
_MANY = 50


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--profile", help="v2 (default), v1 or lenient.")
@click.option("--kind", help="The kind of result; default: by the agent's name.")
@click.option("--attempt", type=int, default=1, show_default=True, help="Which submission this is; 2 is final.")
@click.option("--override", "overrides", multiple=True, metavar="RULE=REASON", help="Depart from a default rule.")
@click.option("--select", multiple=True, metavar="RULE", help="Check only this rule, code or family.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Leave this rule, code or family out.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github", "junit"]), default="text", show_default=True
)
def command(
    paths: tuple[str, ...],
    profile: str | None,
    kind: str | None,
    attempt: int,
    overrides: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    form: str,
) -> int:
    """Say for each result in FILE... whether it keeps the contract.

    FILE is a file, a folder (every Markdown file in it) or - for standard input. The exit code is 0 if
    every result is accepted and 1 if not.

    \b
    Examples:
      remit check answer.md
      remit check results/ --profile v1 --format github
      cat answer.md | remit check - --format json
      remit check answer.md --attempt 2 --override confidence-reason="scored by a tool"
    """
    settings = load()
    options = Options(
        profile=profile or settings["profile"],
        kind=kind,
        kinds=settings["agents.kinds"],
        attempt=attempt,
        overrides=_overrides(overrides, settings),
        select=select or tuple(settings["check.select"]),
        ignore=ignore or tuple(settings["check.ignore"]),
    ).validated()
    verdicts = list(_check_all(_sources(paths), options))
    _print(verdicts, form)
    return 0 if all(verdict.accepted for verdict in verdicts) else 1


def _overrides(flags: tuple[str, ...], settings: Configuration) -> tuple[tuple[str, str], ...]:
    own = []
    for flag in flags:
        rule, equals, reason = flag.partition("=")
        if not equals:
            raise UsageError(f"--override takes RULE=REASON, not {flag!r}")
        own.append((rule.strip(), reason))
    return (*own, *settings["check.overrides"].items())


def _sources(paths: tuple[str, ...]) -> list[Path | None]:
    """Files in the order given, folders expanded; None stands for standard input."""
    found: list[Path | None] = []
    for name in paths:
        path = Path(name)
        if name == "-":
            found.append(None)
        elif path.is_dir():
            inside = sorted(file for file in path.rglob("*") if _may_be_result(file, path))
            if not inside:
                raise UsageError(f"{name}: no results in this folder (looked for *.md and *.json)")
            found.extend(inside)
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"{name}: no such file or folder")
    return found


def _may_be_result(file: Path, folder: Path) -> bool:
    if any(part.startswith(".") for part in file.relative_to(folder).parts) or not file.is_file():
        return False
    if file.suffix == ".json":
        with file.open("rb") as opened:
            return b'"remit.result/' in opened.read(4096)
    return file.suffix in (".md", ".markdown")


def _check_all(sources: list[Path | None], options: Options) -> Iterator[Verdict]:
    if len(sources) >= _MANY and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import track

        sources = track(sources, "checking", console=Console(stderr=True), transient=True)  # type: ignore[assignment]
    for source in sources:
        if source is None:
            yield from check_text(sys.stdin.buffer.read(), "-", options)
        else:
            yield from check_text(read_source(source), str(source), options)


def _print(verdicts: list[Verdict], form: str) -> None:
    if form == "text":
        from remit.reports.text import check_text_lines

        print_lines(check_text_lines(verdicts, columns()))
    elif form == "json":
        from remit.reports.json import check_json

        print_text(check_json(verdicts))
    elif form == "github":
        from remit.reports.github import check_github

        print_text(check_github(verdicts))
    else:
        from remit.reports.junit import check_junit

        print_text(check_junit(verdicts))
