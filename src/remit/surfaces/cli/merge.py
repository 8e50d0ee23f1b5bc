"""The commands `remit merge` and `remit dismiss`, and how a merge is printed or written to a file."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from remit import __version__
from remit.checking import Options
from remit.clients.hooks.recorded_project import current_project
from remit.configuration import load
from remit.digests import sha256_of
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.merging.dismissal_file import add_dismissal, remove_dismissal
from remit.merging.dismissals import FILE, find_finding
from remit.merging.earlier import read_merge
from remit.merging.filters import Narrowing
from remit.merging.inputs import Mergeable, Named
from remit.merging.merge import merge
from remit.merging.merge_data import SCALE, Merge, MergeSettings, Report
from remit.merging.merge_settings import merge_settings
from remit.operations.merge import MergeDocuments
from remit.reports.formats import format_json
from remit.reports.layout import plain_lines
from remit.reports.merge.annotations import github_commands
from remit.reports.merge.html import merge_html, report_source
from remit.reports.merge.markdown import merge_markdown
from remit.reports.merge.sarif import merge_sarif
from remit.reports.merge.text import merge_text_lines
from remit.state_folder import state_folder
from remit.surfaces.cli.named_files import display_name, find_files, find_repository, read_file
from remit.surfaces.cli.printing import columns, operation_options, path_of, print_lines, print_text
from remit.surfaces.cli.with_database import with_database
from remit.workspace import git
from remit.workspace.atomic_write import replace_file

if TYPE_CHECKING:
    from remit.dispatch.worker_settings import Settings
    from remit.store.database import Database

FORMATS = ["text", "json", "markdown", "html", "sarif", "github"]


def write_merge(merged: Merge, form: str, sources: Sources, output: Path | None) -> None:
    """Print a merge, or write it to the file `output`."""
    if form == "text" and output is None:
        print_lines(merge_text_lines(merged, columns(), sources.workspace))
        return
    text = _text(merged, form, sources, output)
    if output is None:
        print_text(text)
        return
    try:
        output.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"{output}: {error.strerror}") from error
    click.echo(f"written to {output}", err=True)


def _text(merged: Merge, form: str, sources: Sources, output: Path | None) -> str:
    workspace = sources.workspace
    root = workspace.root if workspace is not None else None
    if form == "text":
        return plain_lines([*merge_text_lines(merged, columns(), workspace)])
    if form == "json":
        return format_json(merged)
    if form == "html":
        folder = output.parent if output is not None else None
        date = datetime.datetime.now().astimezone()
        return merge_html(merged, workspace, source=report_source(root, folder, date) if root is not None else None)
    if form == "markdown":
        return merge_markdown(merged, workspace)
    if form == "github":
        return "\n".join(github_commands(merged))
    commit, address = (git.head(root), git.remote_address(root)) if root is not None else (None, None)
    return merge_sarif(merged, workspace=workspace, commit=commit, repository=address, version=__version__)


@click.command("merge")
@operation_options(MergeDocuments)
def merge_command(wanted: MergeDocuments) -> int:
    """Merge results, SARIF files and earlier merges into one report.

    FILE is a result (Markdown or JSON), a SARIF file of any tool, a merge written with --format json, a
    folder of these, or - for standard input. --session adds the reports of the subagents of a session, and --plan
    those of a plan. A merge takes at most 200,000 findings.

    \b
    Examples:
      remit merge review-*.md
      remit merge results/ ruff.sarif --fail-on critical --format github
      remit merge results/ --expect security-auditor --format html --output report.html
      remit merge results/ --changed-since origin/main --baseline last.json
      remit merge results/ --fail-on failed
      remit merge --session last
      remit merge --plan 3 --format html --output plan.html
    """
    configured = load()
    files = find_files(wanted.paths, for_merge=True)
    if not files and not wanted.session and wanted.plan is None:
        raise UsageError("nothing to merge: pass files, a session with --session last, or a plan with --plan ID")
    project = current_project() if wanted.session else None
    of_plan, workspace = _plan_reports(wanted.plan) if wanted.plan is not None else ([], None)
    root, _ = find_repository(path_of(wanted.repo) or (Path(project.root) if project else workspace), files)
    sources = open_sources(root)
    options = Options(profile=wanted.profile or configured["profile"], kinds=configured["agents.kinds"]).validated()
    settings = merge_settings(configured, threshold=wanted.threshold, policy=wanted.policy, expect=tuple(wanted.expect))
    inputs: list[Mergeable] = [Named(display_name(file), read_file(file)) for file in files]
    if project is not None:
        inputs += project.reports(wanted.session or "last", options, sources)
    merged = merge(
        [*inputs, *of_plan], settings, options=options, sources=sources, narrowing=_narrowing(wanted, sources)
    )
    keep_last_merge(merged, root)
    write_merge(merged, wanted.form, sources, path_of(wanted.output))
    return 1 if fails(merged, wanted.fail_on) else 0


def _plan_reports(plan: int) -> tuple[Sequence[Report], Path]:
    """Return the results of a plan, and the folder that its subagents worked in."""
    from remit.orchestrate.phase import whole_plan
    from remit.store import plans

    async def work(database: Database, _: Settings) -> tuple[Sequence[Report], Path]:
        row = await plans.get_plan(database, plan)
        reports = (await whole_plan(database, row)).reports
        if not reports:
            raise UsageError(f"plan {plan} has no results yet")
        return reports, Path(row.workspace)

    return with_database(work)


def _narrowing(wanted: MergeDocuments, sources: Sources) -> Narrowing:
    """Return which findings are asked for."""
    baseline = read_merge(read_file(Path(wanted.baseline)), wanted.baseline) if wanted.baseline is not None else None
    since = wanted.changed_since or ""
    changed = git.changed_lines(sources.workspace.root, since) if since and sources.workspace is not None else None
    return Narrowing(changed=changed, since=since, base=since, baseline=baseline)


def fails(merged: Merge, limit: str | None) -> bool:
    """Return whether a merge has what `--fail-on` names: a finding of a severity or worse, a conflict, a failed row."""
    if limit is None:
        return False
    if limit == "conflict":
        return any(conflict.answer is None for conflict in merged.conflicts)
    if limit == "failed":
        return bool(merged.failed)
    return any(getattr(merged.counts, severity) for severity in SCALE[SCALE.index(limit) :])


_PATH = click.Path(path_type=Path)


@click.command("dismiss")
@click.argument("finding", metavar="ID")
@click.option("--why", help="Why the finding needs no fix; it is stored in the file.")
@click.option("--undo", is_flag=True, help="Take a dismissal back, so that the finding counts again.")
@click.option("--from", "source", type=_PATH, help="The report with the finding: JSON of a merge, a result or SARIF.")
@click.option("--repo", type=_PATH, help="The checkout; default: the one that contains the current folder.")
def dismiss_command(finding: str, why: str | None, source: Path | None, repo: Path | None, *, undo: bool) -> int:
    """Dismiss a finding: later reports list it as dismissed and do not count it.

    ID is the finding's id (SEC-001), which is the same in every format of a report, or path:line. The finding is looked
    up in the last report of `remit review` or `remit merge`, or in --from. The dismissal is stored in
    .remit-dismissals.toml, for your team to commit. It covers the titles and rules of the finding that the report has,
    never a higher severity, and only while the cited code is the same.

    \b
    Examples:
      remit dismiss SEC-001 --why "only used in tests"
      remit dismiss src/app.py:12 --why "the input is a constant" --from merge.json
      remit dismiss SEC-001 --undo
    """
    root = find_repository(repo, [])[0].resolve()
    if undo:
        entry = remove_dismissal(root, finding)
        click.echo(f"{entry.finding} counts again  {entry.path or 'no location'}  {entry.title[:100]}")
        return 0
    if not (why or "").strip():
        raise UsageError("--why TEXT is missing: it tells your team why the finding needs no fix")
    found = find_finding(_report(source, root), finding)
    entry = add_dismissal(root, found, why or "", datetime.datetime.now(tz=datetime.UTC).date())
    place = f"{found.path}:{found.line}" if found.path and found.line else found.path or "no location"
    click.echo(
        f"dismissed {found.id}  {place}  {found.title[:100]}\n"
        f"commit {FILE} to share it; undo: remit dismiss {entry.id} --undo"
    )
    return 0


def _last_merge(root: Path) -> Path:
    """Return the place of the last merge of a checkout: in the person's folder, where no checkout can put one."""
    name = sha256_of(str(root.resolve()).encode("utf-8", "replace"))[:16]
    return Path(state_folder()) / "merges" / f"{name}.json"


def keep_last_merge(merged: Merge, root: Path) -> None:
    """Keep the last merge of a checkout for `remit dismiss`."""
    file = _last_merge(root)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(file, msgspec.json.encode(merged), mode=0o600)
    except OSError as error:
        click.echo(f"{file}: {error.strerror or error}", err=True)


def _report(source: Path | None, root: Path) -> Merge:
    """Return the report to look in: the given file, else the last one of the checkout."""
    if source is None:
        try:
            return read_merge(_last_merge(root).read_bytes(), str(_last_merge(root)))
        except OSError as error:
            raise UsageError("no report to look in: run `remit merge` here first, or pass one with --from") from error
    return merge(
        [Named(str(source), read_file(source))],
        MergeSettings(),
        options=Options(profile=load()["profile"]),
        sources=open_sources(root),
    )
