"""The confidence that the evidence supports: 60·r + 25·q + 15·x, computed by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from remit.checking import check_text
from remit.evidence.document import Segment
from remit.evidence.model import Checked, Claim, ClaimKind, Evidence, Facts, Judgement, Outcome
from remit.evidence.receipts import Receipt, ReceiptIndex
from remit.evidence.sources import Sources, open_sources
from remit.evidence.support import band, is_above, supported_confidence
from remit.rules.examples import TREE, sample_text

ROOT = "/home/dev/shop"
RAN = Receipt(tool="Bash", arguments={"command": "python -m pytest"}, exit=0)


def checked_claim(kind: ClaimKind, outcome: Outcome, path: str) -> Checked:
    segment = Segment("text", path, 1, None, None, 1)
    return Checked(Claim(kind, path, 1, segment, path, 1), Facts(state="file", path=path), Judgement(outcome))


def reference(outcome: Outcome, path: str = "a.py") -> Checked:
    return checked_claim("place", outcome, path)


def quote(outcome: Outcome, path: str = "a.py") -> Checked:
    return checked_claim("quote", outcome, path)


def score(references: list[Checked], *receipts: Receipt, quotes: tuple[Checked, ...] = ()) -> float | None:
    return supported_confidence(Evidence(checked=[*references, *quotes]), ReceiptIndex(receipts, ROOT))


READ = Receipt(tool="Read", path="a.py")
GOOD, MOVED, BAD = reference("verified"), reference("relocated"), reference("missing-file")


@pytest.mark.parametrize(
    ("references", "quotes", "receipts", "expected"),
    [
        # r = 1, q = r, x = 1
        ([GOOD], (), (READ, RAN), 100.0),
        # r = 1, q = r, x = 0
        ([GOOD], (), (READ,), 85.0),
        ([reference("exists")], (), (READ,), 85.0),
        # r = (1 + 1/2) / 2 = 3/4, q = r: 45 + 18.75
        ([GOOD, MOVED], (), (READ,), 63.75),
        # r = (1 + 1/2 + 0) / 3 = 1/2, q = r: 30 + 12.5 + 15
        ([GOOD, MOVED, BAD], (), (READ, RAN), 57.5),
        # r = 0, q = r
        ([BAD], (), (READ,), 0.0),
        ([BAD], (), (READ, RAN), 15.0),
        # r = 1, q = 1
        ([GOOD], (quote("verified"),), (READ,), 85.0),
        # r = 1, q = 0
        ([GOOD], (quote("mismatch"),), (READ,), 60.0),
        # r = 1, q = (1 + 1/2 + 0) / 3 = 1/2: 60 + 12.5
        ([GOOD], (quote("verified"), quote("relocated"), quote("mismatch")), (READ,), 72.5),
        # halved, the file was never read: r = 1/2, q = r: 30 + 12.5
        ([GOOD], (), (), 42.5),
        # only one of the two files was read: r = (1 + 1/2) / 2 = 3/4, q = r
        ([GOOD, reference("verified", "b.py")], (), (READ,), 63.75),
        # relocated and never read: r = 1/4, q = r: 15 + 6.25
        ([MOVED], (), (), 21.25),
        # quotes are halved by their own file: r = 1, q = 1/2
        ([GOOD], (quote("verified", "b.py"),), (READ,), 72.5),
        # planned files are left out: r = 1
        ([GOOD, reference("planned", "new.py")], (), (READ,), 85.0),
        # three thirds that do not divide: r = 2/3, q = r: 40 + 16.67
        ([GOOD, GOOD, BAD], (), (READ,), 56.67),
    ],
)
def test_supported_confidence_is_as_computed_by_hand(
    references: list[Checked], quotes: tuple[Checked, ...], receipts: tuple[Receipt, ...], expected: float
) -> None:
    assert score(references, *receipts, quotes=quotes) == expected


@pytest.mark.parametrize("outcome", ["missing-file", "out-of-range", "mismatch", "unchecked"])
def test_other_outcomes_are_worth_nothing(outcome: Outcome) -> None:
    assert score([reference(outcome)], READ) == 0.0
    assert score([GOOD], READ, quotes=(quote(outcome),)) == 60.0


def test_without_a_reference_there_is_no_supported_confidence() -> None:
    assert score([], READ, RAN) is None
    assert score([], READ, quotes=(quote("verified"),)) is None
    assert score([reference("planned")], READ, RAN) is None


@pytest.mark.parametrize(
    ("receipt", "expected"),
    [
        (Receipt(tool="Read", path="a.py", ranges=((50, 60),)), 85.0),
        (Receipt(tool="Edit", path="a.py"), 85.0),
        (Receipt(tool="Grep", hits={"a.py": (1,)}), 85.0),
        (Receipt(tool="Bash", arguments={"command": "cat a.py"}, exit=0), 85.0),
        (Receipt(tool="Grep", hits={"a.py": ()}), 42.5),
        (Receipt(tool="Glob", hits={"a.py": ()}), 42.5),
        (Receipt(tool="Read", path="a.py", failed=True), 42.5),
        (Receipt(tool="Bash", arguments={"command": "ls a.py"}, exit=0), 42.5),
    ],
)
def test_a_file_counts_fully_only_if_a_part_of_it_was_read(receipt: Receipt, expected: float) -> None:
    assert score([GOOD], receipt) == expected


@pytest.mark.parametrize(
    ("command", "status", "expected"),
    [
        ("python -m pytest", 0, 100.0),
        ("python -m pytest", 1, 85.0),
        ("python -m pytest", None, 85.0),
        ("ls && cat a.py", 0, 85.0),
        ("grep -rn 'a|b' . 2>/dev/null", 0, 85.0),
        ("git status", 0, 85.0),
    ],
)
def test_only_a_successful_execution_adds_fifteen_points(command: str, status: int | None, expected: float) -> None:
    assert score([GOOD], READ, Receipt(tool="Bash", arguments={"command": command}, exit=status)) == expected


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (100, "certain"),
        (95, "certain"),
        (94.99, "high"),
        (85, "high"),
        (84.99, "moderate"),
        (75, "moderate"),
        (74.99, "low"),
        (60, "low"),
        (59.99, "ask for clarification"),
        (0, "ask for clarification"),
        (-1, "ask for clarification"),
    ],
)
def test_each_band_begins_at_its_lower_bound(value: float, name: str) -> None:
    assert band(value) == name


@pytest.mark.parametrize(
    ("claimed", "value", "above"),
    [
        (95, 94.9, True),
        (94, 85, False),
        (85, 84.9, True),
        (84, 75, False),
        (75, 74.9, True),
        (74, 60, False),
        (60, 59.9, True),
        (59, 0, False),
        (60, 100, False),
        (100, 95, False),
    ],
)
def test_only_a_higher_band_is_above(claimed: float, value: float, above: bool) -> None:
    assert is_above(claimed, value) is above


# The rule


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the samples' project."""
    shutil.copytree(TREE, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__"))
    return (tmp_path / "project").resolve()


def checked(sources: Sources, claimed: int) -> tuple[float | None, list[str]]:
    """Return the supported confidence, and the messages of the rule for a claimed score."""
    text = sample_text("generic").replace("90 - every", f"{claimed} - every")
    (verdict,) = check_text(text, sources=sources)
    rule = [violation.message for violation in verdict.violations if violation.rule == "confidence-unsupported"]
    return verdict.confidence.supported, rule


BOTH = (Receipt(tool="Read", path="app/login.py"), Receipt(tool="Read", path="app/session.py"))


@pytest.mark.parametrize(("claimed", "is_too_high"), [(84, False), (85, False), (94, False)])
def test_a_score_in_the_supported_band_is_accepted(tree: Path, claimed: int, is_too_high: bool) -> None:
    value, messages = checked(open_sources(tree, records=BOTH), claimed)
    assert (value, bool(messages)) == (85.0, is_too_high)


@pytest.mark.parametrize(("claimed", "is_too_high"), [(59, False), (60, True), (90, True)])
def test_a_score_above_the_supported_band_is_reported_with_both_scores(
    tree: Path, claimed: int, is_too_high: bool
) -> None:
    value, messages = checked(open_sources(tree, records=[Receipt(tool="Glob")]), claimed)
    assert value == 42.5
    assert bool(messages) is is_too_high
    if messages:
        assert "the evidence supports 42.5 (ask for clarification)" in messages[0]


def test_without_receipts_or_without_a_checkout_nothing_is_computed(tree: Path) -> None:
    assert checked(open_sources(tree), 90) == (None, [])
    assert checked(open_sources(None, records=BOTH), 90) == (None, [])
