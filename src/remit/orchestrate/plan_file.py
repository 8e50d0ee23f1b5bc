"""A plan from TOML or YAML, refused with the line where something is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from remit.errors import UsageError, did_you_mean
from remit.orchestrate.model import MAX_DELEGATIONS, MAX_PHASES, DelegationSpec, PhaseSpec, Plan, delegation_names
from remit.registry.lookup import Registry

MAX_FILE = 4 * 1024 * 1024
#: In files, one phase is `phase`, one delegation `delegation`, as TOML likes it; the plural is fine too.
_PLURALS = {"phase": "phases", "delegation": "delegations"}


def read_plan(file: Path, registry: Registry | None = None) -> Plan:
    """The plan in a file; a UsageError with the line if it is not one."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    if len(data) > MAX_FILE:
        raise UsageError(f"{file}: larger than {MAX_FILE >> 20} MiB")
    text = data.decode("utf-8", "replace")
    found = _parsed(text, file)
    try:
        plan = msgspec.convert(_plural(found), Plan)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}{_place(text, str(error))}: {_said(str(error))}") from error
    check_plan(plan, str(file), text, registry)
    return plan


def _parsed(text: str, file: Path) -> Any:
    if file.suffix.lower() in (".yaml", ".yml"):
        from remit.registry.frontmatter import Malformed, read_document

        try:
            document = read_document(f"---\n{text.removeprefix('---').strip(chr(10))}\n---\n", _FIELDS)
        except Malformed as error:
            raise UsageError(f"{file}: {error}") from error
        return _typed({name: field.value for name, field in document.fields.items()}) if document else {}
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{file}: {error}") from error


_FIELDS = frozenset((*Plan.__struct_fields__, "phase"))
_NUMBERS = {"threshold", "parallel", "max_turns", "timeout", "max_tokens", "max_cost"}
_SWITCHES = {"critical", "loads_context", "merges_inputs"}


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


def _plural(value: Any) -> Any:
    if isinstance(value, dict):
        return {_PLURALS.get(key, key): _plural(one) for key, one in value.items()}
    return [_plural(one) for one in value] if isinstance(value, list) else value


def _said(error: str) -> str:
    unknown = re.search(r"unknown field `(\w+)`", error)
    fields = {*Plan.__struct_fields__, *PhaseSpec.__struct_fields__, *DelegationSpec.__struct_fields__}
    return error + did_you_mean(unknown[1], fields) if unknown else error


def _place(text: str, error: str) -> str:
    """`, line 12` for the field or the delegation that an error speaks of, as near as can be told."""
    unknown = re.search(r"unknown field `(\w+)`", error)
    if unknown:
        return _line(text, unknown[1])
    indices = [int(number) for number in re.findall(r"\[(\d+)\]", error)]
    marks = ("[[phase", "[[phase.delegation", "- name:", "- agent:")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line.strip().startswith(marks)]
    wanted = sum(indices) if indices else 0
    return f", line {lines[wanted]}" if indices and wanted < len(lines) else ""


def _line(text: str, word: str) -> str:
    for number, line in enumerate(text.split("\n"), 1):
        if word in line:
            return f", line {number}"
    return ""


def check_plan(plan: Plan, name: str, text: str = "", registry: Registry | None = None) -> None:
    """Refuse a plan that could only fail: no phases, names twice, inputs from nowhere, writers on one file."""
    delegations = sum(len(phase.delegations) for phase in plan.phases)
    if not plan.phases:
        raise UsageError(f"{name}: the plan has no phase")
    if len(plan.phases) > MAX_PHASES or delegations > MAX_DELEGATIONS:
        raise UsageError(
            f"{name}: {len(plan.phases)} phases with {delegations} delegations; "
            f"at most {MAX_PHASES} and {MAX_DELEGATIONS}: split the plan"
        )
    earlier: list[str] = []
    for phase in plan.phases:
        _check_phase(phase, earlier, name, text)
        if registry is not None:
            _check_agents(phase.delegations, registry, name, text)
        earlier.append(phase.name)


def _check_phase(phase: PhaseSpec, earlier: list[str], name: str, text: str) -> None:
    here = _line(text, phase.name) if text else ""
    if not phase.name.strip() or phase.name in earlier:
        raise UsageError(f"{name}{here}: every phase needs a name of its own, not {phase.name!r}")
    if not phase.delegations:
        raise UsageError(f"{name}{here}: the phase {phase.name!r} has no delegation")
    for wanted in phase.inputs:
        if wanted not in earlier:
            why = "itself" if wanted == phase.name else "a phase that does not come before it"
            raise UsageError(f"{name}{here}: the phase {phase.name!r} takes input from {why}: {wanted!r}")
    writers: dict[str, str] = {}
    for own, one in zip(delegation_names(phase), phase.delegations, strict=True):
        if not one.task.strip():
            raise UsageError(f"{name}{here}: {own!r} in {phase.name!r} has no task")
        for path in one.writes:
            first = writers.setdefault(path.rstrip("/").removeprefix("./"), own)
            if first != own:
                line = _line(text, path) if text else ""
                raise UsageError(f"{name}{line}: {first!r} and {own!r} would both write {path!r} in {phase.name!r}")


def _check_agents(delegations: Iterable[DelegationSpec], registry: Registry, name: str, text: str) -> None:
    for one in delegations:
        if one.runner in (None, "model") and registry.get(one.agent) is None:
            line = _line(text, one.agent) if text else ""
            raise UsageError(f"{name}{line}: there is no definition {one.agent!r}{registry.why_missing(one.agent)}")
