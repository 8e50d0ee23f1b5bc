"""Handwritten samples: every claim gets the expected outcome."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.handwritten import SAMPLES, Sample
from corpus.tree import evidence_of, plant, shown


@pytest.fixture(scope="module")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("small"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.text.split("\n")[0][:60])
def test_a_handwritten_sample_is_read_as_expected(sample: Sample, small_tree: Path) -> None:
    assert tuple(map(shown, evidence_of(sample.text, small_tree).references)) == sample.expected
