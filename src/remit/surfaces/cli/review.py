"""The command `remit review`."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from remit.configuration import load
from remit.dispatch.analysers import scoped_files
from remit.dispatch.submit import Resolving
from remit.dispatch.worker_settings import Settings
from remit.errors import UsageError
from remit.evidence.sources import open_sources
from remit.merging.merge import (
    merge_reports,
    only_changed,
    with_coverage,
    with_coverage_of_changes,
    without_sections,
    without_style,
)
from remit.merging.merge_data import Merge, MergeSettings
from remit.orchestrate.coverage import language_coverage, review_coverage
from remit.orchestrate.delegating import PlanResult, begin_plan
from remit.orchestrate.plan import Plan
from remit.orchestrate.review_team import (
    SUBAGENTS,
    ReviewTeam,
    find_team,
    review_plan,
    reviewers_of,
    unused_reviewers,
    with_unused,
)
from remit.reports.layout import format_count
from remit.reports.plan_text import job_summary
from remit.store.database import Database
from remit.surfaces.cli.merge import FORMATS, fails, with_dismissals, write_merge
from remit.surfaces.cli.plan_commands import DrivenPlan, drive_with_progress, print_result, write_reports
from remit.surfaces.cli.printing import form_option
from remit.surfaces.cli.recording import record_merge
from remit.surfaces.cli.with_database import with_database
from remit.workspace import git
from remit.workspace.languages import languages_of
from remit.workspace.safe_git import root_above

#: Analysers report lower confidences than subagents.
_ANALYSERS_THRESHOLD = 50.0


@click.command("review")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--changed-since", metavar="REV", help="Keep findings on lines changed since this commit.")
@click.option("--all", "is_all", is_flag=True, help="Keep findings on all lines, also if the branch has changes.")
@click.option("--style", "is_style", is_flag=True, help="Keep findings on style, and hints of analysers.")
@click.option("--agents", metavar="NAMES", help="The reviewers, separated by commas; default: all that are available.")
@click.option("--threshold", type=float, help="Keep findings of at least this confidence.")
@click.option(
    "--fail-on",
    type=click.Choice(["critical", "important", "minor", "conflict"]),
    help="Exit with 1 if there is a finding of this severity or worse, or a conflict.",
)
@click.option("--verify", is_flag=True, help="Let a subagent that wrote none of the findings verify them.")
@click.option("--new", "is_new", is_flag=True, help="Start a new review although the same one is unfinished.")
@click.option("--list", "is_listed", is_flag=True, help="List the reviewers that apply, and why others do not.")
@click.option("--record", is_flag=True, help="Store the report in the ledger.")
@click.option("--output", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
@click.option("--open", "is_opened", is_flag=True, help="Open the report in a browser.")
@form_option(*FORMATS)
def command(path: Path, **options: Any) -> int:
    """Review the code in PATH and print one verified report.

    In a git checkout whose branch has changes, the report has the findings on the changed lines: since the commit at
    which the branch left the main one, with what is not committed. `--all` keeps all findings.

    With a model, subagents and the installed analysers review the code; without one, only the analysers. Every claim
    is verified, and all findings are merged. The report states per language which files were read and which were not.
    If none could be read, or every reviewer failed, it states NOT REVIEWED and why, and the exit code is 1. If a review
    was interrupted, run the same command again to continue it.

    \b
    Examples:
      remit review
      remit review src --all --fail-on critical
      remit review --agents security-auditor,bandit --open
      remit review --format html --output report.html
      remit review --list
    """
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    configured = load()
    names = [name.strip() for name in (options["agents"] or "").split(",") if name.strip()]
    real = path.resolve()
    root = root_above(real) or (real if real.is_dir() else real.parent)
    scope = real.relative_to(root).as_posix()
    team = find_team(configured, root, [scope], names)
    if options["is_listed"]:
        _print_reviewers(team)
        return 0
    # Before the review, so that an unknown revision fails early.
    changes = _changes_to_review(root, scope, options["changed_since"], is_all=options["is_all"])
    default = float(configured["merge.threshold"])
    default = default if team.subagents else min(_ANALYSERS_THRESHOLD, default)
    threshold = options["threshold"] if options["threshold"] is not None else default
    verifier = (configured["verify_model"] or configured["model"]) if options["verify"] else None
    plan = review_plan(team, [scope], threshold=threshold, profile=configured["profile"], verifier=verifier)
    click.echo(_lines_to_review(changes, options["changed_since"]), err=True)
    _print_team(team)
    if not team.subagents and not team.analysers:
        return _not_reviewed(team, root, scope, options)
    driven, data, merged = _run(plan, team, root, changes, is_new=options["is_new"])
    if merged is None and driven.stopped:
        click.echo("remit: stopped; to continue this review, run the same command again without --new", err=True)
        return 130
    if merged is None:
        return print_result(driven, "text")
    return _report(driven.found, merged, root, data, options, changes)


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


def _run(
    plan: Plan, team: ReviewTeam, root: Path, changes: _Changes | None, *, is_new: bool
) -> tuple[DrivenPlan, Path, Merge | None]:
    """Run the plan and return its merge with the coverage; None if the plan has not finished."""

    async def work(database: Database, settings: Settings) -> tuple[DrivenPlan, Path, Merge | None]:
        number = await begin_plan(database, plan, root, is_new=is_new)
        driven = await drive_with_progress(database, settings, number, Resolving())
        if driven.stopped or driven.found.plan.state != "finished":
            return driven, settings.data, None
        last = next(phase for phase in reversed(driven.found.phases) if phase.merge is not None)
        merged = without_sections(msgspec.convert(last.merge, Merge), team.analysers)
        if changes is not None:
            files = sorted(changes.lines)
            coverage = await review_coverage(database, driven.found.delegations, root, files)
            merged = with_coverage_of_changes(merged, coverage)
        return driven, settings.data, with_unused(merged, team)

    return with_database(work)


def _print_reviewers(team: ReviewTeam) -> None:
    """Print every reviewer: whether it takes part, and if not, why."""
    every = reviewers_of(team)
    width = max(len(one.name) for one in every)
    for one in every:
        click.echo(f"{one.name:<{width}}  {'yes' if one.is_used else 'no':<3}  {one.about}")


def _not_reviewed(team: ReviewTeam, root: Path, scope: str, options: dict[str, Any]) -> int:
    """Report that no reviewer can read the files."""
    coverage = language_coverage(languages_of(root, scoped_files(root, [scope])), {})
    merged = with_coverage(merge_reports([], MergeSettings()), coverage)
    write_merge(with_unused(merged, team), options["form"], open_sources(root), options["output"])
    return 1


def _print_team(team: ReviewTeam) -> None:
    """Print the reviewers, and those that do not take part although they have files here."""
    every = reviewers_of(team)
    click.echo(f"reviewers: {', '.join(one.name for one in every if one.is_used) or 'none'}", err=True)
    if team.why_no_model:
        click.echo(
            f"no {SUBAGENTS}: {team.why_no_model}; set a key, or `model` in your configuration, to add them", err=True
        )
    unused = [one for one in unused_reviewers(team) if one.name != SUBAGENTS]
    named = ", ".join(f"{one.name} ({one.about})" for one in unused)
    if named:
        click.echo(f"not used: {named}; see `remit review --list`", err=True)
    if team.why_no_model:
        text = f"findings of analysers are kept from confidence {_ANALYSERS_THRESHOLD:g} (change it with --threshold)"
        click.echo(text, err=True)


def _report(
    found: PlanResult, merged: Merge, root: Path, data: Path, options: dict[str, Any], changes: _Changes | None
) -> int:
    sources = open_sources(root)
    merged = with_dismissals(merged, sources.workspace)
    if not options["is_style"]:
        merged = without_style(merged)
    if changes is not None:
        merged = only_changed(merged, changes.lines, changes.since)
    files = write_reports(merged, root, data / "reports", f"review-{found.plan.id}")
    write_merge(merged, options["form"], sources, options["output"])
    record_merge(merged, "review", root, plan=found.plan.id, is_queued_only=not options["record"])
    click.echo(f"report: {files['html']}\n        {files['md']}", err=True)
    click.echo(f"jobs:   {job_summary(found)}; see `remit jobs logs ID`", err=True)
    if options["is_opened"]:
        webbrowser.open(files["html"].as_uri())

    return 1 if fails(merged, options["fail_on"]) or merged.is_unread else 0
