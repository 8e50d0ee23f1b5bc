"""One correction: the violations with their help go back into the same conversation."""

from __future__ import annotations

from remit.contract.correction import correction_text
from remit.dispatch.continuing import next_message
from remit.store import jobs
from remit.store.database import Database


async def correct(database: Database, job: int, queue: str | None = None) -> bool:
    """Send a completed job's last result back with what is wrong; False: that has been done already."""
    told = correction_text(await jobs.violations_of(database, job))
    return await jobs.reopen(database, await next_message(database, job, told), queue)
