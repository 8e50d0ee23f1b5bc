"""What an install for Claude Code consists of, and its checks for `remit doctor`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from remit.clients.hooks.payload import missing
from remit.clients.setup.hook_process import (
    ENTRY,
    NoAnswer,
    decode_answer,
    entry_file,
    payload_text,
    run_hook,
    scratch_project,
)
from remit.clients.setup.mcp_entry import COMMAND, json_server_file
from remit.clients.setup.other_places import absent_program
from remit.clients.setup.settings_file import own_hooks, read_settings
from remit.clients.setup.target import ClientSetup, InstallTarget, McpFile, state_problem, user_folder
from remit.dispatch.health import HealthFact
from remit.errors import RemitError, UsageError
from remit.gate.rule_texts import lookup_lines
from remit.registry.definition import Definition

#: Files and folders of a project, and of the client's folder of the user.
_PROJECT = ("remit.toml", ".remit/gate/**", ".remit/claude-code/**")
_CLIENT = ("settings*.json", "agents/**", "commands/**", "skills/**", "hooks/**")
_USER = (*(f".claude/{name}" for name in _CLIENT), ".claude.json")
#: The tools of the team that the client has, too. It lacks Remit's tools for git's history, and it would turn a
#: shell restricted to git into an unrestricted shell: these are left out.
_SHARED = frozenset({"Read", "Grep", "Glob", "Edit", "Write", "Bash"})
COMMANDS = ("declare", "report", "status")
_DATA = Path(__file__).with_name("data")
NAME = "remit"
_WHAT = "claude code"
_MAX_PROBLEMS = 3


#: Event -> the client's timeout in seconds. Events that check a report have a longer one.
EVENTS: dict[str, int] = {
    "SessionStart": 30,
    "UserPromptSubmit": 15,
    "PreToolUse": 15,
    "PostToolUse": 60,
    "PostToolUseFailure": 15,
    "PermissionDenied": 15,
    "SubagentStart": 15,
    "SubagentStop": 60,
    "Stop": 60,
    "StopFailure": 15,
    "TeammateIdle": 60,
    "TaskCompleted": 60,
    "PreCompact": 15,
    "SessionEnd": 15,
}


class ClaudeCode(ClientSetup):
    """Hooks in the local settings of a project or of a user, with a plugin of the same content."""

    name = "claude-code"
    command = "claude"
    own_agents = frozenset({"Explore"})
    folder = ".claude"
    # Entries contain paths of this machine, and the shared settings are under version control.
    hooks = "settings.local.json"
    user_hooks = "settings.json"
    repeats_hooks = False

    def user_folder(self) -> Path:
        """Return `~/.claude`."""
        return user_folder("CLAUDE_CONFIG_DIR", ".claude")

    def hook_entries(self, *, is_closed: bool = False) -> dict[str, dict[str, Any]]:
        """Return the entry of each event."""
        return hook_entries(is_closed=is_closed)

    def is_ours(self, hook: object) -> bool:
        """Whether an entry is Remit's."""
        return is_ours(hook)

    def calls(self) -> str:
        """Return the command of an entry."""
        return hook_command()

    def team_files(self, target: InstallTarget, entries: Mapping[str, Mapping[str, Any]]) -> dict[Path, str]:
        """Return the plugin, the agents, the skill and the slash commands."""
        plugin = plugin_files(entries, version("remit"))
        commands = command_files()
        return {
            **{target.plugin / name: text for name, text in plugin.items()},
            **super().team_files(target, entries),
            target.folder / "skills/remit/SKILL.md": skill_text(),
            **{target.folder / "commands/remit" / name: text for name, text in commands.items()},
        }

    def definition_text(self, definition: Definition) -> str:
        """Return a definition as Markdown with frontmatter."""
        tools = ", ".join(tool for tool in definition.tools or () if tool in _SHARED)
        fields = [
            f"name: {definition.name}",
            f"description: {json.dumps(definition.description, ensure_ascii=False)}",
            f"tools: {tools}",
            *([f"model: {definition.model}"] if definition.model else []),
            *([f"maxTurns: {definition.max_turns}"] if definition.max_turns else []),
        ]
        return "---\n" + "\n".join(fields) + f"\n---\n\n{definition.body.strip()}\n"

    def deny_rules(self, target: InstallTarget) -> list[str]:
        """Return the rules of `permissions.deny`. An absolute path begins with two slashes."""
        project_paths = [] if target.is_user else [target.root / name for name in _PROJECT]
        paths = [*project_paths, *(target.folder / name for name in _CLIENT)]
        return [*(f"Edit(/{path.as_posix()})" for path in paths), *(f"Edit(~/{name})" for name in _USER)]

    def local_files(self, target: InstallTarget) -> dict[Path, Path]:
        """Return the settings and the slash commands."""
        commands = target.folder / "commands" / "remit"
        return {target.settings: target.settings, commands: commands / "status.md"}

    def mcp_file(self, target: InstallTarget) -> McpFile | str:
        """Return `.mcp.json` of the project. The client rewrites the file with the user's servers itself."""
        if target.is_user:
            command = shlex.join(["claude", "mcp", "add", "--scope", "user", "remit", "--", *COMMAND])
            return f"--mcp applies to one project; for all projects, run {command}"
        return json_server_file(
            target.root / ".mcp.json", target.machine_note("Claude Code asks once whether to use its server")
        )

    def record_file(self, target: InstallTarget) -> Path:
        """Return the path of the install record, which is older than the records of other clients."""
        return target.gate / "installed.json"

    def _settings_of_sessions(self, target: InstallTarget) -> list[Path]:
        """Return the settings files of a session: of the target, those that the project shares, and the user's."""
        user = self.find_target(None, is_user=True)
        return [*dict.fromkeys([target.settings, target.folder / "settings.json", user.settings])]

    def disabled_hooks(self, target: InstallTarget) -> list[Path]:
        """Return the settings files with `disableAllHooks`; unreadable files are skipped."""
        disabling = []
        for path in self._settings_of_sessions(target):
            try:
                text = read_settings(path)
            except UsageError:
                continue
            if text is not None and json.loads(text.removeprefix("\ufeff")).get("disableAllHooks") is True:
                disabling.append(path)
        return disabling

    def facts(self, project: Path | None = None) -> Iterator[HealthFact]:
        """Check where hooks are installed, and whether each entry answers recorded payloads correctly."""
        here = self.find_target(project, is_user=False)
        installed: dict[Path, str] = {}
        for path in self._settings_of_sessions(here):
            try:
                text = read_settings(path)
            except RemitError as error:
                yield HealthFact(_WHAT, "bad", str(error))
                continue
            if text is not None and own_hooks(text, self.is_ours):
                installed[path] = text
        off = self.disabled_hooks(here)
        if not installed:
            what = "not installed here; install the hooks with `remit install claude-code`"
            yield HealthFact(_WHAT, "good", what)
        elif off:
            names = " and ".join(map(str, off))
            yield HealthFact(_WHAT, "bad", f"nothing is checked: {names} switches all hooks off (disableAllHooks)")
        else:
            for path, text in installed.items():
                yield from self._facts_of(path, text, state_problem(here))
            if absent := absent_program(self):
                yield HealthFact(_WHAT, "odd", absent)

    def _facts_of(self, path: Path, text: str, problem: str) -> Iterator[HealthFact]:
        entries = own_hooks(text, self.is_ours)
        lacking = [event for event in EVENTS if event not in entries]
        if lacking:
            what = f"{path} lacks hooks for {', '.join(lacking)}; add them with `remit install claude-code`"
            yield HealthFact(_WHAT, "bad", what)
        foreign = {event: entry for event, entry in entries.items() if not is_this_install(event, entry)}
        if foreign:
            first = next(iter(foreign.values()))
            what = str(first.get("command", first.get("url", "")))[:200]
            text = (
                f"{path} starts {what!r} for {', '.join(foreign)}. It belongs to another installation and was not run"
            )
            yield HealthFact(_WHAT, "bad", f"{text}; run `remit install claude-code` to use this installation")
            return
        if problem:
            text = f"the hooks in {path} do not work in this project: {problem}"
            yield HealthFact(_WHAT, "bad", f"{text}; calls are not checked until this is fixed")
            return
        outcomes = self_test(entries)
        problems = [outcome for outcome in outcomes if outcome.problem]
        if not problems:
            text = f"the hooks in {path} work: {len(outcomes)} recorded payloads were answered correctly"
            yield HealthFact(_WHAT, "good", text)
        for outcome in problems[:_MAX_PROBLEMS]:
            yield HealthFact(_WHAT, "bad", f"{outcome.case.event} ({outcome.case.proves}): {outcome.problem}")
        if len(problems) > _MAX_PROBLEMS:
            more = f"and {len(problems) - _MAX_PROBLEMS} more of {len(outcomes)} recorded payloads"
            yield HealthFact(_WHAT, "bad", more)


CLIENT = ClaudeCode()


@cache
def data_text(name: str) -> str:
    """Return a text of the package."""
    return (_DATA / name).read_text(encoding="utf-8")


def skill_text() -> str:
    """Return the skill that explains the contract."""
    return data_text("skill.md").replace("@LOOKUPS@", "\n".join(lookup_lines()))


def command_files() -> dict[str, str]:
    """Return the slash commands by file name. They run this installation, even if PATH has another `remit`."""
    program = shlex.join([sys.executable, "-I", "-m", "remit.surfaces.cli.in_client"])
    return {f"{name}.md": data_text(f"commands/{name}.md").replace("REMIT ", f"{program} ") for name in COMMANDS}


def plugin_files(entries: Mapping[str, Mapping[str, Any]], version: str) -> dict[str, str]:
    """Return the files of the plugin by their path in it."""
    manifest = {
        "name": NAME,
        "version": version,
        "description": "Puts subagents and their orchestrator under contract: checks reports, delegates edits.",
        "author": {"name": "The Remit contributors"},
        "license": "Apache-2.0",
        "keywords": ["subagents", "verification", "orchestration"],
    }
    hooks = {
        "description": "Enforces the contract between subagents and their orchestrator.",
        "hooks": {event: [{"hooks": [entry]}] for event, entry in entries.items()},
    }
    return {
        ".claude-plugin/plugin.json": _json(manifest),
        "README.md": data_text("README.md"),
        "hooks/hooks.json": _json(hooks),
        "skills/subagent-contract/SKILL.md": skill_text(),
        **{f"agents/{name}": text for name, text in CLIENT.agent_files().items()},
        **{f"commands/{name}": text for name, text in command_files().items()},
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


_PAYLOADS = Path(__file__).with_name("payloads")
_ABSENT = object()
_VERBS = {"is": "be", "contains": "contain", "lacks": "not contain"}


class SelfTestCase(NamedTuple):
    """A recorded payload, what its answer proves, and the expected answer: nothing, anything, or these fields."""

    name: str
    proves: str
    expected: str | list[list[Any]]
    payload: dict[str, Any]

    @property
    def event(self) -> str:
        """The event that the payload names."""
        return str(self.payload.get("hook_event_name", ""))


class SelfTestOutcome(NamedTuple):
    """A case and the problem of its answer; empty without a problem."""

    case: SelfTestCase
    problem: str


def recorded_cases() -> list[SelfTestCase]:
    """Return the recorded payloads of the package, in the order of a session."""
    files = sorted(_PAYLOADS.glob("*.json"))
    return [SelfTestCase(file.stem, **json.loads(file.read_text(encoding="utf-8"))) for file in files]


def self_test(
    entries: Mapping[str, Mapping[str, Any]], cases: Iterable[SelfTestCase] | None = None
) -> list[SelfTestOutcome]:
    """Send each case to the entry of its event. `entries` are Remit's entries in the settings, by event."""
    with scratch_project() as project:
        return [
            SelfTestOutcome(case, _problem(case, entries.get(case.event), project))
            for case in cases or recorded_cases()
        ]


def _problem(case: SelfTestCase, entry: Mapping[str, Any] | None, project: Path) -> str:
    if lacking := missing(case.event, case.payload):
        return f"the payload of {case.event} lacks {', '.join(lacking)}, which the answer needs"
    if entry is None:
        return f"there is no hook for {case.event}"
    text = payload_text(case.payload, project)
    try:
        command = [str(entry.get("command", "")), *map(str, entry.get("args", ()))]
        answer = decode_answer(run_hook(command, text, project, float(entry.get("timeout", 60))))
    except NoAnswer as error:
        return str(error)
    return next(_differences(case, answer), "")


def _differences(case: SelfTestCase, answer: Mapping[str, Any]) -> Iterator[str]:
    """Describe the differences from the expected answer, the worst first."""
    message = str(answer.get("systemMessage", ""))
    if "could not" in message:
        yield message
    if _at(answer, "hookSpecificOutput.permissionDecision") == "allow" or answer.get("decision") == "approve":
        yield "the answer approves the call without asking the user"
    if case.expected == "nothing" and answer:
        yield f"expected no answer, but got {json.dumps(answer)[:200]}"
    for field, comparison, wanted in case.expected if isinstance(case.expected, list) else ():
        value = _at(answer, field)
        if value is _ABSENT:
            yield f"{field} is missing in the answer {json.dumps(answer)[:200]}"
        elif not _matches(value, comparison, wanted):
            yield f"{field} should {_VERBS[comparison]} {wanted!r}, but is {json.dumps(value)[:200]}"


def _matches(value: object, comparison: str, wanted: object) -> bool:
    if comparison == "is":
        return value == wanted
    return (str(wanted) in json.dumps(value, ensure_ascii=False)) is (comparison == "contains")


def _at(answer: object, field: str) -> object:
    for key in field.split("."):
        if not isinstance(answer, Mapping) or key not in answer:
            return _ABSENT
        answer = answer[key]
    return answer


def hook_entries(*, is_closed: bool = False) -> dict[str, dict[str, Any]]:
    """Return the entry of each event. With `is_closed`, the client denies a call if the hook fails."""
    return {event: _entry(event, seconds, is_closed=is_closed) for event, seconds in EVENTS.items()}


def _entry(event: str, seconds: int, *, is_closed: bool) -> dict[str, Any]:
    """Return an entry: a program with its arguments, not a shell command, so paths need no quoting."""
    # Isolated and without site: it imports nothing of the project or the environment, and it starts fast.
    entry: dict[str, Any] = {
        "type": "command",
        "command": sys.executable,
        "args": ["-I", "-S", str(entry_file()), event],
        "timeout": seconds,
    }
    if is_closed and event == "PreToolUse":
        entry["onFailure"] = "block"
    return entry


def hook_command() -> str:
    """Return what the entries of an install call, for a message, with EVENT for the event."""
    entry = _entry("EVENT", 0, is_closed=False)
    return " ".join([entry["command"], *entry["args"]])


def is_ours(hook: object) -> bool:
    """Whether an entry is Remit's, including one of another installation."""
    if not isinstance(hook, dict):
        return False
    arguments = hook.get("args")
    return isinstance(arguments, list) and any(
        isinstance(argument, str) and argument.replace("\\", "/").endswith(ENTRY) for argument in arguments
    )


def is_this_install(event: str, hook: dict[str, Any]) -> bool:
    """Whether this installation would write this entry. Others are not run: settings may come with a clone."""
    wanted = _entry(event, 0, is_closed=False)
    return all(hook.get(key) == wanted[key] for key in ("type", "command", "args"))
