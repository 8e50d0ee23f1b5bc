"""One correction: the violations with their help go back into the same conversation."""

from __future__ import annotations

from typing import Any

from remit.store import jobs
from remit.store.database import Database
from remit.store.transcript import Transcript

MAX_VIOLATIONS = 30
_ORDER = (
    "Your result was checked by a program and is not accepted. Mend what is listed below and send the WHOLE result "
    "again, in the same form, as your last message: only that message is read."
)


def correction_text(violations: list[dict[str, Any]]) -> str:
    """What is told to a subagent about a result that is not accepted."""
    blocking = [one for one in violations if one.get("level") != "L3"] or violations
    lines = [
        f"- {one.get('rule')} (line {one.get('line')}): {one.get('message')} {one.get('help', '')}".rstrip()
        for one in blocking[:MAX_VIOLATIONS]
    ]
    if len(blocking) > MAX_VIOLATIONS:
        lines.append(f"- and {len(blocking) - MAX_VIOLATIONS} more of the same kind")
    return "\n".join([_ORDER, "", *lines])


async def correct(database: Database, job: int, queue: str | None = None) -> bool:
    """Send a completed job's last result back with what is wrong; False: that has been done already."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

    found = await database.rows("transcript.results", job=job)
    violations = found[-1]["report"].get("violations", []) if found else []
    messages = await Transcript(database, job, 0).messages()
    request = ModelRequest(parts=[UserPromptPart(correction_text(violations))])
    data = ModelMessagesTypeAdapter.dump_json([request])[1:-1]
    return await jobs.reopen(database, job, len(messages), data, queue)
