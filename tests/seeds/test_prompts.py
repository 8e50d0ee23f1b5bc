"""What the source documents require that agents learn, in the text that `remit prompt` prints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from remit.clients.claude_code.setup import skill_text
from remit.contract.kinds import CATEGORIES, KINDS
from remit.orchestrate.orchestrator_tools import orchestrator_prompt
from remit.registry.lookup import load_registry
from remit.registry.tools import OFFERED, AllowList
from remit.rules.examples import TREE, sample_text
from remit.surfaces.cli.group import remit

FORMS = [kind for kind in KINDS if kind not in ("error", "search")]


def prompt(kind: str, *options: str) -> str:
    done = CliRunner().invoke(remit, ["prompt", "--kind", kind, *options])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize("kind", FORMS)
def test_agents_learn_what_each_band_of_confidence_means(kind: str) -> None:
    text = prompt(kind)
    for band in ("95-100 (certain): you read the code and ran", "85-94 (high)", "75-84 (moderate)", "60-74 (low)"):
        assert f"- {band}" in text
    assert "- below 60: speculation; state the question" in text


@pytest.mark.parametrize("kind", FORMS)
def test_agents_learn_the_form_of_issues_blockers_and_overrides(kind: str) -> None:
    text = prompt(kind)
    assert "- [issue]: [description] ([path/to/file.py:12]) | Severity: [critical, important or minor]" in text
    assert "### Blockers (if incomplete) - [what blocks you] | Resolution: [what would resolve it]" in text
    assert "### Overrides (if any) - [name of an L2 rule]: [why it does not apply here]" in text


@pytest.mark.parametrize("kind", FORMS)
def test_agents_learn_the_labels_of_uncertain_statements(kind: str) -> None:
    text = prompt(kind)
    assert all(label in text for label in ('"uncertain"', '"assumed"', '"needs corroboration"'))


def test_reviewers_learn_the_column_category_and_its_values() -> None:
    text = prompt("review")
    assert "| Confidence | Category |" in text
    assert all(category in text for category in CATEGORIES)


def test_an_agent_learns_its_name() -> None:
    text = prompt("review", "--agent", "qa-engineer")
    assert "You are QA Engineer." in text
    assert "## QA Engineer Result" in text
    assert "[Agent Name]" not in text


def test_an_orchestrator_learns_the_examples_of_lookups_and_whom_it_may_ask(tmp_path: Path) -> None:
    agent = (
        "---\nname: nl-to-shell\ndescription: Use it to turn a sentence into a command.\nmodel: haiku\n---\nDo it.\n"
    )
    (tmp_path / "nl-to-shell.md").write_text(agent)
    text = orchestrator_prompt(load_registry([str(tmp_path)], AllowList(OFFERED)))
    assert "- nl-to-shell (model haiku): Use it to turn a sentence into a command." in text
    assert "- product-manager (model opus): " in text
    assert "- a lookup: the value of one setting, such as CACHE_TTL" in text
    assert "- not a lookup, delegate it to code-explorer: a summary of a document" in text


def test_the_skill_has_the_examples_of_lookups_and_states_only_what_is_so() -> None:
    text = " ".join(skill_text().split())
    assert "- a lookup: whether a function, such as validateEmail, is defined in a file" in text
    assert "SUCCESS with gaps" not in text
    assert "PARTIAL with everything done" not in text
    for words in (
        "at most 60 lines around a location",
        "FAILED is a failed delegation",
        "Your final answer is checked",
    ):
        assert words in text


def test_explore_has_a_definition_that_only_reads() -> None:
    done = CliRunner().invoke(remit, ["agents", "explain", "Explore", "--format", "json"])
    assert done.exit_code == 0, done.output
    brief = json.loads(done.stdout)
    assert brief["definition"]["plugin"] == "built-in"
    assert set(brief["tools"]) == {"Read", "Grep", "Glob", "LS"}
    assert "## Explore Result" in brief["contract"]


def test_a_result_under_another_agents_name_is_refused_where_the_caller_knows_who_was_asked(tmp_path: Path) -> None:
    shutil.copytree(TREE, tmp_path / "tree")
    (tmp_path / "review.md").write_text(sample_text("review"))
    arguments = ["check", str(tmp_path / "review.md"), "--repo", str(tmp_path / "tree")]

    def checked(*more: str) -> tuple[int, str]:
        done = CliRunner().invoke(remit, [*arguments, *more], standalone_mode=False)
        return done.return_value, done.output

    assert checked()[0] == 0
    assert checked("--agent", "some-plugin:security_auditor")[0] == 0
    code, shown = checked("--agent", "qa-engineer")
    assert code == 1
    assert "L1 agent-mismatch" in shown
