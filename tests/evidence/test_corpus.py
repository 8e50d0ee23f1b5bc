"""Claims about a real tree, in many people's hands: what is verified is there, and what is there is verified."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from corpus import claims, measure
from corpus.hands import HANDS, Hand
from corpus.stdlib import Tree, copy_tree
from corpus.tree import evidence_of, plant, shown

#: Quotes of one document; more than a hundred that are lost are not looked for.
_AT_ONCE = 40


@pytest.fixture(scope="module")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("small"))


@pytest.mark.parametrize(
    "hand", [hand for hands in HANDS.values() for hand in hands], ids=lambda hand: hand.text.split("\n")[0][:60]
)
def test_a_hand_written_piece_is_read_as_meant(hand: Hand, small_tree: Path) -> None:
    assert tuple(map(shown, evidence_of(hand.text, small_tree).references)) == hand.expected


def test_the_hand_written_part_is_large_enough() -> None:
    assert sum(hand.text.count("\n") + 1 for hands in HANDS.values() for hand in hands) >= 80


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tree]:
    root = tmp_path_factory.mktemp("library")
    return root, copy_tree(root)


@pytest.fixture(scope="module")
def answers(real: tuple[Path, Tree]) -> list[measure.Answer]:
    root, tree = real
    random_ = random.Random(20_240)
    found = measure.ask(list(claims.references(tree, random_)), root)
    quotes = list(claims.quotes(tree, random_, 40))
    random_.shuffle(quotes)
    for at in range(0, len(quotes), _AT_ONCE):
        found.extend(measure.ask(quotes[at : at + _AT_ONCE], root))
    for _ in range(3):
        body, references, quoted = claims.findings(tree, random_, 15)
        evidence = evidence_of(body, root, kind="review")
        said = [measure.said_of(one) for one in evidence.references]
        found.extend(measure.compare("reference", "a row with a quote", references, said))
        said = [measure.said_of(one) for one in evidence.quotes]
        found.extend(measure.compare("quote", "under a finding's ID", quoted, said))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("of", ["reference", "quote"])
def test_every_claim_about_a_real_tree_is_judged_as_labelled(answers: list[measure.Answer], of: str) -> None:
    mistakes = measure.wrong(answer for answer in answers if answer.of == of)
    assert mistakes == []
    assert measure.scores(answers, of) == (1.0, 1.0, 1.0)


@pytest.mark.slow
def test_the_corpus_is_large_and_has_every_outcome(answers: list[measure.Answer]) -> None:
    sys.stdout.write("\n" + measure.table(answers) + "\n")
    references = [answer.label for answer in answers if answer.of == "reference" and answer.label]
    quotes = [answer.label for answer in answers if answer.of == "quote" and answer.label]
    assert len(references) >= 500
    assert len(quotes) >= 200
    wanted = {"verified", "relocated", "missing-file", "out-of-range", "outside", "mismatch"}
    assert {label.outcome for label in references} == wanted
    assert {label.outcome for label in quotes} == {"verified", "relocated", "missing-file", "mismatch"}


@pytest.mark.slow
def test_a_checker_that_believes_everything_would_be_found_out(answers: list[measure.Answer]) -> None:
    believing = [
        answer._replace(said=answer.label and answer.label._replace(outcome="verified", found=None))
        for answer in answers
    ]
    doubting = [answer._replace(said=None) for answer in answers]
    for of in ("reference", "quote"):
        precision, recall, _ = measure.scores(believing, of)
        assert precision < 0.7
        assert recall == 1.0
        assert measure.scores(doubting, of)[1] == 0.0
