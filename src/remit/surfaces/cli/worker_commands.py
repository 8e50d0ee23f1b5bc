"""`remit worker`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import click

from remit.configuration import load
from remit.dispatch.health import missing_key
from remit.registry.definition import ORCHESTRATOR
from remit.registry.resolution import reload_registry
from remit.reports.layout import escape_control
from remit.secrets.scan import redact
from remit.surfaces.cli.with_database import with_database

if TYPE_CHECKING:
    from remit.dispatch.worker_settings import Settings
    from remit.store.database import Database

log = logging.getLogger("remit.worker")


@click.command("worker")
@click.option("--concurrency", type=click.IntRange(1, 1000), default=5, show_default=True, help="Jobs at a time.")
@click.option("--queue", "queues", multiple=True, metavar="NAME", help="Take only jobs of this queue; repeatable.")
@click.option("--until-idle", is_flag=True, help="Exit when there is nothing left to do.")
@click.option("--all-projects", is_flag=True, help="Take the jobs of all projects, not only of this one.")
def worker_command(concurrency: int, queues: tuple[str, ...], *, until_idle: bool, all_projects: bool) -> int:
    """Run jobs of this project until stopped.

    On SIGTERM or Ctrl-C, running jobs are finished or returned to the queue. On SIGHUP, definitions are reloaded.

    \b
    Examples:
      remit worker --concurrency 20
      remit worker --queue nightly --until-idle
    """
    _log_with_times()
    log.info("worker is starting")  # before the imports, which take seconds
    from remit.dispatch.worker import Worker
    from remit.orchestrate.orchestrator import build_orchestrator

    async def work(database: Database, settings: Settings) -> None:
        registry = reload_registry()
        if variable := missing_key(load()):
            log.warning("no provider has a key, so jobs that use a model will fail: set %s", variable)
        worker = Worker(
            database,
            settings._replace(is_for_all_projects=all_projects),
            queues=queues,
            concurrency=concurrency,
            on_reload=lambda: log.info("%s definitions reloaded", len(list(reload_registry()))),
            on_start=lambda: log.info("worker started: %s", _summary(concurrency, queues, len(list(registry)))),
            runners={ORCHESTRATOR: build_orchestrator()},
        )
        await worker.run(until_idle=until_idle)
        log.info("worker stopped")

    with_database(work)
    return 0


def _summary(concurrency: int, queues: tuple[str, ...], definitions: int) -> str:
    at_a_time = f"{concurrency} job{'s' * (concurrency != 1)} at a time"
    only = f", only of the queue{'s' * (len(queues) != 1)} {', '.join(queues)}" if queues else ""
    return f"{at_a_time}{only}, {definitions} definition{'s' * (definitions != 1)}"


class _EscapingFormatter(logging.Formatter):
    """Formats lines with a time, and removes secrets and control characters of untrusted text from them."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(escape_control, redact(super().format(record)).split("\n")))


def _log_with_times() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_EscapingFormatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("remit").setLevel(logging.INFO)
