"""The part that all adapters share: check an answer against the tool calls of its agent.

The names of a framework's tools decide what a call counts as (`read_file` reads, `run_command` runs), unless `tools`
states it. A tool that Remit does not know has read every file that its arguments or its output
name, so that no agent is accused of not having read what such a tool showed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from remit.api import check
from remit.checking import Verdict
from remit.clients.transcripts.calls import grep_hits, shell_hits
from remit.errors import RemitError, UsageError
from remit.evidence.kept_output import kept_output
from remit.evidence.receipts import Receipt
from remit.lazy import lazy_pattern
from remit.rules.instructions import instructions

#: The tools that receipts know, by words in the names of a framework's tools. The first match counts.
_WORDS = {
    "Bash": ("bash", "shell", "terminal", "command", "execute", "exec", "run"),
    "Edit": ("edit", "write", "patch", "replace", "create", "insert"),
    "Grep": ("grep", "search", "find", "glob", "ls", "list", "dir"),
    "Read": ("read", "view", "open", "cat", "load", "get"),
}
_PATHS = ("file_path", "path", "filename", "file_name", "file", "filepath", "target_file")
_COMMANDS = ("command", "cmd", "script", "commands")
_SPLIT = lazy_pattern(r"[^a-z]+")
_CAPITALS = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_EXIT = lazy_pattern(r"(?i)\b(?:exit(?:ed)?(?: with)?[ _](?:code|status)|return ?code)\W{1,3}(-?\d{1,5})\b")
_WORD = lazy_pattern(r"[\w./@+-]{3,300}")
_MAX_OUTPUT = 200_000
_MAX_NAMES = 5_000


class AgentCall(NamedTuple):
    """A tool call in the history of a framework."""

    name: str
    arguments: Mapping[str, Any] | str | None = None
    output: str = ""
    failed: bool = False


class AnswerNotAccepted(RemitError):
    """The agent's answer was not accepted, also after the correction. `verdict` states why."""

    exit_code = 1

    def __init__(self, verdict: Verdict) -> None:
        rules = ", ".join(dict.fromkeys(violation.rule for violation in verdict.violations))
        super().__init__(f"the answer of the agent was not accepted ({verdict.verdict}: {rules})")
        self.verdict = verdict


class AnswerCheck:
    """Checks the answers of an agent. The options are those of `remit.check`. Tell the agent the `instructions`.

    `tools` maps names of the framework's tools to `Read`, `Grep`, `Edit` or `Bash`. `on_verdict` gets every verdict.
    With `raises=False` an answer that is not accepted after the correction is passed on.
    """

    def __init__(
        self,
        *,
        repo: str | Path = ".",
        tools: Mapping[str, str] | None = None,
        on_verdict: Callable[[Verdict], object] | None = None,
        raises: bool = True,
        **options: Any,
    ) -> None:
        unknown = set((tools or {}).values()) - set(_WORDS)
        if unknown:
            raise UsageError(f"tools: {', '.join(sorted(unknown))} is not one of {', '.join(sorted(_WORDS))}")
        self._repo = Path(repo)
        self._tools = dict(tools or {})
        self._on_verdict = on_verdict
        self._raises = raises
        self._options = options

    @property
    def instructions(self) -> str:
        """The instructions that the agent needs: how to write the answer, from the rules that check it."""
        kind, agent = self._options.get("kind") or "generic", self._options.get("agent") or ""
        return instructions(kind, self._options.get("profile", "v2"), agent)

    def correction(self, answer: object, calls: Iterable[AgentCall] | Path, *, attempt: int) -> str | None:
        """Return the text to send back, or None if the answer is not sent back.

        `calls` are the tool calls of the agent, or its transcript. `attempt` is 1 for the first answer. The second one
        is not sent back: AnswerNotAccepted is raised.
        """
        receipts = calls if isinstance(calls, Path) else [receipt for call in calls for receipt in self._receipts(call)]
        text = answer if isinstance(answer, str) else json.dumps(answer, default=str)
        verdict = check(text.encode(), repo=self._repo, receipts=receipts, attempt=attempt, **self._options)
        if self._on_verdict is not None:
            self._on_verdict(verdict)
        if verdict.accepted:
            return None
        if attempt == 1:
            return verdict.correction
        if self._raises:
            raise AnswerNotAccepted(verdict)
        return None

    def _receipts(self, call: AgentCall) -> Iterator[Receipt]:
        arguments = _arguments(call.arguments)
        tool = self._tools.get(call.name) or _known_tool(call.name)
        output = call.output[:_MAX_OUTPUT]
        path = next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), None)
        if tool == "Bash":
            command = next((arguments[key] for key in _COMMANDS if key in arguments), "")
            text = " ".join(map(str, command)) if isinstance(command, list) else str(command)
            stated = _EXIT.findall(output)
            status = int(stated[-1]) if stated else int(call.failed)
            shown = kept_output(text, output)
            yield Receipt(
                tool, {"command": text}, exit=status, hits=shell_hits(text, output), failed=call.failed, output=shown
            )
        elif tool == "Grep":
            hits: dict[str, tuple[int, ...]] = dict.fromkeys(_names(arguments, output), ())
            hits |= grep_hits({**arguments, "output_mode": "content"}, output)
            yield Receipt(tool, path=path, hits=hits, failed=call.failed)
        elif tool is not None and path is not None:
            yield Receipt(tool, path=path, failed=call.failed)
        else:
            yield Receipt(call.name, arguments, failed=call.failed)
            yield from (Receipt("Read", path=name, failed=call.failed) for name in _names(arguments, output))


def _known_tool(name: str) -> str | None:
    words = set(_SPLIT.split(_CAPITALS.sub(" ", name).lower()))
    return next((tool for tool, known in _WORDS.items() if words.intersection(known)), None)


def _arguments(arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return {"command": arguments}
    return dict(arguments) if isinstance(arguments, Mapping) else {}


def _names(arguments: Mapping[str, Any], output: str) -> Iterator[str]:
    """Yield what looks like a path in the arguments and the output of a call."""
    text = f"{json.dumps(arguments, default=str)[:_MAX_OUTPUT]}\n{output}"
    words = (match[0].strip("./") for match in _WORD.finditer(text))
    yield from islice((word for word in words if "/" in word or "." in word), _MAX_NAMES)
