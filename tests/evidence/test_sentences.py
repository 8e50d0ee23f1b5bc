"""The closed set of sentences about finished work: each form in three languages, and what comes near but is not one."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.evidence.sentences import read_delegations, read_sentences

_DATA = tomllib.loads((Path(__file__).parent / "statements/sentences.toml").read_text("utf-8"))
_AGENTS = ("security-auditor", "qa-engineer", "Explore", "general-purpose")


@pytest.mark.parametrize(("stated", "text"), [(name, text) for name, texts in _DATA["read"].items() for text in texts])
def test_a_sentence_of_the_set_is_read(stated: str, text: str) -> None:
    statements = read_sentences(text)
    assert [statement.check or statement.act for statement in statements] == [stated]
    assert "48" not in text or "(48" in text or statements[0].count == 48


@pytest.mark.parametrize("text", [text for texts in _DATA["not_read"].values() for text in texts])
def test_a_sentence_with_anything_else_is_not_read(text: str) -> None:
    assert read_sentences(text) == []


def test_the_near_misses_are_enough() -> None:
    assert sum(map(len, _DATA["not_read"].values())) >= 60


def test_a_sentence_may_state_several_things() -> None:
    text = "The build, the linter and all 48 tests pass. I committed and pushed the changes."
    stated = [(one.check or one.act, one.count, one.text) for one in read_sentences(text)]
    first, second = "The build, the linter and all 48 tests pass.", "I committed and pushed the changes."
    assert stated == [
        ("build", None, first),
        ("lint", None, first),
        ("test", 48, first),
        ("committed", None, second),
        ("pushed", None, second),
    ]


def test_a_statement_has_its_line_its_words_and_what_follows() -> None:
    text = "# Fixed the cart\n\nIt is done. I looked at it; all\ntests pass. More.\n\nI updated `a/b.py`.\n"
    assert [(one.at, one.text) for one in read_sentences(text)] == [(6, "I updated `a/b.py`.")]
    (statement,) = read_sentences("Fine.\nAll\ntests pass. One fails.")
    assert (statement.at, statement.text) == (2, "All tests pass.")
    assert "One fails." in statement.rest
    (path,) = read_sentences("I added `docs/READ_me.md`.")
    assert path.path == "docs/READ_me.md"


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("The security-auditor confirmed that the login is safe.", "security-auditor"),
        ("I delegated the review to the QA Engineer.", "qa-engineer"),
        ("I used the `Explore` subagent to find it.", "Explore"),
        ("The general-purpose agent reviewed the login.", "general-purpose"),
        ("The login was reviewed by the security-auditor.", "security-auditor"),
        ("security-auditor がログインの安全性を確認しました。", "security-auditor"),
        ("レビューは security-auditor に依頼しました。", "security-auditor"),
        ("我将审查委托给了 security-auditor。", "security-auditor"),
        ("`Explore` 代理发现了入口。", "Explore"),
    ],
)
def test_a_delegation_is_read(text: str, agent: str) -> None:
    assert read_delegations(text, _AGENTS) == [(text, agent)]


@pytest.mark.parametrize(
    "text",
    [
        "Do you want me to ask the security-auditor?",
        "Next, the security-auditor should review this.",
        "You can have the qa-engineer check it.",
        "You asked the security-auditor to look.",
        "Let me explore the code first.",
        "This is a general purpose module that was tested by hand.",
        "I have not asked the security-auditor.",
        "If the security-auditor confirmed it, merge.",
        "> The security-auditor confirmed it.",
        "次に security-auditor がレビューすべきです。",
        "security-auditor はまだ確認していません。",
        "security-auditor にレビューを依頼してください。",
        "要不要请 security-auditor 审查？",
        "security-auditor 将审查代码。",
        "请让 security-auditor 审查。",
    ],
)
def test_another_sentence_with_an_agent_is_no_delegation(text: str) -> None:
    assert read_delegations(text, _AGENTS) == []


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    read_sentences(text)
    read_delegations(text, _AGENTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["I ", "tests pass, ", "and ", "`", "a/" * 20 + ".", "测试", "テストが", "1/", "(", "- ", ": "]
)
def test_a_hostile_text_is_read_in_linear_time(part: str) -> None:
    seconds = []
    for size in (20_000, 80_000):
        started = time.process_time()
        read_sentences(part * (size // len(part)) + "\n" + (part * 20 + "\n") * (size // (len(part) * 20)))
        seconds.append(time.process_time() - started)
    assert seconds[1] < max(8 * seconds[0], 1.5)
