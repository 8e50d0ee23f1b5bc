"""The prose linter finds the phrases of its list in every kind of text, and the project's texts are free of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import prose

STYLE = prose.load_style()
BAD_CODE = '''
"""Module that stands here."""

#: A limit that is held
#: against nothing.
LIMIT = 3


def report(path, told):
    """Return what
    was said."""
    words = "told"
    raise ValueError(
        f"{path} is no folder, "
        "and nobody knows why"
    )
'''
GOOD_CODE = '''
"""Module that understands `told` and "what the user said"."""

PATTERN = r"(he|she) said (so|no)"


def check(path):
    """Return None if there is no such file."""
    good = ("what somebody said so long ago",)
    return f"{path} is not a folder"  # a heartbeat, "nobody"
'''


def found(file: Path) -> list[tuple[int, str]]:
    """Return the problems of a file: line, and the phrase."""
    return [(problem.line, problem.message.split("'")[1]) for problem in prose.check_file(file, STYLE)]


@pytest.mark.parametrize("phrase", STYLE.phrases, ids=lambda phrase: phrase.find.pattern)
def test_every_phrase_finds_its_bad_examples_and_not_the_good_ones(phrase: prose.Phrase) -> None:
    assert phrase.bad
    assert phrase.good
    own = STYLE._replace(phrases=(phrase,))
    assert [text for text in phrase.bad if not list(prose.check_text(prose.Text(1, text), own))] == []
    assert [text for text in phrase.good if list(prose.check_text(prose.Text(1, text), own))] == []


def test_comments_docstrings_messages_and_names_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(BAD_CODE, encoding="utf-8")
    assert found(file) == [
        *((2, "stands"), (4, "held against"), (9, "told"), (11, "said"), (14, "is no"), (15, "nobody")),
    ]


def test_plain_code_has_no_problem(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(GOOD_CODE, encoding="utf-8")
    assert found(file) == []


def test_names_of_tests_are_checked_and_their_strings_are_not(tmp_path: Path) -> None:
    file = tmp_path / "tests" / "test_module.py"
    file.parent.mkdir()
    file.write_text('def test_a_job_is_said_to_be_hung():\n    assert "what was said"\n', encoding="utf-8")
    assert found(file) == [(1, "said")]


def test_a_page_is_checked_without_its_code(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    prose_rows = "The `said` field is held\nagainst [files](told/said.md). <!-- said -->\n"
    text = f"# What stands here\n\n```text\nsaid\n```\n\n{prose_rows}"
    file.write_text(text, encoding="utf-8")
    assert found(file) == [(1, "stands"), (7, "held against")]


def test_only_the_unreleased_part_of_the_changelog_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "CHANGELOG.md"
    file.write_text("# Changes\n\n## Unreleased\n\n- told\n\n## 0.1.0\n\n- said\n", encoding="utf-8")
    assert found(file) == [(5, "told")]


def test_comments_of_sql_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "jobs.sql"
    file.write_text("-- name: said\n-- Whoever\nSELECT said FROM jobs\n", encoding="utf-8")
    assert found(file) == [(2, "Whoever")]


def test_the_command_prints_each_problem_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, good = tmp_path / "bad.md", tmp_path / "good.md"
    bad.write_text("One line.\n\nIt says so.\n", encoding="utf-8")
    good.write_text("It is not a result.\n", encoding="utf-8")
    assert prose.main([str(good)]) == 0
    assert prose.main([str(tmp_path)]) == 1
    assert f"{bad}:3: 'says': write states" in capsys.readouterr().out
    assert prose.main([str(tmp_path / "missing")]) == 2
