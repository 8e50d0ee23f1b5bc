"""The commands `remit merge`, `dismiss` and `restore`, and how a merge is printed or written to a file."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from remit import __version__
from remit.checking import Options
from remit.clients.hooks.recorded_project import current_project
from remit.configuration import Configuration, load
from remit.contract.kinds import slug
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.merging.dismissal_file import add_dismissal, remove_dismissal, stored_dismissals
from remit.merging.dismissals import (
    FILE,
    apply_dismissals,
    find_dismissals,
    find_finding,
    is_expired,
)
from remit.merging.drafts import StoredFindings
from remit.merging.inputs import Input, failed_report, read_input
from remit.merging.merge import hide_baseline, only_changed
from remit.merging.merge_data import MERGED_AGENT, SCALE, Merge, MergeSettings
from remit.merging.merge_documents import merge_inputs, merge_stream
from remit.merging.previous import read_merge
from remit.operations.merge import MergeDocuments
from remit.orchestrate.merge_settings import merge_settings
from remit.registry.resolution import reload_registry
from remit.reports.formats import merge_json_parts
from remit.reports.layout import format_count, plain_lines
from remit.reports.merge.annotations import github_commands
from remit.reports.merge.html import merge_html, report_source
from remit.reports.merge.markdown import merge_markdown
from remit.reports.merge.sarif import Profile, sarif_parts
from remit.reports.merge.text import merge_text_lines
from remit.surfaces.cli.named_files import display_name, find_files, find_repository, read_file
from remit.surfaces.cli.printing import columns, operation_options, path_of, print_lines, print_parts
from remit.surfaces.cli.with_database import with_database
from remit.workspace import git
from remit.workspace.atomic_write import replace_file
from remit.workspace.files import Workspace

if TYPE_CHECKING:
    from remit.dispatch.worker_settings import Settings
    from remit.store.database import Database

FORMATS = ["text", "json", "markdown", "html", "sarif", "github"]


def write_merge(
    merged: Merge, form: str, sources: Sources, output: Path | None, sarif_profile: Profile = "github"
) -> None:
    """Print a merge, or write it to the file `output`."""
    if form == "text" and output is None:
        print_lines(merge_text_lines(merged, columns(), sources.workspace))
        return
    parts = _parts(merged, form, sources, sarif_profile, output)
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


def _parts(merged: Merge, form: str, sources: Sources, sarif_profile: Profile, output: Path | None) -> Iterator[str]:
    """Yield the text in parts: with very many findings, all of it does not fit in memory."""
    workspace = sources.workspace
    if form == "text":
        for line in merge_text_lines(merged, columns(), workspace):
            yield f"{plain_lines([line])}\n"
    elif form == "json":
        yield from merge_json_parts(merged)
    elif form == "html":
        folder = output.parent if output is not None else None
        date = datetime.datetime.now().astimezone()
        about = report_source(workspace.root, folder, date) if workspace is not None else None
        yield merge_html(merged, workspace, source=about)
    elif form == "markdown":
        yield merge_markdown(merged, workspace)
    elif form == "sarif":
        yield from _sarif(merged, sources, sarif_profile)
    else:
        for annotation in github_commands(merged):
            yield f"{annotation}\n"


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


@click.command("merge")
@operation_options(MergeDocuments)
def merge_command(wanted: MergeDocuments) -> int:
    """Merge results, SARIF files and earlier merges into one report.

    FILE is a result (Markdown or JSON), a SARIF file of any tool, a merge written with --format json, a
    folder of these, or - for standard input. --session adds the reports of the subagents of a session, and --plan
    those of a plan. The number of findings is not limited; very many are kept in a temporary file.

    \b
    Examples:
      remit merge review-*.md
      remit merge results/ ruff.sarif --fail-on critical --format github
      remit merge results/ --expect security-auditor --format html --output report.html
      remit merge results/ --changed-since origin/main --baseline last.json
      remit merge --session last
      remit merge --plan 3 --format html --output plan.html
    """
    configured = load()
    files = find_files(wanted.paths, for_merge=True)
    if not files and not wanted.session and wanted.plan is None:
        raise UsageError("nothing to merge: pass files, a session with --session last, or a plan with --plan ID")
    project = current_project() if wanted.session else None
    of_plan, workspace = _plan_inputs(wanted.plan) if wanted.plan is not None else ([], None)
    root, _ = find_repository(path_of(wanted.repo) or (Path(project.root) if project else workspace), files)
    sources = open_sources(root)
    options = Options(profile=wanted.profile or configured["profile"], kinds=configured["agents.kinds"]).validated()
    settings = _settings(wanted, configured)
    read = partial(read_input, options=options, sources=sources, categories=configured["merge.categories"])
    inputs = _inputs_of(files, read)
    of_session = project.inputs(wanted.session or "last", options, sources) if project is not None else []
    merged = merge_stream(chain(inputs, of_session, of_plan), settings)
    merged = with_dismissals(merged, sources.workspace)
    keep_last_merge(merged, root)
    merged = _filtered(merged, wanted, sources)
    write_merge(merged, wanted.form, sources, path_of(wanted.output), wanted.sarif_profile)
    return 1 if fails(merged, wanted.fail_on) else 0


def _plan_inputs(plan: int) -> tuple[list[Input], Path]:
    """Return the results of a plan, and the folder that its subagents worked in."""
    from remit.orchestrate.phase import whole_plan
    from remit.store import plans

    async def work(database: Database, _: Settings) -> tuple[list[Input], Path]:
        row = await plans.get_plan(database, plan)
        inputs = (await whole_plan(database, row)).inputs
        if not inputs:
            raise UsageError(f"plan {plan} has no results yet")
        return inputs, Path(row.workspace)

    return with_database(work)


def _inputs_of(files: Sequence[Path | None], read: Callable[[bytes, str], Input]) -> Iterator[Input]:
    """Yield the input of each file. Among others, one that cannot be parsed is one failed agent: the rest is merged."""
    for file in files:
        data, name = read_file(file), display_name(file)
        try:
            found = read(data, name)
        except UsageError as error:
            if len(files) == 1:
                raise
            click.echo(f"{error}; it counts as a failed agent", err=True)
            found = Input([failed_report(name, str(error))])
        if any(report.agent == slug(MERGED_AGENT) for report in found.reports):
            click.echo(
                f"{name}: this is a merged report, which does not contain the opinions of each agent; "
                "merge the output of --format json instead",
                err=True,
            )
        yield found


def _settings(wanted: MergeDocuments, configured: Configuration) -> MergeSettings:
    return merge_settings(
        configured, reload_registry, threshold=wanted.threshold, policy=wanted.policy, expect=tuple(wanted.expect)
    )


def _filtered(merged: Merge, wanted: MergeDocuments, sources: Sources) -> Merge:
    if wanted.changed_since and sources.workspace is not None:
        changed = git.changed_lines(sources.workspace.root, wanted.changed_since)
        merged = only_changed(merged, changed, wanted.changed_since)
    if wanted.baseline is not None:
        merged = hide_baseline(merged, read_merge(read_file(Path(wanted.baseline)), wanted.baseline))
    return merged


def fails(merged: Merge, limit: str | None) -> bool:
    """Return whether a merge has a finding of at least the severity `limit`, or a conflict if that is the limit."""
    if limit is None:
        return False
    if limit == "conflict":
        return bool(merged.conflicts)
    return any(getattr(merged.counts, severity) for severity in SCALE[SCALE.index(limit) :])


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
    root = _checkout(repo)
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
    root = _checkout(repo)
    entries = stored_dismissals(root)
    found = find_dismissals(entries, name)
    if entries and len(found) != 1:
        found = [entry for entry in entries if entry.id == _fingerprint_in_report(name, root)] or found
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
    expired = [entry for entry in entries if workspace is not None and is_expired(entry, workspace)]
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


def _checkout(repo: Path | None) -> Path:
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
