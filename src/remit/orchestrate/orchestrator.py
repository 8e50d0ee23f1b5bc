"""An orchestrator that is a model: a durable conversation whose only tools are its responsibilities."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import msgspec

from remit.aio import run_with_keepalive
from remit.contract.feedback import frame_result, neutralize
from remit.dispatch.attempt import AttemptParts, Runner
from remit.dispatch.conversation import Conversation
from remit.dispatch.finish import RunEnd
from remit.dispatch.tools.model import ToolOutput
from remit.dispatch.tools.toolbox import Toolbox
from remit.dispatch.toolset import RecordedTools
from remit.errors import RemitError
from remit.evidence.receipts import Receipt
from remit.orchestrate.answers import delegation_digest, question_digest
from remit.orchestrate.api import drive_plan, plan_result
from remit.orchestrate.gate_session import GateSession
from remit.orchestrate.local_worker import SpareWorker
from remit.orchestrate.orchestrator_tools import TOOLS
from remit.orchestrate.phase import keep_result
from remit.orchestrate.plan import DelegationSpec, PhaseSpec, Plan, delegation_names
from remit.orchestrate.plan_file import check_plan
from remit.orchestrate.progress import progress_path, update_progress
from remit.registry.model import ORCHESTRATOR
from remit.store import plans
from remit.store.events import add_event
from remit.store.jobs import AttemptFenced
from remit.store.plans import SETTLED
from remit.store.storable import to_storable

#: Rounds of the same delegation with the same end, after which it is not tried again.
MAX_SAME = 3
#: Lines of what it tells that are shown.
_MOST_TOLD = 300
_HOPELESS = (
    "these agents have failed at this {times} times in the same way: do not try again; go on without it and say so, "
    "or Ask the user"
)


def build_orchestrator(queue: str | None = None) -> Runner:
    """Runs the conversation of an orchestrator's job; its subagents' jobs go into a queue of their own, if given."""

    async def conduct(parts: AttemptParts) -> RunEnd:
        toolsets = [RecordedTools(ORCHESTRATOR, TOOLS.values(), parts.calls, Orchestrator(parts, queue).answer)]
        talk = Conversation(
            parts.brief, parts.job.prompt, parts.transcript, parts.calls, toolsets, parts.model_client, parts.events
        )
        return await talk.run()

    return conduct


class Orchestrator:
    """Does what the orchestrator's tools ask for."""

    def __init__(self, parts: AttemptParts, queue: str | None) -> None:
        self._parts = parts
        self._queue = queue
        self._database = parts.database
        self._gate = GateSession(parts.settings.data, parts.root, f"job-{parts.job.id}", parts.settings.gate)
        spill = parts.settings.data / "spill" / f"job-{parts.job.id}"
        self._toolbox = Toolbox(parts.root, ("Read", "Edit"), spill=spill, is_redacting=parts.settings.is_redacting)

    async def answer(self, name: str, arguments: dict[str, Any], key: str) -> ToolOutput:
        """Answer a call; what a model gets wrong is told to it, not raised."""
        try:
            text, failed = await getattr(self, f"_{_snake(name)}")(arguments, key)
        except AttemptFenced:  # whose conversation this is, others say now
            raise
        except (RemitError, msgspec.ValidationError, KeyError, TypeError) as error:
            text, failed = f"this call cannot be done: {error}", True
        receipt = Receipt(tool=name, arguments={"key": key}, failed=failed)
        return ToolOutput(text=text, receipt=receipt, failed=failed)

    async def _delegate(self, arguments: dict[str, Any], key: str) -> tuple[str, bool]:
        wanted = msgspec.convert(arguments.get("delegations"), tuple[DelegationSpec, ...])
        phase = PhaseSpec(name=str(arguments.get("phase") or "work"), delegations=wanted)
        plan = Plan(name=f"job {self._parts.job.id}: {phase.name}", phases=(phase,), profile=self._parts.brief.profile)
        check_plan(plan, "Delegate")
        if await self._is_hopeless(phase, key):
            return f"{_HOPELESS.format(times=MAX_SAME)}", True
        number = await self._plan(plan, key)
        await self._gate.delegated([(f"{key}-{at}", one.agent) for at, one in enumerate(wanted)])
        return await self._driven(number, key)

    async def _driven(self, plan: int, key: str, agent: str = "") -> tuple[str, bool]:
        """Drive a plan as far as it goes, close its delegations in the gate, and tell what came of it."""
        state: str = (await plans.get_plan(self._database, plan)).state
        if state in ("running", "waiting"):
            job, settings = self._parts.job, self._parts.settings
            async with SpareWorker(self._database, settings) as spare:
                top = job.root or job.id
                driving = drive_plan(self._database, settings, plan, queue=self._queue, spare=spare.queue, tree=top)
                state = await run_with_keepalive(driving, self._parts.transcript.touch, settings.keepalive_seconds)
        # Whoever drove it may have died before it could say so to the gate.
        found = await plan_result(self._database, plan)
        for at, one in enumerate(found.delegations):
            if one.state in SETTLED:
                files = cited_files(one.result or "") if one.state == "accepted" else []
                await self._gate.settled(f"{key}-{at}", one, files)
        return await self._told(plan, agent), state != "finished"

    def _digest(self, key: str) -> str:
        """What the plan of one call is found by."""
        return delegation_digest(self._parts.job.id, key)

    async def _plan(self, plan: Plan, key: str) -> int:
        """The plan of one call: the one it made before a crash, or a new one."""
        digest = self._digest(key)
        row = await self._database.row("plans.by_digest", digest=digest)
        if row is not None:
            return int(row["id"])
        phase = plan.phases[0]
        agents = [one.agent for one in phase.delegations]
        phases = [(phase.name, list(zip(delegation_names(phase), agents, strict=True)))]
        number, _ = await plans.open_plan(
            self._database, plan.name, digest, msgspec.to_builtins(plan), str(self._parts.root), phases
        )
        return number

    async def _is_hopeless(self, phase: PhaseSpec, key: str) -> bool:
        """Whether the same agents have failed at the same tasks, in other calls than this, once too often."""
        wanted = sorted((one.agent, one.task.strip()) for one in phase.delegations)
        same = 0
        rows = await self._database.rows("plans.of_job", prefix=self._digest(""))
        for row in (row for row in rows if row["digest"] != self._digest(key)):
            earlier = msgspec.convert((await plans.get_plan(self._database, row["id"])).document, Plan).phases[0]
            if sorted((one.agent, one.task.strip()) for one in earlier.delegations) == wanted:
                ended = await plans.delegations_of(self._database, row["id"], whole=False)
                same += all(one.state in ("failed", "rejected") for one in ended)
        return same >= MAX_SAME

    async def _told(self, plan: int, agent: str = "") -> str:
        """The results of a plan, each in its frame, with what the merge says before them."""
        found = await plan_result(self._database, plan)
        lines = []
        for phase in found.phases:
            merged = phase.merge or {}
            lines.append(
                f"{phase.name}: {merged.get('status', phase.state)}, decision {phase.decision or 'none yet'}, "
                f"{len(merged.get('findings', []))} findings, {len(merged.get('conflicts', []))} conflicts"
            )
            lines += [f"- conflict: {_words(one.get('why'))}" for one in merged.get("conflicts", [])[:20]]
        kept = self._parts.settings.data / "results" / f"plan-{plan}"
        for one in found.delegations:
            why = f" ({_words(one.error)})" if one.error else ""
            lines.append(f"- {one.name}: {one.state}{why}")
            if one.result and agent in ("", one.agent, one.name):
                file = await asyncio.to_thread(keep_result, kept, one)
                lines.append(frame_result(one.agent, one.verdict, one.result, file))
        lines += [
            f"- waits for the user (question {one.id}): {_words(one.reason)}. End your turn by saying so; when it is "
            "answered, you are told"
            for one in found.escalations
            if one.answer is None
        ]
        return "\n".join(lines)

    async def _results(self, arguments: dict[str, Any], _: str) -> tuple[str, bool]:
        rows = await self._database.rows("plans.of_job", prefix=self._digest(""))
        for row in reversed(rows):
            phases = await plans.phases_of(self._database, row["id"], whole=False)
            if any(phase.name == arguments.get("phase") for phase in phases):
                key = row["digest"].removeprefix(self._digest(""))
                return await self._driven(row["id"], key, str(arguments.get("agent") or ""))
        return f"there is no phase {arguments.get('phase')!r}", True

    async def _ask(self, arguments: dict[str, Any], key: str) -> tuple[str, bool]:
        question = str(arguments.get("question") or "").strip()
        if not question:
            return "say what you ask", True
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
        return "The question is with the user. End your turn now by saying what you wait for.", False

    async def _tell(self, arguments: dict[str, Any], _: str) -> tuple[str, bool]:
        text = to_storable("\n".join(str(arguments.get("text") or "").split("\n")[:_MOST_TOLD]))
        await add_event(self._database, self._parts.job.id, "told", {"text": text}, self._parts.job.attempt)
        return "shown", False

    async def _progress(self, arguments: dict[str, Any], _: str) -> tuple[str, bool]:
        def change(progress: dict[str, Any]) -> None:
            context = progress["resumptionContext"]
            context["position"] = str(arguments.get("position") or "")
            context["nextAction"] = str(arguments.get("next_action") or "")
            if arguments.get("decision"):
                context["decisions"].append(str(arguments["decision"]))

        await asyncio.to_thread(update_progress, progress_path(self._parts.settings.data), change)
        return "written", False

    async def _lookup(self, arguments: dict[str, Any], key: str) -> tuple[str, bool]:
        if not str(arguments.get("question") or "").strip():
            return "state the question that the lookup answers", True
        wanted = {name: arguments[name] for name in ("file_path", "offset", "limit") if arguments.get(name) is not None}
        return await self._gated("Read", wanted, key)

    async def _edit_trivially(self, arguments: dict[str, Any], key: str) -> tuple[str, bool]:
        return await self._gated("Edit", arguments, key)

    async def _gated(self, tool: str, arguments: dict[str, Any], key: str) -> tuple[str, bool]:
        """A touch of the project: only if the gate lets it through."""
        refusal = await self._gate.ask(tool, arguments, key)
        if refusal is not None:
            return refusal, True
        begun = time.monotonic()
        output = await self._toolbox.call(tool, arguments, key=key)
        await self._gate.done(tool, arguments, key, time.monotonic() - begun, failed=output.failed)
        return output.text, output.failed


def cited_files(document: str) -> list[str]:
    """The files that a result's Key References name: what it has analysed."""
    from remit.contract.parse import parse

    found = [row.location for one in parse(document) for row in one.result.references]
    return sorted({re.split(r"[:#]", place.strip("` "))[0] for place in found if place.strip("` ")})


def _words(text: object) -> str:
    """Somebody else's words in a line of ours: short, on one line, no tags."""
    return neutralize(" ".join(str(text).split()))[:300]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
