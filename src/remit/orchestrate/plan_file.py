"""A plan from TOML or YAML, refused with the line where something is wrong with it."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from remit.checking import Options
from remit.errors import UsageError, did_you_mean
from remit.orchestrate.plan import MAX_DELEGATIONS, MAX_PHASES, DelegationSpec, PhaseSpec, Plan, delegation_names
from remit.registry.lookup import Registry

MAX_FILE = 4 * 1024 * 1024
_FIELDS = frozenset((*Plan.__struct_fields__, "phase"))
_NUMBERS = {"threshold", "parallel", "max_turns", "timeout", "max_tokens", "max_cost"}
_SWITCHES = {"critical", "loads_context", "merges_inputs"}
_Fault = tuple[tuple[str | int, ...], str]
#: Where a value is: `("phases", 1, "delegations", 0, "task")`.
Place = tuple[str | int, ...]
#: In files, one phase is `phase`, one delegation `delegation`, as TOML likes it; the plural is fine too.
PLURALS = {"phase": "phases", "delegation": "delegations"}
_HEADER = re.compile(r"\s*(\[\[?)\s*([\w. -]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*\"?([\w-]+)\"?\s*=")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class PlanLines:
    """The lines of a plan file, by what stands there."""

    def __init__(self, text: str = "", *, is_yaml: bool = False) -> None:
        self._text = text
        self._is_yaml = is_yaml

    def line(self, *place: str | int) -> str:
        """`, line 12` for a place, or for what it is a part of; nothing if there is no file."""
        if not self._text:
            return ""
        known = dict(_yaml_lines(self._text) if self._is_yaml else _toml_lines(self._text))
        while place and place not in known:
            place = place[:-1]
        return f", line {known[place]}" if place else ""

    def of_error(self, said: str) -> str:
        """The line that an error of msgspec's speaks of."""
        _, _, path = said.partition(" - at `$")
        place: list[str | int] = [name or int(number) for name, number in _STEP.findall(path)]
        unknown = re.search(r"unknown field `([\w-]+)`", said)
        return self.line(*place, *([unknown[1]] if unknown else []))


_NOWHERE = PlanLines()


def read_plan(file: Path, registry: Registry | None = None) -> Plan:
    """The plan in a file; a UsageError with the line if it is not one."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    if len(data) > MAX_FILE:
        raise UsageError(f"{file}: larger than {MAX_FILE >> 20} MiB")
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    is_yaml = file.suffix.lower() in (".yaml", ".yml")
    found = _from_yaml(text, file) if is_yaml else _from_toml(text, file)
    places = PlanLines(text, is_yaml=is_yaml)
    try:
        plan = msgspec.convert(_plural(found), Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}{places.of_error(str(error))}: {_said(str(error))}") from error
    check_plan(plan, str(file), places, registry)
    return plan


def _from_toml(text: str, file: Path) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{file}: {error}") from error


def _from_yaml(text: str, file: Path) -> Any:
    from remit.registry.frontmatter import MalformedYaml, read_document

    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[first].rstrip() == "---":
        lines[first] = ""
    head = "\n".join(lines).rstrip()
    try:
        document = read_document(f"---\n{head}\n---\n", _FIELDS)
    except MalformedYaml as error:  # it counts the line put before the file's own
        said = re.sub(r"\bline (\d+)", lambda found: f"line {int(found[1]) - 1}", str(error))
        raise UsageError(f"{file}: {said}") from error
    if document is None or document.body:
        raise UsageError(f"{file}: more than one YAML document: keep one")
    return _typed({name: field.value for name, field in document.fields.items()})


def _typed(value: Any, name: str = "") -> Any:
    """YAML values, which are all text, as what their fields hold."""
    if isinstance(value, dict):
        return {key: _typed(one, key) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_typed(one, name) for one in value]
    if name in _NUMBERS and isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value) if "." in value else int(value)
    if name in _SWITCHES and value in ("true", "false"):
        return value == "true"
    return value


def _plural(found: dict[str, Any]) -> Any:
    plan = {PLURALS.get(key, key): value for key, value in found.items()}
    if isinstance(phases := plan.get("phases"), list):
        plan["phases"] = [
            {PLURALS.get(key, key): value for key, value in phase.items()} if isinstance(phase, dict) else phase
            for phase in phases
        ]
    return plan


def _said(error: str) -> str:
    unknown = re.search(r"unknown field `(\w+)`", error)
    fields = {*Plan.__struct_fields__, *PhaseSpec.__struct_fields__, *DelegationSpec.__struct_fields__}
    return error + did_you_mean(unknown[1], fields) if unknown else error


def check_plan(plan: Plan, name: str, places: PlanLines = _NOWHERE, registry: Registry | None = None) -> None:
    """Refuse a plan that could only fail: no phases, names twice, inputs from nowhere, writers on one file."""
    faults = _faults(plan, registry)
    fault = next(faults, None)
    if fault is not None:
        place, words = fault
        raise UsageError(f"{name}{places.line(*place)}: {words}")
    Options(profile=plan.profile or "v2").validated()


def _faults(plan: Plan, registry: Registry | None) -> Iterator[_Fault]:
    if not plan.phases:
        yield (), "the plan has no phase"
    for field in ("max_tokens", "max_cost"):
        value = getattr(plan, field)
        if value is not None and value <= 0:
            yield (field,), f"{field} has to be more than {value:g}"
    total = 0
    earlier: list[str] = []
    for at, phase in enumerate(plan.phases):
        total += len(phase.delegations)
        if at >= MAX_PHASES or total > MAX_DELEGATIONS:
            yield (
                ("phases", at),
                f"more than {MAX_PHASES} phases or {MAX_DELEGATIONS} delegations: split the plan",
            )
        for place, words in _phase_faults(phase, earlier):
            yield ("phases", at, *place), words
        if registry is not None:
            for place, words in _unknown_agents(phase, registry):
                yield ("phases", at, *place), words
        earlier.append(phase.name)


def _phase_faults(phase: PhaseSpec, earlier: list[str]) -> Iterator[_Fault]:
    if not phase.name.strip() or phase.name in earlier:
        yield ("name",), f"every phase needs a name of its own, not {phase.name!r}"
    if not phase.delegations:
        yield (), f"the phase {phase.name!r} has no delegation"
    for wanted in phase.inputs:
        if wanted not in earlier:
            why = "itself" if wanted == phase.name else "a phase that does not come before it"
            yield ("inputs",), f"the phase {phase.name!r} takes input from {why}: {wanted!r}"
    if phase.timeout is not None and phase.timeout <= 0:
        yield ("timeout",), f"timeout has to be more than {phase.timeout:g}"
    if phase.parallel < 1:
        yield ("parallel",), f"at least one delegation has to run at a time, not {phase.parallel}"
    if not 0 <= phase.threshold <= 100:
        yield ("threshold",), f"the threshold is a confidence from 0 to 100, not {phase.threshold:g}"
    for at, one in enumerate(phase.delegations):
        for field, words in _delegation_faults(one):
            yield ("delegations", at, field), f"{words} ({one.name or one.agent!r} in {phase.name!r})"
    yield from _shared_writes(phase)


def _delegation_faults(one: DelegationSpec) -> Iterator[tuple[str, str]]:
    if not one.agent.strip():
        yield "agent", "a delegation needs an agent"
    if not one.task.strip():
        yield "task", "a delegation needs a task"
    for field in ("max_turns", "timeout", "max_tokens", "max_cost"):
        value = getattr(one, field)
        if value is not None and value <= 0:
            yield field, f"{field} has to be more than {value:g}"


def _shared_writes(phase: PhaseSpec) -> Iterator[_Fault]:
    """Two that would write the same file, or one in a folder of the other's."""
    writers: dict[str, str] = {}
    inside: defaultdict[str, set[str]] = defaultdict(set)
    for at, (own, one) in enumerate(zip(delegation_names(phase), phase.delegations, strict=True)):
        for written in one.writes:
            path = posixpath.normpath(written.strip() or ".")
            above = _folders(path)
            others = {writers[each] for each in (path, *above) if each in writers} | inside[path]
            for other in sorted(others - {own})[:1]:
                yield ("delegations", at, "writes"), f"{other!r} and {own!r} would both write {written!r}"
            writers[path] = own
            for each in above:
                inside[each].add(own)


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return [] if path == "." else [".", *("/".join(parts[:end]) for end in range(1, len(parts)))]


def _unknown_agents(phase: PhaseSpec, registry: Registry) -> Iterator[_Fault]:
    for at, one in enumerate(phase.delegations):
        if one.runner in (None, "model") and registry.get(one.agent) is None:
            why = registry.why_missing(one.agent)
            yield ("delegations", at, "agent"), f"there is no definition {one.agent!r}{why}"


def _toml_lines(text: str) -> Iterator[tuple[Place, int]]:
    base: Place = ()
    counts: dict[Place, int] = {}
    quote = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not quote and (header := _HEADER.match(line)):
            base = _header_place(header[2].split("."), counts, is_item=header[1] == "[[")
            yield base, number
        elif not quote and (key := _KEY.match(line)):
            yield (*base, PLURALS.get(key[1], key[1])), number
        for mark in re.findall(r"\"\"\"|'''", line):  # inside them nothing is a key
            quote = "" if mark == quote else quote or mark


def _header_place(words: list[str], counts: dict[Place, int], *, is_item: bool) -> Place:
    place: Place = ()
    for at, word in enumerate(words):
        place = (*place, PLURALS.get(word.strip(), word.strip()))
        if is_item and at == len(words) - 1:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def _yaml_lines(text: str) -> Iterator[tuple[Place, int]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    yield from _node_lines(yaml.compose(text, Loader=loader), ())


def _node_lines(node: Any, place: Place) -> Iterator[tuple[Place, int]]:
    import yaml

    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, PLURALS.get(key.value, key.value))
            yield inner, key.start_mark.line + 1
            yield from _node_lines(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for at, item in enumerate(node.value):
            yield (*place, at), item.start_mark.line + 1
            yield from _node_lines(item, (*place, at))
