"""Play the demonstration: a review of the example shop in a scratch database."""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from pathlib import Path

import click
import msgspec

from remit.configuration import load
from remit.demo.demo_review import DemoResult, copy_shop, demo_lines, demo_result, examples, recordings
from remit.demo.recorded_model import MODEL, recorded_model
from remit.dispatch.submit import Resolving
from remit.dispatch.worker_settings import Settings, load_settings
from remit.errors import EnvironmentBroken
from remit.evidence.sources import open_sources
from remit.merging.merge import merge
from remit.merging.merge_data import Merge
from remit.orchestrate.delegating import begin_plan
from remit.orchestrate.review_team import REVIEWERS, review_plan, review_registry, why_no_model
from remit.registry.model_names import full_name
from remit.reports.plan_text import job_summary
from remit.store.database import Database, open_database
from remit.surfaces.cli.plan_commands import DrivenPlan, drive_with_progress, write_reports
from remit.surfaces.cli.printing import columns, print_answer
from remit.surfaces.cli.with_database import scratch_folder


def play(*, is_recorded: bool, form: str) -> int:
    """Review the example shop, print what came of it, and return the exit code."""
    for name in ("psycopg.pool", "procrastinate"):  # an unavailable database is reported in one line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    folder = load_settings().state / "demo"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = folder.resolve() / "shop"
    copy_shop(examples() / "shop", root)
    configured = load(root)
    why = why_no_model(configured)
    is_recorded = is_recorded or bool(why)
    model = MODEL if is_recorded else full_name(configured["model"], configured["models"])
    _print_model(model, why)
    with recorded_model(recordings()) if is_recorded else nullcontext():
        driven, result = _with_scratch_database(root, model)
    if result is None:
        click.echo("remit: stopped", err=True)
        return 130
    report = write_reports(result.merge, root, folder, "report")["html"]
    click.echo(f"jobs: {job_summary(driven.found)}\n", err=True)
    print_answer(form, result, demo_lines(result, _shown_path(report), columns()))
    return 0


def _print_model(model: str, why_recorded: str) -> None:
    """Print which model reviews."""
    if model != MODEL:
        text = f"model: {model}; a key for it is set (--recorded plays the recorded model)"
    elif why_recorded:
        text = f"model: recorded, because {why_recorded}"
    else:
        text = "model: recorded"
    click.echo(text, err=True)


def _with_scratch_database(root: Path, model: str) -> tuple[DrivenPlan, DemoResult | None]:
    async def work(settings: Settings) -> tuple[DrivenPlan, DemoResult | None]:
        async with open_database(None, settings.state) as database:
            return await review_shop(database, settings, root, model)

    with scratch_folder() as folder:
        return asyncio.run(work(load_settings(start=root)._replace(database=None, state=folder, texts=folder)))


async def review_shop(
    database: Database, settings: Settings, root: Path, model: str
) -> tuple[DrivenPlan, DemoResult | None]:
    """Review the shop in a folder, and show the progress; without a result, the user stopped it."""
    configured = load(root)
    threshold, profile = float(configured["merge.threshold"]), configured["profile"]
    chosen = MODEL if model == MODEL else None
    plan = review_plan(tuple(REVIEWERS), ["."], threshold=threshold, profile=profile, model=chosen)
    number = await begin_plan(database, plan, root)
    driven = await drive_with_progress(
        database, settings, number, Resolving(registry=review_registry(with_plugins=False))
    )
    if driven.stopped:
        return driven, None
    stored = next((phase.merge for phase in driven.found.phases if phase.merge is not None), None)
    if stored is None:
        raise EnvironmentBroken(f"the review did not finish: {job_summary(driven.found)}")
    merged = merge([msgspec.convert(stored, Merge)], sources=open_sources(root))
    return driven, await demo_result(database, driven.found, merged, model)


def _shown_path(file: Path) -> Path:
    """Return a path below the current folder as one from there."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
