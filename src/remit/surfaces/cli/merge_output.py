"""Print a merge or write it to a file, in any of its formats. `remit merge` and `remit review` share this."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from remit import __version__
from remit.errors import UsageError
from remit.evidence.sources import Sources
from remit.merging.model import Merge
from remit.reports.formats import merge_json_parts
from remit.reports.layout import plain_lines
from remit.reports.merge.annotations import github_commands, merge_junit
from remit.reports.merge.html import merge_html
from remit.reports.merge.markdown import merge_markdown
from remit.reports.merge.sarif import Profile, sarif_parts
from remit.reports.merge.text import merge_text_lines
from remit.surfaces.cli.printing import columns, print_lines, print_parts
from remit.workspace import git

FORMATS = ["text", "json", "markdown", "html", "sarif", "github", "junit"]


def write_merge(
    merged: Merge, form: str, sources: Sources, output: Path | None, sarif_profile: Profile = "github"
) -> None:
    """Print a merge, or write it to the file `output`."""
    if form == "text" and output is None:
        print_lines(merge_text_lines(merged, columns(), sources.workspace))
        return
    parts = _parts(merged, form, sources, sarif_profile)
    if output is None:
        print_parts(parts)
        return
    try:
        _write_file(parts, output)
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}") from error
    click.echo(f"written to {output}", err=True)


def _write_file(parts: Iterator[str], output: Path) -> None:
    """Write a file. If that fails or is interrupted, remove it: half a report looks like one with fewer findings."""
    with output.open("w", encoding="utf-8", newline="") as file:
        last = ""
        try:
            for last in filter(None, parts):
                file.write(last)
            file.write("" if last.endswith("\n") else "\n")
            file.flush()
        except BaseException:
            if output.is_file():  # a device or a pipe stays
                output.unlink()
            raise


def _parts(merged: Merge, form: str, sources: Sources, sarif_profile: Profile) -> Iterator[str]:
    """Yield the text in parts: with very many findings, all of it does not fit in memory."""
    workspace = sources.workspace
    if form == "text":
        for line in merge_text_lines(merged, columns(), workspace):
            yield f"{plain_lines([line])}\n"
    elif form == "json":
        yield from merge_json_parts(merged)
    elif form == "html":
        yield merge_html(merged, workspace)
    elif form == "markdown":
        yield merge_markdown(merged, workspace)
    elif form == "sarif":
        yield from _sarif(merged, sources, sarif_profile)
    elif form == "github":
        for command in github_commands(merged):
            yield f"{command}\n"
    else:
        yield merge_junit(merged)


def _sarif(merged: Merge, sources: Sources, profile: Profile) -> Iterator[str]:
    root = sources.workspace.root if sources.workspace is not None else None
    return sarif_parts(
        merged,
        profile=profile,
        workspace=sources.workspace,
        commit=git.head(root) if root is not None else None,
        repository=git.remote_address(root) if root is not None else None,
        version=__version__,
    )
