"""Labelled claims about a real tree, and handwritten samples: every claim gets the expected outcome."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from corpus import claims, measure
from corpus.handwritten import SAMPLES, Sample
from corpus.stdlib import Tree, copy_tree
from corpus.tree import evidence_of, plant, shown

#: Quotes in one document; at most a hundred missing quotes are searched for in other files.
_AT_ONCE = 40


@pytest.fixture(scope="module")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("small"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.text.split("\n")[0][:60])
def test_a_handwritten_sample_is_read_as_expected(sample: Sample, small_tree: Path) -> None:
    assert tuple(map(shown, evidence_of(sample.text, small_tree).references)) == sample.expected


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tree]:
    root = tmp_path_factory.mktemp("library")
    return root, copy_tree(root)


@pytest.fixture(scope="module")
def answers(real: tuple[Path, Tree]) -> list[measure.Answer]:
    root, tree = real
    random_ = random.Random(20_240)
    found = measure.check_claims(list(claims.references(tree, random_)), root)
    quotes = list(claims.quotes(tree, random_, 40))
    random_.shuffle(quotes)
    for at in range(0, len(quotes), _AT_ONCE):
        found.extend(measure.check_claims(quotes[at : at + _AT_ONCE], root))
    for _ in range(3):
        body, references, quoted = claims.findings(tree, random_, 15)
        evidence = evidence_of(body, root, kind="review")
        actual = [measure.actual_label(one) for one in evidence.references]
        found.extend(measure.compare("reference", "a row with a quote", references, actual))
        actual = [measure.actual_label(one) for one in evidence.quotes]
        found.extend(measure.compare("quote", "under a finding's ID", quoted, actual))
    return found


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("of", ["reference", "quote"])
def test_every_claim_about_a_real_tree_gets_its_labelled_outcome(answers: list[measure.Answer], of: str) -> None:
    mistakes = measure.wrong(answer for answer in answers if answer.of == of)
    assert mistakes == []
    assert measure.scores(answers, of) == (1.0, 1.0, 1.0)


@pytest.mark.slow
@pytest.mark.process
def test_the_corpus_is_large_and_has_every_outcome(answers: list[measure.Answer]) -> None:
    sys.stdout.write("\n" + measure.table(answers) + "\n")
    references = [answer.label for answer in answers if answer.of == "reference" and answer.label]
    quotes = [answer.label for answer in answers if answer.of == "quote" and answer.label]
    assert len(references) >= 500
    assert len(quotes) >= 200
    wanted = {"verified", "exists", "relocated", "missing-file", "out-of-range", "outside", "mismatch"}
    assert {label.outcome for label in references} == wanted
    assert {label.outcome for label in quotes} == {"verified", "relocated", "missing-file", "mismatch"}


@pytest.mark.slow
@pytest.mark.process
def test_a_checker_that_accepts_everything_would_fail(answers: list[measure.Answer]) -> None:
    accepting = [
        answer._replace(actual=answer.label and answer.label._replace(outcome="verified", found=None))
        for answer in answers
    ]
    silent = [answer._replace(actual=None) for answer in answers]
    for of in ("reference", "quote"):
        precision, recall, _ = measure.scores(accepting, of)
        assert precision < 0.7
        assert recall == 1.0
        assert measure.scores(silent, of)[1] == 0.0
