"""`remit review`."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remit.errors import UsageError
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.store import with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.merging.model import Merge
    from remit.orchestrate.api import PlanResult
    from remit.orchestrate.review import ReviewTeam
    from remit.store.database import Database
    from remit.surfaces.cli.driving import DrivenPlan


@click.command("review")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--changed-since", metavar="REV", help="Keep findings on lines changed since this commit.")
@click.option("--agents", metavar="NAMES", help="Who reviews, separated by commas; default: everybody who can.")
@click.option("--threshold", type=float, help="Keep findings of at least this confidence.")
@click.option(
    "--fail-on",
    type=click.Choice(["critical", "important", "minor", "conflict"]),
    help="Exit with 1 if there is a finding of this severity or worse, or a conflict.",
)
@click.option("--verify", is_flag=True, help="Have a subagent that wrote none of the findings judge them.")
@click.option("--new", "is_new", is_flag=True, help="Begin anew although the same review is unfinished.")
@click.option("--open", "is_opened", is_flag=True, help="Open the report in a browser.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
def command(path: Path, **given: Any) -> int:
    """Review the code in PATH: several reviewers, every claim verified, one merged report.

    With a model configured, subagents review beside the analysers that are installed; without one the analysers
    are the team. A review that was interrupted goes on where it was when it is run again.

    \b
    Examples:
      remit review
      remit review src --changed-since origin/main --fail-on critical
      remit review --agents security-auditor,bandit --open
    """
    from remit.configuration import load
    from remit.orchestrate.review import find_team, review_plan
    from remit.workspace import git
    from remit.workspace.safe_git import root_above

    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    configured = load()
    wanted = [name.strip() for name in (given["agents"] or "").split(",") if name.strip()]
    team = find_team(configured, wanted)
    real = path.resolve()
    root = root_above(real) or (real if real.is_dir() else real.parent)
    scope = real.relative_to(root).as_posix()
    since = given["changed_since"]
    changed = git.changed_lines(root, since) if since else None  # before the work, so that a wrong name costs none
    usual = float(configured["merge.threshold"]) if team.subagents else min(50.0, float(configured["merge.threshold"]))
    threshold = given["threshold"] if given["threshold"] is not None else usual
    verifier = (configured["verify_model"] or configured["model"]) if given["verify"] else None
    plan = review_plan(team, [scope], threshold=threshold, profile=configured["profile"], verifier=verifier)
    _introduce(team)

    async def work(database: Database, settings: Settings) -> tuple[DrivenPlan, Path]:
        from remit.dispatch.submit import Resolving
        from remit.orchestrate.api import begin_plan
        from remit.surfaces.cli.driving import drive_with_progress

        number = await begin_plan(database, plan, root, is_new=given["is_new"])
        return await drive_with_progress(database, settings, number, Resolving()), settings.data

    shown, data = with_database(work)
    if shown.stopped or shown.found.plan.state != "finished":
        from remit.surfaces.cli.plans import print_result

        return print_result(shown, "text")
    return _report(shown.found, root, data, given, changed)


def _introduce(team: ReviewTeam) -> None:
    """Who reviews, and how to have more reviewers."""
    click.echo(f"reviewers: {', '.join((*team.subagents, *team.analysers))}", err=True)
    if team.why_no_model:
        click.echo(f"no subagents: {team.why_no_model}; set a key, or `model` in remit.toml, to add them", err=True)
        click.echo("analysers are less sure of themselves, so findings from 50 on are kept (--threshold)", err=True)


def _report(found: PlanResult, root: Path, data: Path, given: dict[str, Any], changed: Any) -> int:
    import msgspec

    from remit.merging.merge import only_changed
    from remit.merging.model import Merge

    merged = msgspec.convert(found.phases[-1].merge, Merge)
    if changed is not None:
        merged = only_changed(merged, changed, given["changed_since"])
    files = _written(merged, root, data / "reports", found.plan.id)
    _print(merged, root, given["form"])
    from remit.reports.plans import job_summary

    click.echo(f"report: {files['html']}\n        {files['md']}", err=True)
    click.echo(f"jobs:   {job_summary(found)}; `remit logs ID` says what one did", err=True)
    if given["is_opened"]:
        webbrowser.open(files["html"].as_uri())
    from remit.surfaces.cli.merge import fails

    return 1 if fails(merged, given["fail_on"]) else 0


def _written(merged: Merge, root: Path, folder: Path, number: int) -> dict[str, Path]:
    from remit.evidence.sources import open_sources
    from remit.reports.formats import format_json
    from remit.reports.merge.html import merge_html
    from remit.reports.merge.markdown import merge_markdown

    workspace = open_sources(root).workspace
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    texts = {
        "html": merge_html(merged, workspace),
        "md": merge_markdown(merged, workspace),
        "json": format_json(merged),
    }
    files = {ending: folder / f"review-{number}.{ending}" for ending in texts}
    for ending, text in texts.items():
        files[ending].write_text(text, encoding="utf-8")
    return files


def _print(merged: Merge, root: Path, form: str) -> None:
    from remit.evidence.sources import open_sources

    workspace = open_sources(root).workspace
    if form == "json":
        from remit.reports.formats import format_json

        print_text(format_json(merged))
    elif form == "markdown":
        from remit.reports.merge.markdown import merge_markdown

        print_text(merge_markdown(merged, workspace))
    else:
        from remit.reports.merge.text import merge_text_lines

        print_lines(merge_text_lines(merged, columns(), workspace))
