"""The settings, their effective values and the source of each value.

A value comes from the first of these that sets it: an option, the environment (`REMIT_…`), the file named with
`--config` or REMIT_CONFIG, the person's own file (`~/.config/remit/config.toml`), the checkout's file (`remit.toml`, or
`[tool.remit]` in `pyproject.toml`; the nearest one), the default.

A checkout describes, and only the person grants: the column `checkout` of `SETTINGS` states which keys its file may
set. All else in that file, and what is invalid in it, is named in one line and not read.
"""

from __future__ import annotations

import math
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from remit.errors import ConfigurationError, did_you_mean
from remit.lazy import lazy_pattern
from remit.removed import instead_of, names_of
from remit.state_folder import person_files

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
#: A comma between the entries of a list, and not one in the braces of a glob.
_COMMA = lazy_pattern(r",(?![^{}]*\})")
#: The header of a table.
_HEADER = lazy_pattern(r"[ \t]*\[{1,2}([^\[\]#]+)\]")
Shape = Literal["text", "list", "paths", "table", "number", "numbers", "tables"]
#: What the file of a checkout may do with a setting: nothing, set it, only lower the number, only add to the list.
Checkout = Literal["no", "sets", "lowers", "adds"]


class Setting:
    """A setting. In the environment, lists are separated by commas, paths as in PATH, and tables are inline TOML.

    Paths are combined: those of the environment, then those of each file, which are relative to its folder.
    """

    def __init__(
        self,
        key: str,
        shape: Shape,
        default: Any,
        meaning: str,
        checkout: Checkout = "no",
        choices: tuple[str, ...] = (),
    ) -> None:
        self.key = key
        self.shape = shape
        self.default = default
        self.meaning = meaning
        self.checkout = checkout
        #: The values that a checkout may set.
        self.choices = choices

    @property
    def variable(self) -> str:
        """The environment variable."""
        return _variable_of(self.key)


def _variable_of(key: str) -> str:
    return "REMIT_" + key.upper().replace(".", "_")


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "profile",
        "text",
        "v2",
        "the profile that results are checked with: v2, v1 or claims",
        "sets",
        ("v2", "v1", "claims"),
    ),
    Setting("check.select", "list", [], "check only these rules, codes or families, and all of level L1"),
    Setting("check.ignore", "list", [], "skip these rules, codes or families, except those of level L1"),
    Setting("check.overrides", "table", {}, "overrides of default rules: rule = reason"),
    Setting(
        "agents.kinds",
        "table",
        {},
        "the kind of result of agents that are not in the contract: agent = kind",
        "sets",
        (
            *("exploration", "search", "design", "review", "implementation", "verification", "document", "generic"),
            "error",
        ),
    ),
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
    Setting("models", "table", {}, "short names of models: name = provider:model"),
    Setting("max_turns", "number", 30, "model calls of one job"),
    Setting("limits.tokens", "number", 0, "tokens of one job; 0: no limit"),
    Setting("limits.cost", "number", 0, "cost of one job in US dollars; 0: no limit"),
    Setting("limits.seconds", "number", 0, "duration of one job in seconds; 0: no limit"),
    Setting(
        "database_url", "text", "", "URL of a shared PostgreSQL server; empty: an embedded server in the state folder"
    ),
    Setting("state", "text", "", "the folder of the database and of all that decides, never in a checkout"),
    Setting("project", "text", "", "the name of the project whose jobs a worker takes; empty: the checkout's path"),
    Setting(
        "takeover_seconds", "number", 20, "seconds without a heartbeat after which the jobs of a worker are taken over"
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
    Setting("commands", "table", {}, "programs that may run as subagents: name = command line"),
    Setting("mcp_servers", "table", {}, "MCP servers that subagents may use: name = command line or URL"),
    Setting(
        "verify.documents",
        "list",
        [],
        "globs of the documents of `remit verify`; empty: README, AGENTS.md, docs and so on",
        "sets",
    ),
    Setting("verify.exclude", "list", [], "globs of documents that `remit verify` leaves out", "sets"),
    Setting(
        "merge.threshold",
        "number",
        75,
        "keep findings whose score, combined or of one agent, is at least this",
        "lowers",
    ),
    Setting(
        "merge.policy",
        "text",
        "mean",
        "how the scores of agents that agree are combined: mean, max or floor",
        "sets",
        ("mean", "max", "floor"),
    ),
    Setting("merge.weights", "numbers", {}, "expertise: agent or agent/category = weight", "sets"),
    Setting("merge.categories", "table", {}, "categories of other tools' rules: rule or pattern = category", "sets"),
    Setting("paths.code", "list", [], "more globs of files that are code, whatever else they match", "adds"),
    Setting("paths.tests", "list", [], "more globs of tests", "adds"),
    Setting("paths.spec", "list", [], "more globs of specifications", "adds"),
    Setting("gate.limits", "numbers", {}, "how much an orchestrator may do itself: limit = number"),
    Setting("gate.agents", "table", {}, "the agent for each kind of work: role = agent"),
    Setting("gate.trivial_edits", "text", "delegate", "trivial edits of specifications: delegate or direct"),
    Setting("gate.exceptions", "tables", [], "exceptions to rules: rule, paths, reason and expires of each"),
    Setting("gate.others", "text", "claims", "reports of other subagents: claims (checked) or off"),
    Setting("gate.under_contract", "list", [], "subagents of a client whose reports are checked; empty: the team"),
)
_BY_KEY = {setting.key: setting for setting in SETTINGS}


class Value(NamedTuple):
    """An effective value and its source."""

    value: Any
    source: str


class Configuration:
    """The effective values of all settings, by key."""

    def __init__(
        self, values: Mapping[str, Value], notes: tuple[str, ...] = (), checkout_agents: str | None = None
    ) -> None:
        self.values = values
        #: What a file states that is not read, each in one line.
        self.notes = notes
        #: The folder of the checkout's own definitions, which are read after the plugins; None if it has none.
        self.checkout_agents = checkout_agents

    def __getitem__(self, key: str) -> Any:
        return self.values[key].value


def load(
    start: Path | None = None, environment: Mapping[str, str] | None = None, *, in_hook: bool = False
) -> Configuration:
    """Load the configuration for a folder. Raises ConfigurationError for what the person's own sources get wrong.

    What is not read is printed in one line each; with `in_hook`, it is only in `notes`, and so is an unknown key.
    """
    environment = os.environ if environment is None else environment
    start = (start or Path.cwd()).absolute()
    values = {setting.key: Value(setting.default, "default") for setting in SETTINGS}
    notes: list[str] = []
    named = [Path(file) for file in person_files(environment)]
    file = find_file(start)
    stated: dict[str, Value] = {}
    if file is not None and file.resolve() not in [person.resolve() for person in named]:
        stated = _of_checkout(file, notes, in_hook=in_hook)
        values |= {key: value for key, value in stated.items() if _BY_KEY[key].checkout != "adds"}
    for person in reversed(named):
        for key, value in _of_person(person, notes if in_hook else None).items():
            values[key] = _combined(_BY_KEY[key], value, values[key])
    for removed in names_of("settings"):
        if _variable_of(removed) in environment:
            _note_unknown(_variable_of(removed), removed, notes if in_hook else None)
    for setting in SETTINGS:
        name = _variable(setting, environment)
        if name is not None:
            value = Value(_from_variable(setting, name, environment[name]), name)
            values[setting.key] = _combined(setting, value, values[setting.key])
    values |= {key: _joined(values[key], value) for key, value in stated.items() if _BY_KEY[key].checkout == "adds"}
    agents = _project_agents(start)
    if not in_hook:
        for note in notes:
            _print_once(f"{file}", note)
    is_named = agents is None or agents in values["plugin_path"].value
    return Configuration(values, tuple(notes), None if is_named else agents)


@cache
def _print_once(_: str, note: str) -> None:
    sys.stderr.write(f"remit: {note}\n")


def _project_agents(start: Path) -> str | None:
    """Return the folder of the project's own subagents; None if it has none."""
    root = next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
    folders = (start, *start.parents[: len(start.parts) - len(root.parts)])
    return next((str(agents) for folder in folders if (agents := folder / ".claude/agents").is_dir()), None)


def _of_person(file: Path, notes: list[str] | None) -> dict[str, Value]:
    """Return the values in a file of the person."""
    values = {}
    for key, value in _flatten(_read(file), ""):
        if key not in _BY_KEY:
            _note_unknown(_place(file, key), key, notes)
            continue
        try:
            values[key] = Value(_from_file(_BY_KEY[key], value, file), str(file))
        except ConfigurationError as error:
            raise ConfigurationError(f"{_place(file, key)}: {error}") from None
    return values


def _note_unknown(place: str, key: str, notes: list[str] | None) -> None:
    """Raise ConfigurationError for an unknown key of the person's sources; with `notes`, it is one of them."""
    if notes is None:
        raise ConfigurationError(f"{place}: {_unknown(key)}")
    notes.append(f"{place}: {_unknown(key)}; it is not read")


def _of_checkout(file: Path, notes: list[str], *, in_hook: bool) -> dict[str, Value]:
    """Return the values that a checkout's file may set; the notes name all else in it."""
    values: dict[str, Value] = {}
    try:
        rows = list(_flatten(_read(file), ""))
    except ConfigurationError as error:
        notes.append(f"{error}; the file is not read")
        return values
    for key, value in rows:
        setting = _BY_KEY.get(key)
        try:
            if setting is None:
                raise ConfigurationError(_unknown(key))
            _may_set(setting, value, file, in_hook=in_hook)
            read = Value(_from_file(setting, value, file), str(file))
            _check_described(setting, value)
            values[key] = read
        except ConfigurationError as error:
            notes.append(f"{_place(file, key)} {error}")
    return values


def _may_set(setting: Setting, value: Any, file: Path, *, in_hook: bool) -> None:
    """Raise ConfigurationError if a checkout must not set this value."""
    own = f"use --config {file.name} or your own configuration"
    if setting.checkout == "no":
        raise ConfigurationError(f"{setting.key} is not read from a checkout; {own}")
    if setting.checkout == "lowers" and _is_number(value) and value > setting.default:
        raise ConfigurationError(f"{setting.key} of a checkout only counts below {setting.default}; {own}")
    if in_hook and setting.key == "profile" and value == "claims":
        raise ConfigurationError(f"profile of a checkout is never claims for a client; {own}")


def _check_described(setting: Setting, value: Any) -> None:
    """Raise ConfigurationError for a value of a checkout that does not exist, or a number below 0."""
    amounts = value.values() if setting.shape == "numbers" else [value] if setting.shape == "number" else []
    if any(amount < 0 for amount in amounts):
        raise ConfigurationError(f"{setting.key} must be at least 0, not {value!r}; it is not read")
    for name in value.values() if setting.shape == "table" else [value]:
        if setting.choices and name not in setting.choices:
            choices = ", ".join(setting.choices)
            raise ConfigurationError(f"{setting.key} must be one of {choices}, not {name!r}; it is not read")


def _unknown(key: str) -> str:
    if instead := instead_of("settings", key):
        return f"there is no setting {key!r} any more. {instead}"
    keys = sorted(_BY_KEY)
    return f"there is no setting {key!r}" + (did_you_mean(key, keys) or "; the keys are " + ", ".join(keys))


def _place(file: Path, key: str) -> str:
    """Return the file and the line in which a key is set, as far as the line is found."""
    line = _line_of(file, [*(["tool", "remit"] if file.name == "pyproject.toml" else []), *key.split(".")])
    return f"{file.name}:{line}" if line else file.name


def _line_of(file: Path, parts: list[str]) -> int:
    table: list[str] = []
    for number, text in enumerate(file.read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        header = _HEADER.match(text)
        name = header[1] if header else text.partition("=")[0] if "=" in text else ""
        path = [part.strip().strip("\"'") for part in name.split(".")] if name else []
        table = path if header else table
        found = path if header else [*table, *path]
        if path and found[: len(parts)] == parts:
            return number
    return 0


def _variable(setting: Setting, environment: Mapping[str, str]) -> str | None:
    """Return the variable that sets a setting. GBRAIN_PLUGIN_PATH is an alias of the plugin path."""
    names = [setting.variable, *(["GBRAIN_PLUGIN_PATH"] if setting.key == "plugin_path" else [])]
    return next((name for name in names if name in environment), None)


def _combined(setting: Setting, value: Value, rest: Value) -> Value:
    """Return a value over that of a source further right: paths are joined, all else is replaced."""
    return _joined(value, rest) if setting.shape == "paths" else value


def _joined(first: Value, rest: Value) -> Value:
    if not rest.value or not first.value:
        return first if first.value else rest
    return Value([*first.value, *rest.value], f"{first.source}, {rest.source}")


def _from_file(setting: Setting, value: Any, file: Path) -> Any:
    if wrong := _wrong(setting, value):
        raise ConfigurationError(f"{setting.key} {wrong}")
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


def _flatten(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a file with their values; a key without a setting is yielded, too."""
    for word, value in table.items():
        key = prefix + word
        if key not in _BY_KEY and isinstance(value, dict) and any(known.startswith(f"{key}.") for known in _names()):
            yield from _flatten(value, f"{key}.")
        else:
            yield key, value


@cache
def _names() -> tuple[str, ...]:
    """Return the keys, and those that were removed."""
    return (*_BY_KEY, *names_of("settings"))


def _wrong(setting: Setting, value: Any) -> str:
    """Return what is wrong with the form of a value, or an empty text."""
    fits, description = _SHAPES[setting.shape]
    return "" if fits(value) else f"must be {description} ({setting.meaning}), not {value!r}"


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
    "tables": (
        lambda value: isinstance(value, list) and all(isinstance(w, dict) for w in value),
        "a list of tables",
    ),
}


def _from_variable(setting: Setting, name: str, text: str) -> Any:
    if setting.shape == "text":
        return text
    if setting.shape == "paths":
        return split_path(text)
    if setting.shape == "list":
        return [word.strip() for word in _COMMA.split(text) if word.strip()]
    try:
        value = float(text) if setting.shape == "number" else parse_toml(f"value = {text}")["value"]
    except ValueError:
        value = text
    if wrong := _wrong(setting, value):
        raise ConfigurationError(f"{name} {wrong}")
    return value


def split_path(text: str) -> list[str]:
    """Split folders that are separated as in PATH. A URL is kept in one piece, so that the error message shows it."""
    return [entry.strip() for entry in re.split(re.escape(os.pathsep) + "(?!//)", text) if entry.strip()]
