"""The settings, their effective values and the source of each value.

A value comes from the first of these that sets it: a flag, the environment (`REMIT_…`), `remit.toml` or `[tool.remit]`
in `pyproject.toml` (the nearest file, up to the root of the checkout), the default.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from remit.digests import sha256_of
from remit.errors import ConfigurationError, did_you_mean
from remit.lazy import lazy_pattern
from remit.unconfirmed import removed_settings, unconfirmed_since

#: The most characters of a TOML document, and parts of a dotted key: the library takes quadratic time for the latter.
MAX_TOML = 1_000_000
_MAX_PARTS = 64
_KEY_PART = r"""(?:[A-Za-z0-9_-]++|"(?>(?:[^"\\\n]|\\.)*)"|'[^'\n]*+')"""
#: How a table `tool.remit` can be written, with all that looks like it.
_TABLE = lazy_pattern(
    r"""tool["']?[ \t]*\.[ \t]*["']?remit|^[ \t]*(?:\[[ \t]*["']?tool["']?[ \t]*\]|["']?tool["']?[ \t]*=)""",
    re.MULTILINE,
)
_LONG_KEY = lazy_pattern(
    rf"(?:^|[\[{{,])[ \t]*+{_KEY_PART}(?>(?:[ \t]*+\.[ \t]*+{_KEY_PART}){{{_MAX_PARTS},}})", re.MULTILINE
)
Shape = Literal["text", "list", "paths", "table", "number", "numbers", "weights", "lists", "tables"]
#: Shapes that an environment variable cannot hold.
FILE_ONLY: tuple[Shape, ...] = ("table", "numbers", "weights", "lists", "tables")
#: The value of `merge.weights` for weights from people's decisions.
LEARNED: Literal["learned"] = "learned"


class Setting:
    """A setting. In the environment, lists are separated by commas, and paths as in PATH.

    Paths are combined: those of the environment, then those of the file, which are relative to its folder.
    """

    def __init__(self, key: str, shape: Shape, default: Any, meaning: str) -> None:
        self.key = key
        self.shape = shape
        self.default = default
        self.meaning = meaning

    @property
    def variable(self) -> str | None:
        """The environment variable; None for a table."""
        return None if self.shape in FILE_ONLY else "REMIT_" + self.key.upper().replace(".", "_")


SETTINGS: tuple[Setting, ...] = (
    Setting("profile", "text", "v2", "the profile that results are checked with: v2, v1 or claims"),
    Setting("check.select", "list", [], "check only these rules, codes or families"),
    Setting("check.ignore", "list", [], "skip these rules, codes or families"),
    Setting("check.overrides", "table", {}, "overrides of default rules: rule = reason"),
    Setting("agents.kinds", "table", {}, "the kind of result of agents that are not in the contract: agent = kind"),
    Setting("plugin_path", "paths", [], "folders of subagent definitions; the first one wins"),
    Setting(
        "policy", "text", "open", "how to handle unknown definitions and tools: open (warn) or strict (refuse the job)"
    ),
    Setting(
        "allow_tools",
        "list",
        [],
        "the tools that subagents may use; empty: all except Bash, which a job has to name",
    ),
    Setting("model", "text", "sonnet", "the model of jobs whose definition does not name one"),
    Setting(
        "verify_model",
        "text",
        "",
        "the model that verifies the findings of a review; use another model than the reviewers",
    ),
    Setting("models", "table", {}, "short names of models: name = provider:model"),
    Setting("max_turns", "number", 30, "model calls of one job"),
    Setting("budget.tokens", "number", 0, "tokens of one job; 0: no limit"),
    Setting("budget.cost", "number", 0, "cost of one job in US dollars; 0: no limit"),
    Setting("budget.seconds", "number", 0, "duration of one job in seconds; 0: no limit"),
    Setting(
        "budget.day",
        "number",
        0,
        "cost of all jobs of one day in US dollars: the overview shows it, and a notice is sent at 80 percent; 0: none",
    ),
    Setting(
        "database_url", "text", "", "URL of a shared PostgreSQL server; empty: an embedded server in the data folder"
    ),
    Setting("data", "text", "", "the data folder; empty: .remit in the root of the project"),
    Setting(
        "takeover_seconds", "number", 30, "seconds without a heartbeat after which the jobs of a worker are taken over"
    ),
    Setting("hung_seconds", "number", 900, "seconds without a finished step after which a job is stopped"),
    Setting(
        "shutdown_seconds", "number", 20, "seconds that a stopping worker waits for its jobs before it hands them back"
    ),
    Setting(
        "queue_limits", "numbers", {}, "jobs of a queue that run at the same time, over all workers: queue = number"
    ),
    Setting("provider_limits", "numbers", {}, "simultaneous calls to a provider, over all workers: provider = number"),
    Setting("redact", "text", "on", "whether possible secrets are removed from stored tool output: on or off"),
    Setting("runners", "table", {}, "programs that may run as subagents: name = command line"),
    Setting("mcp_servers", "table", {}, "MCP servers that subagents may use: name = command line or URL"),
    Setting(
        "verify.documents",
        "list",
        [],
        "globs of the documents of `remit verify`; empty: README, AGENTS.md, docs and so on",
    ),
    Setting("verify.exclude", "list", [], "globs of documents that `remit verify` leaves out"),
    Setting("merge.threshold", "number", 80, "keep findings of at least this confidence"),
    Setting(
        "merge.policy",
        "text",
        "mean",
        "how the scores of agents that agree are combined: mean, max, floor, or learned from people's decisions",
    ),
    Setting("merge.window", "number", 0, "findings that are at most this many lines apart count as one location"),
    Setting("merge.weights", "weights", {}, 'expertise: agent or agent/category = weight; or "learned"'),
    Setting("merge.expertise", "number", 1, "the weight of an agent in the categories of its definition's expertise"),
    Setting("merge.categories", "table", {}, "categories of other tools' rules: rule or pattern = category"),
    Setting("notices.webhook", "text", "", "URL that gets questions, finished plans, budgets and critical findings"),
    Setting("notices.link", "text", "http://127.0.0.1:8321", "address of the server that the links of notices lead to"),
    Setting("gate.mode", "text", "standard", "what Remit does: verify, standard, strict or observe"),
    Setting("gate.limits", "numbers", {}, "how much an orchestrator may do itself: limit = number"),
    Setting("gate.paths", "lists", {}, "which files are code, tests, spec, prose or state: class = globs"),
    Setting("gate.agents", "table", {}, "the agent for each kind of work: role = agent"),
    Setting("gate.trivial_edits", "text", "delegate", "trivial edits of specifications: delegate or direct"),
    Setting("gate.exceptions", "tables", [], "exceptions to rules: rule, paths, reason and expires of each"),
    Setting(
        "gate.on_fault", "text", "open", "whether a call passes (open) or is denied (closed) if the gate itself fails"
    ),
    Setting("gate.others", "text", "claims", "reports of other subagents: claims (checked), observe or off"),
    Setting("gate.under_contract", "list", [], "subagents of a client whose reports are checked; empty: the team"),
)
_BY_KEY = {setting.key: setting for setting in SETTINGS}


class Value(NamedTuple):
    """An effective value and its source."""

    value: Any
    source: str


class Configuration:
    """The effective values of all settings, by key."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = values

    def __getitem__(self, key: str) -> Any:
        return self.values[key].value


def load(start: Path | None = None, environment: Mapping[str, str] | None = None) -> Configuration:
    """Load the configuration for a folder."""
    environment = os.environ if environment is None else environment
    values = {setting.key: Value(setting.default, "default") for setting in SETTINGS}
    file = find_file(start or Path.cwd())
    _refuse_removed_settings(start or Path.cwd())
    if file is not None:
        table = _read(file)
        _refuse_unconfirmed(file, table)
        for key, value in _flatten(table, "", file.name):
            values[key] = Value(_from_file(_BY_KEY[key], value, file), str(file))
    for setting in SETTINGS:
        variable = _find_variable(setting, environment)
        if variable is not None:
            value = Value(_from_variable(setting, environment[variable]), variable)
            values[setting.key] = _combine(value, values[setting.key]) if setting.shape == "paths" else value
    agents = _project_agents(start or Path.cwd())
    if agents is not None and agents not in values["plugin_path"].value:
        values["plugin_path"] = _combine(values["plugin_path"], Value([agents], agents))
    return Configuration(values)


def _project_agents(start: Path) -> str | None:
    """Return the folder of the project's own subagents, which is read after the plugins; None if it has none."""
    start = start.absolute()
    root = next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
    folders = (start, *start.parents[: len(start.parts) - len(root.parts)])
    return next((str(agents) for folder in folders if (agents := folder / ".claude/agents").is_dir()), None)


def _refuse_unconfirmed(file: Path, table: Mapping[str, Any]) -> None:
    since = unconfirmed_since(str(file), lambda: _digest_of(table))
    if since is not None:
        raise ConfigurationError(
            f"{file}: these settings changed {since}, so they are not obeyed. Look at the file; then restore it, or "
            "confirm it with `remit doctor --confirm`"
        )


def _refuse_removed_settings(start: Path) -> None:
    for path, since in removed_settings(start):
        if not Path(path).exists():
            raise ConfigurationError(
                f"{path}: these settings were removed {since}. Restore the file, or confirm that it is not needed with "
                "`remit doctor --confirm`"
            )


def settings_digests(start: Path) -> dict[str, str]:
    """Return a digest of the settings in the file for a folder, to find out later whether a job has changed them."""
    file = find_file(start)
    digests = {str(start.absolute() / "remit.toml"): ""}
    try:
        return digests if file is None else {**digests, str(file): _digest_of(_read(file))}
    except ConfigurationError:
        return digests  # a file that cannot be read is not obeyed


def _digest_of(table: Mapping[str, Any]) -> str:
    return sha256_of(repr(sorted(table.items())).encode())[:32]


def _find_variable(setting: Setting, environment: Mapping[str, str]) -> str | None:
    """Return the variable that sets a setting. GBRAIN_PLUGIN_PATH is an alias of the plugin path."""
    names = [setting.variable, *(["GBRAIN_PLUGIN_PATH"] if setting.key == "plugin_path" else [])]
    return next((name for name in names if name is not None and name in environment), None)


def _combine(first: Value, rest: Value) -> Value:
    if not rest.value or not first.value:
        return first if first.value else rest
    return Value([*first.value, *rest.value], f"{first.source}, {rest.source}")


def _from_file(setting: Setting, value: Any, file: Path) -> Any:
    value = _check_shape(setting, value, file.name)
    if setting.shape != "paths":
        return value
    # A URL or a home folder is kept as written, so that the error message shows it.
    return [entry if "://" in entry or entry.startswith("~") else str(file.parent / entry) for entry in value]


def find_file(start: Path) -> Path | None:
    """Return the nearest configuration file, up to the root of the checkout."""
    for folder in (start.absolute(), *start.absolute().parents):
        file = folder / "remit.toml"
        if file.is_file():
            return file
        project = folder / "pyproject.toml"
        if project.is_file() and _has_table(project):
            return project
        if (folder / ".git").exists():
            return None
    return None


def _has_table(project: Path) -> bool:
    """Return whether a pyproject.toml has the table. Most do not mention it and are not parsed."""
    try:
        text = project.read_bytes().decode("utf-8", "replace")
    except OSError:
        return False
    return "remit" in text and bool(_TABLE.search(text)) and "remit" in _tool_table(_load(project))


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
    try:
        return parse_toml(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{file.name}: {error}") from error
    except OSError as error:
        raise ConfigurationError(f"{file.name}: {error.strerror}") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document. Raises ValueError, also for a size or a key that would take the library minutes."""
    if len(text) > MAX_TOML:
        raise ValueError(f"larger than {MAX_TOML:,} characters")
    if _LONG_KEY.search(text):
        raise ValueError(f"a key has more than {_MAX_PARTS} parts")
    return tomllib.loads(text)


def _flatten(table: Mapping[str, Any], prefix: str, name: str) -> Iterator[tuple[str, Any]]:
    for word, value in table.items():
        key = prefix + word
        if key in _BY_KEY:
            yield key, value
        elif isinstance(value, dict) and any(other.startswith(key + ".") for other in _BY_KEY):
            yield from _flatten(value, key + ".", name)
        else:
            keys = sorted(_BY_KEY)
            near = did_you_mean(key, keys) or f"; the keys are {', '.join(keys)}"
            raise ConfigurationError(f"{name}: there is no setting {key!r}{near}")


def _check_shape(setting: Setting, value: Any, name: str) -> Any:
    fits, description = _SHAPES[setting.shape]
    if fits(value):
        return value
    raise ConfigurationError(f"{name}: {setting.key} must be {description} ({setting.meaning}), not {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


#: Shape -> whether a value has it, and its description.
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
    "weights": (
        lambda value: value == LEARNED or (isinstance(value, dict) and all(_is_number(w) for w in value.values())),
        f'a table of numbers, or "{LEARNED}"',
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
    """Split folders that are separated as in PATH. A URL is kept in one piece, so that the error message shows it."""
    return [entry.strip() for entry in re.split(re.escape(os.pathsep) + "(?!//)", text) if entry.strip()]
