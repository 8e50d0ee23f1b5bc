"""Settings: what may be set, what is in force, and where each value came from.

A value comes from a flag, else the environment (`REMIT_…`), else `remit.toml` or `[tool.remit]` in
`pyproject.toml` (the nearest one, upwards to the root of the checkout), else the default.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from remit.errors import ConfigurationError, did_you_mean

Shape = Literal["text", "list", "paths", "table", "number", "numbers", "lists", "tables"]
#: What a single line of text, as the environment has it, cannot say.
FILE_ONLY: tuple[Shape, ...] = ("table", "numbers", "lists", "tables")


class Setting(NamedTuple):
    """Something a user may set. Lists in the environment are separated by commas, paths as in PATH.

    Paths add up: those of the environment, then those of the file, which are relative to its folder.
    """

    key: str
    shape: Shape
    default: Any
    meaning: str

    @property
    def variable(self) -> str | None:
        """Its name in the environment; a table has none."""
        return None if self.shape in FILE_ONLY else "REMIT_" + self.key.upper().replace(".", "_")


SETTINGS: tuple[Setting, ...] = (
    Setting("profile", "text", "v2", "the profile results are held to: v2, v1 or lenient"),
    Setting("check.select", "list", [], "check only these rules, codes or families"),
    Setting("check.ignore", "list", [], "leave these rules, codes or families out"),
    Setting("check.overrides", "table", {}, "default rules you depart from: rule = reason"),
    Setting("agents.kinds", "table", {}, "the kind of agents the contract does not know: agent = kind"),
    Setting("plugin_path", "paths", [], "folders of subagent definitions; the left one wins"),
    Setting("policy", "text", "open", "what unknown definitions and tools do to a job: open (warn) or strict (refuse)"),
    Setting(
        "allow_tools",
        "list",
        [],
        "the tools a worker lets subagents use; empty: all it has, Bash by name",
    ),
    Setting("model", "text", "sonnet", "the model of jobs whose definition names none"),
    Setting("verify_model", "text", "", "the model that judges a review's findings; better another than the authors'"),
    Setting("models", "table", {}, "short names of models: name = provider:model"),
    Setting("max_turns", "number", 30, "how often a subagent may call the model in one job"),
    Setting("budget.tokens", "number", 0, "tokens a job may use; 0: no limit"),
    Setting("budget.cost", "number", 0, "money a job may cost, in US dollars; 0: no limit"),
    Setting("budget.seconds", "number", 0, "seconds a job may take; 0: no limit"),
    Setting("database_url", "text", "", "a PostgreSQL server to share; empty: an embedded one in the data folder"),
    Setting("data", "text", "", "the folder for what remit keeps; empty: .remit at the root of the project"),
    Setting("takeover_seconds", "number", 30, "a silent worker's jobs are taken over within so many seconds"),
    Setting("hung_seconds", "number", 900, "a job that finishes no step for so long is stopped"),
    Setting(
        "shutdown_seconds", "number", 20, "how long a worker that ends waits for its jobs before it hands them back"
    ),
    Setting("queue_limits", "numbers", {}, "jobs of a queue that run at a time, over all workers: queue = number"),
    Setting("provider_limits", "numbers", {}, "calls to a provider at a time, over all workers: provider = number"),
    Setting("redact", "text", "on", "whether what looks like a secret is removed from stored tool output: on or off"),
    Setting("runners", "table", {}, "programs that may run as subagents: name = command line"),
    Setting("mcp_servers", "table", {}, "MCP servers that subagents may use: name = command line or URL"),
    Setting("merge.threshold", "number", 80, "keep findings of at least this confidence"),
    Setting("merge.policy", "text", "mean", "how scores of agents that agree are combined: mean, max or floor"),
    Setting("merge.window", "number", 0, "findings this many lines apart are still one place"),
    Setting("merge.weights", "numbers", {}, "expertise: agent or agent/category = weight"),
    Setting("merge.categories", "table", {}, "categories of other tools' rules: rule or pattern = category"),
    Setting("gate.mode", "text", "standard", "what the gate does to a broken rule: observe, standard or strict"),
    Setting("gate.limits", "numbers", {}, "how much an orchestrator may do itself: limit = number"),
    Setting("gate.paths", "lists", {}, "which files are code, tests, spec, prose or state: class = globs"),
    Setting("gate.agents", "table", {}, "to whom work is delegated: role = agent"),
    Setting("gate.trivial_edits", "text", "delegate", "trivial edits of specifications: delegate or direct"),
    Setting("gate.exceptions", "tables", [], "rules the project departs from: rule, paths, reason and expires of each"),
    Setting("gate.on_fault", "text", "open", "what an error of the gate itself does to a call: open or closed"),
    Setting("gate.under_contract", "list", [], "subagents of a client that are held to the contract; empty: the team"),
)
_BY_KEY = {setting.key: setting for setting in SETTINGS}


class Value(NamedTuple):
    """A value in force."""

    value: Any
    source: str


class Configuration:
    """Every setting's value, by key."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = values

    def __getitem__(self, key: str) -> Any:
        return self.values[key].value


def load(start: Path | None = None, environment: Mapping[str, str] | None = None) -> Configuration:
    """The configuration in force in a folder."""
    environment = os.environ if environment is None else environment
    values = {setting.key: Value(setting.default, "default") for setting in SETTINGS}
    file = find_file(start or Path.cwd())
    if file is not None:
        for key, value in _flatten(_read(file), "", file.name):
            values[key] = Value(_in_file(_BY_KEY[key], value, file), str(file))
    for setting in SETTINGS:
        variable = _variable(setting, environment)
        if variable is not None:
            value = Value(_from_variable(setting, environment[variable]), variable)
            values[setting.key] = _added(value, values[setting.key]) if setting.shape == "paths" else value
    return Configuration(values)


def _variable(setting: Setting, environment: Mapping[str, str]) -> str | None:
    """The variable that sets it; the plugin path also under the name of the project its format comes from."""
    names = [setting.variable, *(["GBRAIN_PLUGIN_PATH"] if setting.key == "plugin_path" else [])]
    return next((name for name in names if name is not None and name in environment), None)


def _added(first: Value, rest: Value) -> Value:
    if not rest.value:
        return first
    return Value([*first.value, *rest.value], f"{first.source}, {rest.source}")


def _in_file(setting: Setting, value: Any, file: Path) -> Any:
    value = _checked(setting, value, file.name)
    if setting.shape != "paths":
        return value
    # What is no path at all stays as it is, to be refused by name.
    return [entry if "://" in entry or entry.startswith("~") else str(file.parent / entry) for entry in value]


def find_file(start: Path) -> Path | None:
    """The nearest configuration file, not beyond the root of the checkout."""
    for folder in (start.absolute(), *start.absolute().parents):
        own = folder / "remit.toml"
        if own.is_file():
            return own
        project = folder / "pyproject.toml"
        if project.is_file() and _has_table(project):
            return project
        if (folder / ".git").exists():
            return None
    return None


def _has_table(project: Path) -> bool:
    """Whether a pyproject.toml speaks of remit; most do not, and need not be read as TOML."""
    try:
        text = project.read_bytes()
    except OSError:
        return False
    return b"remit" in text and b"tool" in text and "remit" in _tool_table(_load(project))


def _tool_table(table: Mapping[str, Any]) -> Mapping[str, Any]:
    tool = table.get("tool")
    return tool if isinstance(tool, dict) else {}


def _read(file: Path) -> dict[str, Any]:
    table: Any = _load(file)
    if file.name == "pyproject.toml":
        table = _tool_table(table).get("remit")
        if not isinstance(table, dict):
            raise ConfigurationError(f"{file.name}: tool.remit must be a table, not {table!r}")
    return dict(table)


def _load(file: Path) -> dict[str, Any]:
    import tomllib  # late: most runs have no configuration file

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{file.name}: {error}") from error
    except OSError as error:
        raise ConfigurationError(f"{file.name}: {error.strerror}") from error


def _flatten(table: Mapping[str, Any], prefix: str, name: str) -> Iterator[tuple[str, Any]]:
    for word, value in table.items():
        key = prefix + word
        if key in _BY_KEY:
            yield key, value
        elif isinstance(value, dict) and any(known.startswith(key + ".") for known in _BY_KEY):
            yield from _flatten(value, key + ".", name)
        else:
            known = sorted(_BY_KEY)
            near = did_you_mean(key, known) or f"; known keys are {', '.join(known)}"
            raise ConfigurationError(f"{name}: there is no setting {key!r}{near}")


def _checked(setting: Setting, value: Any, name: str) -> Any:
    fits, wanted = _SHAPES[setting.shape]
    if fits(value):
        return value
    raise ConfigurationError(f"{name}: {setting.key} must be {wanted} ({setting.meaning}), not {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


#: Shape -> whether a value has it, and how to say so.
_SHAPES: dict[Shape, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "a string"),
    "number": (_is_number, "a number"),
    "list": (_is_list, "a list of strings"),
    "paths": (_is_list, "a list of strings"),
    "table": (
        lambda value: isinstance(value, dict) and all(isinstance(w, str) for w in value.values()),
        "a table of strings",
    ),
    "numbers": (
        lambda value: isinstance(value, dict) and all(_is_number(w) for w in value.values()),
        "a table of numbers",
    ),
    "lists": (
        lambda value: isinstance(value, dict) and all(_is_list(w) for w in value.values()),
        "a table of lists of strings",
    ),
    "tables": (
        lambda value: isinstance(value, list) and all(isinstance(w, dict) for w in value),
        "a list of tables",
    ),
}


def _from_variable(setting: Setting, text: str) -> Any:
    if setting.shape == "paths":
        return split_path(text)
    if setting.shape == "list":
        return [word.strip() for word in text.split(",") if word.strip()]
    if setting.shape != "number":
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigurationError(f"{setting.variable} must be a number ({setting.meaning}), not {text!r}")
    return number


def split_path(text: str) -> list[str]:
    """Folders, separated as in PATH. The colon of a URL separates nothing, so that it can be refused by its name."""
    return [entry.strip() for entry in re.split(re.escape(os.pathsep) + "(?!//)", text) if entry.strip()]
