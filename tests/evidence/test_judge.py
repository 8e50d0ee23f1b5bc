"""The judgement on a claim: its outcome, how far it can be trusted, and why. One table, one function."""

from __future__ import annotations

import tomllib
from importlib.resources import files
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
    RELIABILITIES,
    Checked,
    Claim,
    CodeFacts,
    Facts,
    Location,
    NameFacts,
    Note,
    Reliability,
    State,
    Then,
)

TABLE = tomllib.loads(files("remit.evidence").joinpath("reliability.toml").read_text(encoding="utf-8"))
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
    ("text", "reason", "reliability"),
    [
        ("`src/app.py:99`", "past-end", "certain"),
        ("`src/app.py:0`", "line-zero", "certain"),
        ("`src/app.py:9-3`", "range-backwards", "certain"),
        ("see src/app.py:40-39 there", "range-backwards", "certain"),
        ("lines 100-99 of src/app.py", "range-backwards", "certain"),
        ("`src/ghost.py:3`", "missing-in-folder", "certain"),
        ("`verify_session_mac()` in `src/app.py:12`", "name-nowhere", "certain"),
        (QUOTE.format("names", "check_password"), "quote-altered", "certain"),
        ("`src/app.py:30`\n```python\nfrom src import store\n```", "quote-elsewhere", "certain"),
        ("`src/app.py:38-42`", "range-past-end", "likely"),
        ("`app.py:99`", "past-end-of-name", "likely"),
        ("`src/ghost/app.py:3`", "missing-below-folder", "likely"),
        ("`src/auth:3`", "is-folder", "likely"),
        ("`authenticate()` in `src/app.py:12`", "name-not-in-file", "look"),
        ("src/app.py:12 (verify_session_mac)", "name-nowhere", "likely"),
        ("`open_session()` in `src/app.py:2`", "name-elsewhere", "likely"),
        ("`open_session` is defined in `src/app.py:17`", "definition-elsewhere", "likely"),
        ("`src/app.py:14`\n```python\nlaunch(the_missiles, now=True)\n```", "quote-differs", "likely"),
        ("`src/app.py:14`\n```python\nexport const rows = 20;\n```", "quote-in-other-file", "likely"),
        ("`../secret.py:3`", "outside", "look"),
        ("Run `npm run deploy`.", "command-missing", "likely"),
        ("Run `uv run src/deploy.py`.", "missing-path", "look"),
        ("`tests/test_app.py::test_logout` fails", "test-missing", "likely"),
        ("`ghost.py:3`", "missing-name", "look"),
        ("`gone/ghost.py:3`", "missing-folders", "look"),
        ("the file `src/ghost.py`", "missing-path", "look"),
        ("[the file](src/ghost.py)", "missing-link", "look"),
        ("`/etc/hosts:3`", "outside-machine", "look"),
        ("```python src/app.py\nlaunch(the_missiles, now=True)\n```", "quote-without-line", "look"),
        ("```python src/app.py\nexport const rows = 20;\n```", "quote-without-line", "look"),
    ],
)
def test_an_accusation_is_as_reliable_as_the_table_states(
    text: str, reason: str, reliability: Reliability, tree: Path
) -> None:
    (accused,) = {
        (claim.reason, claim.reliability, claim.fails)
        for claim in evidence_in(text, tree).checked
        if claim.outcome in ACCUSING
    }
    assert accused == (reason, reliability, reliability != "look")
    assert reason in TABLE[reliability] or reason == "name-nowhere"
    strict = {
        (claim.reason, claim.reliability, claim.fails) for claim in evidence_of(text, tree).checked if claim.reliability
    }
    assert strict == {(reason, "certain", True)}


@pytest.mark.parametrize(
    ("least", "failing"), [("certain", 1), ("likely", 2), ("look", 3)], ids=["only certain", "default", "strict"]
)
def test_the_lowest_reliability_that_fails_is_chosen_by_the_caller(
    least: Reliability, failing: int, tree: Path
) -> None:
    claims = evidence_in("`src/app.py:99`, `app.py:99` and `ghost.py:3`", tree, asked=Asked(least=least)).checked
    assert [claim.fails for claim in claims] == [True] * failing + [False] * (3 - failing)


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("`src/app.py:12`", {"exists"}),
        ("`login()` in `src/app.py:12`", {"verified"}),
        ("`login` is defined in `src/app.py:12`", {"verified"}),
        ("`app.py:12`", {"abbreviated"}),
        ("`src/app.py:14`\n```python\n    user = store.find_user(name)\n```", {"verified"}),
        ("`src/app.py:14`\n```python\n# a comment\n```", {"exists", "unchecked"}),
    ],
)
def test_only_a_comparison_beyond_the_location_verifies_a_claim(text: str, outcomes: set[str], tree: Path) -> None:
    claims = evidence_in(text, tree).checked
    assert {claim.outcome for claim in claims} == outcomes
    assert {claim.reliability for claim in claims} == {None}


@pytest.mark.parametrize(
    ("cited", "quote", "reason", "reliability"),
    [
        (
            "12-17",
            "user = find(name)\nif not user:\n    return 401\nreturn open_session(user)",
            "quote-differs",
            "look",
        ),
        (
            "12-17",
            "user = users.find_user(names)\nif user is None or not check_password(user, password):",
            "quote-altered",
            "look",
        ),
        (
            "12-17",
            "user = store.find_user(names)\nif user is None or not check_password(user, password):",
            "quote-altered",
            "certain",
        ),
        ("14", "user = users.find_user(names)", "quote-altered", "certain"),
        (
            "25-30",
            "user = find(name)\nif not user:\n    return 401\nreturn open_session(user)",
            "quote-differs",
            "likely",
        ),
    ],
    ids=["a sketch", "two tokens of several lines", "one token", "one line", "in another place"],
)
def test_a_sketch_of_the_cited_lines_is_worth_a_look_and_fails_in_a_result(
    cited: str, quote: str, reason: str, reliability: str, tree: Path
) -> None:
    text = f"`src/app.py:{cited}`\n```python\n{quote}\n```"
    for claim in evidence_in(text, tree).checked:
        assert (claim.reason, claim.reliability, claim.facts.code is None) == (reason, reliability, False)
    for claim in evidence_of(text, tree).checked:
        assert (claim.reliability, claim.fails) == ("certain", True)


def test_a_range_that_ends_one_line_past_the_end_is_worth_a_look_and_fails_in_a_result(tmp_path: Path) -> None:
    write(tmp_path, {"src/app.py": "x = 1\n" * 40})
    text = "`src/app.py:38-41`, `src/app.py:38-42`, `src/app.py:41` and `src/app.py:41-42`"
    listed = [(claim.reason, claim.reliability) for claim in evidence_in(text, tmp_path).checked]
    assert listed == [
        ("range-past-end", "look"),
        ("range-past-end", "likely"),
        ("past-end", "certain"),
        ("past-end", "certain"),
    ]
    assert {claim.reliability for claim in evidence_of(text, tmp_path).checked} == {"certain"}


def test_a_label_whose_name_is_elsewhere_is_only_worth_a_look(tree: Path) -> None:
    for text, reliability in (
        ("- **open_session**: `src/app.py:2` - the imports that it uses", "look"),
        ("- `open_session`: `src/app.py:2` - the imports that it uses", "likely"),
        ("- open_session: `src/app.py:2` - the imports that it uses", "likely"),
    ):
        (claim,) = (claim for claim in evidence_in(text, tree).checked if claim.claim.name)
        assert (claim.reason, claim.reliability) == ("name-elsewhere", reliability)
        (claim,) = (claim for claim in evidence_of(text, tree).checked if claim.claim.name)
        assert claim.fails


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


# --- Every reason has a row and a sentence


def test_every_reason_of_the_table_is_one_of_the_judge_and_is_in_one_row() -> None:
    rows = [reason for reliability in RELIABILITIES for reason in TABLE[reliability]]
    assert set(rows) <= set(get_args(Reason))
    assert len(rows) == len(set(rows))
    assert TABLE.keys() == set(RELIABILITIES)


def test_every_outcome_accuses_holds_or_leaves_open() -> None:
    assert OUTCOMES.keys() - ACCUSING - HOLDING == {"ambiguous", "unchecked"}
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
    place=st.sampled_from(["cited", "file", "other", "nowhere", "empty", "skipped"]),
    found=st.none() | st.just(Location("src/app.py", 7)),
    similarity=st.none() | st.just(0.95),
    changed_tokens=st.none() | st.integers(0, 4),
)
CLAIMS = st.builds(
    Claim,
    kind=st.sampled_from(["place", "path", "quote", "name", "command", "test", "commit"]),
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
SIGNALS = st.lists(st.sampled_from(["plan", "created", "removed", "past"]), unique=True)


@given(CLAIMS, FACTS, SIGNALS)
def test_a_signal_lowers_the_reliability_by_one_step_and_changes_nothing_else(
    claim: Claim, facts: Facts, signals: list[str]
) -> None:
    plain, lowered = (judge(claim, facts, strict=False, signals=used) for used in ((), signals))
    assert (lowered.outcome, lowered.reason, lowered.found) == (plain.outcome, plain.reason, plain.found)
    assert (plain.reliability is None) == (plain.outcome not in ACCUSING)
    if plain.reliability is None or lowered.reliability is None:
        assert lowered == plain
        return
    step = RELIABILITIES.index(lowered.reliability) - RELIABILITIES.index(plain.reliability)
    room = len(RELIABILITIES) - 1 - RELIABILITIES.index(plain.reliability)
    # A line whose file is named elsewhere is as weak as its lowest sign.
    # No signal excuses a commit that a text chose for its claims.
    expected = 0 if plain.reason == "commit-foreign" else min(len(signals), room)
    assert step == expected or ("carried" in claim.notes and 0 <= step <= expected)


@given(CLAIMS, FACTS, SIGNALS)
def test_in_a_strict_text_every_accusation_is_certain_and_fails(claim: Claim, facts: Facts, signals: list[str]) -> None:
    strict, other = judge(claim, facts, strict=True, signals=signals), judge(claim, facts, strict=False)
    assert (strict.outcome, strict.reason) == (other.outcome, other.reason)
    is_accused = strict.outcome in ACCUSING
    assert (strict.reliability, strict.fails, strict.signals) == ("certain" if is_accused else None, is_accused, ())


@given(CLAIMS, FACTS)
def test_a_claim_that_held_when_it_was_written_is_outdated_except_in_a_strict_text(claim: Claim, facts: Facts) -> None:
    then = Then("a" * 40, "2026-02-08", "b" * 40, Location("src/app.py", 71))
    plain = judge(claim, facts, strict=False)
    dated = replace(facts, then=then)
    judgement = judge(claim, dated, strict=False)
    if plain.outcome in ACCUSING:
        assert (judgement.outcome, judgement.found) == ("outdated", then.found)
        verb = "renamed" if facts.state == "missing" else "changed"
        assert explain(Checked(claim, dated, judgement)) == (
            f"true in aaaaaaaaa (2026-02-08), {verb} in bbbbbbbbb; now at src/app.py:71"
        )
    else:
        assert judgement == plain
    assert judge(claim, dated, strict=True) == judge(claim, facts, strict=True)


@given(CLAIMS, FACTS)
def test_every_accusation_has_a_known_reason_and_a_sentence(claim: Claim, facts: Facts) -> None:
    judgement = judge(claim, facts, strict=False)
    assert judgement.reason in get_args(Reason)
    sentence = explain(Checked(claim, facts, judgement))
    if judgement.outcome in ACCUSING:
        assert sentence
        assert sentence[0] == "`" or not sentence[0].isupper()
        assert not sentence.endswith(".")
