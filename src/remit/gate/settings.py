"""The settings of the gate and their defaults."""

from __future__ import annotations

from remit.errors import ConfigurationError, did_you_mean
from remit.failure_policy import FALLBACK_FILES, FALLBACK_LINES
from remit.gate.rule_texts import FIRM, RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from remit.configuration import Configuration

#: What Remit does with a client. It stands in the command line of the hooks: `verify` checks reports and final answers,
#: `orchestrator` also denies calls and gives the team the form of a report.
VERIFY, ORCHESTRATOR = "verify", "orchestrator"
MODES = (VERIFY, ORCHESTRATOR)
LIMITS: dict[str, int] = {
    "files": 3,
    "lines": 200,
    "total": 300,
    "seconds": 10,
    "search_files": 3,
    "verify_files": 3,
    "verify_lines": 60,
    "fallback_files": FALLBACK_FILES,
    "fallback_lines": FALLBACK_LINES,
    "presentation_lines": 300,
    "edit_lines": 2,
}
#: The number of lines that a read without a limit counts at most.
READ_CAP = 2000
#: Class -> globs, tried in this order; any other file is code. Those of the settings are added to them.
PATHS: dict[str, tuple[str, ...]] = {
    "state": (".remit/**", ".claude/workspaces/**", "**/claude-progress.json", "**/feature-list.json"),
    "code": (
        *("**/.claude/{agents,commands,hooks,plugins,skills}/**", "**/.claude/settings*.json"),
        "docs/**/*.{py,js,mjs,cjs,ts,jsx,tsx,sh,bash,rb,pl,php,go,rs,java,c,h,cpp,cs,lua,mk,bat}",
    ),
    "spec": (
        *("docs/specs/**", "docs/design/**", "specs/**", "**/requirements.md", "**/design.md"),
        *("**/spec.md", "**/*-spec.md", "**/*prd*.md"),
    ),
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
#: Files that only a person changes, in any folder of the project and in the home folder: the settings of Remit and of
#: the client, what an install writes, and the gate's record.
GUARDED: tuple[str, ...] = (
    *("**/remit.toml", "**/.remit-dismissals.toml", "**/.mcp.json", "**/.claude/settings*.json"),
    *("**/.claude/{agents,commands,skills}/**", "**/.remit/gate/**", "**/.config/remit/**"),
)
#: Kind of work -> the agent that it is delegated to.
AGENTS: dict[str, str] = {
    "explore": "code-explorer",
    "backend": "backend-specialist",
    "frontend": "frontend-specialist",
    "tests": "qa-engineer",
    "spec": "product-manager",
    "security": "security-auditor",
}
#: The settings that the gate reads besides the paths, without the prefix `gate.`.
KEYS = ("limits", "agents", "trivial_edits", "exceptions", "others")


class Exemption:
    """A project's exception to a rule: for some paths, with a reason, until a day."""

    def __init__(self, rule: str, paths: tuple[str, ...], reason: str, expires: str) -> None:
        self.rule = rule
        self.paths = paths
        self.reason = reason
        self.expires = expires


class GateSettings:
    """The effective settings. An invalid value is reported in `problems`, and the default is used."""

    def __init__(self) -> None:
        self.mode = ORCHESTRATOR
        self.limits = dict(LIMITS)
        self.paths = dict(PATHS)
        self.agents = dict(AGENTS)
        #: Agent -> the tools of its definition.
        self.tools: dict[str, tuple[str, ...]] = {}
        #: "delegate": only white space and marks are edited directly; "direct": all trivial edits.
        self.trivial_edits = "delegate"
        self.exceptions: tuple[Exemption, ...] = ()
        #: Subagents that are not under contract: "claims" checks their claims and sends a report back once, "off"
        #: checks nothing.
        self.others = "claims"
        self.problems: list[str] = []

    @property
    def denies(self) -> bool:
        """Whether the mode denies calls."""
        return self.mode == ORCHESTRATOR

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any] | None) -> GateSettings:
        """Build settings from a mapping with the names of the attributes."""
        settings = cls()
        for key, value in (mapping or {}).items():
            setter = _SETTERS.get(key)
            if setter is None:
                settings.problems.append(f"unknown gate setting {key!r:.60}{_hint(key, _SETTERS)}")
            else:
                setter(settings, key, value)
        return settings

    def agent(self, role: str) -> str:
        """Return the agent that such work is delegated to."""
        return self.agents.get(role, AGENTS["explore"])


def _choice(*choices: str) -> Any:
    def set_choice(settings: GateSettings, key: str, value: object) -> None:
        if isinstance(value, str) and value in choices:
            setattr(settings, key, value)
        else:
            settings.problems.append(f"gate.{key} must be one of {', '.join(choices)}, not {value!r:.60}")

    return set_choice


def _mapping(what: str, is_valid: Any, wanted: str, choices: Any = None, kept: Any = None) -> Any:
    """Return what sets the entries of a table: names among `choices`, if there are any, and valid values."""

    def set_entries(settings: GateSettings, key: str, value: object) -> None:
        for name, entry in _table(settings, key, value).items():
            if choices is not None and name not in choices:
                settings.problems.append(f"gate.{key}: unknown {what} {name!r:.60}{_hint(name, choices)}")
            elif is_valid(entry):
                getattr(settings, key)[name] = kept(name, entry) if kept is not None else entry
            else:
                settings.problems.append(f"gate.{key}.{name} must be {wanted}, not {entry!r:.60}")

    return set_entries


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _exceptions(settings: GateSettings, key: str, value: object) -> None:
    kept = []
    for entry in value if isinstance(value, list | tuple) else [value]:
        values = entry if isinstance(entry, dict) else {}
        rule, reason, expires = (values.get(name) for name in ("rule", "reason", "expires"))
        paths = values.get("paths", ["**"])
        expires = expires if isinstance(expires, str) else str(expires or "")
        problem = _exception_problem(values)
        if problem:
            settings.problems.append(f"gate.{key}: {problem}")
        elif (
            isinstance(rule, str) and isinstance(reason, str) and reason.strip() and _is_day(expires) and _texts(paths)
        ):
            kept.append(Exemption(rule, tuple(paths), reason, expires))
        else:
            settings.problems.append(f"gate.{key}: an exception needs rule, paths, reason and expires (YYYY-MM-DD)")
    settings.exceptions = tuple(kept)


def _exception_problem(values: dict[Any, Any]) -> str:
    """Return what is wrong with an exception: an unknown key or rule, or a rule without exceptions."""
    keys = ("rule", "paths", "reason", "expires")
    for name in values:
        if name not in keys:
            return f"unknown key {name!r:.60} in an exception{_hint(name, keys)}"
    rule = values.get("rule")
    names = [name for name, *_ in RULES if name not in FIRM]
    if isinstance(rule, str) and rule in FIRM:
        return f"the rule {rule!r} allows no exceptions"
    if isinstance(rule, str) and rule not in names:
        return f"unknown rule {rule!r:.60}{_hint(rule, names)}"
    return ""


def _hint(word: object, choices: Any) -> str:
    """Return a suggestion for a misspelt word, or all choices."""
    return did_you_mean(str(word)[:60], choices) or f"; choose one of {', '.join(choices)}"


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


_SETTERS: dict[str, Any] = {
    "limits": _mapping("limit", _is_amount, "a number of at least 0", LIMITS, lambda _, number: int(number)),
    "paths": _mapping(
        *("class", _texts, "a list of globs", PATHS),
        lambda name, globs: (*globs, *PATHS[name]),
    ),
    "agents": _mapping("role", _is_name, "the name of an agent", AGENTS),
    "tools": _mapping("", _texts, "a list of tools", kept=lambda _, tools: tuple(tools)),
    "trivial_edits": _choice("delegate", "direct"),
    "exceptions": _exceptions,
    "others": _choice("claims", "off"),
}


def settings_mapping(configured: Configuration) -> dict[str, Any]:
    """Return the configured gate settings as plain data for `GateSettings.from_mapping` and JSON."""
    mapping: dict[str, Any] = {}
    for key in KEYS:
        value, source = configured.values[f"gate.{key}"]
        value = [_plain(entry) for entry in value] if key == "exceptions" else value
        problems = GateSettings.from_mapping({key: value}).problems
        if problems:
            raise ConfigurationError(f"{source.replace(chr(92), '/').rpartition('/')[2]}: {problems[0]}")
        mapping[key] = value
    mapping["paths"] = {name: configured[f"paths.{name}"] for name in ("code", "tests", "spec")}
    return mapping


def from_configuration(configured: Configuration) -> GateSettings:
    """Return the effective settings of the gate."""
    return GateSettings.from_mapping(settings_mapping(configured))


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an exception with its day as text: TOML reads it as a date."""
    return {key: value.isoformat()[:10] if hasattr(value, "isoformat") else value for key, value in entry.items()}
