"""Everything is documented, everything documented exists, and every link has a target."""

from __future__ import annotations

import json
import re
import sys
from statistics import fmean
from typing import get_args

import click
import msgspec
import pytest
from pages import ROOT, Page, all_pages, page

from remit.clients.transcripts import reading
from remit.configuration import SETTINGS, Setting
from remit.contract import feedback
from remit.contract.kinds import KINDS
from remit.contract.profiles import LEVELS, PROFILES
from remit.contract.tokens import estimate_tokens
from remit.dispatch.attempt import MAX_DEATHS, MAX_DEATHS_IN_TURN
from remit.dispatch.model_client import OUTPUT_TOKENS, PAUSES
from remit.dispatch.runners import PRESETS
from remit.dispatch.submit import MAX_CHILDREN, MAX_DEPTH
from remit.dispatch.tools.tool_types import ToolLimits
from remit.dispatch.tools.toolbox import TOOLS
from remit.evidence import find_files, similarity
from remit.evidence.model import OUTCOMES
from remit.failure_policy import FALLBACK_FILES, FALLBACK_LINES, STEPS, failure_warning
from remit.gate.declarations import KINDS as DECLARATIONS
from remit.gate.rule_texts import FIRM, RULES
from remit.gate.settings import AGENTS, GUARDED, LIMITS, MODES, PATHS
from remit.operations.jobs import ANSWERS
from remit.orchestrate import answers, orchestrator, phase, plan_file, progress_file
from remit.orchestrate.orchestrator_tools import TOOLS as RESPONSIBILITIES
from remit.orchestrate.plan import MAX_DELEGATIONS, MAX_PHASES, PARALLEL, DelegationSpec, PhaseSpec, Plan
from remit.orchestrate.plan_file import read_plan
from remit.registry import fields, frontmatter, plugin_root, plugins, resolution, tools
from remit.registry.definition import POLICIES, RUNNERS, Brief, JobRequest
from remit.registry.fields import SPELLINGS
from remit.registry.model_names import INHERIT, TABLE
from remit.registry.plugins import LAYOUTS
from remit.registry.tools import ALIASES, CATALOGUE, OFFERED
from remit.rules.base import Rule
from remit.rules.catalog import every_rule
from remit.store.jobs import Outcome, State
from remit.store.plans import DelegationState
from remit.surfaces.cli.group import COMMANDS, remit
from remit.workspace import files, history_git

sys.path.insert(0, str(ROOT / "tools"))
import generate_docs

#: Terms of the project. Each has one meaning and an entry in the glossary.
WORDS = (
    *("definition", "plugin", "registry", "brief", "job", "attempt", "result", "finding", "claim", "receipt"),
    *("evidence", "rule", "violation", "override", "verdict", "merge", "conflict", "gate", "decision"),
    *("exception", "delegation", "plan", "phase", "escalation", "orchestrator", "review"),
    *("failpoint", "failure policy", "heartbeat thread", "plan lease", "project context", "session state"),
)
PAGES = all_pages()


def command(name: str) -> click.Command:
    found = remit.get_command(click.Context(remit), name)
    assert found is not None
    return found


def test_generated_pages_are_up_to_date() -> None:
    assert generate_docs.generate() == generate_docs.generate(), "generating twice gives the same"
    assert generate_docs.differences() == [], "run `python3 dev.py docs`"


@pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.name)
def test_every_rule_has_its_section(rule: type[Rule]) -> None:
    text = page("docs/rules.md").section(f"### {rule.name}")
    assert rule.code in text
    assert rule.help in text


def all_commands() -> dict[str, click.Command]:
    """Return every command by its words, those of a group after it."""
    found = {}
    for name in COMMANDS:
        found[name] = own = command(name)
        context = click.Context(own)
        for sub in own.list_commands(context) if isinstance(own, click.Group) else ():
            found[f"{name} {sub}"] = own.get_command(context, sub)
    return found


def test_no_option_is_documented_that_does_not_exist() -> None:
    known = {option for own in all_commands().values() for parameter in own.params for option in parameter.opts}
    known |= {"--help", "--version", "--strict", "--check", "--jobs", "--long"}
    known |= {"--git", "--hard", "--isolated", "--output-format", "--port", "--stdio"}  # of other programs
    known |= {"--dbname", "--no-owner", "--no-privileges"}  # of PostgreSQL
    known |= {"--documents", "--src", "--tree"}  # of the benchmark
    known |= {"--bare", "--plugin-dir", "--pure", "--scope", "--trust-folder"}  # of clients
    for text in (one for one in PAGES if one.name.startswith("docs/") or one.name == "README.md"):
        written = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text.text))
        assert written <= known, f"{text.name}: {sorted(written - known)}"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_is_documented(setting: Setting) -> None:
    text = page("docs/configuration.md").text
    assert f"`{setting.key}`" in text
    if setting.variable is not None:
        assert f"`{setting.variable}`" in text


@pytest.mark.parametrize("word", WORDS)
def test_every_word_has_one_entry_in_the_glossary(word: str) -> None:
    entries = re.findall(rf"^\*\*{word}\*\*", page("docs/glossary.md").text, re.MULTILINE)
    assert len(entries) == 1, f"{word} has {len(entries)} entries"


def test_the_glossary_is_in_order() -> None:
    entries = re.findall(r"^\*\*([^*]+)\*\*", page("docs/glossary.md").text, re.MULTILINE)
    assert entries == sorted(entries)


def test_every_kind_profile_and_level_is_in_the_guide() -> None:
    guide = page("docs/guide.md")
    for kind in KINDS.values():
        row = next((line for line in guide.text.split("\n") if line.startswith(f"| `{kind.name}` |")), "")
        assert row, f"the table of kinds lacks {kind.name}"
        for word in (*kind.agents, *(block.name for block in kind.blocks)):
            assert word in row, f"{kind.name}: {word} is not documented"
        for group in kind.required_groups():
            assert all(f"**{block.name}**" in row for block in group), f"{kind.name}: {group} is not marked as required"
    for name in (*PROFILES, *LEVELS):
        assert re.search(rf"^\| `?{name}`? ", guide.text, re.MULTILINE), f"{name} has no row in the guide"


@pytest.mark.parametrize("one", PAGES, ids=lambda one: one.name)
def test_every_link_leads_somewhere(one: Page) -> None:
    for link in one.links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = ((ROOT / one.name).parent / path).resolve() if path else ROOT / one.name
        assert target.exists(), f"{one.name}: {link} leads nowhere"
        if anchor:
            assert anchor in page(target.relative_to(ROOT).as_posix()).anchors, f"{one.name}: {link} names no heading"


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_is_explained(outcome: str) -> None:
    section = page("docs/evidence.md").section("## Outcomes")
    first = [row.split("|")[1] for row in section.split("\n") if row.startswith("| `")]
    assert any(f"`{outcome}`" in cell for cell in first), f"{outcome} has no row in the table of outcomes"


@pytest.mark.parametrize("field", SPELLINGS)
def test_every_field_of_a_definition_is_documented_with_its_spellings(field: str) -> None:
    rows = page("docs/definitions.md").section("## Fields").split("\n")
    for spelling in SPELLINGS[field]:
        assert any(f"`{spelling}`" in row.split("|")[1] for row in rows if row.startswith("| `")), spelling


def test_every_tool_and_alias_is_documented() -> None:
    section = page("docs/definitions.md").section("## Tools")
    rows = {row.split("|")[1].strip(): row for row in section.split("\n") if row.startswith("| ")}
    assert re.findall(r"`([^`]+)`", rows["offered"]) == list(OFFERED)
    client = [name for name in CATALOGUE if name not in OFFERED]
    assert re.findall(r"`([^`]+)`", rows["known, not offered"]) == client
    for alias, name in ALIASES.items():
        assert f"`{alias}` is `{name}`" in rows["other names"], alias


def test_every_choice_of_a_definition_is_documented() -> None:
    text = page("docs/definitions.md").text
    for word in (*RUNNERS, *POLICIES, *TABLE, INHERIT, *(layout.file for layout in LAYOUTS)):
        assert f"`{word}`" in text, word


def test_every_field_of_a_job_and_of_a_brief_is_documented() -> None:
    definitions = page("docs/definitions.md")
    job, brief = definitions.section("## Resolution"), definitions.section("## The brief")
    assert [name for name in JobRequest.__struct_fields__ if f"`{name}`" not in job] == []
    assert [name for name in Brief.__struct_fields__ if f"`{name}`" not in brief] == []


@pytest.mark.parametrize(
    ("what", "limit"),
    [
        ("a file", f"{plugin_root.MAX_FILE >> 10} KiB"),
        ("definitions of one plugin", f"{plugins.MAX_DEFINITIONS:,}"),
        ("folders inside folders", f"{plugin_root.MAX_DEPTH}"),
        ("files and folders looked at", f"{plugin_root.MAX_ENTRIES:,}"),
        ("a name", f"{fields.MAX_NAME} characters"),
        ("tools in one list", f"{tools.MAX_TOOLS}"),
        ("a tool's name with its pattern", f"{tools.MAX_NAME} characters"),
        ("turns", f"{fields.MAX_TURNS:,}"),
        ("values in the frontmatter", f"{frontmatter.MAX_VALUES:,}"),
        ("values inside values", f"{frontmatter.MAX_DEPTH}"),
        ("fields of frontmatter that is read field by field", f"{frontmatter.MAX_REPAIRED:,}"),
        ("text put in for variables", f"{resolution.MAX_FILLED:,} characters"),
    ],
)
def test_limits_of_definitions_are_those_of_the_code(what: str, limit: str) -> None:
    assert f"| {what} | {limit} |" in page("docs/definitions.md").section("## Limits")


def megabytes(number: int) -> str:
    return f"{number >> 20} MB"


@pytest.mark.parametrize(
    ("what", "limits"),
    [
        ("a file that is read", [megabytes(files.MAX_FILE)]),
        ("text kept in memory", [megabytes(files.MAX_CACHE)]),
        ("files listed for suggestions", [f"{files.MAX_LISTED:,}"]),
        ("misspelt names compared with all others", [f"{find_files.MAX_GUESSES} for each result"]),
        ("history", [f"{history_git.MAX_COMMITS:,} commits"]),
        ("comparing by similarity", [f"{similarity.MAX_TEXT:,} characters"]),
        ("a line of a transcript", [megabytes(reading.MAX_LINE)]),
    ],
)
def test_limits_are_those_of_the_code(what: str, limits: list[str]) -> None:
    rows = [
        line for line in page("docs/evidence.md").section("## Limits").split("\n") if line.startswith(f"| {what} |")
    ]
    assert len(rows) == 1, f"the table of limits has {len(rows)} rows on {what}"
    assert all(limit in rows[0] for limit in limits), f"{rows[0]}: not {limits}"


def first_cells(page_name: str, heading: str) -> list[str]:
    """Return the first cell of each row of the tables under a heading."""
    rows = [line for line in page(page_name).section(heading).split("\n") if line.startswith("| ")]
    return [row.split("|")[1].strip() for row in rows]


def test_every_state_and_outcome_of_a_job_has_its_row() -> None:
    assert first_cells("docs/jobs.md", "## How a job ends")[1:] == [f"`{outcome}`" for outcome in get_args(Outcome)]
    for state in get_args(State):
        assert f"`{state}`" in page("docs/jobs.md").section("## How a job ends")


def test_every_tool_is_documented_with_its_arguments() -> None:
    rows = [line.split("|") for line in page("docs/jobs.md").section("## Tools").split("\n") if line.startswith("| `")]
    shown = {cells[1].strip(" `"): cells[2].strip() for cells in rows}
    real = {
        name: ", ".join(
            f"`{entry.encode_name}{'' if entry.required else '?'}`" for entry in msgspec.structs.fields(tool.arguments)
        )
        for name, tool in TOOLS.items()
    }
    assert shown == real


def limits_of_tools() -> list[tuple[str, str, str]]:
    limits = ToolLimits()
    return [
        (
            "## Tools",
            "characters that a call shows; the rest goes to a file that the agent can `Read`",
            f"{limits.characters:,}",
        ),
        ("## Tools", "seconds of a call", f"{limits.seconds}"),
        ("## Tools", "a file that is read, searched or changed", f"{limits.file_bytes >> 20} MB"),
        ("## Tools", "lines of one `Read`", f"{limits.lines:,}"),
        ("## Tools", "characters of one line", f"{limits.line_characters:,}"),
        ("## Tools", "lines or files of one `Grep`", f"{limits.matches:,}"),
        ("## Tools", "names of one `Glob` or `LS`", f"{limits.names:,}"),
        ("## Tools", "files looked at", f"{limits.files:,}"),
        ("## Bash", "memory of a process", f"{limits.memory_bytes >> 30} GB"),
        ("## Bash", "largest file", f"{limits.written_bytes >> 30} GB"),
        ("## Bash", "processor time", f"{limits.processor_seconds:,} seconds"),
        ("## Bash", "processes", f"{limits.processes:,}"),
        ("## Bash", "output kept", f"{limits.kept_bytes >> 20} MB"),
    ]


@pytest.mark.parametrize(("heading", "what", "limit"), limits_of_tools(), ids=lambda part: part)
def test_limits_of_tools_are_those_of_the_code(heading: str, what: str, limit: str) -> None:
    assert f"| {what} | {limit} |" in page("docs/jobs.md").section(heading)


def test_numbers_of_jobs_are_those_of_the_code() -> None:
    jobs = page("docs/jobs.md")
    limits = ToolLimits()
    text = " ".join(jobs.text.split())
    assert (
        f"{limits.shell_seconds} seconds, or the `timeout` that the model asks for, up to {limits.max_shell_seconds}"
        in text
    )
    assert f"at most {MAX_DEPTH} deep, and a job has at most {MAX_CHILDREN} children" in text
    assert f"after {MAX_DEATHS_IN_TURN} deaths in one turn, or {MAX_DEATHS} in all" in text
    assert f"({OUTPUT_TOKENS:,} tokens" in text
    assert "after about {:g}, {:g} and {:g} seconds".format(*PAUSES) in text
    for preset in PRESETS:
        assert f"`{preset}`" in jobs.section("## Programs as subagents")
        assert f"`{preset}`" in next(
            row for row in page("docs/configuration.md").text.split("\n") if "`commands`" in row
        )


@pytest.mark.parametrize(
    ("heading", "shape"),
    [
        ("### Fields of a plan", Plan),
        ("### Fields of a phase", PhaseSpec),
        ("### Fields of a delegation", DelegationSpec),
    ],
)
def test_every_field_of_a_plan_is_documented(heading: str, shape: type[msgspec.Struct]) -> None:
    written = [name for cell in first_cells("docs/orchestration.md", heading) for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(written) == sorted(shape.__struct_fields__)


def test_the_example_plan_is_the_same_in_both_languages() -> None:
    folder = ROOT / "examples/plans"
    assert read_plan(folder / "discount.toml") == read_plan(folder / "discount.yaml")


def test_every_state_and_step_of_a_delegation_has_its_row() -> None:
    states = first_cells("docs/orchestration.md", "## A delegation's life")[1:]
    assert states == [f"`{state}`" for state in get_args(DelegationState)]
    steps = first_cells("docs/orchestration.md", "## When a delegation fails")[1:]
    assert steps == ["keep", *(f"`{step}`" for step in STEPS)]
    assert f"`{failure_warning('X')}`" in page("docs/orchestration.md").text
    answered = first_cells("docs/orchestration.md", "## Questions and answers")[1:]
    assert sorted(answered) == sorted(f"`{answer}`" for answer in ANSWERS)


def test_the_tools_of_an_orchestrator_are_documented() -> None:
    section = page("docs/orchestration.md").section("## An orchestrator that is a model")
    rows = [line.split("|")[2] for line in section.split("\n") if line.startswith("| ") and "Level" not in line]
    assert {name for cell in rows for name in re.findall(r"`(\w+)`", cell)} == set(RESPONSIBILITIES)


def rows_of_the_gate(first: str) -> list[str]:
    """Return the rows of the table on the gate's page that has this first column."""
    lines = page("docs/gate.md").text.split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first} |")) + 2
    return lines[start : start + next(at for at, line in enumerate(lines[start:]) if not line.startswith("|"))]


def test_the_rules_of_the_gate_are_those_of_the_code() -> None:
    assert rows_of_the_gate("rule") == [f"| `{name}` | L{level} | {words} |" for name, level, words in RULES]


def test_modes_limits_classes_roles_and_declarations_of_the_gate_are_those_of_the_code() -> None:
    classes = [f"| `{name}` | {', '.join(f'`{glob}`' for glob in globs)} |" for name, globs in PATHS.items()]
    for first, wanted in (
        ("mode", [f"| `{mode}` |" for mode in MODES]),
        ("limit", [f"| `{name}` | {number} |" for name, number in LIMITS.items()]),
        ("class", classes),
        ("role", [f"| `{role}` | `{agent}` |" for role, agent in AGENTS.items()]),
        ("kind", [f"| `{kind}` | {allows} |" for kind, allows in DECLARATIONS.items()]),
    ):
        rows = rows_of_the_gate(first)
        assert len(rows) == len(wanted), first
        assert all(row.startswith(begin) for row, begin in zip(rows, wanted, strict=True)), first
    text = page("docs/gate.md").text
    assert all(f"`{rule}`" in text.split("protect the gate itself")[1][:80] for rule in FIRM)
    assert all(f"`{folder}`" in text for folder in GUARDED)


@pytest.mark.parametrize(
    ("what", "limit"),
    [
        ("phases of a plan", f"{MAX_PHASES}"),
        ("delegations of a plan", f"{MAX_DELEGATIONS:,}"),
        ("a plan's file", megabytes(plan_file.MAX_FILE)),
        ("tries of a delegation", f"{answers.MAX_TRIES}"),
        ("rounds of a phase", f"{answers.MAX_ROUNDS}"),
        ("files of a fallback read", f"{FALLBACK_FILES}"),
        ("lines of each", f"{FALLBACK_LINES}"),
        ("lines of a result that are shown", f"{feedback.MAX_LINES}"),
        ("a progress file", megabytes(progress_file.MAX_FILE)),
    ],
)
def test_limits_of_plans_are_those_of_the_code(what: str, limit: str) -> None:
    assert f"| {what} | {limit} |" in page("docs/orchestration.md").section("## Limits")


def test_numbers_of_plans_are_those_of_the_code() -> None:
    text = " ".join(page("docs/orchestration.md").text.split())
    assert f"a delegation is tried {answers.MAX_TRIES} times at most, a phase has {answers.MAX_ROUNDS} rounds" in text
    assert f"the first {FALLBACK_LINES} lines of up to {FALLBACK_FILES} files" in text
    assert f"after {feedback.MAX_LINES} lines or {feedback.MAX_CHARACTERS:,} characters" in text
    assert f"at most {phase.MAX_INPUTS} results whole" in text
    assert f"the last {progress_file.MAX_LOG} entries of the log" in text
    assert f"refused after {orchestrator.MAX_SAME} failures" in text
    assert f"| `parallel` | {PARALLEL} |" in text


def test_the_error_of_the_token_estimate_is_as_stated() -> None:
    section = page("docs/guide.md").section("## Tokens")
    texts = json.loads((ROOT / "tests/fixtures/tokens/corpus.json").read_text(encoding="utf-8"))
    every = [100 * abs(estimate_tokens(text["text"]) - text["o200k_base"]) / text["o200k_base"] for text in texts]
    unseen = every[1::2]
    assert f"| all | {len(every)} | {fmean(every):.1f} | {max(every):.1f} |" in section
    assert f"{fmean(unseen):.1f} % on average and {max(unseen):.1f} % at most" in " ".join(section.split())


def test_no_page_waits_for_its_figures() -> None:
    for one in PAGES:
        assert "CORPUS" not in one.text.split("\n"), f"{one.name}: replace CORPUS by a table"


def test_every_page_can_be_reached_from_the_readme() -> None:
    by_name = {one.name: one for one in PAGES}
    reached: set[str] = set()
    waiting = ["README.md"]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in by_name:
            continue
        reached.add(name)
        folder = (ROOT / name).parent
        targets = [(folder / link.partition("#")[0]).resolve() for link in by_name[name].links if ":" not in link]
        waiting += [target.relative_to(ROOT).as_posix() for target in targets if target.is_relative_to(ROOT)]
    assert sorted(set(by_name) - reached) == []
