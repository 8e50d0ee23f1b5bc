"""Judge the answer of an orchestrator that is a model by the checkout and by what it and its subagents did."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec

from remit.configuration import load
from remit.dispatch.attempt import AttemptParts, Judged, store_verdict
from remit.dispatch.finish import RunEnd
from remit.evidence.receipts import SCRIPT, Receipt
from remit.final_answer import MAX_CHARACTERS, AnsweredSession, FalseStatement, FinalAnswer, JudgedAnswer
from remit.orchestrate.answers import delegation_digest
from remit.registry.definition import ORCHESTRATOR
from remit.registry.resolution import quiet_registry

_RULE = "final-claims"
_HELP = "Correct or remove this statement, and state openly what was not done. If it is right, state how you know."
_TOO_LONG = f"this answer was not checked, because it has more than {MAX_CHARACTERS:,} characters"
#: Runners whose calls are recorded.
_RECORDED = ("model", ORCHESTRATOR)


async def judge_answer(parts: AttemptParts, ended: RunEnd) -> RunEnd:
    """Return the end of a turn with the verdict on its answer, which is stored: one that is false is sent back once."""
    started = time.monotonic()
    earlier = await parts.transcript.submissions()
    results = await parts.database.rows("transcript.results", job=parts.job.id)
    is_correction = earlier > 0 and results[earlier - 1]["verdict"] == "revise"
    judged = await _judge(parts, ended.text)
    violations = [_violation(ended.text, statement) for statement in judged.false]
    if judged.unchecked:
        violations.append(
            {"rule": _RULE, "code": "", "level": "L3", "line": 1, "message": judged.unchecked, "help": ""}
        )
    verdict = "accept" if not judged.false else "reject" if is_correction else "revise"
    await store_verdict(parts, Judged(earlier + 1, ended.text, verdict, violations, {}, started))
    return ended._replace(verdict=verdict)


async def _judge(parts: AttemptParts, answer: str) -> JudgedAnswer:
    if len(answer) > MAX_CHARACTERS:
        return JudgedAnswer([], _TOO_LONG)
    prefix = delegation_digest(parts.job.id, "")
    rows = await parts.database.rows("plans.calls_of_job", job=parts.job.id, prefix=prefix)
    calls = [msgspec.convert(row["receipt"], Receipt) for row in rows if row["receipt"] is not None]
    if any(row["runner"] not in _RECORDED for row in rows):
        calls.append(Receipt(tool=SCRIPT))
    asked = [row["agent"] for row in await parts.database.rows("plans.asked_of_job", prefix=prefix)]

    def judge() -> JudgedAnswer:
        agents = [definition.name for definition in quiet_registry(load())]
        session = AnsweredSession(
            calls=lambda: calls,
            agents=agents,
            asked=asked,
            has_subagents=lambda: True,
            has_printed=lambda name: any(name in (call.output or "") for call in calls),
        )
        return FinalAnswer(answer, str(parts.root), session).check()

    return await asyncio.to_thread(judge)


def _violation(answer: str, statement: FalseStatement) -> dict[str, Any]:
    lines = (" ".join(line.split()) for line in answer.split("\n"))
    begin = statement.sentence[:60]
    line = next((number for number, text in enumerate(lines, 1) if begin in text), 1)
    message = f'"{statement.sentence}" is not true: {statement.why}'
    return {"rule": _RULE, "code": "", "level": "L1", "line": line, "message": message, "help": _HELP}
