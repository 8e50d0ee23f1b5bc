"""The commands `remit dismiss` and `remit restore`."""

from __future__ import annotations

import datetime
from pathlib import Path

import click
import msgspec

from remit.checking import Options
from remit.configuration import load
from remit.errors import UsageError
from remit.evidence.sources import open_sources
from remit.ledger.dismissing import add_dismissal, remove_dismissal, stored_dismissals
from remit.merging.api import merge_inputs
from remit.merging.dismissals import (
    FILE,
    apply_dismissals,
    find_dismissals,
    find_finding,
    is_expired,
)
from remit.merging.drafts import StoredFindings
from remit.merging.inputs import read_input
from remit.merging.model import Merge, MergeSettings
from remit.reports.layout import format_count
from remit.surfaces.cli.files import find_repository
from remit.workspace import git
from remit.workspace.atomic_write import replace_file
from remit.workspace.files import Workspace

_PATH = click.Path(path_type=Path)
#: The report of the last `remit merge` in a project, next to those of `remit review`.
LAST_MERGE = "merge.json"


@click.command("dismiss")
@click.argument("finding", metavar="ID")
@click.option("--why", required=True, help="Why the finding needs no fix; it is stored in the file.")
@click.option("--from", "source", type=_PATH, help="The report with the finding: JSON of a merge, a result or SARIF.")
@click.option("--repo", type=_PATH, help="The checkout; default: the one that contains the current folder.")
def dismiss_command(finding: str, why: str, source: Path | None, repo: Path | None) -> int:
    """Dismiss a finding: later reports list it as dismissed and do not count it.

    ID is the finding's id (SEC-001), which is the same in every format of a report; or path:line; or the fingerprint
    after # in the text, which is the same in every report. The finding is looked up in the last report of `remit
    review` or `remit merge`, or in --from. The dismissal is stored in .remit-dismissals.toml, for your team to commit.
    It holds until the cited code changes or the finding becomes more severe.

    \b
    Examples:
      remit dismiss SEC-001 --why "only used in tests"
      remit dismiss src/app.py:12 --why "the input is a constant" --from merge.json
    """
    if not why.strip():
        raise UsageError("--why must not be empty")
    root = _root(repo)
    workspace = open_sources(root).workspace
    merged = apply_dismissals(_report(source, root), (), workspace)
    found = find_finding(merged, finding)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    entry = add_dismissal(root, found, why, git.user_name(root) or "", today)
    place = f"{found.path}:{found.line}" if found.path and found.line else found.path or "no location"
    click.echo(
        f"dismissed {found.id} #{entry.id}  {place}  {found.title[:100]}\n"
        f"commit {FILE} to share it; undo: remit restore {entry.id}"
    )
    return 0


@click.command("restore")
@click.argument("name", metavar="ID")
@click.option("--repo", type=_PATH, help="The checkout; default: the one that contains the current folder.")
def restore_command(name: str, repo: Path | None) -> int:
    """Remove a dismissal, so that the finding counts again.

    ID is what `remit dismiss` was given: the finding's id, path:line or fingerprint.

    \b
    Examples:
      remit restore SEC-001
      remit restore 3f2a9c1d04b7
    """
    root = _root(repo)
    entries = stored_dismissals(root)
    found = find_dismissals(entries, name)
    if entries and len(found) != 1:
        found = [one for one in entries if one.id == _fingerprint_in_report(name, root)] or found
    if len(found) != 1:
        named = ", ".join(f"{one.finding or 'no id'} (#{one.id})" for one in (found or entries)[:10])
        known = f"; dismissed: {named}" if entries else "; nothing is dismissed"
        raise UsageError(f"{'no dismissal' if not found else f'{len(found)} dismissals'} {name!r}{known}")
    remove_dismissal(root, found[0].id)
    click.echo(f"restored {found[0].finding} #{found[0].id}  {found[0].path or 'no location'}  {found[0].title[:100]}")
    return 0


def with_dismissals(merged: Merge, workspace: Workspace | None) -> Merge:
    """Return a merge with the dismissals of its checkout, and report those whose code is gone."""
    entries = stored_dismissals(workspace.root if workspace is not None else None)
    expired = [one for one in entries if workspace is not None and is_expired(one, workspace)]
    if expired:
        names = ", ".join(one.id for one in expired[:5]) + (", ..." if len(expired) > 5 else "")
        click.echo(
            f"{FILE}: the code of {format_count(len(expired), 'dismissed finding')} changed: {names}; "
            "remove: remit restore ID",
            err=True,
        )
    return apply_dismissals(merged, entries, workspace)


def keep_last_merge(merged: Merge, root: Path | None) -> None:
    """Keep the last merge of a project that has a data folder, for `remit dismiss`."""
    if root is None or not (root / ".remit").is_dir():
        return
    if isinstance(merged.findings, StoredFindings):
        click.echo("too many findings to keep this report for `remit dismiss`; pass one with --from", err=True)
        return
    folder = root / ".remit" / "reports"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        replace_file(str(folder / LAST_MERGE), msgspec.json.encode(merged))
    except OSError as error:
        click.echo(f"{folder / LAST_MERGE}: {error.strerror or error}", err=True)


def _fingerprint_in_report(name: str, root: Path) -> str:
    """Return the fingerprint of a finding in the last report; empty without such a finding."""
    try:
        return find_finding(apply_dismissals(_report(None, root), (), open_sources(root).workspace), name).fingerprint
    except UsageError:
        return ""


def _root(repo: Path | None) -> Path:
    root, _ = find_repository(repo, [])
    return root.resolve()


def _report(source: Path | None, root: Path) -> Merge:
    """Return the report to look in: the given file, else the last one of the project."""
    if source is None:
        kept = list((root / ".remit" / "reports").glob("*.json"))
        if not kept:
            raise UsageError("no report to look in: pass one with --from FILE (remit merge ... --format json)")
        source = max(kept, key=lambda file: file.stat().st_mtime)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror or error}") from error
    options = Options(profile=load()["profile"])
    return merge_inputs([read_input(data, str(source), options, open_sources(root))], MergeSettings(threshold=0))
