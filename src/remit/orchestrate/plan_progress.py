"""Record the progress of plans and orchestrators in the progress file of their project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from remit.contract.parse import parse
from remit.contract.result_data import Items, Text
from remit.failure_policy import failure_note
from remit.orchestrate.answers import owner_of
from remit.orchestrate.progress_file import (
    add_facts,
    close_question,
    open_questions,
    progress_path,
    read_progress,
    record_event,
    replace_warning,
    set_blockers,
    set_delegations,
    set_work,
    update_progress,
)
from remit.secrets.scan import redact
from remit.store import plans
from remit.store.database import Database
from remit.store.plans import Delegation, Escalation

#: Key files and blockers of one result.
_MAX_OF_RESULT = 10
#: The outcome of a plan -> the next action.
_NEXT = {
    "continue": "Nothing is open; the last decision was continue",
    "review": "Decide about the results, which need a review: `remit merge --plan {plan}`",
    "retry": "Decide how to go on: some results are missing, see `remit merge --plan {plan}`",
}


class KeyFacts:
    """What accepted results state that a resumed session needs: cited locations, decisions and blockers."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.decisions: list[str] = []
        self.blockers: list[str] = []

    def add(self, delegations: Iterable[Delegation]) -> None:
        """Add the facts of results."""
        for delegation in delegations:
            results = [document.result for document in parse(delegation.result)] if delegation.result else []
            for result in results:
                if delegation.state == "accepted":
                    locations = (row.location.strip("` ") for row in result.references[:_MAX_OF_RESULT])
                    self.files += [location for location in locations if any(map(str.isalnum, location))]
                    self.decisions += [
                        f"{delegation.agent}: {text}" for block in result.findings for text in _approach(block)
                    ]
                for blocker in result.blockers[:_MAX_OF_RESULT]:
                    way = f" (resolution: {blocker.resolution})" if blocker.resolution else ""
                    self.blockers.append(f"{delegation.agent}: {blocker.text}{way}")


def _approach(block: Any) -> list[str]:
    """Return the recommended approach of a design."""
    lines: list[str] = []
    for content in block.content:
        if isinstance(content, Items):
            lines += [item.text for item in content.items]
        elif isinstance(content, Text):
            lines += content.text.split("\n")
    plain = (line.replace("*", "").strip(" -") for line in lines)
    return [" ".join(line.split()) for line in plain if line.lower().startswith("approach:")][:1]


class ProgressRecorder:
    """Updates the progress file of a project while a plan runs. `owner` is the orchestrator that made the plan."""

    def __init__(self, data: Path, workspace: Path, plan: int, name: str, owner: int | None = None) -> None:
        self._file = progress_path(data)
        self._workspace = workspace
        self._plan = plan
        self._name = redact(name)
        self._owner = owner
        self._key = f"plan {plan}" if owner is None else f"job {owner}"

    async def _write(
        self, action: str, result: str, change: Callable[[dict[str, Any]], None] | None = None, /, **more: Any
    ) -> None:
        event = {"action": action, "status": result, "plan": self._plan, **more}
        names = {"workspace": f"plan-{self._plan}", "project": self._workspace.name}
        await asyncio.to_thread(record_event, self._file, event, *([change] if change else ()), **names)

    def _set(self, progress: dict[str, Any], **fields: Any) -> None:
        set_work(progress, self._key, name=self._name, **fields)

    @property
    def _resume(self) -> str:
        if self._owner is not None:
            return f"Follow the orchestrator with `remit jobs logs -f {self._owner}`; `remit worker` continues it"
        return f"Run `remit plan run --resume {self._plan}`"

    async def phase(self, name: str) -> None:
        """Record that a phase begins."""

        def change(progress: dict[str, Any]) -> None:
            progress.update(currentPhase=name, currentTask=f"{self._name}: {name}")
            next_action = f"{self._resume} to continue {name}" if self._owner is None else self._resume
            position = f"phase {name} of {self._name}"
            self._set(progress, status="in_progress", position=position, nextAction=next_action, questions=[])

        await self._write(f"phase {name}", "started", change)

    async def merged(self, name: str, decision: str, delegations: Sequence[Delegation], facts: KeyFacts) -> None:
        """Record the decision, the delegations and the key facts of a finished phase."""

        def change(progress: dict[str, Any]) -> None:
            _set_phase(progress, self._plan, name, delegations)
            add_facts(progress, "keyFiles", facts.files)
            add_facts(progress, "decisions", [*facts.decisions, f"{self._key}, phase {name}: {decision}"])
            next_action = f"Read the merged results of {name} (`remit merge --plan {self._plan}`), then continue: "
            position = f"phase {name} of {self._name} is finished"
            self._set(progress, position=position, nextAction=next_action + self._resume)
            set_blockers(progress, self._key, name, facts.blockers)

        await self._write(f"phase {name}", decision, change)

    async def failed(self, phase: str, delegation: Delegation, step: str, reason: str) -> None:
        """Record a failure: the agent, the cause and the action."""
        where = _where(self._plan, phase, delegation)
        note = failure_note(delegation.agent, where, reason)
        await self._write(
            "failure",
            "warning",
            lambda progress: replace_warning(progress, delegation.agent, where, note),
            agent=delegation.agent,
            phase=phase,
            cause=reason,
            step=step,
        )

    async def resolved(self, phase: str, delegation: Delegation) -> None:
        """Mark the warning of a failure as resolved: a retry was accepted."""
        where = _where(self._plan, phase, delegation)
        note = failure_note(delegation.agent, where, f"job {delegation.job} was accepted", is_resolved=True)
        await self._write(
            "failure resolved",
            "success",
            lambda progress: replace_warning(progress, delegation.agent, where, note),
            agent=delegation.agent,
            phase=phase,
        )

    async def unreviewed(self, phase: str, why: str, state: str) -> None:
        """Record that a person should have reviewed the results of a phase, and what the plan did without it."""
        text = f"Phase {phase} of plan {self._plan} needs a review: {why}; the plan {state}"

        def change(progress: dict[str, Any]) -> None:
            if text not in progress["warnings"]:
                progress["warnings"].append(text)

        await self._write("review", "warning", change, phase=phase, cause=why)

    async def stopped(
        self, state: str, phase: str, delegations: Sequence[Delegation], questions: Sequence[Escalation]
    ) -> None:
        """Record that the plan waits for a person, or is cancelled."""

        def change(progress: dict[str, Any]) -> None:
            _set_phase(progress, self._plan, phase, delegations)
            if state == "waiting":
                self._set(
                    progress, status="blocked", nextAction=_answer_text(self._key), questions=_questions(questions)
                )
            else:
                next_action = f"Plan {self._plan} was cancelled: decide what to do instead"
                self._set(progress, status="cancelled", nextAction=next_action, questions=[])

        await self._write(f"phase {phase}", state, change)

    async def finished(self, outcome: str) -> None:
        """Record that the plan is finished. Its orchestrator goes on."""

        def change(progress: dict[str, Any]) -> None:
            if self._owner is None:
                done = _NEXT[outcome].format(plan=self._plan)
                self._set(progress, status="completed", nextAction=done, questions=[])
            else:
                self._set(progress, status="in_progress", nextAction=self._resume)

        await self._write(self._name, outcome, change)


async def record_orchestrator(data: Path, job: int, outcome: str, questions: Sequence[Escalation]) -> None:
    """Record how the turn of an orchestrator ended: with open questions, completed, or otherwise."""
    key = f"job {job}"

    def change(progress: dict[str, Any]) -> None:
        if questions:
            set_work(progress, key, status="blocked", nextAction=_answer_text(key), questions=_questions(questions))
        elif outcome == "completed":
            entry = set_work(progress, key, status="completed", questions=[])
            if not entry.get("isRecorded"):
                set_work(progress, key, nextAction=f"Nothing is open; read the answer with `remit jobs show {job}`")
        else:
            next_action = f"The orchestrator ended with {outcome}: `remit jobs retry {job}` continues it"
            set_work(progress, key, status="blocked", nextAction=next_action, questions=[])

    event = {"action": key, "status": "waiting" if questions else outcome}
    await asyncio.to_thread(record_event, progress_path(data), event, change)


async def record_answer(data: Path, question: int, next_action: str) -> None:
    """Record that a person has answered a question."""
    await _update_existing(data, lambda progress: close_question(progress, question, next_action))


async def refresh_questions(database: Database, data: Path) -> None:
    """Close the questions of the progress file that were answered, or whose plan was cancelled, on another host."""
    for question in open_questions(await asyncio.to_thread(read_progress, progress_path(data))):
        asked = (
            await plans.get_escalation(database, int(question["id"])) if isinstance(question.get("id"), int) else None
        )
        plan = await plans.get_plan(database, asked.plan) if asked is not None else None
        owner = owner_of(plan) if plan is not None else None
        if asked is None or plan is None or question["work"] != (f"job {owner.job}" if owner else f"plan {plan.id}"):
            continue  # a question of another database
        if plan.state == "cancelled":
            await record_cancelled(data, question["work"])
        elif asked.answer is not None:
            resume = f"`remit jobs logs -f {owner.job}`" if owner else f"`remit plan run --resume {plan.id}`"
            await record_answer(data, asked.id, f"Question {asked.id} was answered; continue with {resume}")


async def record_cancelled(data: Path, key: str) -> None:
    """Record that a plan or an orchestrator was cancelled."""
    next_action = f"{key.capitalize()} was cancelled: decide what to do instead"

    def change(progress: dict[str, Any]) -> None:
        if any(isinstance(entry, dict) and entry.get("key") == key for entry in progress.get("work") or ()):
            set_work(progress, key, status="cancelled", nextAction=next_action, questions=[])

    await _update_existing(data, change)


async def _update_existing(data: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the progress file, if there is one."""
    file = progress_path(data)
    if await asyncio.to_thread(file.exists):
        await asyncio.to_thread(update_progress, file, change)


def _answer_text(key: str) -> str:
    return f"Answer the questions of {key}: `remit plan questions`, then `remit plan answer ID …`"


def _questions(questions: Sequence[Escalation]) -> list[dict[str, Any]]:
    return [{"id": question.id, "reason": question.reason} for question in questions]


def _where(plan: int, phase: str, delegation: Delegation) -> str:
    return f"plan {plan}, {phase}, {delegation.name}"


def _set_phase(progress: dict[str, Any], plan: int, phase: str, delegations: Sequence[Delegation]) -> None:
    """Set the entries of the delegations of a phase."""
    entries = [
        {"plan": plan, "phase": phase, "name": delegation.name, "agent": delegation.agent}
        | {"state": delegation.state, "verdict": delegation.verdict, "job": delegation.job}
        for delegation in delegations
    ]
    set_delegations(progress, entries, keys=("plan", "phase", "name"))
