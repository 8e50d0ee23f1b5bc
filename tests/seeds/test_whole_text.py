"""Every format of a merged report keeps the text of its inputs: each word and each location, unchanged."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from remit.api import merge
from remit.contract.render import render
from remit.contract.result_data import Block, Blocker, Item, Items, KeyReference, Result, Row, Table, Text
from remit.evidence.sources import open_sources
from remit.merging.merge_data import Merge
from remit.reports.layout import plain_lines
from remit.reports.merge.html import merge_html
from remit.reports.merge.markdown import merge_markdown
from remit.reports.merge.text import merge_text_lines
from remit.rules.examples import TREE

PLACES = ("app/login.py:12", "app/session.py:3-5", "app/store.py:14", "tests/test_login.py:1")
WORDS = (
    *(
        "Repository",
        "+",
        "Service",
        "-",
        "Controller",
        "1.",
        "3)",
        "chapter",
        "find_user",
        "__init__",
        "a*b*c",
        "x",
        "<",
        "y",
    ),
    *(
        "A|B",
        "R&D",
        "&amp;",
        "&#58;",
        "<T>",
        "[x]",
        "[x](y)",
        "e.g.",
        "→",
        "*",
        "_x_",
        "~~no~~",
        "$1",
        "C:\\x",
        "漢字",
        "#",
    ),
    *(
        "app/none.py:7",
        "app/login.py:900",
        "line",
        "12",
        "50%",
        "==",
        "!important",
        "--flag",
        "k: v",
        "'q'",
        '"d"',
        *PLACES,
    ),
)
#: An escaped mark, or a character reference.
#: A location that does not hold, as the merged report marks it.
_MARKED = re.compile(r" \[(\d+): does not hold\]")
_MARKUP = re.compile(r"\\([!-/:-@\[-`{-~])|&#?\w+;")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(lambda words: " ".join(("see", *words)))
some = st.lists(texts, min_size=1, max_size=3, unique=True)


class Words(msgspec.Struct, frozen=True):
    """The texts of a result."""

    flow: list[str]
    patterns: list[str]
    architecture: list[str]
    sequence: list[str]
    blockers: list[str]
    steps: list[str]
    title: str
    summary: str

    def __iter__(self) -> Iterator[str]:
        yield from (*self.flow, *self.patterns, *self.architecture, *self.sequence, *self.blockers, *self.steps)
        yield from (self.title, self.summary)


wordings = st.builds(Words, some, some, some, some, some, some, texts, texts)


def listed(texts: list[str], *, ordered: bool = False) -> Items:
    return Items(items=tuple(Item(text=text) for text in texts), ordered=ordered)


def result_of(words: Words) -> Result:
    table = Table(
        columns=("ID", "Issue", "File:Line", "Severity", "Confidence"),
        rows=(Row(cells=("QA-001", words.title, f"`{PLACES[0]}`", "critical", "90")),),
    )
    entries = Table(columns=("Entry", "File:Line", "Type"), rows=(Row(cells=("login", f"`{PLACES[1]}`", "function")),))
    return Result(
        agent="Code Explorer",
        status="SUCCESS",
        summary=words.summary,
        findings=(
            Block(heading="Entry Points", content=(entries,)),
            Block(heading="Execution Flow", content=(listed(words.flow, ordered=True),)),
            Block(heading="Architecture Patterns", content=(listed(words.patterns),)),
            Block(heading="Recommended Architecture", content=(Text(text="\n\n".join(words.architecture)),)),
            Block(heading="Build Sequence", content=(listed(words.sequence, ordered=True),)),
            Block(heading="Issues Detected", content=(table,)),
        ),
        references=(KeyReference(item="Store", location=f"`{PLACES[2]}`", relevance="users"),),
        blockers=tuple(Blocker(text=text) for text in words.blockers),
        next_steps=tuple(words.steps),
    )


def flat(text: str) -> str:
    """Return a text without white space and code marks."""
    return re.sub(r"[\s`']+", "", text.replace('"', ""))


def strings(value: object) -> Iterator[str]:
    """Yield all texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def shown(merged: Merge, form: str) -> str:
    """Return what a reader sees of a format."""
    tree = open_sources(TREE).workspace
    if form == "json":
        return " ".join(strings(msgspec.to_builtins(merged)))
    if form == "text":
        return plain_lines(merge_text_lines(merged, 200, tree))
    if form == "html":
        return html.unescape(re.sub(r"<[^>]*>", "", merge_html(merged, tree)))
    text = _MARKED.sub(r":\1", merge_markdown(merged, tree))
    return _MARKUP.sub(lambda found: found[1] or html.unescape(found[0]), text)


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
@settings(max_examples=30, phases=(Phase.explicit, Phase.generate))
@given(wordings)
@example(
    Words(
        ["1. a - b"],
        ["Repository + Service + Controller"],
        ["Minimal changes - no table"],
        ["3. It"],
        ["x"],
        ["y"],
        "t",
        "s",
    )
)
def test_b14_e9_every_word_and_location_is_in_each_format(form: str, words: Words) -> None:
    merged = merge([render(result_of(words))], repo=TREE)
    report = flat(shown(merged, form))
    for text in words:
        assert flat(text) in report
    for place in PLACES[form == "json" : 3]:  # in JSON, a finding has its path and its line apart
        assert place in report


def test_b14_the_steps_of_a_flow_keep_their_numbers_in_markdown(tmp_path: Path) -> None:
    result = result_of(
        Words(["read the form", "find the user"], ["p"], ["a"], ["first", "second"], ["b"], ["n"], "t", "s")
    )
    text = merge_markdown(merge([render(result)], repo=TREE), open_sources(TREE).workspace)
    for step in ("1. read the form", "2. find the user", "1. first", "2. second"):
        assert f"  - {step}\n" in text


def test_b14_a_step_that_does_not_hold_is_apart() -> None:
    words = Words(["reads app/none.py:7"], ["p"], ["a"], ["s"], ["b"], ["n"], "t", "s")
    merged = merge([render(result_of(words))], repo=TREE)
    assert [(row.title, row.location) for row in merged.failed] == [("reads app/none.py:7", "app/none.py:7")]
    text = merge_markdown(merged, open_sources(TREE).workspace)
    assert "app/none.py:7" in text[text.index("Claims that did not hold") : text.index("## Findings")]
    assert "app/none.py:7" not in text[text.index("## Findings") :]
