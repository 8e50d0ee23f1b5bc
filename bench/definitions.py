"""The cost of loading definitions and of resolving a job."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path

import yaml
from measure import Bench, ratio, seconds

from remit.configuration import load
from remit.registry.definition import JobRequest
from remit.registry.lookup import load_registry
from remit.registry.plugins import built_in_team
from remit.registry.resolution import allow_list, configured_defaults, resolve_request
from remit.registry.tools import OFFERED, AllowList

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FIELDS = """\
name: agent-{number}
description: Reviews part {number} of the project, with what it depends on, and reports what is wrong there.
tools: Read, Grep, Glob, LS, Bash(git log:*)
model: sonnet
max_turns: {turns}
color: blue
skills: [reading, asking, writing]
"""


@cache
def _plugin(count: int) -> Path:
    """Return a plugin with this number of definitions, with bodies as long as the built-in team's."""
    held = tempfile.TemporaryDirectory(prefix="remit-bench-")
    atexit.register(held.cleanup)
    body = next(iter(built_in_team().definitions)).body
    for number in range(count):
        head = _FIELDS.format(number=number, turns=10 + number % 40)
        (Path(held.name) / f"agent-{number}.md").write_text(f"---\n{head}---\n\n{body}\n", encoding="utf-8")
    return Path(held.name)


def _load(count: int) -> int:
    return len(list(load_registry([str(_plugin(count))], AllowList(OFFERED), with_team=False)))


def _read_and_parse(count: int) -> int:
    """The baseline: each file's bytes, and its YAML constructed by the library."""
    found = 0
    for file in sorted(_plugin(count).glob("*.md")):
        head = file.read_bytes().decode().split("---\n", 2)[1]
        found += len(yaml.load(head, Loader=_LOADER))
    return found


def _resolving() -> float:
    """Microseconds for one job of a built-in agent."""
    registry = load_registry([], AllowList(OFFERED))
    configured = load()
    allowed, defaults = allow_list(configured, None), configured_defaults(configured)
    request = JobRequest(prompt="look", subagent_def="security-auditor")

    def work() -> object:
        return resolve_request(request, registry, policy="open", allowed=allowed, defaults=defaults)

    return seconds(work) * 1e6


def benches() -> list[Bench]:
    """What is measured here."""
    return [
        Bench(
            "loading 1,000 definitions",
            "reading them and parsing their YAML",
            "x",
            2,
            lambda: ratio(lambda: _load(1000), lambda: _read_and_parse(1000), repeats=5),
        ),
        Bench(
            "loading 1,000 definitions",
            "loading 100 of them",
            "x",
            12,
            lambda: seconds(lambda: _load(1000), 3) / seconds(lambda: _load(100), 3),
        ),
        Bench("resolving a job", "the clock", "µs", None, _resolving),
    ]
