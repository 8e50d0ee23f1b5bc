"""The judgement on a claim: its outcome, why, and in which kind of text it fails. One table, one function."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from corpus.tree import evidence_in, evidence_of, plant, write
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remit.evidence.claims import explain
from remit.evidence.document import Segment
from remit.evidence.gather import Asked
from remit.evidence.judge import ACCUSING, HOLDING, Reason, judge
from remit.evidence.model import (
    OUTCOMES,
    Checked,
    Claim,
    CodeFacts,
    Facts,
    Location,
    NameFacts,
    Note,
    State,
    TextKind,
    Then,
)

SEGMENT = Segment("text", "", 1, None, None, 1)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = plant(tmp_path_factory.mktemp("tree"))
    return write(
        root, {"web/views/list.ts": "export const rows = 20;\n", "package.json": '{"scripts": {"build": "x"}}\n'}
    )


# --- The table of the contract

QUOTE = "src/app.py:14\n```python\n    user = store.find_user({})\n    if user is None or not {}(user, password):\n```"


@pytest.mark.parametrize(
    ("text", "reason", "is_strong"),
    [
        ("`src/app.py:99`", "past-end", True),
        ("`src/app.py:0`", "line-zero", True),
        ("`src/app.py:9-3`", "range-backwards", True),
        ("see src/app.py:40-39 there", "range-backwards", True),
        ("`src/ghost.py:3`", "no-such-file", True),
        ("`src/auth:3`", "is-folder", True),
        (QUOTE.format("names", "check_password"), "quote-differs", True),
        ("`src/app.py:14`\n```python\nlaunch(the_missiles, now=True)\n```", "quote-differs", True),
        ("`src/app.py:14`\n```python\nexport const rows = 20;\n```", "quote-differs", True),
        ("`src/app.py:38-42`", "past-end", True),
        ("`app.py:99`", "past-end", True),
        ("In `src/app.py`, the check on line 99 fails.", "past-end", False),
        ("`src/app.py:30`\n```python\nfrom src import store\n```", "quote-elsewhere", False),
        ("`verify_session_mac()` in `src/app.py:12`", "name-nowhere", False),
        ("src/app.py:12 (verify_session_mac)", "name-nowhere", False),
        ("`authenticate()` in `src/app.py:12`", "name-not-in-file", False),
        ("`open_session()` in `src/app.py:2`", "name-elsewhere", False),
        ("`open_session` is defined in `src/app.py:17`", "definition-elsewhere", False),
        ("`src/ghost/app.py:3`", "no-such-file", False),
        ("`ghost.py:3`", "no-such-file", False),
        ("`gone/ghost.py:3`", "no-such-file", False),
        ("the file `src/ghost.py`", "no-such-file", False),
        ("[the file](src/ghost.py)", "no-such-file", False),
        ("`../secret.py:3`", "outside", False),
        ("`/etc/hosts:3`", "outside", False),
        ("Run `npm run deploy`.", "command-missing", False),
        ("`tests/test_app.py::test_logout` fails", "test-missing", False),
        ("```python src/app.py\nlaunch(the_missiles, now=True)\n```", "quote-differs", False),
    ],
)
def test_a_claim_that_does_not_hold_fails_in_a_report_and_if_it_is_strong_in_a_document(
    text: str, reason: str, is_strong: bool, tree: Path
) -> None:
    for kind, fails in (("report", True), ("document", is_strong), ("project", False)):
        checked = evidence_in(text, tree, asked=Asked(text=kind)).checked  # type: ignore[arg-type]
        accused = {(claim.reason, claim.fails) for claim in checked if claim.outcome in ACCUSING}
        assert accused == {(reason, fails)}, kind


def test_in_a_plan_a_quote_does_not_fail(tree: Path) -> None:
    quote = QUOTE.format("names", "check_password")
    for title, fails in (("Notes", True), ("Plan of the login", False), ("登录设计", False)):
        checked = evidence_in(f"# {title}\n\n{quote}\n\n`src/app.py:99`", tree, asked=Asked(text="document")).checked
        assert {claim.fails for claim in checked if claim.kind == "quote"} == {fails}
        assert checked[-1].fails
    report = evidence_in(f"# Plan\n\n{quote}", tree, asked=Asked(text="report")).checked
    assert [one.fails for one in report if one.kind == "quote"] == [True]


@pytest.mark.parametrize("name", ["SQLite", "GitHub", "OAuth", "PostgreSQL", "macOS", "JavaScript", "APIs", "ASP.NET"])
def test_a_product_without_code_marks_is_no_name(name: str, tree: Path) -> None:
    for text in (f"{name} in src/app.py:12", f"src/app.py:12 ({name})", f"- {name}: src/app.py:12"):
        assert {claim.fails for claim in evidence_of(text, tree).checked} == {False}, text
    assert {claim.fails for claim in evidence_of(f"`{name}` in src/app.py:12", tree).checked} == {True}


@pytest.mark.parametrize("name", ["getToken", "get_token", "Cart.total", "JWTMiddleware", "HTTPServer"])
def test_a_word_that_is_written_like_a_name_is_one_without_code_marks(name: str, tree: Path) -> None:
    for text in (f"{name} in src/app.py:12", f"src/app.py:12 ({name})", f"- {name}: src/app.py:12"):
        assert {claim.fails for claim in evidence_of(text, tree).checked} == {True}, text


@pytest.mark.parametrize("title", ["### Proposed fix", "**After:**", "Suggested:", "### 修复", "### 修正案"])
def test_code_below_a_title_that_proposes_it_is_no_quote(title: str, tree: Path) -> None:
    text = "{}\n\n```python\n# src/app.py:14\nlaunch(the_missiles, now=True)\n```\n"
    assert evidence_of(text.format(title), tree).checked == []
    assert {claim.fails for claim in evidence_of(text.format("### The code"), tree).checked} == {True}


ABSENT = [
    "There is no {} target on purpose.",
    "The project never had {}.",
    "It has no {}.",
    "We removed the {}.",
    "{} does not exist.",
    "The report cited {}, which does not exist.",
    "The {} file no longer exists.",
    "{} was removed in 2.0.",
    "没有 {}。",
    "{} 不存在。",
    "{} は存在しません。",
    "{}を削除しました。",
]


@pytest.mark.parametrize("thing", ["`make migrate`", "`src/ghost.py`", "`src/ghost.py:3`"])
@pytest.mark.parametrize("sentence", ABSENT)
def test_a_clause_that_says_that_something_is_absent_does_not_claim_it(sentence: str, thing: str, tree: Path) -> None:
    write(tree, {"Makefile": "all:\n\techo all\n"})
    assert evidence_of(sentence.format(thing), tree).checked == []


@pytest.mark.parametrize(
    "text",
    [
        "There is no check in `src/ghost.py:3`.",
        "`src/ghost.py:3` says that the check does not exist.",
        "We removed the check of `src/ghost.py:3`.",
        "The check was removed from `src/ghost.py:3`.",
        "没有检查的是 `src/ghost.py:3`。",
    ],
)
def test_a_place_of_something_that_is_absent_is_a_claim(text: str, tree: Path) -> None:
    assert [claim.fails for claim in evidence_of(text, tree).checked] == [True]


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("`src/app.py:12`", {"exists"}),
        ("`login()` in `src/app.py:12`", {"verified"}),
        ("`login` is defined in `src/app.py:12`", {"verified"}),
        ("`app.py:12`", {"exists"}),
        ("`src/app.py:12-17`\n```python\ndef login(name, password):\n    return open_session(user)\n```", {"exists"}),
        ("`src/app.py:14`\n```python\n    user = store.find_user(name)\n```", {"verified"}),
        ("`src/app.py:14`\n```python\n# a comment\n```", {"exists", "unchecked"}),
    ],
)
def test_only_a_comparison_beyond_the_location_verifies_a_claim(text: str, outcomes: set[str], tree: Path) -> None:
    claims = evidence_in(text, tree).checked
    assert {claim.outcome for claim in claims} == outcomes
    assert {claim.fails for claim in claims} == {False}


def test_a_wrong_name_is_listed_next_to_a_correct_quote(tree: Path) -> None:
    code = "```python\n    user = store.find_user(name)\n```"
    place, quote = evidence_of(f"src/app.py:14 (`ghost_login`):\n{code}", tree).checked
    assert (place.outcome, place.has_quote, quote.outcome) == ("mismatch", False, "verified")
    place, quote = evidence_of(f"src/app.py:14 (`store`):\n{code}", tree).checked
    assert (place.outcome, place.has_quote, quote.outcome) == ("verified", True, "verified")


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ("`user.password` in `src/app.py:23`", "verified", "name-is-there"),
        ("`Order.password` in `src/app.py:23`", "exists", "name-not-compared"),
        ("`find_user()` in `src/app.py:14`", "verified", "name-is-there"),
        ("`Order.find_user()` in `src/app.py:14`", "exists", "name-not-compared"),
        ("`Cart::add` in `src/cart.cpp:12`", "verified", "name-is-there"),
        ("`Order::add` in `src/cart.cpp:12`", "exists", "name-not-compared"),
    ],
)
def test_a_name_of_something_else_is_not_verified(text: str, outcome: str, reason: str, tree: Path) -> None:
    (claim,) = evidence_of(text, tree).references
    assert (claim.outcome, claim.reason, claim.fails) == (outcome, reason, False)


def test_each_of_several_places_above_a_quote_keeps_its_last_line(tree: Path) -> None:
    code = "```python\n    return open_session(user)\n```"
    quoted = [
        claim for claim in evidence_of(f"`src/app.py:12-17`, `src/app.py:31-34`\n{code}", tree).checked if claim.code
    ]
    assert [(claim.line, claim.end_line, claim.found, claim.outcome) for claim in quoted] == [
        (12, 17, None, "verified")
    ]


def test_a_name_that_is_not_near_the_first_line_is_elsewhere(tree: Path) -> None:
    (claim,) = evidence_of("`open_session()` in `src/app.py:1`", tree).references
    assert (claim.outcome, claim.found) == ("relocated", Location("src/app.py", 31))


# --- Every reason has a sentence


def test_every_outcome_accuses_holds_or_leaves_open() -> None:
    assert OUTCOMES.keys() - ACCUSING - HOLDING == {"unchecked"}
    assert not ACCUSING & HOLDING


NAMES = st.none() | st.builds(
    NameFacts,
    is_near=st.booleans(),
    line=st.none() | st.integers(1, 50),
    is_definition=st.booleans(),
    definitions=st.lists(st.integers(1, 50), max_size=2).map(tuple),
    is_anywhere=st.none() | st.booleans(),
    is_imported=st.booleans(),
)
CODE = st.none() | st.builds(
    CodeFacts,
    place=st.sampled_from(["cited", "file", "nowhere", "empty", "skipped"]),
    found=st.none() | st.just(Location("src/app.py", 7)),
    similarity=st.none() | st.just(0.95),
    changed_tokens=st.none() | st.integers(0, 4),
)
CLAIMS = st.builds(
    Claim,
    kind=st.sampled_from(["place", "path", "quote", "name", "command", "test"]),
    text=st.just("src/app.py:12"),
    at=st.just(1),
    segment=st.just(SEGMENT),
    path=st.sampled_from(["src/app.py", "app.py", "/etc/app.py"]),
    line=st.none() | st.integers(0, 60),
    end_line=st.none() | st.integers(0, 60),
    name=st.just("login"),
    notes=st.frozensets(st.sampled_from(get_args(Note)), max_size=4),
    others=st.lists(st.just(Location("src/store.py", 3)), max_size=1).map(tuple),
)
FACTS = st.builds(
    Facts,
    state=st.sampled_from(get_args(State)),
    path=st.sampled_from(["", "src/app.py"]),
    how=st.sampled_from(["written", "relative", "rooted", "end", "several"]),
    line_count=st.none() | st.integers(0, 50),
    folders=st.sampled_from(["all", "some", "none"]),
    suggestion=st.none() | st.just(Location("src/app.py", 1)),
    name=NAMES,
    code=CODE,
    is_known=st.none() | st.booleans(),
)


@given(CLAIMS, FACTS)
def test_the_kind_of_text_decides_only_what_fails(claim: Claim, facts: Facts) -> None:
    report, document, project = (judge(claim, facts, text) for text in get_args(TextKind))
    assert replace(document, fails=report.fails) == report == replace(project, fails=report.fails)
    assert report.fails == (report.outcome in ACCUSING)
    assert report.fails >= document.fails >= project.fails


@given(CLAIMS, FACTS)
def test_a_claim_that_held_when_it_was_written_is_outdated_except_in_a_report(claim: Claim, facts: Facts) -> None:
    then = Then("a" * 40, "2026-02-08", "b" * 40, Location("src/app.py", 71))
    plain = judge(claim, facts, "document")
    dated = replace(facts, then=then)
    judgement = judge(claim, dated, "document")
    if plain.outcome in ACCUSING:
        assert (judgement.outcome, judgement.found, judgement.fails) == ("outdated", then.found, True)
        verb = "renamed" if facts.state == "missing" else "changed"
        assert explain(Checked(claim, dated, judgement)) == (
            f"true in aaaaaaaaa (2026-02-08), {verb} in bbbbbbbbb; now at src/app.py:71"
        )
    else:
        assert judgement == plain
    assert judge(claim, dated, "report") == judge(claim, facts, "report")


@given(CLAIMS, FACTS)
def test_every_accusation_has_a_known_reason_and_a_sentence(claim: Claim, facts: Facts) -> None:
    judgement = judge(claim, facts)
    assert judgement.reason in get_args(Reason)
    sentence = explain(Checked(claim, facts, judgement))
    if judgement.outcome in ACCUSING:
        assert sentence
        assert sentence[0] == "`" or not sentence[0].isupper()
        assert not sentence.endswith(".")
