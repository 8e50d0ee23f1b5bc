"""The marks of statements: a sentence that an expression matches always has one, so nothing is missed without them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from remit.evidence import kept_output, read_statements, statement_words
from remit.evidence.statement_marks import (
    DELEGATED,
    EVERY,
    OUTCOMES,
    RAN,
    SUBJECTS,
    VERBS,
    TextMarks,
    folded,
    marks_of,
)

FAMILIES = {
    "PASSED": OUTCOMES,
    "FAILED": OUTCOMES,
    "SUBJECT": SUBJECTS,
    "ALL_CHECKS": SUBJECTS,
    "RAN": RAN,
    "_VERB": VERBS,
    "_VERB_ZH": VERBS,
    "_VERB_JA": VERBS,
    "DELEGATED": DELEGATED,
}
#: Words of statements, their subjects, what makes them none, and marks that may be anywhere.
PARTS = (
    *("All", "48", "tests", "pass", "passed", "pa**ss**ed", "TEſTS", "PAſSED", "Kelvin", "are", "is", "green", "red"),
    *("the build", "is broken", "mypy", "clean", "no errors", "Committed", "and", "pushed", "I", "we've run", "İ"),
    *(
        "updated",
        "`src/cart.py`",
        "up__dat__ed",
        "~~deleted~~",
        "`a/b.ts`",
        "read",
        "ran",
        "`pytest -q`",
        "verified by",
    ),
    *(
        "running",
        "delegated",
        "it to the",
        "code-reviewer agent",
        "once",
        "should",
        "?",
        ".",
        ":",
        "✅",
        "|",
        "- ",
        "## Tests",
    ),
    *(
        "```",
        "$ pytest",
        "5 passed in 0.1s",
        "\n",
        "\n\n",
        "**",
        "测试",
        "全部通过",
        "已修改",
        "提交了",
        "テスト",
        "成功しました",
    ),
    *("修正しました", "コミットしました", "२ passed", "[x](a/b.py)", "> ", "1. "),
)


def pattern_of(name: str) -> re.Pattern[str]:
    pattern = getattr(statement_words, name)
    return re.compile(pattern.pattern, pattern.flags)


@pytest.mark.parametrize("name", FAMILIES)
@settings(suppress_health_check=list(HealthCheck), max_examples=150, deadline=None)
@given(data=st.data())
def test_what_an_expression_matches_has_a_mark(name: str, data: st.DataObject) -> None:
    match = pattern_of(name).search(data.draw(st.from_regex(pattern_of(name))))
    assert match is not None
    assert any(mark in folded(match[0]) for mark in FAMILIES[name]), match[0]


def unfiltered(text: str) -> list[Any]:
    """Read a text as if each line and each sentence had each mark."""

    class Everywhere(TextMarks):
        def of_sentence(self, sentence: str) -> Any:
            del sentence
            return everything

    everything = EVERY.of_sentence("passed ran updated agent tests")
    assert all((everything.has_outcome, everything.has_run, everything.has_verb, everything.has_agent))
    lines = frozenset(range(text.count("\n") + 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_statements, "marks_of", lambda _: Everywhere((), (), (), (), lines))
        return read_statements.read_statements(text)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=14), st.sampled_from(["", " "]))
@example(["All tests pa**ss**ed"], "")
@example(["## Tests\n", "All ", "is", "green"], " ")
@example(["I ", "up__dat__ed", "`src/cart.py`", "."], " ")
def test_the_marks_hide_no_statement(parts: list[str], joint: str) -> None:
    text = joint.join(parts)
    assert read_statements.read_statements(text) == unfiltered(text)


def test_a_text_without_a_mark_is_not_read() -> None:
    assert marks_of("Hm, let me see the cart.") is None


TELLING = re.compile(
    r"pass|fail|error|success|succeed|\bok\b|not found|no tests|problem|reformatted|formatted|built|build|finished|"
    r"nothing to commit|rejected|up-to-date|->|\[[\w./-]+ (?:\(root-commit\) )?[0-9a-f]{7,40}\]|\*\*\*|exit|status|"
    r"runs,|tests,|examples,|tests run|issues|offenses|code|fatal|cannot|recognized|missing script|warnings?$"
    r"|\brc\b|=\d",
    re.IGNORECASE,
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.from_regex(TELLING),
            st.sampled_from(
                ["x", "token", "src", "warnings: 2", "2 warnings", "OK", "a\rPASS", "[main abcdef1]", "=x"]
            ),
        ),
        max_size=12,
    )
)
def test_each_telling_line_of_an_output_is_kept(lines: list[str]) -> None:
    text = "\n".join(lines)
    kept = kept_output.kept_output("", text).split("\n")
    for line in text.split("\n")[:40]:
        cut = line.rstrip("\r").rpartition("\r")[2][:300]
        assert not TELLING.search(cut) or "\x1b" in text or cut.strip("\n") in kept


@pytest.mark.parametrize(
    ("sentence", "has_outcome"),
    [
        ("It was looked for in the hooks and tests", False),
        ("The token is in 3 tests", False),
        ("The tests are ok", True),
        ("Tokens and tests: OK", True),
        ("Tests：ok", True),
        ("ok, 3 tests", True),
    ],
)
def test_ok_is_an_outcome_only_as_a_word(sentence: str, has_outcome: bool) -> None:
    marks = marks_of(sentence)
    assert marks is not None
    assert marks.of_sentence(sentence).has_outcome is has_outcome
