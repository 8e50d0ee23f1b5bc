"""Run a job's tool calls: each is stored before and after it runs, none runs twice, and loops are stopped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelResponse
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema, from_json

from remit.dispatch.event_writer import EventWriter
from remit.dispatch.failpoints import failpoint
from remit.dispatch.finish import RunStopped
from remit.dispatch.tools.tool_types import ToolOutput, ToolSpec
from remit.dispatch.tools.toolbox import Toolbox, recorded_arguments
from remit.evidence.receipts import Receipt
from remit.registry.definition import digest_of
from remit.secrets.scan import redact, redact_all
from remit.store.transcript import BegunCall, EndedCall, FinishedCall, StoredEvent, Transcript, ended_call

#: A conversation ends after this many equal errors in a row, or this many equal rounds of calls.
MAX_SAME_ERRORS = 5
MAX_SAME_ROUNDS = 3
#: Confirm the ownership of a job again if the last confirmation is older than this: much less than a takeover takes.
_CONFIRMED_SECONDS = 0.25
_UNKNOWN = (
    "It is not known whether this call of {name} took effect: the worker died while it ran, and it is not run again. "
    "Check the state of the project before you continue."
)
#: Characters of a text that are searched for secrets before it is cut for a line of progress.
_MAX_SEARCHED = 20_000
_INCOMPLETE = (
    "This call was not run: the worker died before it, and its arguments contained a possible secret, which is not "
    "stored. Make the call again."
)
_ANY = SchemaValidator(core_schema.any_schema())
Run = Callable[[dict[str, Any], str], Awaitable[ToolOutput]]
Answer = Callable[[str, dict[str, Any], str], Awaitable[ToolOutput]]


class Calls:
    """The tool calls of one attempt at a job."""

    def __init__(self, transcript: Transcript, events: EventWriter, *, is_redacting: bool) -> None:
        self._transcript = transcript
        self._events = events
        self.is_redacting = is_redacting
        #: Calls of the turn that an earlier attempt could not finish, if their stored arguments lack a possible secret.
        self._incomplete: frozenset[str] = frozenset()
        #: The current turn. Providers assign call ids, and may use an id again in another turn.
        self.turn = 0
        self._loop_guard = LoopGuard()
        #: Read-only calls that have ended. They are stored together with the request that has their outputs.
        self._unsaved: list[EndedCall] = []
        #: The read-only tools, by name.
        self._read_only: dict[str, ToolSpec] = {}
        #: Calls that were stored with the response that makes them, and when the job was confirmed before that.
        self._started: dict[str, tuple[BegunCall, Moment]] = {}

    def add_specs(self, specs: Iterable[ToolSpec]) -> None:
        """Add tools whose calls are answered here."""
        self._read_only |= {spec.name: spec for spec in specs if spec.is_read_only and spec.is_repeatable}

    async def begin(self, response: ModelResponse, turn: int) -> tuple[list[BegunCall], list[StoredEvent]]:
        """Return the calls of a response that are stored with it, and their events: all or none.

        None if one of them is not read-only: calls are stored in the order in which they run.
        """
        begun: dict[str, BegunCall] = {}
        events: list[StoredEvent] = []
        for part in response.tool_calls:
            arguments = _decoded(part.args)
            call = _key(turn, part.tool_call_id, part.tool_name)
            if part.tool_name not in self._read_only or arguments is None or call in begun:
                return [], []
            stored = await asyncio.to_thread(redact_all, arguments) if self.is_redacting else arguments
            begun[call] = BegunCall(call, turn, part.tool_name, stored)
            events += self._start_event(call, part.tool_name, arguments)
        return list(begun.values()), events

    def start(self, begun: Iterable[BegunCall], new: frozenset[str], confirmed: Moment) -> None:
        """Note the calls that have been stored with their response. Those that are not new are looked up later."""
        self._started = {call.call: (call, confirmed) for call in begun if call.call in new}

    def _start_event(self, call: str, name: str, arguments: dict[str, Any]) -> list[StoredEvent]:
        return self._events.take("tool", {"call": call, "name": name, "arguments": _short(arguments)})

    async def answer(self, call_id: str, spec: ToolSpec, arguments: Any, run: Run) -> str:
        """Return the stored output of a call, or run it now and store its output."""
        call = _key(self.turn, call_id, spec.name)
        named = arguments if isinstance(arguments, dict) else {"arguments": arguments}
        if call in self._started:
            begun, confirmed = self._started.pop(call)
            return await self._run(call, spec, named, begun.arguments, confirmed, run)
        stored = await asyncio.to_thread(redact_all, named) if self.is_redacting else named
        confirmed = Moment()
        events = self._start_event(call, spec.name, named)
        if not spec.is_read_only:
            await self.save()  # in the order in which they ran
        earlier = await self._transcript.begin_call(
            call,
            self.turn,
            spec.name,
            stored,
            events,
            is_repeatable=spec.is_repeatable,
            is_read_only=spec.is_read_only,
        )
        if earlier is not None and earlier.state != "pending":
            return earlier.output or ""
        if earlier is not None and not spec.is_repeatable:
            return await self._answer_unknown(call, spec, arguments)
        if call in self._incomplete:
            return await self._answer_incomplete(call, spec, arguments)
        return await self._run(call, spec, named, stored, confirmed, run)

    async def _run(
        self, call: str, spec: ToolSpec, named: dict[str, Any], stored: dict[str, Any], confirmed: Moment, run: Run
    ) -> str:
        """Run a call that is stored as pending, and store its output."""
        failpoint("tool-begun")
        await self._confirm_ownership(confirmed)
        started = time.monotonic()
        output = await run(named, call)
        failpoint("tool-ran")
        text = self.redact(output.text)
        why = {"why": _line(text)} if output.failed else {}
        events = self._events.take("tool-done", {"call": call, "name": spec.name, "failed": output.failed, **why})
        if spec.is_read_only:
            ended = FinishedCall(self.turn, spec.name, stored, text, output.failed)
            seconds = time.monotonic() - started
            self._unsaved.append(ended_call(ended, call, output.receipt, events, seconds))
        else:
            await self._transcript.finish_call(call, text, output.receipt, events, is_failed=output.failed)
        failpoint("tool-finished")
        self._loop_guard.add(self.turn, spec.name, stored, text, failed=output.failed)
        return text

    @property
    def unsaved(self) -> tuple[EndedCall, ...]:
        """Return the read-only calls that have ended, to be stored with a request."""
        return tuple(self._unsaved)

    def forget(self, saved: Sequence[EndedCall]) -> None:
        """Remove the calls that have been stored, which are the first ones."""
        del self._unsaved[: len(saved)]

    async def save(self) -> None:
        """Store the read-only calls that have ended, if no request follows at once."""
        unsaved = self.unsaved
        await self._transcript.save_calls(unsaved)
        self.forget(unsaved)

    def redact(self, text: str) -> str:
        """Return a text as it is stored."""
        return redact(text) if self.is_redacting else text

    async def recall(self, incomplete: Iterable[str] = ()) -> None:
        """Load the last calls of a conversation that is resumed, so that loops across attempts are detected."""
        self._incomplete = frozenset(incomplete)
        self._loop_guard.recall(await self._transcript.last_calls())

    async def _confirm_ownership(self, confirmed: Moment) -> None:
        """Make sure that this attempt still owns the job, because a worker can freeze at any time.

        Shortly after the last confirmation no other worker can have taken the job over. Raises AttemptFenced.
        """
        max_age = _CONFIRMED_SECONDS
        while confirmed.seconds_ago > max_age:
            confirmed = Moment()
            await self._transcript.touch()
            max_age *= 2  # so that a slow database does not cause an endless loop

    async def _answer_unknown(self, call: str, spec: ToolSpec, arguments: Any) -> str:
        """Answer a call that was running when its worker died. It may have taken effect; it is stored as failed."""
        text = _UNKNOWN.format(name=spec.name)
        recorded = redact_all(recorded_arguments(arguments))
        path = recorded.get("file_path")
        receipt = Receipt(
            tool=spec.name,
            arguments=recorded,
            path=path if isinstance(path, str) else None,
            failed=True,
            unknown=True,
        )
        events = self._events.take("tool-done", {"call": call, "name": spec.name, "failed": True, "why": text})
        await self._transcript.finish_call(call, text, receipt, events, is_failed=True, state="unknown")
        return text

    async def _answer_incomplete(self, call: str, spec: ToolSpec, arguments: Any) -> str:
        """Answer a call that did not run before its worker died, and whose stored arguments lack a secret."""
        receipt = Receipt(tool=spec.name, arguments=recorded_arguments(arguments), failed=True)
        events = self._events.take("tool-done", {"call": call, "name": spec.name, "failed": True, "why": _INCOMPLETE})
        await self._transcript.finish_call(call, _INCOMPLETE, receipt, events, is_failed=True)
        return _INCOMPLETE


class Moment:
    """A point in time on two clocks: the monotonic one stops while the host sleeps, the other can be changed."""

    def __init__(self) -> None:
        self._wall = time.time()
        self._monotonic = time.monotonic()

    @property
    def seconds_ago(self) -> float:
        """Return how long ago this was."""
        return max(time.time() - self._wall, time.monotonic() - self._monotonic)


class LoopGuard:
    """Ends a conversation that repeats the same calls. A round is the set of calls in one turn."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._error = ""
        self._errors = 0
        self._turn = 0
        self._round: set[str] = set()
        self._last_round: set[str] = set()
        #: How many finished rounds in a row were equal.
        self._rounds = 0

    def add(self, turn: int, name: str, arguments: Mapping[str, Any], text: str, *, failed: bool) -> None:
        """Add a call and its output. Raises RunStopped if the conversation makes no progress."""
        # Sorted, because the database does not keep the order of the arguments.
        encoded = msgspec.json.encode(arguments, order="sorted")
        call = digest_of(repr((name, encoded, text, failed)))
        if turn != self._turn:
            self._start_round(turn)
        self._round.add(call)
        if self._rounds >= MAX_SAME_ROUNDS and call in self._last_round:
            raise RunStopped("error", f"{self._rounds} rounds of the same calls, {name} among them, changed nothing")
        self._errors = (self._errors + 1 if call == self._error else 1) if failed else 0
        self._error = call if failed else ""
        if self._errors >= MAX_SAME_ERRORS:
            error_text = " ".join(text.split())[:300]
            raise RunStopped("error", f"{name} failed {self._errors} times in the same way: {error_text}")

    def recall(self, calls: Iterable[FinishedCall]) -> None:
        """Add the calls of a resumed conversation. If they ended it before, start over: a user resumed it."""
        for call in calls:
            try:
                self.add(call.turn, call.name, call.arguments, call.output, failed=call.is_failed)
            except RunStopped:
                self._reset()

    def _start_round(self, turn: int) -> None:
        self._rounds = self._rounds + 1 if self._round and self._round == self._last_round else int(bool(self._round))
        self._turn, self._last_round, self._round = turn, self._round, set()


class RecordedTools(AbstractToolset[None]):
    """Tools described by their specs and answered by a callback; each call is stored."""

    def __init__(self, name: str, specs: Iterable[ToolSpec], calls: Calls, answer: Answer) -> None:
        self._name = name
        self._specs = {spec.name: spec for spec in specs}
        self._calls = calls
        calls.add_specs(self._specs.values())
        self._answer = answer

    @property
    def id(self) -> str:
        """Return the name that messages use."""
        return self._name

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """Return the tools that the model may call. Read-only tools may run at the same time."""
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

        return await self._calls.answer(ctx.tool_call_id or "", self._specs[name], tool_args, run)


def job_tools(toolbox: Toolbox, calls: Calls) -> RecordedTools:
    """Return the toolbox of a job as a toolset."""

    async def answer(name: str, arguments: dict[str, Any], key: str) -> ToolOutput:
        return await toolbox.call(name, arguments, key=key)

    return RecordedTools("job", toolbox.specs, calls, answer)


def _key(turn: int, call_id: str, name: str) -> str:
    """Return the key of a call. Providers assign ids, and may use one again in another turn or leave it out."""
    return f"{turn}:{call_id or name}"


def _decoded(arguments: Any) -> dict[str, Any] | None:
    """Return the arguments of a call as the library decodes them, or None if they are not an object."""
    try:
        decoded = from_json(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return None
    return decoded if isinstance(decoded, dict) else None


def _line(text: str) -> str:
    """Return the reason of a failed call for one line of progress."""
    return " ".join(redact(text[:_MAX_SEARCHED]).split())[:300]


def _short(arguments: dict[str, Any]) -> list[list[str]]:
    """Return arguments for one line of progress. A list, because the database does not keep the order of an object."""
    return [[name, redact(str(value)[:_MAX_SEARCHED])[:200]] for name, value in list(arguments.items())[:8]]
