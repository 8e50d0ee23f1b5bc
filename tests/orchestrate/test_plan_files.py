"""Plan files: TOML and YAML give the same plan, and an invalid plan is refused with its line."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from plan_building import agents, one, phase, plan

from remit.errors import UsageError
from remit.orchestrate.delegating import first_version_digest
from remit.orchestrate.plan import MAX_DELEGATIONS, DelegationSpec, delegation_names
from remit.orchestrate.plan_file import check_plan, read_plan

TOML = '''# who comes first
name = "Ship it"
profile = "v2"

[[phase]]
name = "look"
parallel = 2
threshold = 72.5
policy = "floor"

[[phase.delegation]]
agent = "scout"
task = """
Look around.
[[phase]] is no phase, task = 1 no task.
"""
critical = true
scope = ["src", "tests"]
timeout = 1.5
max_turns = 4

[[phase.delegation]]
agent = "scout"
task = "Look again"
loads_context = true
input_vars = {phase = "two", delegation = "x"}

[[phase]]
name = "write"
inputs = ["look"]
on_review = "ask"

[[phase.delegation]]
agent = "writer"
task = "Write it"
writes = ["docs/a.md"]
allowed_tools = ["Read", "Write"]
'''
YAML = """# who comes first
name: Ship it
profile: v2
phases:
  - name: look
    parallel: 2
    threshold: 72.5
    policy: floor
    delegations:
      - agent: scout
        task: |
          Look around.
          [[phase]] is no phase, task = 1 no task.
        critical: true
        scope: [src, tests]
        timeout: 1.5
        max_turns: 4
      - agent: scout
        task: Look again
        loads_context: true
        input_vars: {phase: two, delegation: x}
  - name: write
    inputs: [look]
    on_review: ask
    delegation:
      - agent: writer
        task: Write it
        writes:
          - docs/a.md
        allowed_tools: [Read, Write]
"""
TEAM = agents("scout", "writer")


def written(folder: Path, text: str, name: str = "plan.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        read_plan(path, TEAM)
    return str(refused.value).removeprefix(str(path))


def line_of(text: str, part: str, nth: int = 1) -> int:
    return [number for number, line in enumerate(text.split("\n"), 1) if part in line][nth - 1]


def test_toml_and_yaml_give_the_same_plan(tmp_path: Path) -> None:
    first = read_plan(written(tmp_path, TOML), TEAM)
    second = read_plan(written(tmp_path, YAML, "plan.yaml"), TEAM)
    assert first == second
    assert first.phases[0].delegations[1].input_vars == {"phase": "two", "delegation": "x"}
    assert first.phases[0].delegations[0].task.startswith("Look around.\n[[phase]] is")


@pytest.mark.parametrize("begin", ["---\n", "\n\n---\n", "\ufeff"])
def test_yaml_may_start_with_a_document_marker(tmp_path: Path, begin: str) -> None:
    assert read_plan(written(tmp_path, begin + YAML, "plan.yml"), TEAM).name == "Ship it"


def test_windows_line_endings_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(TOML.replace("\n", "\r\n").encode())
    assert read_plan(path, TEAM) == read_plan(written(tmp_path, TOML, "other.toml"), TEAM)


#: A change of the file and the expected error: (old, new, text of the line, words).
FAULTS: dict[str, tuple[str, str, str, str]] = {
    "input from itself": ('inputs = ["look"]', 'inputs = ["write"]', "inputs", "takes input from itself: 'write'"),
    "input from a later phase": (
        "parallel = 2",
        'inputs = ["write"]',
        "inputs",
        "takes input from a phase that does not come before it: 'write'",
    ),
    "input from nowhere": ('inputs = ["look"]', 'inputs = ["lok"]', "inputs", "does not come before it: 'lok'"),
    "unknown agent": ('agent = "writer"', 'agent = "writter"', "writter", "there is no definition 'writter'"),
    "unknown key of a delegation": ("max_turns = 4", "max_turn = 4", "max_turn =", "did you mean 'max_turns'?"),
    "unknown key of a phase": ("parallel = 2", "paralel = 2", "paralel", "did you mean 'parallel'?"),
    "unknown key of the plan": ('profile = "v2"', 'profil = "v2"', "profil =", "did you mean 'profile'?"),
    "a text for a number": (
        "max_turns = 4",
        'max_turns = "four"',
        "max_turns",
        "'max_turns' must be a whole number, not a text",
    ),
    "a number for a text": ('task = "Write it"', "task = 3", "task = 3", "'task' must be a text, not a whole number"),
    "a text for a list": ('inputs = ["look"]', 'inputs = "look"', "inputs", "'inputs' must be a list, not a text"),
    "a text for a switch": (
        "critical = true",
        'critical = "yes"',
        "critical",
        "'critical' must be true or false, not a text",
    ),
    "no such policy": (
        'policy = "floor"',
        'policy = "flor"',
        "policy",
        "'policy' cannot be 'flor'; choose from mean, max",
    ),
    "a phase twice": ('name = "write"', 'name = "look"', 'name = "look"', "a unique name, not 'look'"),
    "an empty task": ('task = "Write it"', 'task = "  "', 'task = "  "', "a delegation needs a task"),
    "nobody at a time": ("parallel = 2", "parallel = 0", "parallel", "parallel must be at least 1"),
    "an impossible threshold": ("threshold = 72.5", "threshold = 101", "threshold", "from 0 to 100, not 101"),
    "no time at all": ("timeout = 1.5", "timeout = 0", "timeout", "timeout must be greater than 0, not 0"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_invalid_plan_is_refused_with_the_line(tmp_path: Path, name: str) -> None:
    old, new, place, words = FAULTS[name]
    text = TOML.replace(old, new)
    said = refusal(written(tmp_path, text))
    nth = 2 if name == "a phase twice" else 1
    assert said.startswith(f", line {line_of(text, place, nth)}: "), said
    assert words in said


#: The same in YAML, where old and new differ.
YAML_FAULTS: dict[str, tuple[str, str, str, str]] = {
    "input from itself": ("inputs: [look]", "inputs: [write]", "inputs", "takes input from itself: 'write'"),
    "unknown agent": ("agent: writer", "agent: writter", "writter", "there is no definition 'writter'"),
    "unknown key": ("max_turns: 4", "max_turn: 4", "max_turn:", "did you mean 'max_turns'?"),
    "a text for a number": (
        "max_turns: 4",
        "max_turns: four",
        "max_turns",
        "'max_turns' must be a whole number, not a text",
    ),
    "a text for a switch": (
        "critical: true",
        "critical: yes",
        "critical",
        "'critical' must be true or false, not a text",
    ),
    "a list for a text": ("task: Write it", "task: [Write, it]", "task: [", "'task' must be a text, not a list"),
    "no task": ("        task: Write it\n", "", "agent: writer", "a delegation needs 'task'"),
}


@pytest.mark.parametrize("begin", ["", "---\n"])
@pytest.mark.parametrize("name", YAML_FAULTS)
def test_an_invalid_yaml_plan_is_refused_with_the_line(tmp_path: Path, name: str, begin: str) -> None:
    old, new, place, words = YAML_FAULTS[name]
    text = begin + YAML.replace(old, new)
    said = refusal(written(tmp_path, text, "plan.yaml"))
    assert said.startswith(f", line {line_of(text, place)}: "), said
    assert words in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: x\nphases: [a\n", "line 3"),
        ("name: x\nphases:\n  - *a\n", "line 3, column 5: YAML anchors and aliases"),
        ("name: x\nname: y\n", "line 2, column 1: 'name' occurs twice (also on line 1)"),
        ("name: x\nphases: []\n---\nname: y\n", "more than one YAML document"),
        ("- a\n- b\n", "line 1"),
    ],
)
@pytest.mark.parametrize("begin", ["", "---\n"])
def test_unreadable_yaml_is_refused_with_the_line(tmp_path: Path, text: str, words: str, begin: str) -> None:
    if begin:
        words = words.replace("line 3", "line 4").replace("line 2", "line 3").replace("line 1", "line 2")
    assert words in refusal(written(tmp_path, begin + text, "plan.yaml"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = \n", "(at line 1, column 8)"),
        ('name = "x"\nname = "y"\n', "(at line 2"),
        ('name = "x"\nphases = []\n', "the plan has no phase"),
        ('name = "x"\n[[phase]]\nname = "a"\ndelegations = []\n', "line 2: the phase 'a' has no delegation"),
        ("", "a plan needs 'name'"),
        ("[" * 5000, "plan.toml"),
    ],
)
def test_toml_that_is_not_a_plan_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        read_plan(path)
    assert words in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plan.toml", "plan.yaml"])
def test_ten_thousand_phases_are_refused_quickly_with_the_line(tmp_path: Path, name: str) -> None:
    if name.endswith("toml"):
        many = [
            f'[[phase]]\nname = "p{n}"\n[[phase.delegation]]\nagent = "scout"\ntask = "go"\n' for n in range(10_000)
        ]
        text, line = 'name = "x"\n' + "".join(many), 2 + 5 * 100
    else:
        each = "  - name: p{}\n    delegations: [{{agent: scout, task: go}}]\n"
        text, line = "name: x\nphases:\n" + "".join(each.format(n) for n in range(10_000)), 0
    begun = time.process_time()
    said = refusal(written(tmp_path, text, name))
    assert time.process_time() - begun < 5
    assert f"line {line}: more than 100 phases" in said if line else "more than 10000 values" in said


def test_a_file_that_is_too_large_or_missing_is_refused(tmp_path: Path) -> None:
    assert "larger than 4 MiB" in refusal(written(tmp_path, "#" * (4 * 1024 * 1024 + 1)))
    assert "No such file" in refusal(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("docs/a.md", "docs/a.md"),
        ("docs/a.md", "./docs/a.md"),
        ("docs/a.md", "docs//x/../a.md"),
        ("docs/", "docs/a.md"),
        ("docs/a.md", "docs"),
        (".", "docs/a.md"),
        ("docs/a.md", ""),
    ],
)
def test_two_parallel_writers_of_one_file_are_refused(tmp_path: Path, first: str, second: str) -> None:
    text = f"""name = "x"
[[phase]]
name = "write"
[[phase.delegation]]
agent = "scout"
task = "{second} is what it is about"
writes = ["other.md", {json.dumps(first)}]
[[phase.delegation]]
agent = "writer"
task = "go"
writes = [{json.dumps(second)}]
"""
    said = refusal(written(tmp_path, text))
    assert said == f", line 11: 'scout' and 'writer' would both write {second!r}"


def test_writers_of_different_files_or_in_different_phases_are_accepted() -> None:
    mine = one("a", writes=("docs/a.md", "docs/a.md"))
    check_plan(plan(phase("one", mine, one("b", writes=("docs/a.mdx", "doc"))), phase("two", mine)), "x")


def test_two_thousand_delegations_of_one_agent_get_unique_names_quickly() -> None:
    many = phase("all", *[one("scout")] * MAX_DELEGATIONS)
    begun = time.process_time()
    names = delegation_names(many)
    assert time.process_time() - begun < 1
    assert names[:3] == ["scout", "scout-2", "scout-3"]
    assert len(set(names)) == MAX_DELEGATIONS


def test_explicit_and_generated_names_do_not_collide() -> None:
    names = delegation_names(
        phase("all", one("a"), one("a"), DelegationSpec(agent="b", task="go", name="a-2"), one("a"))
    )
    assert len(set(names)) == 4


def test_an_unknown_profile_is_refused_before_anything_is_dispatched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="v9"):
        read_plan(written(tmp_path, TOML.replace('"v2"', '"v9"')), TEAM)


def test_a_plan_in_python_is_checked_alike() -> None:
    wrong: list[tuple[Any, str]] = [
        (plan(), "has no phase"),
        (plan(phase("a", one("x"), inputs=("a",))), "takes input from itself"),
        (plan(phase("a", one("x"), parallel=-1)), "parallel must be at least 1"),
        (plan(*[phase(f"p{n}", one("x")) for n in range(101)]), "more than 100 phases"),
    ]
    for spec, words in wrong:
        with pytest.raises(UsageError, match=words):
            check_plan(spec, "mine")


def test_a_plan_has_the_digest_that_version_0_1_0_stored_for_it(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        """name = "the plan"
max_tokens = 5000
[[phase]]
name = "audit"
critical = true
timeout = 30
threshold = 70
[[phase.delegation]]
agent = "code-explorer"
task = "look"
scope = ["a.py", "b.py"]
loads_context = true
[[phase]]
name = "fix"
inputs = ["audit"]
[[phase.delegation]]
agent = "qa-engineer"
task = "check"
model = "haiku"
input_vars = {a = 1}
""",
        encoding="utf-8",
    )
    found = read_plan(tmp_path / "plan.toml")
    recorded = "sha256:476115988a3799736f50258381dcb85272ef2019cb1113b0f250dcef55cd5290"
    assert first_version_digest(found) == recorded
    with_system = msgspec.structs.replace(found.phases[0].delegations[0], system="")
    newer = msgspec.structs.replace(found.phases[0], delegations=(with_system,))
    assert first_version_digest(msgspec.structs.replace(found, phases=(newer,))) is None


def test_the_example_plan_replaces_parts_of_definitions() -> None:
    look, decide = read_plan(Path(__file__).parents[2] / "examples/plans/release.toml").phases
    command, review = look.delegations
    assert (command.contract, command.allowed_tools, command.model) == ("none", ("Read",), "haiku")
    assert command.system is not None
    assert (review.profile, review.system) == ("v1", None)
    assert (decide.threshold, look.threshold, look.policy) == (70, None, None)
