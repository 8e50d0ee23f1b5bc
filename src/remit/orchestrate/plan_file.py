"""Read a plan from TOML or YAML, and check it. Errors name the line."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import yaml

from remit.checking import Options
from remit.configuration import parse_toml
from remit.errors import UsageError, did_you_mean
from remit.orchestrate.plan import MAX_DELEGATIONS, MAX_PHASES, DelegationSpec, PhaseSpec, Plan, delegation_names
from remit.registry.frontmatter import MalformedYaml, read_document
from remit.registry.lookup import Registry

MAX_FILE = 4 * 1024 * 1024
_FIELDS = frozenset((*Plan.__struct_fields__, "phase"))
_NUMBERS = {"threshold", "parallel", "max_turns", "timeout", "max_tokens", "max_cost"}
_SWITCHES = {"critical", "loads_context", "merges_inputs"}
#: The position of a value: `("phases", 1, "delegations", 0, "task")`.
ValuePath = tuple[str | int, ...]
_Problem = tuple[ValuePath, str]
#: A file may use the singular, which is common for arrays of tables in TOML, or the plural.
PLURALS = {"phase": "phases", "delegation": "delegations"}
_HEADER = re.compile(r"\s*(\[\[?)\s*([\w. -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*\"?([\w-]+)\"?\s*=")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_TABLES: dict[str, type[msgspec.Struct]] = {"a plan": Plan, "a phase": PhaseSpec, "a delegation": DelegationSpec}
#: Errors of msgspec, and its types in the words of a plan file.
_LAST_FIELD = r" - at `\$\.?(?:.*\.)?(?P<field>\w+)(?:\[.*\])?`$"
_WRONG_TYPE = re.compile(r"Expected `(?P<expected>[^`]+)`, got `(?P<received>[^`]+)`" + _LAST_FIELD)
_NO_CHOICE = re.compile(r"Invalid enum value (?P<value>.+?)" + _LAST_FIELD)
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_TYPE_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


class PlanLines:
    """Finds the line of a value in a plan file."""

    def __init__(self, text: str = "", *, is_yaml: bool = False) -> None:
        self._text = text
        self._is_yaml = is_yaml

    def line(self, *path: str | int) -> str:
        """Return `, line 12` for a value or the closest value that contains it; empty if there is no file."""
        if not self._text:
            return ""
        lines = dict(_yaml_lines(self._text) if self._is_yaml else _toml_lines(self._text))
        while path and path not in lines:
            path = path[:-1]
        return f", line {lines[path]}" if path else ""

    def of_error(self, error_text: str) -> str:
        """Return the line that an error of msgspec refers to."""
        _, _, location = error_text.partition(" - at `$")
        path: list[str | int] = [name or int(number) for name, number in _STEP.findall(location)]
        unknown = re.search(r"unknown field `([\w-]+)`", error_text)
        return self.line(*path, *([unknown[1]] if unknown else []))


_NO_LINES = PlanLines()
#: Deeper values of a plan are an error anyway.
_MAX_DEPTH = 50


def read_plan(file: Path, registry: Registry | None = None, unknown: list[str] | None = None) -> Plan:
    """Read a plan from a file. Raise UsageError with the line if it is invalid.

    An agent that is not in `registry` is an error too, unless the caller passes a list for these messages: a worker
    may know it.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    if len(data) > MAX_FILE:
        raise UsageError(f"{file}: larger than {MAX_FILE >> 20} MiB")
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    is_yaml = file.suffix.lower() in (".yaml", ".yml")
    document = _from_yaml(text, file) if is_yaml else _from_toml(text, file)
    lines = PlanLines(text, is_yaml=is_yaml)
    try:
        plan = msgspec.convert(_plural(document), Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}{lines.of_error(str(error))}: {_problem_text(str(error))}") from error
    check_plan(plan, str(file), lines, registry if unknown is None else None)
    if registry is not None and unknown is not None:
        for number, phase in enumerate(plan.phases):
            problems = _unknown_agents(phase, registry)
            unknown += [f"{file}{lines.line('phases', number, *path)}: {text}" for path, text in problems]
    return plan


def _from_toml(text: str, file: Path) -> Any:
    try:
        return parse_toml(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: not valid TOML: {error}") from error


def _from_yaml(text: str, file: Path) -> Any:
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[first].rstrip() == "---":
        lines[first] = ""
    head = "\n".join(lines).rstrip()
    try:
        document = read_document(f"---\n{head}\n---\n", _FIELDS)
    except MalformedYaml as error:  # it counts the line that was added before the file's first line
        error_text = re.sub(r"\bline (\d+)", lambda match: f"line {int(match[1]) - 1}", str(error))
        raise UsageError(f"{file}: {error_text}") from error
    if document is None or document.body:
        raise UsageError(f"{file}: more than one YAML document; keep one")
    return _typed({name: field.value for name, field in document.fields.items()})


def _typed(value: Any, name: str = "") -> Any:
    """Convert YAML values, which are all text, to the types of their fields."""
    if isinstance(value, dict):
        return {key: _typed(inner, key) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_typed(item, name) for item in value]
    if name in _NUMBERS and isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value) if "." in value else int(value)
    if name in _SWITCHES and value in ("true", "false"):
        return value == "true"
    return value


def _plural(document: dict[str, Any]) -> Any:
    plan = {PLURALS.get(key, key): value for key, value in document.items()}
    if isinstance(phases := plan.get("phases"), list):
        plan["phases"] = [
            {PLURALS.get(key, key): value for key, value in phase.items()} if isinstance(phase, dict) else phase
            for phase in phases
        ]
    return plan


def _problem_text(error_text: str) -> str:
    """Return an error of msgspec in the words of a plan file."""
    match = _WRONG_TYPE.match(error_text)
    if match:
        expected = [_TYPE_WORDS.get(name, name) for name in match["expected"].split(" | ") if name != "null"]
        received = _TYPE_WORDS.get(match["received"], match["received"])
        return f"{match['field']!r} must be {' or '.join(expected)}, not {received}"
    if missing := _MISSING.match(error_text):
        return f"{_table_of(error_text)} needs {missing[1]!r}"
    if choice := _NO_CHOICE.match(error_text):
        fields = msgspec.structs.fields(_TABLES[_table_of(error_text)])
        kinds = [kind for field in fields if field.name == choice["field"] for kind in get_args(field.type)]
        values = ", ".join(str(value) for kind in kinds for value in get_args(kind))
        return f"{choice['field']!r} cannot be {choice['value']}; choose from {values}"
    unknown = re.search(r"unknown field `([\w-]+)`", error_text)
    return _unknown_field(unknown[1], _table_of(error_text)) if unknown else error_text


def _table_of(error_text: str) -> str:
    """Return which table of a plan an error of msgspec refers to."""
    return "a delegation" if ".delegations[" in error_text else "a phase" if ".phases[" in error_text else "a plan"


def _unknown_field(name: str, table: str) -> str:
    """Return an error with the field that is meant, or with the tables that have the field."""
    problem = f"{table} has no field {name!r}"
    owners = [owner for owner, fields in _TABLES.items() if name in fields.__struct_fields__]
    if owners:
        return f"{problem}; it is a field of {' and of '.join(owners)}"
    every = {field for kind in _TABLES.values() for field in kind.__struct_fields__}
    return problem + (did_you_mean(name, _TABLES[table].__struct_fields__) or did_you_mean(name, every))


def check_plan(plan: Plan, name: str, lines: PlanLines = _NO_LINES, registry: Registry | None = None) -> None:
    """Raise UsageError for a plan that can only fail: no phase, a repeated name, an unknown input, a shared file."""
    problem = next(_problems(plan, registry), None)
    if problem is not None:
        path, text = problem
        raise UsageError(f"{name}{lines.line(*path)}: {text}")
    delegations = (delegation for phase in plan.phases for delegation in phase.delegations)
    for profile in dict.fromkeys((plan.profile, *(delegation.profile for delegation in delegations))):
        Options(profile=profile or "v2").validated()


def _problems(plan: Plan, registry: Registry | None) -> Iterator[_Problem]:
    if not plan.phases:
        yield (), "the plan has no phase"
    for field in ("max_tokens", "max_cost"):
        value = getattr(plan, field)
        if value is not None and value <= 0:
            yield (field,), _not_positive(field, value)
    total = 0
    earlier: list[str] = []
    for number, phase in enumerate(plan.phases):
        total += len(phase.delegations)
        if number >= MAX_PHASES or total > MAX_DELEGATIONS:
            yield (
                ("phases", number),
                f"more than {MAX_PHASES} phases or {MAX_DELEGATIONS} delegations: split the plan",
            )
        for path, text in _phase_problems(phase, earlier):
            yield ("phases", number, *path), text
        if registry is not None:
            for path, text in _unknown_agents(phase, registry):
                yield ("phases", number, *path), text
        earlier.append(phase.name)


def _phase_problems(phase: PhaseSpec, earlier: list[str]) -> Iterator[_Problem]:
    if not phase.name.strip() or phase.name in earlier:
        yield ("name",), f"every phase needs a unique name, not {phase.name!r}"
    if not phase.delegations:
        yield (), f"the phase {phase.name!r} has no delegation"
    for name in phase.inputs:
        if name not in earlier:
            why = "itself" if name == phase.name else "a phase that does not come before it"
            yield ("inputs",), f"the phase {phase.name!r} takes input from {why}: {name!r}"
    if phase.timeout is not None and phase.timeout <= 0:
        yield ("timeout",), _not_positive("timeout", phase.timeout)
    if phase.parallel < 1:
        yield ("parallel",), f"parallel must be at least 1, not {phase.parallel}"
    if phase.threshold is not None and not 0 <= phase.threshold <= 100:
        yield ("threshold",), f"threshold must be from 0 to 100, not {phase.threshold:g}"
    for number, delegation in enumerate(phase.delegations):
        for field, text in _delegation_problems(delegation):
            yield ("delegations", number, field), f"{text} ({delegation.name or delegation.agent!r} in {phase.name!r})"
    yield from _shared_writes(phase)


def _not_positive(field: str, value: float) -> str:
    return f"{field} must be greater than 0, not {value:g}"


def _delegation_problems(spec: DelegationSpec) -> Iterator[tuple[str, str]]:
    if not spec.agent.strip():
        yield "agent", "a delegation needs an agent"
    if not spec.task.strip():
        yield "task", "a delegation needs a task"
    for field in ("max_turns", "timeout", "max_tokens", "max_cost"):
        value = getattr(spec, field)
        if value is not None and value <= 0:
            yield field, _not_positive(field, value)
    if spec.contract is not None and spec.profile is not None:
        yield "profile", "the contract of a delegation is its profile: leave out one of them"


def _shared_writes(phase: PhaseSpec) -> Iterator[_Problem]:
    """Yield delegations that would write the same file, or a file in a folder of another one."""
    writers: dict[str, str] = {}
    inside: defaultdict[str, set[str]] = defaultdict(set)
    for number, (name, delegation) in enumerate(zip(delegation_names(phase), phase.delegations, strict=True)):
        for written in delegation.writes:
            path = posixpath.normpath(written.strip() or ".")
            above = _folders(path)
            others = {writers[each] for each in (path, *above) if each in writers} | inside[path]
            for other in sorted(others - {name})[:1]:
                yield ("delegations", number, "writes"), f"{other!r} and {name!r} would both write {written!r}"
            writers[path] = name
            for each in above:
                inside[each].add(name)


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return [] if path == "." else [".", *("/".join(parts[:end]) for end in range(1, len(parts)))]


def _unknown_agents(phase: PhaseSpec, registry: Registry) -> Iterator[_Problem]:
    for number, delegation in enumerate(phase.delegations):
        if delegation.runner in (None, "model") and registry.get(delegation.agent) is None:
            why = registry.why_missing(delegation.agent)
            yield ("delegations", number, "agent"), f"there is no definition {delegation.agent!r}{why}"


def _toml_lines(text: str) -> Iterator[tuple[ValuePath, int]]:
    """Yield the path and the line of each table and key in a TOML file."""
    base: ValuePath = ()
    counts: dict[ValuePath, int] = {}
    quote = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not quote and (header := _HEADER.match(line)):
            base = _header_path(header[2].split("."), counts, is_item=header[1] == "[[")
            yield base, number
        elif not quote and (key := _KEY.match(line)):
            yield (*base, PLURALS.get(key[1], key[1])), number
        for mark in re.findall(r"\"\"\"|'''", line):  # a multi-line string has no keys
            quote = "" if mark == quote else quote or mark


def _header_path(names: list[str], counts: dict[ValuePath, int], *, is_item: bool) -> ValuePath:
    path: ValuePath = ()
    for level, name in enumerate(names):
        path = (*path, PLURALS.get(name.strip(), name.strip()))
        if is_item and level == len(names) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _yaml_lines(text: str) -> Iterator[tuple[ValuePath, int]]:
    """Yield the path and the line of each key and item in a YAML file; nothing for text that is not quite YAML."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    yield from _node_lines(node, (), set())


def _node_lines(node: Any, path: ValuePath, visited: set[int]) -> Iterator[tuple[ValuePath, int]]:
    """Yield the lines below a node. Each node counts once: an alias may lead back to it."""
    if id(node) in visited or len(path) > _MAX_DEPTH:
        return
    visited.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = key.value if isinstance(key.value, str) else ""
            inner = (*path, PLURALS.get(name, name))
            yield inner, key.start_mark.line + 1
            yield from _node_lines(value, inner, visited)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield (*path, index), item.start_mark.line + 1
            yield from _node_lines(item, (*path, index), visited)
