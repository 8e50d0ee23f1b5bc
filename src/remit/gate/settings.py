"""What a project may set for its gate, and the contract's defaults."""

from __future__ import annotations

import os

from remit.errors import ConfigurationError
from remit.failure_policy import FALLBACK_FILES, FALLBACK_LINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from remit.configuration import Configuration

MODES = ("observe", "standard", "strict")
LIMITS: dict[str, int] = {
    "files": 3,
    "lines": 200,
    "total": 300,
    "seconds": 10,
    "search_files": 3,
    "verify_files": 3,
    "fallback_files": FALLBACK_FILES,
    "fallback_lines": FALLBACK_LINES,
    "presentation_lines": 300,
    "edit_lines": 2,
}
#: A read without a limit counts the file's lines, at most so many.
READ_CAP = 2000
#: In the order in which they are tried; what fits none is code. Globs of code win over all but state, and those here
#: stay whatever a project adds: they are what its subagents and the gate's own hooks are made of.
PATHS: dict[str, tuple[str, ...]] = {
    "state": (".remit/**", ".claude/workspaces/**", "**/claude-progress.json", "**/feature-list.json"),
    "code": ("**/.claude/{agents,commands,hooks,plugins,skills}/**", "**/.claude/settings*.json"),
    "spec": ("docs/specs/**", "docs/design/**", "specs/**", "**/requirements.md", "**/design.md"),
    "tests": (
        "tests/**",
        "test/**",
        "**/__tests__/**",
        "**/test_*.*",
        "**/*_test.*",
        "**/*.test.*",
        "**/*.spec.{js,ts,jsx,tsx}",
    ),
    "prose": ("**/*.md", "docs/**"),
}
#: Folders of state that nobody but remit writes: the gate's records, its hooks, the embedded database.
GUARDED: tuple[str, ...] = (".remit/gate", ".remit/claude-code", ".remit/postgres")
#: What must be delegated -> to whom.
AGENTS: dict[str, str] = {
    "explore": "code-explorer",
    "backend": "backend-specialist",
    "frontend": "frontend-specialist",
    "tests": "qa-engineer",
    "spec": "product-manager",
    "security": "security-auditor",
}
#: The settings that the gate itself reads, without `gate.`.
KEYS = ("mode", "limits", "paths", "agents", "trivial_edits", "exceptions", "on_fault")


class Exemption:
    """A rule that a project departs from in some places, for a reason, until a day."""

    __slots__ = ("expires", "paths", "reason", "rule")

    def __init__(self, rule: str, paths: tuple[str, ...], reason: str, expires: str) -> None:
        self.rule = rule
        self.paths = paths
        self.reason = reason
        self.expires = expires


class GateSettings:
    """The settings in force. What a mapping holds that cannot be used stands in `problems`; the default stays."""

    __slots__ = (
        "agents",
        "exceptions",
        "guarded",
        "limits",
        "mode",
        "on_fault",
        "paths",
        "problems",
        "tools",
        "trivial_edits",
    )

    def __init__(self) -> None:
        self.mode = "standard"
        self.limits = dict(LIMITS)
        self.paths = dict(PATHS)
        self.agents = dict(AGENTS)
        #: Agent -> the tools of its definition.
        self.tools: dict[str, tuple[str, ...]] = {}
        #: "delegate": white space and marks alone are edited directly; "direct": all trivial edits are.
        self.trivial_edits = "delegate"
        self.exceptions: tuple[Exemption, ...] = ()
        #: Folders by their names in the project, or absolute.
        self.guarded = GUARDED
        #: What an error of the gate itself does to a call: "open" lets it through with a warning, "closed" denies it.
        self.on_fault = "open"
        self.problems: list[str] = []

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any] | None) -> GateSettings:
        """Settings from a plain mapping with the names of the attributes."""
        settings = cls()
        for key, value in (mapping or {}).items():
            take = _TAKERS.get(key)
            if take is None:
                settings.problems.append(f"there is no gate setting {key!r:.60}{_known(key, _TAKERS)}")
            else:
                take(settings, key, value)
        return settings

    def agent(self, role: str) -> str:
        """To whom such work is delegated."""
        return self.agents.get(role, AGENTS["explore"])


def _choice(*known: str) -> Any:
    def take(settings: GateSettings, key: str, value: object) -> None:
        if isinstance(value, str) and value in known:
            setattr(settings, key, value)
        else:
            settings.problems.append(f"gate.{key} must be one of {', '.join(known)}, not {value!r:.60}")

    return take


def _limits(settings: GateSettings, key: str, value: object) -> None:
    for name, number in _table(settings, key, value).items():
        whole = isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number < 1e9
        if name not in LIMITS:
            settings.problems.append(f"gate.limits: there is no limit {name!r:.60}{_known(name, LIMITS)}")
        elif whole:
            settings.limits[name] = int(number)
        else:
            settings.problems.append(f"gate.limits.{name} must be a number from 0 on, not {number!r:.60}")


def _paths(settings: GateSettings, key: str, value: object) -> None:
    for name, globs in _table(settings, key, value).items():
        if name not in PATHS:
            settings.problems.append(f"gate.paths: there is no class of files {name!r:.60}{_known(name, PATHS)}")
        elif _texts(globs):
            settings.paths[name] = (*globs, *(PATHS["code"] if name == "code" else ()))
        else:
            settings.problems.append(f"gate.paths.{name} must be a list of globs, not {globs!r:.60}")


def _agents(settings: GateSettings, key: str, value: object) -> None:
    for role, name in _table(settings, key, value).items():
        if role not in AGENTS:
            settings.problems.append(f"gate.agents: there is no role {role!r:.60}{_known(role, AGENTS)}")
        elif isinstance(name, str) and name:
            settings.agents[role] = name
        else:
            settings.problems.append(f"gate.agents.{role} must be the name of an agent, not {name!r:.60}")


def _tools(settings: GateSettings, key: str, value: object) -> None:
    for agent, tools in _table(settings, key, value).items():
        if _texts(tools):
            settings.tools[agent] = tuple(tools)
        else:
            settings.problems.append(f"gate.tools.{agent} must be a list of tools")


def _guarded(settings: GateSettings, key: str, value: object) -> None:
    """More folders; those of the project stay."""
    if isinstance(value, list | tuple) and _texts(value):
        settings.guarded = (*GUARDED, *value)
    else:
        settings.problems.append(f"gate.{key} must be a list of folders, not {value!r:.60}")


def _exceptions(settings: GateSettings, key: str, value: object) -> None:
    kept = []
    for entry in value if isinstance(value, list | tuple) else [value]:
        given = entry if isinstance(entry, dict) else {}
        rule, reason, expires = (given.get(name) for name in ("rule", "reason", "expires"))
        paths = given.get("paths", ["**"])
        expires = expires if isinstance(expires, str) else str(expires or "")
        problem = _wrong_exception(given)
        if problem:
            settings.problems.append(f"gate.{key}: {problem}")
        elif (
            isinstance(rule, str) and isinstance(reason, str) and reason.strip() and _is_day(expires) and _texts(paths)
        ):
            kept.append(Exemption(rule, tuple(paths), reason, expires))
        else:
            settings.problems.append(f"gate.{key}: an exception needs rule, paths, reason and expires (YYYY-MM-DD)")
    settings.exceptions = tuple(kept)


def _wrong_exception(given: dict[Any, Any]) -> str:
    """A key or a rule that does not exist, or one that has no exceptions."""
    from remit.gate.rules import FIRM, RULES  # late: few projects have exceptions

    known = ("rule", "paths", "reason", "expires")
    for name in given:
        if name not in known:
            return f"an exception has no {name!r:.60}{_known(name, known)}"
    rule = given.get("rule")
    names = [name for name, *_ in RULES if name not in FIRM]
    if isinstance(rule, str) and rule in FIRM:
        return f"the rule {rule!r} has no exceptions"
    if isinstance(rule, str) and rule not in names:
        return f"there is no rule {rule!r:.60}{_known(rule, names)}"
    return ""


def _known(word: object, known: Any) -> str:
    """The nearest known word, or all of them."""
    from remit.errors import did_you_mean  # late: only for what is wrong

    return did_you_mean(str(word)[:60], known) or f"; known are {', '.join(known)}"


def _is_day(text: str) -> bool:
    parts = text.split("-")
    if [len(part) for part in parts] != [4, 2, 2] or not all(part.isdecimal() and part.isascii() for part in parts):
        return False
    return 1 <= int(parts[1]) <= 12 and 1 <= int(parts[2]) <= 31


def _table(settings: GateSettings, key: str, value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    settings.problems.append(f"gate.{key} must be a table, not {value!r:.60}")
    return {}


def _texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value)


_TAKERS: dict[str, Any] = {
    "mode": _choice(*MODES),
    "limits": _limits,
    "paths": _paths,
    "agents": _agents,
    "tools": _tools,
    "guarded": _guarded,
    "trivial_edits": _choice("delegate", "direct"),
    "exceptions": _exceptions,
    "on_fault": _choice("open", "closed"),
}


def settings_mapping(configured: Configuration) -> dict[str, Any]:
    """What is configured of the gate, as plain data for `GateSettings.from_mapping`; it can be written as JSON."""
    mapping: dict[str, Any] = {}
    for key in KEYS:
        value, source = configured.values[f"gate.{key}"]
        value = [_plain(entry) for entry in value] if key == "exceptions" else value
        problems = GateSettings.from_mapping({key: value}).problems
        if problems:
            raise ConfigurationError(f"{source.replace(chr(92), '/').rpartition('/')[2]}: {problems[0]}")
        mapping[key] = value
    if configured["data"]:  # what remit keeps is guarded wherever it is
        mapping["guarded"] = [os.path.join(os.path.abspath(configured["data"]), name) for name in ("gate", "postgres")]
    return mapping


def from_configuration(configured: Configuration) -> GateSettings:
    """The gate's settings in force."""
    return GateSettings.from_mapping(settings_mapping(configured))


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """An exception whose day TOML has read as a date."""
    return {key: value.isoformat()[:10] if hasattr(value, "isoformat") else value for key, value in entry.items()}
