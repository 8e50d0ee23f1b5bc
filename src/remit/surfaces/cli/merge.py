"""`remit merge`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from remit.checking import Options
from remit.configuration import Configuration, load
from remit.contract.kinds import slug
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.merging.api import checked_settings, merge_inputs
from remit.merging.inputs import Input, read_input
from remit.merging.merge import hide_baseline, only_changed
from remit.merging.model import MERGED_AGENT, SCALE, Merge, MergeSettings
from remit.merging.previous import read_merge
from remit.surfaces.cli.files import display_name, find_files, find_repository, read_file
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.sessions import current_project
from remit.workspace import git

_PATH = click.Path(path_type=Path)
_FORMATS = ["text", "json", "markdown", "html", "sarif", "github", "junit"]


@click.command("merge")
@click.argument("paths", nargs=-1, metavar="FILE...")
@click.option("--session", metavar="ID", help="Also what subagents sent in a session of Claude Code: last, or its id.")
@click.option("--repo", type=_PATH, help="The checkout that claims are held against.")
@click.option("--profile", help="The profile results are held to; default: the configured one.")
@click.option("--threshold", type=float, help="Keep findings of at least this confidence (default 80).")
@click.option("--policy", help="How scores of agents that agree are combined: mean (default), max or floor.")
@click.option("--expect", multiple=True, metavar="AGENT", help="An agent that must be among the inputs.")
@click.option("--changed-since", metavar="REV", help="Keep findings on lines changed since this commit.")
@click.option("--baseline", type=_PATH, help="Hide what this earlier merge (JSON) already had.")
@click.option(
    "--fail-on",
    type=click.Choice(["critical", "important", "minor", "conflict"]),
    help="Exit with 1 if there is a finding of this severity or worse, or a conflict.",
)
@click.option("--sarif-profile", type=click.Choice(["github", "ai"]), default="github", show_default=True)
@click.option("--output", type=_PATH, help="Write to this file instead of standard output.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True)
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Merge results, SARIF files and earlier merges into one report.

    FILE is a result (Markdown or JSON), a SARIF file of any tool, a merge written with --format json, a
    folder of them, or - for standard input. With --session, what the subagents of a session sent is merged.

    \b
    Examples:
      remit merge review-*.md
      remit merge results/ ruff.sarif --fail-on critical --format github
      remit merge results/ --expect security-auditor --format html --output report.html
      remit merge results/ --changed-since origin/main --baseline last.json
      remit merge --session last
    """
    configured = load()
    files = find_files(paths, for_merge=True)
    if not files and not given["session"]:
        raise UsageError("name the files to merge, or a session: remit merge --session last")
    project = current_project() if given["session"] else None
    root, _ = find_repository(given["repo"] or (Path(project.root) if project else None), files)
    sources = open_sources(root)
    options = Options(profile=given["profile"] or configured["profile"], kinds=configured["agents.kinds"]).validated()
    settings = _settings(given, configured)
    inputs = [
        read_input(read_file(file), name, options, sources, configured["merge.categories"])
        for file, name in ((file, display_name(file)) for file in files)
    ]
    _warn_of_reports(zip(files, inputs, strict=True))
    if project is not None:
        inputs += project.inputs(given["session"], options, sources, configured["merge.categories"])
    merged = _narrowed(merge_inputs(inputs, settings), given, sources)
    _write(_formatted(merged, given, sources), given["output"])
    return 1 if fails(merged, given["fail_on"]) else 0


def _warn_of_reports(inputs: Iterable[tuple[Path | None, Input]]) -> None:
    """A merged report in Markdown reads like any result: what each agent says of its own stays behind."""
    for file, read in inputs:
        if any(report.agent == slug(MERGED_AGENT) for report in read.reports):
            click.echo(
                f"{display_name(file)}: a merged report; the agents behind it and their opinions are not in this form, "
                "merge what --format json wrote instead",
                err=True,
            )


def _settings(given: dict[str, Any], configured: Configuration) -> MergeSettings:
    threshold = given["threshold"] if given["threshold"] is not None else configured["merge.threshold"]
    return checked_settings(
        MergeSettings(
            threshold=float(threshold),
            policy=given["policy"] or configured["merge.policy"],
            weights=configured["merge.weights"],
            window=int(configured["merge.window"]),
            expect=given["expect"],
        )
    )


def _narrowed(merged: Merge, given: dict[str, Any], sources: Sources) -> Merge:
    if given["changed_since"] and sources.workspace is not None:
        changed = git.changed_lines(sources.workspace.root, given["changed_since"])
        merged = only_changed(merged, changed, given["changed_since"])
    if given["baseline"] is not None:
        merged = hide_baseline(merged, read_merge(read_file(given["baseline"]), str(given["baseline"])))
    return merged


def fails(merged: Merge, limit: str | None) -> bool:
    """Whether a merge is worth exit code 1."""
    if limit is None:
        return False
    if limit == "conflict":
        return bool(merged.conflicts)
    worse = SCALE[SCALE.index(limit) :]
    return any(finding.severity in worse for finding in merged.findings)


def _formatted(merged: Merge, given: dict[str, Any], sources: Sources) -> str | None:
    """The report; None if it has been printed already."""
    form, workspace = given["form"], sources.workspace
    if form == "text" and given["output"] is None:
        from remit.reports.merge.text import merge_text_lines

        print_lines(merge_text_lines(merged, columns(), workspace))
        return None
    if form == "text":
        from remit.reports.layout import plain_lines
        from remit.reports.merge.text import merge_text_lines

        return plain_lines(merge_text_lines(merged, columns(), workspace))
    if form == "json":
        from remit.reports.formats import format_json

        return format_json(merged)
    if form == "html":
        from remit.reports.merge.html import merge_html

        return merge_html(merged, workspace)
    if form == "markdown":
        from remit.reports.merge.markdown import merge_markdown

        return merge_markdown(merged, workspace)
    return _for_programs(merged, given, sources)


def _for_programs(merged: Merge, given: dict[str, Any], sources: Sources) -> str:
    if given["form"] == "sarif":
        from remit import __version__
        from remit.reports.merge.sarif import merge_sarif

        root = sources.workspace.root if sources.workspace is not None else None
        return merge_sarif(
            merged,
            profile=given["sarif_profile"],
            workspace=sources.workspace,
            commit=git.head(root) if root is not None else None,
            repository=git.remote_address(root) if root is not None else None,
            version=__version__,
        )
    from remit.reports.merge.annotations import merge_github, merge_junit

    return merge_github(merged) if given["form"] == "github" else merge_junit(merged)


def _write(text: str | None, output: Path | None) -> None:
    if text is None:
        return
    if output is None:
        print_text(text)
        return
    try:
        output.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}") from error
    click.echo(f"written to {output}", file=sys.stderr)
