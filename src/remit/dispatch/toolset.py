"""The tools of a job as the model calls them: each call written down before it runs and after, never run twice."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from remit.dispatch.failpoints import failpoint
from remit.dispatch.loop_guard import LoopGuard
from remit.dispatch.redact import redact
from remit.dispatch.tools.model import ToolOutput, ToolSpec
from remit.dispatch.tools.toolbox import Toolbox, recorded_arguments
from remit.evidence.receipts import Receipt
from remit.store.transcript import Transcript

_ANY = SchemaValidator(core_schema.any_schema())
#: After so long without a word of the store somebody else may soon have the job: much less than a takeover takes.
_UNSEEN_SECONDS = 0.25
_UNKNOWN = (
    "It is not known whether this call of {name} took effect: the worker died while it ran, and it is not run again. "
    "Look at the state of the project before you go on."
)
Tell = Callable[[str, dict[str, Any]], Awaitable[None]]
Run = Callable[[dict[str, Any], str], Awaitable[ToolOutput]]
Answer = Callable[[str, dict[str, Any], str], Awaitable[ToolOutput]]


class Calls:
    """The tool calls of one attempt at a job, whoever answers them."""

    def __init__(self, transcript: Transcript, tell: Tell, *, is_redacting: bool) -> None:
        self._transcript = transcript
        self._tell = tell
        self._is_redacting = is_redacting
        #: The turn that the calls belong to: ids are a provider's, and may come again in another turn.
        self.turn = 0
        self._repeats = LoopGuard()

    async def answer(self, call_id: str, spec: ToolSpec, arguments: Any, run: Run) -> str:
        """The answer of a call: the one that is written down, or that of running it now."""
        call = f"{self.turn}:{call_id}"
        earlier = await self._transcript.call(call)
        if earlier is not None and earlier.state != "pending":
            return earlier.output or ""
        if earlier is not None and not spec.is_repeatable:
            return await self._unknown(call, spec, arguments)
        known = arguments if isinstance(arguments, dict) else {"arguments": arguments}
        seen = _Moment()
        await self._transcript.begin_call(call, self.turn, spec.name, known)
        await self._tell("tool", {"call": call, "name": spec.name, "arguments": _short(known)})
        failpoint("tool-begun")
        await self._hold(seen)
        output = await run(known, call)
        failpoint("tool-ran")
        text = redact(output.text) if self._is_redacting else output.text
        await self._transcript.finish_call(call, text, output.receipt, is_failed=output.failed)
        failpoint("tool-finished")
        why = {"why": _line(text)} if output.failed else {}
        await self._tell("tool-done", {"call": call, "name": spec.name, "failed": output.failed, **why})
        self._repeats.note(self.turn, spec.name, known, text, failed=output.failed)
        return text

    async def recall(self) -> None:
        """Know again, when a conversation goes on, what its last calls came to."""
        self._repeats.recall(await self._transcript.last_calls())

    async def _hold(self, seen: _Moment) -> None:
        """Be sure that the job is still ours, who saw that at a moment: a worker may freeze anywhere.

        As long as that moment is near nobody can have taken the job over. Raises Fenced.
        """
        most = _UNSEEN_SECONDS
        while seen.seconds_ago > most:
            seen = _Moment()
            await self._transcript.hold()
            most *= 2  # a store that is slow is no worker that freezes again and again

    async def _unknown(self, call: str, spec: ToolSpec, arguments: Any) -> str:
        """A call in flight when its worker died: it may have taken effect, so it is on record as one that failed."""
        text = _UNKNOWN.format(name=spec.name)
        receipt = Receipt(tool=spec.name, arguments=recorded_arguments(arguments), failed=True)
        await self._transcript.finish_call(call, text, receipt, is_failed=True, state="unknown")
        await self._tell("tool-done", {"call": call, "name": spec.name, "failed": True, "why": text})
        return text


class _Moment:
    """A moment by both clocks: one stands still while a host sleeps, the other may be set."""

    def __init__(self) -> None:
        self._wall = time.time()
        self._steady = time.monotonic()

    @property
    def seconds_ago(self) -> float:
        return max(time.time() - self._wall, time.monotonic() - self._steady)


class WrittenTools(AbstractToolset[None]):
    """Tools that are told by their specs, each call of them written down; who answers is the caller's to say."""

    def __init__(self, name: str, specs: Iterable[ToolSpec], calls: Calls, answer: Answer) -> None:
        self._name = name
        self._specs = {spec.name: spec for spec in specs}
        self._calls = calls
        self._answer = answer

    @property
    def id(self) -> str:
        """Its name, for messages."""
        return self._name

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """What the model may call. Tools that only read may run side by side."""
        return {name: self._tool(spec) for name, spec in self._specs.items()}

    def _tool(self, spec: ToolSpec) -> ToolsetTool[None]:
        definition = ToolDefinition(
            name=spec.name,
            description=spec.description,
            parameters_json_schema=spec.schema,
            sequential=not spec.is_read_only,
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=3, args_validator=_ANY)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> str:
        """Answer a call."""

        async def run(arguments: dict[str, Any], key: str) -> ToolOutput:
            return await self._answer(name, arguments, key)

        return await self._calls.answer(ctx.tool_call_id or name, self._specs[name], tool_args, run)


def job_tools(toolbox: Toolbox, calls: Calls) -> WrittenTools:
    """The toolbox of a job as a toolset."""

    async def answer(name: str, arguments: dict[str, Any], key: str) -> ToolOutput:
        return await toolbox.call(name, arguments, key=key)

    return WrittenTools("job", toolbox.specs, calls, answer)


def _line(text: str) -> str:
    """Why a call failed, for a line of progress."""
    return redact(" ".join(text[:1000].split())[:300])


def _short(arguments: dict[str, Any]) -> list[list[str]]:
    """Arguments for a line of progress, in the order they were given: the database keeps none in an object."""
    return [[name, redact(str(value)[:200])] for name, value in list(arguments.items())[:8]]
