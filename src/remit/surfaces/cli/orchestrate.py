"""The command `remit orchestrate`."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import click

from remit.configuration import load
from remit.dispatch.settings import Settings
from remit.dispatch.submit import submit
from remit.operations.jobs import Orchestrate, queueing_of
from remit.orchestrate.answers import open_questions_of
from remit.orchestrate.orchestrator_tools import orchestrator_prompt
from remit.registry.api import allow_list
from remit.registry.lookup import Registry, load_registry
from remit.registry.model import ORCHESTRATOR
from remit.reports.formats import format_json
from remit.reports.jobs import job_lines, job_shape
from remit.reports.plans import escalation_lines
from remit.store import jobs
from remit.store.database import Database
from remit.store.jobs import Job
from remit.store.plans import Escalation
from remit.surfaces.cli.operation_options import operation_options
from remit.surfaces.cli.printing import columns, print_lines, print_text
from remit.surfaces.cli.request import task_text
from remit.surfaces.cli.run import wait_for_job
from remit.surfaces.cli.store import with_database


@click.command("orchestrate")
@operation_options(Orchestrate)
def command(wanted: Orchestrate) -> int:
    """Let a model do TASK by delegating it to subagents.

    The model can delegate, read results, ask you, report and record progress. It reads and edits files only as far as
    the gate allows. Open questions stay until you answer them (`remit escalations`, `remit answer`). Ctrl-C asks
    whether to leave the job to a worker or to cancel it. The exit code is 0 if the job completed and asks nothing.

    \b
    Examples:
      remit orchestrate "add a discount code to the shop, with tests"
      remit orchestrate - --model opus < task.md
    """
    ran = with_database(lambda database, settings: _run(database, settings, wanted))
    if ran is None:
        return 130
    job, questions = ran
    if wanted.form == "json":
        print_text(format_json(job_shape(job)))
    else:
        print_lines(job_lines(job, columns()))
        if questions:
            print_lines(escalation_lines(questions, columns()))
    return 0 if job.outcome == "completed" and not questions else 1


def _registry() -> Registry:
    """Return the definitions that the orchestrator may delegate to: those of the plugin path and the team."""
    configured = load()
    return load_registry(configured["plugin_path"], allow_list(configured, None))


async def _run(database: Database, settings: Settings, wanted: Orchestrate) -> tuple[Job, list[Escalation]] | None:
    """Submit the job of the orchestrator and wait for it. Return None if it was left to a worker."""
    from remit.orchestrate.local_worker import LocalWorker, ensure_worker, short_poll_worker
    from remit.orchestrate.orchestrator import build_orchestrator

    own_queue = f"run-{uuid.uuid4()}"
    request: dict[str, Any] = {
        "prompt": task_text(wanted.task),
        "system": orchestrator_prompt(_registry()),
        "allowed_tools": [],
        "model": wanted.model,
        "max_turns": wanted.max_turns,
        "runner": ORCHESTRATOR,
        "limits": {"cost": wanted.max_cost} if wanted.max_cost is not None else None,
    }
    submitted = await submit(
        database,
        request,
        settings,
        Path(wanted.repo or "."),
        queueing=queueing_of(wanted)._replace(first_queue=own_queue, agent="orchestrator"),
    )
    async with ensure_worker(database, settings) as queue:
        # A separate worker, so that subagents never wait for the slot of the orchestrator.
        runners = {ORCHESTRATOR: build_orchestrator(queue)}
        async with LocalWorker(short_poll_worker(database, settings, own_queue, runners=runners)) as local:
            local.start()
            is_finished = await wait_for_job(database, submitted.id)
    if not is_finished:
        return None
    return await jobs.get(database, submitted.id), await open_questions_of(database, submitted.id)
