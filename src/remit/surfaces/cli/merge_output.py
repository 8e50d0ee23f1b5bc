"""Print a merge or write it to a file, in any of its formats. `remit merge` and `remit review` share this."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from remit.errors import UsageError
from remit.evidence.sources import Sources
from remit.surfaces.cli.printing import columns, print_lines, print_text

if TYPE_CHECKING:
    from remit.merging.model import Merge
    from remit.reports.merge.sarif import Profile

FORMATS = ["text", "json", "markdown", "html", "sarif", "github", "junit"]


def write_merge(
    merged: Merge, form: str, sources: Sources, output: Path | None, sarif_profile: Profile = "github"
) -> None:
    """Print a merge, or write it to the file `output`."""
    if form == "text" and output is None:
        from remit.reports.merge.text import merge_text_lines

        print_lines(merge_text_lines(merged, columns(), sources.workspace))
        return
    text = _formatted(merged, form, sources, sarif_profile)
    if output is None:
        print_text(text)
        return
    try:
        output.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}") from error
    click.echo(f"written to {output}", err=True)


def _formatted(merged: Merge, form: str, sources: Sources, sarif_profile: Profile) -> str:
    workspace = sources.workspace
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
    if form == "sarif":
        return _sarif(merged, sources, sarif_profile)
    from remit.reports.merge.annotations import merge_github, merge_junit

    return merge_github(merged) if form == "github" else merge_junit(merged)


def _sarif(merged: Merge, sources: Sources, profile: Profile) -> str:
    from remit import __version__
    from remit.reports.merge.sarif import merge_sarif
    from remit.workspace import git

    root = sources.workspace.root if sources.workspace is not None else None
    return merge_sarif(
        merged,
        profile=profile,
        workspace=sources.workspace,
        commit=git.head(root) if root is not None else None,
        repository=git.remote_address(root) if root is not None else None,
        version=__version__,
    )
