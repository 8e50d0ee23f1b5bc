"""What the source documents require that agents learn, in the text that `remit prompt` prints."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from remit.contract.kinds import CATEGORIES, KINDS
from remit.surfaces.cli.group import remit

FORMS = [kind for kind in KINDS if kind != "error"]


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
    assert (
        "### Issues - [issue]: [description] ([path/to/file.py:12]) | Severity: [critical, important or minor]" in text
    )
    assert "### Blockers - [what blocks you] | Resolution: [what would resolve it]" in text
    assert "### Overrides - [rule-name]: [why it does not apply here]" in text


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
