"""The command `remit review`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from remit.configuration import Configuration, load
from remit.errors import UsageError
from remit.evidence.sources import Sources, open_sources
from remit.merging.filters import Narrowing
from remit.merging.inputs import Mergeable
from remit.merging.merge import merge, with_coverage
from remit.merging.merge_data import Merge, MergeSettings, Report
from remit.merging.merge_settings import merge_settings
from remit.merging.sarif.read import read_sarif
from remit.operations.merge import FAIL_ON
from remit.orchestrate.plan import Plan
from remit.orchestrate.review_team import chosen_reviewers, review_plan, review_registry, why_no_model
from remit.registry.lookup import Registry
from remit.reports.layout import escape_control, format_count
from remit.surfaces.cli.merge import FORMATS, fails, keep_last_merge, write_merge
from remit.surfaces.cli.named_files import display_name, read_file
from remit.surfaces.cli.printing import form_option
from remit.surfaces.cli.with_database import with_database
from remit.workspace import git
from remit.workspace.safe_git import root_above

if TYPE_CHECKING:
    from remit.dispatch.worker_settings import Settings
    from remit.store.database import Database

_PATH = click.Path(path_type=Path)


@click.command("review")
@click.argument("path", type=_PATH, default=".")
@click.option("--sarif", "files", type=_PATH, multiple=True, metavar="FILE", help="Merge another tool's findings.")
@click.option("--changed-since", metavar="REV", help="Keep findings on lines changed since this commit.")
@click.option("--all", "is_all", is_flag=True, help="Keep findings on all lines, also if the branch has changes.")
@click.option("--agents", metavar="NAMES", help="The reviewers, separated by commas; default: the built-in ones.")
@click.option("--threshold", type=float, help="Keep findings of at least this confidence.")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="Exit with 1 if there is a finding of this severity or worse, a conflict, or a claim that failed.",
)
@click.option("--new", "is_new", is_flag=True, help="Start a new review although the same one is unfinished.")
@click.option("--output", type=_PATH, help="Write to this file instead of standard output.")
@form_option(*FORMATS)
def command(path: Path, **options: Any) -> int:
    """Let subagents review the code in PATH, and print one verified report.

    In a git checkout whose branch has changes, the report has the findings on the changed lines: since the commit at
    which the branch left the main one, with what is not committed. `--all` keeps all findings.

    The reviewers are three built-in subagents; with --agents, also definitions of plugins. --sarif merges what other
    tools found, with or without a model; it may be given several times. Every claim is verified. If no reviewer read
    a file, the report states NOT REVIEWED and why, and the exit code is 1. If a review was interrupted, run the same
    command again to continue it.

    \b
    Examples:
      remit review
      remit review src --all --fail-on critical
      remit review --sarif ruff.sarif --sarif bandit.sarif
      remit review --agents security-auditor --format html --output report.html
    """
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    configured = load()
    names = [name.strip() for name in (options["agents"] or "").split(",") if name.strip()]
    why = why_no_model(configured)
    if why and (names or not options["files"]):
        if names:
            raise UsageError(f"{', '.join(names)} cannot review here: {why}")
        raise UsageError(f"{why}: set it to ask subagents, or pass the findings of other tools with --sarif FILE")
    real = path.resolve()
    root = root_above(real) or (real if real.is_dir() else real.parent)
    scope = real.relative_to(root).as_posix()
    sources = open_sources(root)
    of_tools = _read_tools(options["files"], sources, configured)
    changes = _changes_to_review(root, scope, options["changed_since"], is_all=options["is_all"])
    registry = review_registry(with_plugins=bool(names))
    reviewers = chosen_reviewers(names, registry)
    settings = merge_settings(configured, threshold=options["threshold"])
    click.echo(_lines_to_review(changes, options["changed_since"]), err=True)
    reports: list[Mergeable] = [*of_tools]
    if why:
        click.echo(f"no subagents: {why}", err=True)
    else:
        click.echo(f"reviewers: {escape_control(', '.join(reviewers))}", err=True)
        plan = review_plan(reviewers, [scope], threshold=settings.least, profile=configured["profile"])
        asked = _ask(plan, registry, root, sorted(changes.lines) if changes else [scope], is_new=options["is_new"])
        if isinstance(asked, int):
            return asked
        reports.append(asked)
    narrowing = Narrowing(
        changed=changes.lines if changes is not None else None,
        since=changes.since if changes is not None else "",
        base=options["changed_since"] or "",
    )
    merged = merge(reports, settings if of_tools else MergeSettings(), sources=sources, narrowing=narrowing)
    keep_last_merge(merged, root)
    write_merge(merged, options["form"], sources, options["output"])
    return 1 if fails(merged, options["fail_on"]) or merged.is_unread else 0


def _read_tools(files: Iterable[Path], sources: Sources, configured: Configuration) -> list[Report]:
    """Return what other tools found."""
    categories = configured["merge.categories"]
    read = (read_sarif(read_file(file), display_name(file), sources.workspace, categories) for file in files)
    return [report for reports in read for report in reports]


class _Changes(NamedTuple):
    """The changed lines of each file, and the revision since which they were changed."""

    since: str
    lines: dict[str, list[tuple[int, int]]]


def _changes_to_review(root: Path, scope: str, since: str | None, *, is_all: bool) -> _Changes | None:
    """Return the changes since a revision, or by default those of the branch; None to review all lines."""
    if since:
        if is_all:
            raise UsageError("--all keeps all findings, and --changed-since those on changed lines: use one of them")
        return _Changes(since, git.changed_lines(root, since))
    main = git.main_branch(root) if not is_all else None
    base = git.merge_base(root, main) if main else None
    if main is None or base is None:
        return None
    lines = {path: spans for path, spans in git.changed_lines(root, base).items() if not path.startswith(".remit/")}
    in_scope = scope == "." or any(path == scope or path.startswith(f"{scope}/") for path in lines)
    name = "HEAD" if base == git.head(root) else main
    return _Changes(name, lines) if lines and in_scope else None


def _lines_to_review(changes: _Changes | None, since: str | None) -> str:
    """Return which lines are reviewed."""
    if changes is None:
        return "reviewed: all lines"
    what = "what is not committed" if changes.since == "HEAD" and not since else f"lines changed since {changes.since}"
    files = format_count(len(changes.lines), "file")
    return f"reviewed: {what} ({files}){'' if since else '; all lines: remit review --all'}"


def _ask(plan: Plan, registry: Registry, root: Path, files: list[str], *, is_new: bool) -> Merge | int:
    """Ask the reviewers and return the merge of their reports with what they read of these files; else an exit code."""
    from remit.dispatch.submit import Resolving  # late, as what follows: they need the extra remit[run]
    from remit.orchestrate.coverage import review_coverage
    from remit.orchestrate.delegating import begin_plan
    from remit.reports.plan_text import job_summary
    from remit.surfaces.cli.plan_commands import drive_with_progress, print_result

    async def work(database: Database, settings: Settings) -> Merge | int:
        number = await begin_plan(database, plan, root, is_new=is_new)
        driven = await drive_with_progress(database, settings, number, Resolving(registry=registry))
        found = driven.found
        if found.plan.state != "finished":
            if not driven.stopped:
                return print_result(driven, "text")
            click.echo("remit: stopped; to continue this review, run the same command again without --new", err=True)
            return 130
        click.echo(f"jobs: {job_summary(found)}; see `remit jobs logs ID`", err=True)
        merged = msgspec.convert(found.phases[0].merge, Merge)
        return with_coverage(merged, await review_coverage(database, found.delegations, root, files))

    return with_database(work)
