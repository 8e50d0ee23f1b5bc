"""An orchestrator that is a model: a durable conversation whose only tools are those of `orchestrator_tools`."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from remit.acceptance import judge_report
from remit.aio import run_with_keepalive
from remit.checking import Options
from remit.contract.feedback import frame_result, neutralize
from remit.contract.outcome import failure_in
from remit.contract.parse import parse
from remit.dispatch.attempt import AttemptParts, Runner
from remit.dispatch.conversation import Conversation
from remit.dispatch.finish import RunEnd, RunStopped
from remit.dispatch.tools.tool_types import ToolLimits, ToolOutput
from remit.dispatch.tools.toolbox import Toolbox
from remit.dispatch.toolset import RecordedTools
from remit.errors import RemitError, UsageError
from remit.evidence.receipts import Receipt
from remit.failure_policy import can_retry
from remit.gate.decide import decide
from remit.gate.delegations import close_delegation, open_delegation
from remit.gate.redaction import load_rules
from remit.gate.session_store import open_session
from remit.gate.settings import GateSettings
from remit.gate.settle import settle
from remit.gate.tool_use import ToolUse
from remit.merging.merge_data import Merge
from remit.orchestrate.answers import delegation_digest, open_questions_of, question_digest
from remit.orchestrate.delegating import PlanResult, drive_plan, plan_result, review_reason
from remit.orchestrate.local_worker import SpareWorker
from remit.orchestrate.orchestrator_answer import judge_answer
from remit.orchestrate.orchestrator_tools import MAX_DELEGATIONS, TOOLS
from remit.orchestrate.phase import PlanReader, keep_result, substitutes
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan, delegation_names
from remit.orchestrate.plan_file import check_plan
from remit.orchestrate.plan_progress import record_orchestrator
from remit.orchestrate.progress_file import add_facts, progress_path, set_work, update_progress
from remit.registry.definition import CLAIMS, ORCHESTRATOR
from remit.secrets.scan import redact
from remit.store import plans
from remit.store.jobs import AttemptFenced
from remit.store.plans import SETTLED, Delegation
from remit.store.storable import to_storable

load_rules[:] = [lambda: redact]

_OUTCOMES = {"accepted": "accepted", "rejected": "rejected"}


class GateSession:
    """Asks the gate before each access to the project, and reports calls and delegations to it."""

    def __init__(self, data: Path, root: Path, session: str, settings: GateSettings) -> None:
        self._folder = str(data / "gate")
        self._root = str(root)
        self._session = session
        self._settings = settings

    async def ask(self, tool: str, arguments: Mapping[str, Any], key: str) -> str | None:
        """Return None if a call is allowed, else the reason and the agent to delegate to."""
        return await asyncio.to_thread(self._ask, tool, arguments, key)

    def _ask(self, tool: str, arguments: Mapping[str, Any], key: str) -> str | None:
        with open_session(self._folder, self._session) as state:
            decision = decide(self._call(tool, arguments, key), state, self._settings, self._root)
        if decision.decision in ("allow", "warn") and decision.fault is None:
            return None
        return f"refused ({decision.rule}): {decision.reason or decision.fault}"

    async def settle(self, tool: str, arguments: Mapping[str, Any], key: str, seconds: float, *, failed: bool) -> None:
        """Report that an allowed call was made."""
        await asyncio.to_thread(self._settle, tool, arguments, key, seconds, failed)

    def _settle(self, tool: str, arguments: Mapping[str, Any], key: str, seconds: float, failed: bool) -> None:  # noqa: FBT001 (through a thread, by position)
        with open_session(self._folder, self._session) as state:
            call = self._call(tool, arguments, key)
            settle(call, None, seconds, state, self._settings, self._root, failed=failed)

    async def open_delegations(self, delegations: list[tuple[str, str]]) -> None:
        """Report that delegations begin: their keys and agents."""

        def work() -> None:
            with open_session(self._folder, self._session) as state:
                for key, agent in delegations:
                    if key not in state.delegations:
                        open_delegation(state, key, agent)

        await asyncio.to_thread(work)

    async def close_delegation(self, key: str, delegation: Delegation) -> None:
        """Report that a delegation has ended; a repeated call has no effect.

        The files that an accepted result names as key references count as analysed, and a short read around a location
        that it cites is a verification. A failure that was retried, or that is not recoverable, allows a fallback read.
        """

        def work() -> None:
            accepted = (delegation.result or "") if delegation.state == "accepted" else ""
            failure = failure_in(delegation.result)
            is_recoverable = can_retry(delegation.retries) and (failure is None or failure.is_recoverable)
            cited = judge_report(accepted, Options(profile=CLAIMS), self._root).cited_locations if accepted else []
            with open_session(self._folder, self._session) as state:
                if key in state.delegations and not state.delegations[key].is_open:
                    return
                outcome = _OUTCOMES.get(delegation.state, "failed")
                close_delegation(state, key, outcome, files=cited_files(accepted), is_recoverable=is_recoverable)
                state.cite(cited)

        await asyncio.to_thread(work)

    def _call(self, tool: str, arguments: Mapping[str, Any], key: str) -> ToolUse:
        return ToolUse(tool, arguments, cwd=self._root, session=self._session, tool_use_id=key)


def cited_files(document: str) -> list[str]:
    """Return the files that the Key References of a result name."""
    locations = [row.location.strip("` ") for parsed in parse(document) for row in parsed.result.references]
    return sorted({re.split(r"[:#]", location)[0] for location in locations if location})


#: After this number of failures of the same delegations they are refused.
MAX_SAME = 3
#: Lines of a `Tell` call that the user sees.
_MAX_TELL_LINES = 300
_REPEATED_FAILURE = (
    "these agents have failed at these tasks {times} times: do not delegate them again; continue without the results "
    "and state that they are missing, or Ask the user"
)
#: Answers a call with a text, and whether the call failed; or with the output of a tool.
Handler = Callable[[dict[str, Any], str], Awaitable[tuple[str, bool] | ToolOutput]]


def build_orchestrator(queue: str | None = None) -> Runner:
    """Return the runner of orchestrator jobs. The jobs of its subagents go into `queue`, if that is set."""

    async def run(parts: AttemptParts) -> RunEnd:
        toolsets = [RecordedTools(ORCHESTRATOR, TOOLS.values(), parts.calls, Orchestrator(parts, queue).answer)]
        conversation = Conversation(
            parts.brief, parts.job.prompt, parts.transcript, parts.calls, toolsets, parts.model_client, parts.events
        )
        try:
            ended = await conversation.run()
        except RunStopped as stopped:
            await _record_end(parts, stopped.outcome)
            raise
        if ended.outcome == "completed":
            ended = await judge_answer(parts, ended)
        await _record_end(parts, ended.outcome)
        return ended

    return run


async def _record_end(parts: AttemptParts, outcome: str) -> None:
    """Write to the progress file how the turn of an orchestrator ended, and what it asks."""
    questions = await open_questions_of(parts.database, parts.job.id)
    await record_orchestrator(parts.settings.texts, parts.job.id, outcome, questions)


class Orchestrator:
    """Answers the tool calls of an orchestrator."""

    def __init__(self, parts: AttemptParts, queue: str | None) -> None:
        self._parts = parts
        self._queue = queue
        self._database = parts.database
        self._gate = GateSession(parts.settings.texts, parts.root, f"job-{parts.job.id}", parts.settings.gate)
        spill = parts.settings.work / "spill" / f"job-{parts.job.id}"
        limits = ToolLimits(hidden=(str(parts.settings.state),))
        self._toolbox = Toolbox(
            parts.root, ("Read", "Edit"), spill=spill, limits=limits, is_redacting=parts.settings.is_redacting
        )
        self._handlers: dict[str, Handler] = {
            "Delegate": self._delegate,
            "Results": self._read_results,
            "Ask": self._ask_user,
            "Tell": self._show_text,
            "Progress": self._record_progress,
            "Lookup": self._look_up,
            "EditTrivially": self._edit_trivially,
        }

    async def answer(self, name: str, arguments: dict[str, Any], key: str) -> ToolOutput:
        """Answer a call. An invalid call is answered with the error, so that the model can correct it."""
        try:
            answered = await self._handlers[name](arguments, key)
            if isinstance(answered, ToolOutput):
                return answered
            text, failed = answered
        except AttemptFenced:  # another worker has taken over this job
            raise
        except (RemitError, msgspec.ValidationError, KeyError, TypeError) as error:
            text, failed = f"this call cannot be executed: {error}", True
        receipt = Receipt(tool=name, arguments={"key": key}, failed=failed)
        return ToolOutput(text=text, receipt=receipt, failed=failed)

    async def _delegate(self, arguments: dict[str, Any], key: str) -> tuple[str, bool]:
        specs = msgspec.convert(arguments.get("delegations"), tuple[DelegationSpec, ...])
        if len(specs) > MAX_DELEGATIONS:  # a model may ignore the schema
            raise UsageError(f"a call has at most {MAX_DELEGATIONS} delegations, not {len(specs)}")
        # The orchestrator itself reviews the results before it continues.
        phase = PhaseSpec(name=str(arguments.get("phase") or "work"), delegations=specs, on_review="continue")
        plan = Plan(name=f"job {self._parts.job.id}: {phase.name}", phases=(phase,), profile=self._parts.brief.profile)
        check_plan(plan, "Delegate")
        if await self._fails_repeatedly(phase, key):
            return _REPEATED_FAILURE.format(times=MAX_SAME), True
        number = await self._open_plan(plan, key)
        await self._gate.open_delegations([(f"{key}-{number}", spec.agent) for number, spec in enumerate(specs)])
        return await self._drive(number, key)

    async def _drive(self, plan: int, key: str, agent: str = "") -> tuple[str, bool]:
        """Drive a plan until it stops, close its delegations in the gate, and return its results."""
        state: str = (await plans.get_plan(self._database, plan)).state
        if state in ("running", "waiting"):
            job, settings = self._parts.job, self._parts.settings
            async with SpareWorker(self._database, settings) as spare:
                top = job.root or job.id
                driving = drive_plan(self._database, settings, plan, queue=self._queue, spare=spare.queue, tree=top)
                state = await run_with_keepalive(driving, self._parts.transcript.touch, settings.keepalive_seconds)
        # Also for a plan that was finished before: its driver may have died before it could report to the gate.
        result = await plan_result(self._database, plan)
        for number, delegation in enumerate(result.delegations):
            if delegation.state in SETTLED:
                await self._gate.close_delegation(f"{key}-{number}", delegation)
        return await self._result_text(result, agent), state != "finished"

    def _digest(self, key: str) -> str:
        """Return the digest that identifies the plan of a call."""
        return delegation_digest(self._parts.job.id, key)

    async def _open_plan(self, plan: Plan, key: str) -> int:
        """Return the plan of a call: the one that was stored before a crash, or a new one."""
        digest = self._digest(key)
        row = await self._database.row("plans.by_digest", digest=digest)
        if row is not None:
            return int(row["id"])
        phase = plan.phases[0]
        agents = [delegation.agent for delegation in phase.delegations]
        phases = [(phase.name, list(zip(delegation_names(phase), agents, strict=True)))]
        number, _ = await plans.open_plan(
            self._database, plan.name, digest, msgspec.to_builtins(plan), str(self._parts.root), phases
        )
        return number

    async def _fails_repeatedly(self, phase: PhaseSpec, key: str) -> bool:
        """Return whether the same agents have failed at the same tasks in MAX_SAME other calls."""
        wanted = sorted((delegation.agent, delegation.task.strip()) for delegation in phase.delegations)
        same = 0
        rows = await self._database.rows("plans.of_job", prefix=self._digest(""))
        for row in (row for row in rows if row["digest"] != self._digest(key)):
            earlier = msgspec.convert((await plans.get_plan(self._database, row["id"])).document, Plan).phases[0]
            if sorted((delegation.agent, delegation.task.strip()) for delegation in earlier.delegations) == wanted:
                ended = await plans.delegations_of(self._database, row["id"], whole=False)
                same += all(delegation.state in ("failed", "rejected") for delegation in ended)
        return same >= MAX_SAME

    async def _result_text(self, result: PlanResult, agent: str = "") -> str:
        """Return a summary of each merge, then the results of a plan, each in its frame."""
        lines = []
        for phase in result.phases:
            merged = phase.merge or {}
            lines.append(
                f"{phase.name}: {merged.get('status', phase.state)}, decision {phase.decision or 'none yet'}, "
                f"{len(merged.get('findings', []))} findings, {len(merged.get('conflicts', []))} conflicts"
            )
            if phase.merge and (why := review_reason(msgspec.convert(phase.merge, Merge))):
                lines.append(f"- needs a review: {_one_line(why)}. Decide, or ask the user, before you continue")
            lines += [f"- conflict: {_one_line(conflict.get('why'))}" for conflict in merged.get("conflicts", [])[:20]]
        for delegation in result.delegations:
            why = f" ({_one_line(delegation.error)})" if delegation.error else ""
            lines.append(f"- {delegation.name}: {delegation.state}{why}")
            if agent in ("", delegation.agent, delegation.name):
                lines += await self._delegation_texts(result, delegation)
        lines += [
            f"- waits for the user (question {question.id}): {_one_line(question.reason)}. "
            "End your turn and state this; you get a message with the answer"
            for question in result.escalations
            if question.answer is None
        ]
        return "\n".join(lines)

    async def _delegation_texts(self, result: PlanResult, delegation: Delegation) -> list[str]:
        """Return the result of a delegation in its frame; if it failed, its verified part and the fallback read."""
        if delegation.state != "accepted":
            reader = PlanReader(msgspec.convert(result.plan.document, Plan), self._parts.root)
            return await asyncio.to_thread(substitutes, delegation, reader)
        folder = self._parts.settings.work / "results" / f"plan-{result.plan.id}"
        file = await asyncio.to_thread(keep_result, folder, delegation)
        return [frame_result(delegation.agent, delegation.verdict, delegation.result or "", file)]

    async def _read_results(self, arguments: dict[str, Any], _: str) -> tuple[str, bool]:
        rows = await self._database.rows("plans.of_job", prefix=self._digest(""))
        for row in reversed(rows):
            phases = await plans.phases_of(self._database, row["id"], whole=False)
            if any(phase.name == arguments.get("phase") for phase in phases):
                key = row["digest"].removeprefix(self._digest(""))
                return await self._drive(row["id"], key, str(arguments.get("agent") or ""))
        return f"there is no phase {arguments.get('phase')!r}", True

    async def _ask_user(self, arguments: dict[str, Any], key: str) -> tuple[str, bool]:
        question = self._parts.calls.redact(str(arguments.get("question") or "").strip())
        if not question:
            return "state the question", True
        plan = Plan(name="question", phases=(PhaseSpec(name="question", delegations=()),))
        digest = question_digest(self._parts.job.id, key)
        number, _ = await plans.open_plan(
            self._database,
            f"job {self._parts.job.id} asks",
            digest,
            msgspec.to_builtins(plan),
            str(self._parts.root),
            [],
        )
        await plans.set_state(self._database, number, "waiting")
        await plans.escalate(self._database, number, 0, None, question)
        return "The user has the question. End your turn now, and state what you are waiting for.", False

    async def _show_text(self, arguments: dict[str, Any], _: str) -> tuple[str, bool]:
        text = to_storable("\n".join(str(arguments.get("text") or "").split("\n")[:_MAX_TELL_LINES]))
        await self._parts.events.emit("told", {"text": text})
        return "shown", False

    async def _record_progress(self, arguments: dict[str, Any], _: str) -> tuple[str, bool]:
        redact = self._parts.calls.redact

        def change(progress: dict[str, Any]) -> None:
            position, next_action = (redact(str(arguments.get(name) or "")) for name in ("position", "next_action"))
            job = self._parts.job.id
            set_work(progress, f"job {job}", position=position, nextAction=next_action, isRecorded=True)
            if arguments.get("decision"):
                add_facts(progress, "decisions", [redact(str(arguments["decision"]))])

        await asyncio.to_thread(update_progress, progress_path(self._parts.settings.texts), change)
        return "written", False

    async def _look_up(self, arguments: dict[str, Any], key: str) -> tuple[str, bool] | ToolOutput:
        if not str(arguments.get("question") or "").strip():
            return "state the question that the lookup answers", True
        names = [name for name in ("file_path", "offset", "limit") if arguments.get(name) is not None]
        return await self._gated("Read", {name: arguments[name] for name in names}, key)

    async def _edit_trivially(self, arguments: dict[str, Any], key: str) -> tuple[str, bool] | ToolOutput:
        return await self._gated("Edit", arguments, key)

    async def _gated(self, tool: str, arguments: dict[str, Any], key: str) -> tuple[str, bool] | ToolOutput:
        """Call a tool on the project if the gate allows it."""
        refusal = await self._gate.ask(tool, arguments, key)
        if refusal is not None:
            return refusal, True
        started = time.monotonic()
        output = await self._toolbox.call(tool, arguments, key=key)
        await self._gate.settle(tool, arguments, key, time.monotonic() - started, failed=output.failed)
        return output


def _one_line(text: object) -> str:
    """Return untrusted text for a line of the answer: short, on one line, without tags."""
    return neutralize(" ".join(str(text).split()))[:300]
