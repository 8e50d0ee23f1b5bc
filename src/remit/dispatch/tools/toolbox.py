"""The tools of one job: which were granted, and how a call becomes an output and a receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from remit.dispatch.redact import redact
from remit.dispatch.tools import sandbox
from remit.dispatch.tools.arguments import parse_arguments
from remit.dispatch.tools.bash import is_everything
from remit.dispatch.tools.call import ToolCall
from remit.dispatch.tools.catalogue import TOOLS, ToolEntry
from remit.dispatch.tools.confined import Confined
from remit.dispatch.tools.model import ToolAnswer, ToolLimits, ToolOutput, ToolRefused, ToolSpec
from remit.dispatch.tools.output import cap_text
from remit.evidence.receipts import Receipt
from remit.registry.tools import find_tool
from remit.store.storable import to_storable

#: Longer arguments are cut in a receipt: the content of a file is in the transcript and has a digest.
_MAX_ARGUMENT = 20_000
_MAX_ARGUMENTS = 50
_DEFAULT = ToolLimits()


class Toolbox:
    """The tools that a job was granted, confined to its folder."""

    def __init__(
        self,
        root: Path,
        granted: Sequence[str],
        *,
        spill: Path,
        limits: ToolLimits = _DEFAULT,
        is_redacting: bool = True,
    ) -> None:
        self._limits = limits
        self._is_redacting = is_redacting
        self._ground = Confined(root, spill, limits)
        self._tools: dict[str, ToolEntry] = {}
        self._patterns: list[str] = []
        #: Names that are granted but not offered here: other systems' tools, and patterns that only Bash can keep.
        self.withheld: list[str] = []
        self._grant(granted)
        self._changing = asyncio.Lock()

    def _grant(self, granted: Sequence[str]) -> None:
        whole = False
        for written in granted:
            tool = find_tool(written)
            if tool is None or tool.name not in TOOLS or (tool.pattern and tool.name != "Bash"):
                self.withheld.append(written)
                continue
            self._tools[tool.name] = TOOLS[tool.name]
            if tool.name == "Bash":
                pattern = tool.pattern[1:-1].strip()
                whole = whole or not tool.pattern or is_everything(pattern)
                self._patterns.append(pattern)
        if whole:
            self._patterns.clear()

    @property
    def specs(self) -> list[ToolSpec]:
        """The granted tools, in the order granted."""
        specs = [tool.spec for tool in self._tools.values()]
        if not self._patterns:
            return specs
        only = f" Only these commands are allowed: {', '.join(self._patterns)} (:* = and anything after it)."
        return [
            msgspec.structs.replace(spec, description=spec.description + only) if spec.name == "Bash" else spec
            for spec in specs
        ]

    @property
    def sandbox(self) -> str:
        """The confinement that Bash gets on this host."""
        return sandbox.describe_sandbox(network=self._limits.network)

    async def call(self, name: str, arguments: Mapping[str, Any], *, key: str = "") -> ToolOutput:
        """Run a tool. What a model can cause is never raised: the output says that and why it failed."""
        began = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            answer = await self._answer(name, arguments)
        except ToolRefused as refused:
            answer = ToolAnswer(str(refused), exit=refused.exit, failed=True)
        except OSError as error:
            answer = ToolAnswer(
                f"{name} failed: {error.strerror or error}. Try once more or go on without it.", failed=True
            )
        except MemoryError:
            answer = ToolAnswer(f"{name} failed: there is not enough memory for it. Ask for less.", failed=True)
        except (ValueError, RuntimeError) as error:  # a recursion that goes too deep is one of the latter
            answer = ToolAnswer(f"{name} failed: {error}. Check the arguments.", failed=True)
        return await asyncio.to_thread(self._settled, name, arguments, answer, key, began)

    async def _answer(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        tool = self._tools.get(name)
        if tool is None:
            have = ", ".join(self._tools) or "none"
            raise ToolRefused(f"There is no tool {name[:100]!r} for you. Your tools: {have}. Use one of them.")
        given = parse_arguments(tool.takes, arguments)
        if tool.spec.is_read_only:
            return await tool.runs(self._call(), given)
        async with self._changing:
            return await tool.runs(self._call(), given)

    def _call(self) -> ToolCall:
        return ToolCall(self._ground, self._limits, tuple(self._patterns))

    def _settled(self, name: str, arguments: Mapping[str, Any], answer: ToolAnswer, key: str, began: str) -> ToolOutput:
        """Cap the output; only what is shown counts as seen."""
        text = to_storable(answer.text)
        if self._is_redacting:  # all of it, before it is cut: the rest goes to a file
            text = redact(text)
        shown = cap_text(text, self._limits.characters, self._ground.spill, key)
        hits = {path: set(lines) for path, lines in answer.hits.items()}
        for mark in filter(None, answer.marks[: shown.lines]):
            hits.setdefault(mark[0], set()).update((mark[1],) if mark[1] else ())
        receipt = Receipt(
            tool=to_storable(name[:200]),
            arguments=recorded_arguments(arguments),
            path=to_storable(answer.path) if answer.path is not None else None,
            ranges=answer.ranges,
            exit=answer.exit,
            digest=answer.digest,
            time=began,
            hits={to_storable(path): tuple(sorted(lines)) for path, lines in hits.items()},
            failed=answer.failed,
        )
        return ToolOutput(shown.text, receipt, answer.failed)


def recorded_arguments(arguments: Any) -> dict[str, Any]:
    """Arguments as a receipt keeps them: bounded, and fit to be stored."""
    if not isinstance(arguments, Mapping):
        return {"arguments": _bounded(str(arguments))}
    return {
        _bounded(str(key))[:200]: value if _is_plain(value) else _bounded(_as_text(value))
        for key, value in list(arguments.items())[:_MAX_ARGUMENTS]
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 1 << 63)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(value)[:_MAX_ARGUMENT]


def _bounded(text: str) -> str:
    clean = to_storable(text[:_MAX_ARGUMENT])
    return clean if len(text) <= _MAX_ARGUMENT else f"{clean} [… {len(text) - _MAX_ARGUMENT:,} more characters]"
