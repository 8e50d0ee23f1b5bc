"""One correction: the violations with their help go back into the same conversation."""

from __future__ import annotations

from remit.contract.correction import correction_text
from remit.store import jobs
from remit.store.database import Database
from remit.store.transcript import Transcript


async def correct(database: Database, job: int, queue: str | None = None) -> bool:
    """Send a completed job's last result back with what is wrong; False: that has been done already."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    found = await database.rows("transcript.results", job=job)
    violations = found[-1]["report"].get("violations", []) if found else []
    messages = await Transcript(database, job, 0).messages()
    request = ModelRequest(parts=[UserPromptPart(correction_text(violations))])
    data = ModelMessagesTypeAdapter.dump_json([request])[1:-1]
    return await jobs.reopen(database, job, len(messages), data, queue)
