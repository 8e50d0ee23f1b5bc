"""`remit worker`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import click

from remit.surfaces.cli.store import need_extra, with_database

if TYPE_CHECKING:
    from remit.dispatch.settings import Settings
    from remit.store.database import Database


@click.command("worker")
@click.option("--concurrency", type=click.IntRange(1, 1000), default=5, show_default=True, help="Jobs at a time.")
@click.option("--queue", "queues", multiple=True, metavar="NAME", help="Only this queue; may be given several times.")
@click.option("--until-idle", is_flag=True, help="End when there is nothing left to do.")
def command(concurrency: int, queues: tuple[str, ...], *, until_idle: bool) -> int:
    """Run jobs from the queue until told to stop.

    SIGTERM or Ctrl-C: finish what runs or hand it back. SIGHUP: read the definitions again.

    \b
    Examples:
      remit worker --concurrency 20
      remit worker --queue nightly --until-idle
    """
    need_extra()
    from remit.dispatch.worker import Worker
    from remit.orchestrate.conductor import conductor
    from remit.registry.api import reload_registry, tell
    from remit.registry.model import ORCHESTRATOR

    logging.basicConfig(level=logging.WARNING, format="[%(name)s] %(message)s")

    async def work(database: Database, settings: Settings) -> None:
        registry = reload_registry()
        worker = Worker(
            database,
            settings,
            queues=queues,
            concurrency=concurrency,
            on_reload=lambda: tell(f"{len(list(reload_registry()))} definitions read again", "worker"),
            on_start=lambda: tell(
                f"worker started: {concurrency} jobs at a time, {len(list(registry))} definitions", "worker"
            ),
            runners={ORCHESTRATOR: conductor()},
        )
        await worker.run(until_idle=until_idle)
        tell("worker stopped", "worker")

    with_database(work)
    return 0
