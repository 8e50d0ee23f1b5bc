"""Fill an empty database with a week of jobs, plans, questions, sessions, review items and decisions.

The checkout is written, and the results are judged and merged as those of real jobs are. The same seed and time give
the same week.
"""

from __future__ import annotations

import asyncio
import os
import random
import uuid
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from psycopg.types.json import Jsonb

from remit.acceptance import ReportJudgement, claims_with_code, judge_report
from remit.checking import Options
from remit.clients.hooks.compiled import folder_of
from remit.clients.hooks.results import keep_result
from remit.demo.shop import CONTENT, REVIEWERS, ShopProblem, draw_problems, draw_review, review_document, write_checkout
from remit.errors import UsageError
from remit.evidence.receipts import Receipt
from remit.evidence.sources import open_sources
from remit.gate.delegation import Delegation
from remit.gate.session import SessionState
from remit.gate.session_entries import DecisionEntry, Declaration
from remit.gate.session_store import open_session
from remit.ledger.items import AgentVersion, ItemOrigin
from remit.ledger.ledger_entries import facts_of
from remit.ledger.recorded_merge import record_of
from remit.merging.adjust import build_report
from remit.merging.merge import merge_reports
from remit.merging.model import Merge, MergeSettings
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan
from remit.registry.api import resolve
from remit.registry.model import Brief, digest_of
from remit.reports.formats import check_json
from remit.rules.examples import RECEIPTS, sample_text
from remit.store import ledger, review_queue
from remit.store.database import Connection, Database, rows

_SESSIONS = 4


def write_sessions(root: Path, chance: random.Random, now: datetime, texts: list[str]) -> None:
    """Write sessions into the gate's folder of a checkout. `texts` are reports of subagents."""
    folder = folder_of(str(root))
    for number in range(_SESSIONS):
        name = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        started = (now - timedelta(hours=5 + 26 * number)).timestamp()
        with open_session(folder, name) as state:
            _fill(state, chance, started)
        for position, text in enumerate(texts[: 1 + number % len(texts)] if texts else ()):
            _keep(folder, name, root, text, f"agent-{position}", started + 300 + 60 * position)


def _fill(state: SessionState, chance: random.Random, started: float) -> None:
    state.started, state.updated = started, started + 1800
    state.prompts = 3
    for position, call in enumerate(CONTENT["calls"]):
        tool, path, rule = call["tool"], call["path"], call.get("rule", "")
        state.decisions.append(
            DecisionEntry(
                at=started + 40 * position,
                tool=tool,
                decision="deny" if rule else "allow",
                rule=rule,
                reason=call.get("reason", ""),
                paths=[path],
                lines=chance.randrange(20, 90),
                id=f"toolu_{chance.getrandbits(48):012x}",
                delegate_to=call.get("delegate_to", ""),
            )
        )
        if not rule and tool == "Read":
            state.window.add(path, 66)
    for position, agent in enumerate(("code-explorer", "backend-specialist")):
        entry = Delegation(agent, started + 240 + 60 * position, state="accepted" if position == 0 else "open")
        entry.agent_id = f"agent-{position}"
        state.delegations[f"toolu_{chance.getrandbits(48):012x}"] = entry
    state.analysed["app/login.py"] = "code-explorer"
    if chance.random() < 0.5:
        state.declarations.append(
            Declaration(kind="edit", paths=["docs/login.md"], why="a typing error in a heading", at=started + 60)
        )
    else:
        state.warn("the final answer claims a test run that is not in the record of this session")


def _keep(folder: str, session: str, root: Path, text: str, agent_id: str, at: float) -> None:
    judged = judge_report(text, Options(), root)
    agent = judged.verdicts[0].agent if judged.verdicts else "code-explorer"
    kept = keep_result(
        folder,
        session,
        agent=agent,
        agent_id=agent_id,
        outcome="accepted" if judged.is_accepted else "rejected",
        would="accepted" if judged.is_accepted else "rejected",
        text=text,
        check=check_json(list(judged.verdicts), str(root)),
        verdict=judged.decision,
        violations=judged.violations,
        files=judged.analysed_files,
        profile="v2",
        model="claude-sonnet-5-5",
        attempt=1,
        at=round(at, 3),
    )
    for ending in (".json", ".md", ".check.json"):
        if os.path.exists(kept.base + ending):  # noqa: PTH110 (a path as text)
            os.utime(kept.base + ending, (at, at))


_DAYS = 7
_SONNET, _OPUS = "anthropic:claude-sonnet-5-5", "anthropic:claude-opus-5-5"
#: Price of a thousand tokens.
_PRICES = {_SONNET: 0.006, _OPUS: 0.03}
_REVIEWERS = ("Ada", "Grace")
#: The worker, which no process stands for, and how often it seems to beat.
_WORKER: dict[str, Any] = {"host": "build-1", "pid": 4711}
_BEAT_SECONDS = 5.0
_TASKS: list[dict[str, Any]] = CONTENT["tasks"]


class _Work(NamedTuple):
    """A job of the demonstration."""

    agent: str
    prompt: str
    text: str
    judgement: ReportJudgement
    receipts: tuple[Receipt, ...]
    brief: Brief
    definition: dict[str, Any]
    model: str
    at: datetime
    key: str | None = None


class _Review(NamedTuple):
    """A review of the shop: what each agent reports, and the merge of the reports."""

    works: list[_Work]
    problems: list[ShopProblem]
    merge: Merge
    at: datetime


async def fill_demo(database: Database, root: Path, *, seed: int = 7, now: datetime | None = None) -> None:
    """Write a checkout into an empty folder, and a week of work on it into an empty database.

    Raises UsageError if the folder has other files. A database with jobs is left as it is.
    """
    if not (await database.rows("demo.is_empty"))[0]["is_empty"]:
        return
    now = now or datetime.now(UTC)
    week = await asyncio.to_thread(_draw_week, root, seed, now)
    async with database.transaction() as connection:
        await _store_week(connection, week)
    await _decide(database, week)
    while await ledger.fold(database):
        pass


class _Week(NamedTuple):
    root: Path
    seed: int
    now: datetime
    single: list[_Work]
    reviews: list[_Review]


def _draw_week(root: Path, seed: int, now: datetime) -> _Week:
    """Write the checkout, and judge and merge the results of the week."""
    if root.exists() and any(one.name not in (".remit",) for one in root.iterdir()):
        raise UsageError(f"{root} is not empty; the demonstration needs an empty folder")
    root = root.resolve()
    write_checkout(root)
    chance = random.Random(seed)  # noqa: S311 (the same seed gives the same week)
    judged = [_judge_sample(root, task) for task in _TASKS]
    single, reviews = [], []
    for day in range(_DAYS):
        start = (now - timedelta(days=_DAYS - 1 - day)).replace(hour=8, minute=0, second=0, microsecond=0)
        latest = now - timedelta(minutes=20)
        for _ in range(chance.randrange(9, 16)):
            task = chance.choices(range(len(_TASKS)), [task["chance"] for task in _TASKS])[0]
            at = min(latest, start + timedelta(minutes=chance.randrange(600)))
            single.append(_single(chance, _TASKS[task], judged[task], at, day))
        reviews.append(_review(chance, root, min(latest, start + timedelta(hours=3)), day))
    write_sessions(root, chance, now, [work.text for work in single[:3]])
    return _Week(root, seed, now, single, reviews)


def _judge_sample(root: Path, task: dict[str, Any]) -> tuple[str, ReportJudgement]:
    text = sample_text(task["kind"])
    for old, new in task.get("edits", ()):
        text = text.replace(old, new)
    return text, judge_report(text, Options(kind=task["kind"]), root, receipts=RECEIPTS["everything"])


def _single(
    chance: random.Random, task: dict[str, Any], judged: tuple[str, ReportJudgement], at: datetime, day: int
) -> _Work:
    model = _OPUS if chance.random() < 0.25 else _SONNET
    text, judgement = judged
    return _work(task["agent"], task["prompt"], text, judgement, RECEIPTS["everything"], model, at, is_old=day < 3)


def _work(
    agent: str,
    prompt: str,
    text: str,
    judgement: ReportJudgement,
    receipts: tuple[Receipt, ...],
    model: str,
    at: datetime,
    *,
    is_old: bool = False,
) -> _Work:
    brief = _brief(agent, prompt, model)
    found = brief.definition
    version = "earlier" if is_old else "current"
    digest = found.digest if found is not None and not is_old else digest_of(f"{agent} {version}")
    definition = {"name": agent, "plugin": found.plugin if found else "team", "digest": digest}
    return _Work(agent, prompt, text, judgement, receipts, brief, definition, model, at)


@cache
def _brief(agent: str, prompt: str, model: str) -> Brief:
    return resolve({"prompt": prompt, "subagent_def": agent, "model": model}, policy="open", print_warnings=False)


def _review(chance: random.Random, root: Path, at: datetime, day: int) -> _Review:
    """Draw a review: three agents look at the same places, and each reports some of them."""
    options, sources = Options(kind="review"), open_sources(root)
    problems = draw_problems(chance, 58)
    works, reports = [], []
    for agent in REVIEWERS:
        found = draw_review(chance, agent, problems)
        text = review_document(agent, found, invented=chance.choice((0, 0, 0, 1, 3)))
        receipts = (
            *(Receipt(tool="Read", path=path) for path in sorted({one.problem.path for one in found})),
            _TEST_RUN,
        )
        judgement = judge_report(text, options, root, receipts=receipts)
        prompt = "Review the shop for defects that affect a customer."
        works.append(_work(agent, prompt, text, judgement, receipts, _SONNET, at, is_old=day < 3))
        reports.append(build_report(judgement.verdicts[0], sources.workspace, sender=agent))
    return _Review(works, problems, merge_reports(reports, MergeSettings(threshold=50)), at)


_TEST_RUN = Receipt(tool="Bash", arguments={"command": "python -m pytest tests"}, exit=0, failed=False)


async def beat_forever(database: Database) -> None:
    """Keep the worker of the demonstration and the job that it runs alive."""
    while True:
        await database.rows("demo.beat", **_WORKER)
        await asyncio.sleep(_BEAT_SECONDS)


async def _store_week(connection: Connection, week: _Week) -> None:
    chance = random.Random(week.seed + 1)  # noqa: S311
    worker = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    started = week.now - timedelta(days=2)
    await rows(connection, "demo.worker", id=worker, **_WORKER, started=started)
    for work in sorted(week.single, key=lambda one: one.at):
        await _store_job(connection, chance, week, work)
    for number, review in enumerate(week.reviews):
        await _store_review(connection, chance, week, review, number)
    last = week.single[-1]
    for position in range(3):
        waiting = last._replace(prompt=f"Check module {position + 1} of the shop", at=week.now, key=f"demo-{position}")
        await _store_open_job(connection, week, waiting, worker if position == 0 else None)


async def _store_job(connection: Connection, chance: random.Random, week: _Week, work: _Work) -> int:
    """Store a finished job with its transcript. A few have failed."""
    has_failed = work.key is None and chance.random() < 0.04
    calls = len(work.receipts)
    sent, received = 4000 + 2600 * calls + chance.randrange(3000), 900 + len(work.text) // 3
    finished = work.at + timedelta(seconds=40 + 11 * calls + chance.randrange(60))
    verdict = None if has_failed else work.judgement.decision
    values = {
        **_job_columns(week, work),
        "state": "finished",
        "outcome": "timeout" if has_failed else "completed",
        "error": "the limit of 300 seconds is used up" if has_failed else None,
        "verdict": verdict,
        "result": work.text,
        "turns": calls + 1,
        "calls": calls,
        "input": sent,
        "output": received,
        "cached": sent // 2,
        "cost": round((sent + 5 * received) / 1000 * _PRICES[work.model], 4),
        "worker": None,
        "created": work.at - timedelta(seconds=chance.randrange(1, 30)),
        "started": work.at,
        "finished": finished,
        "checkpoint": finished,
    }
    await _store_brief(connection, work.brief)
    job = int((await rows(connection, "demo.job", **values))[0]["id"])
    await _store_transcript(connection, week.root, job, work)
    if verdict is not None:
        facts = facts_of(work.judgement.verdicts)
        claims = claims_with_code(work.judgement.verdicts, week.root)
        report = {"verdict": verdict, "violations": work.judgement.violations, "facts": facts, "references": claims}
        stored = {"document": work.text, "verdict": verdict, "report": _json(report), "at": finished}
        await rows(connection, "demo.result", job=job, **stored)
    started = {"attempt": 1, "model": work.model, "tools": list(work.brief.tools)}
    ended = {"outcome": values["outcome"], "error": values["error"], "verdict": verdict}
    await rows(connection, "demo.event", job=job, at=work.at, kind="started", data=_json(started))
    await rows(connection, "demo.event", job=job, at=finished, kind="finished", data=_json(ended))
    await rows(connection, "demo.record_job", job=job)
    return job


async def _store_open_job(connection: Connection, week: _Week, work: _Work, worker: str | None) -> None:
    """Store a job that waits, or one that a worker runs."""
    none = dict.fromkeys(("outcome", "error", "verdict", "result", "finished"))
    counts = dict.fromkeys(("turns", "calls", "input", "output", "cached", "cost"), 0)
    started = week.now - timedelta(seconds=30) if worker else None
    times = {"created": week.now - timedelta(minutes=1), "started": started, "checkpoint": started}
    await _store_brief(connection, work.brief)
    state = "running" if worker else "queued"
    columns = _job_columns(week, work)
    await rows(connection, "demo.job", **columns, **none, **counts, **times, state=state, worker=worker)


def _job_columns(week: _Week, work: _Work) -> dict[str, Any]:
    return {
        "agent": work.agent,
        "definition": Jsonb(work.definition),
        "brief": work.brief.digest,
        "request": _json({"prompt": work.prompt, "subagent_def": work.agent, "model": work.model}),
        "prompt": work.prompt,
        "workspace": str(week.root),
        "key": work.key,
        "max_cost": None,
    }


async def _store_brief(connection: Connection, brief: Brief) -> None:
    stored = msgspec.structs.replace(brief, warnings=())
    await rows(connection, "demo.brief", digest=brief.digest, brief=_json(msgspec.to_builtins(stored)))


async def _store_transcript(connection: Connection, root: Path, job: int, work: _Work) -> None:
    """Store the task, a turn for each tool call, and the answer."""
    messages: list[dict[str, Any]] = [{"kind": "request", "parts": [_part("user-prompt", content=work.prompt)]}]
    for turn, receipt in enumerate(work.receipts, 1):
        call, arguments = f"{turn}:call", receipt.arguments or {"file_path": receipt.path}
        output = _output(root, receipt)
        named = {"tool_name": receipt.tool, "tool_call_id": call}
        messages.append({"kind": "response", "parts": [_part("tool-call", args=arguments, **named)]})
        messages.append({"kind": "request", "parts": [_part("tool-return", content=output, **named)]})
        values = {"call": call, "turn": turn, "name": receipt.tool, "arguments": _json(arguments), "output": output}
        await rows(connection, "demo.call", job=job, at=work.at + timedelta(seconds=11 * turn), **values)
        await rows(connection, "demo.receipt", job=job, call=call, receipt=_json(msgspec.to_builtins(receipt)))
    messages.append({"kind": "response", "parts": [_part("text", content=work.text)]})
    for number, message in enumerate(messages):
        at = work.at + timedelta(seconds=5 * number)
        await rows(connection, "demo.message", job=job, number=number, message=_json(message), at=at)


def _part(kind: str, **fields: Any) -> dict[str, Any]:
    return {"part_kind": kind, **fields}


def _output(root: Path, receipt: Receipt) -> str:
    if receipt.tool == "Bash":
        return "4 passed in 0.12s"
    try:
        return (root / (receipt.path or "")).read_text(encoding="utf-8")[:4000]
    except OSError:
        return "edited"


async def _store_review(
    connection: Connection, chance: random.Random, week: _Week, review: _Review, number: int
) -> None:
    """Store the plan of a review with its jobs, its entry in the ledger and its items."""
    is_open = number == _DAYS - 1
    finished = None if is_open else review.at + timedelta(minutes=9)
    specs = tuple(DelegationSpec(agent=work.agent, task=work.prompt) for work in review.works)
    spec = Plan(name="review of the shop", phases=(PhaseSpec(name="review", delegations=specs, threshold=50),))
    values = {
        "name": spec.name,
        "digest": digest_of(f"demo {week.seed} {number}"),
        "document": _json(msgspec.to_builtins(spec)),
        "workspace": str(week.root),
        "state": "waiting" if is_open else "finished",
        "outcome": None if is_open else review.merge.decision,
        "created": review.at - timedelta(minutes=1),
        "finished": finished,
    }
    plan = int((await rows(connection, "demo.plan", **values))[0]["id"])
    merged = {"state": "running" if is_open else "finished", "decision": review.merge.decision}
    merge = _json(msgspec.to_builtins(review.merge))
    await rows(connection, "demo.phase", plan=plan, number=0, name="review", merge=merge, **merged)
    for work in review.works:
        job = await _store_job(connection, chance, week, work._replace(key=f"plan-{plan}-0-{work.agent}-1"))
        verdict = work.judgement.decision
        about = {"verdict": verdict, "job": job, "result": work.text, "agent": work.agent}
        state = "accepted" if verdict == "accept" else "rejected"
        await rows(connection, "demo.delegation", plan=plan, phase=0, state=state, **about)
    step = {"step": "merge", "reason": f"review: {review.merge.status}, {review.merge.decision}"}
    await rows(connection, "demo.step", plan=plan, at=review.at + timedelta(minutes=8), **step)
    if is_open:
        reason = f"a person has to review the results of review: {len(review.merge.conflicts)} conflicts (round 1 of 3)"
        await rows(connection, "demo.question", plan=plan, phase=0, reason=reason, at=review.at)
    versions = {one.agent: AgentVersion(one.definition["digest"], one.model) for one in review.works}
    recorded = record_of(review.merge, ItemOrigin("plan", plan=plan), week.root, versions, f"plan-{plan}-0-1")
    recorded.entry.at = finished or review.at
    await ledger.record_in(connection, [recorded.entry])
    await review_queue.add_items_in(connection, recorded.items)
    await rows(connection, "demo.date_items", plan=plan, at=review.at + timedelta(minutes=8))
    await rows(connection, "demo.close_outbox")


async def _decide(database: Database, week: _Week) -> None:
    """Decide most items of all days but the last as the reviewers did."""
    chance = random.Random(week.seed + 2)  # noqa: S311
    right = {(one.path, one.line, one.title): one.is_right for review in week.reviews for one in review.problems}
    items = await review_queue.list_items(database, limit=5000)
    last = max((item.plan or 0 for item in items), default=0)
    async with database.transaction() as connection:
        for item in items:
            if item.kind == "result" or item.plan == last or chance.random() < 0.06:
                continue
            is_right = right.get((item.path, item.line or 0, item.title), False)
            verb, state = ("confirm", "confirmed") if is_right else ("reject", "rejected")
            if chance.random() < 0.04:
                verb, state = "unsure", "unsure"
            note = "the caller checks it" if verb == "reject" and chance.random() < 0.4 else ""
            at = min(week.now, item.created + timedelta(minutes=chance.randrange(20, 300)))
            name = str(uuid.UUID(int=chance.getrandbits(128), version=4))
            about = {"verb": verb, "state": state, "reviewer": chance.choice(_REVIEWERS), "note": note, "at": at}
            await rows(connection, "demo.decide", id=name, item=item.id, **about)


def _json(value: Any) -> Jsonb:
    return Jsonb(value, dumps=lambda one: msgspec.json.encode(one).decode())
