"""The accuracy benchmark: its labels fit its documents, its scorer counts correctly, and its figures are current."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench/accuracy"
sys.path.insert(0, str(BENCH))

import figures  # noqa: E402 (the path must be known first)
import mutations  # noqa: E402
import remit_answers  # noqa: E402
import score  # noqa: E402

LABELS = score.read_labels()
#: The figures on generated quotes, measured once.
GENERATED = cache(figures.generated_figures)
DOCUMENTS = sorted(path.name for path in (BENCH / "corpus/documents").glob("*.md"))


@pytest.fixture(scope="module")
def answers() -> list[score.Answer]:
    return score.read_answers(json.loads(remit_answers.answers()))


def test_every_document_is_labelled() -> None:
    entries = json.loads((BENCH / "corpus/labels.json").read_text(encoding="utf-8"))
    assert sorted(entry["document"] for entry in entries) == DOCUMENTS
    assert [sum(entry["set"] == name for entry in entries) for name in ("adversarial", "blind")] == [50, 50]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_label_is_about_the_text_of_its_line(document: str) -> None:
    lines = (BENCH / "corpus/documents" / document).read_text(encoding="utf-8").split("\n")
    for label in (one for one in LABELS if one.document == document):
        near = "\n".join(lines[label.line - 1 : label.line + score._NEAR])
        assert near.strip(), f"{document}:{label.line} is empty"
        if label.kind == "decoy":
            assert label.text in lines[label.line - 1]
        elif label.cited is not None:
            assert str(label.cited[0]) in near


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_reference_that_is_labelled_as_found_elsewhere_names_a_line_of_the_project(document: str) -> None:
    entries = json.loads((BENCH / "corpus/labels.json").read_text(encoding="utf-8"))
    (entry,) = (one for one in entries if one["document"] == document)
    for claim in entry["claims"]:
        if "found" in claim:
            text = (BENCH / "corpus/tree" / claim["found"]["path"]).read_text(encoding="utf-8")
            assert (claim["found"]["line"] or 1) <= text.count("\n")


def test_the_committed_figures_are_those_of_a_new_run(answers: list[score.Answer]) -> None:
    committed = json.loads((BENCH / "figures.json").read_text(encoding="utf-8"))
    for name in ("all", "classes", "adversarial", "blind"):
        labels = score.read_labels(only="" if name == "all" else name)
        rows = score.figures(labels, answers) + (GENERATED() if name == "all" else [])
        new = {row.name: [row.hits, row.total] for row in rows}
        assert committed[name] == new, "run `python bench/accuracy/figures.py`"
    assert committed["mistakes"] == score.mistakes(LABELS, answers)


def test_the_page_on_accuracy_has_these_figures(answers: list[score.Answer]) -> None:
    page = figures.PAGE.read_text(encoding="utf-8")
    assert score.table(score.figures(LABELS, answers) + GENERATED()) in page


def test_the_goals_for_generated_quotes_are_met() -> None:
    assert [row.meaning for row in GENERATED() if row.share is None or row.share > -row.goal] == []


def test_generated_quotes_are_what_they_are_labelled_as() -> None:
    quotes = [quote for document in mutations.documents(60) for _, quote in document.quotes]
    assert sum(quote.is_faithful for quote in quotes) == 60
    for quote in quotes:
        lines = mutations.SOURCES[quote.path][quote.first - 1 : quote.last]
        if not quote.is_faithful:
            differing = [one for one, other in zip(quote.code.split("\n"), lines, strict=True) if one != other]
            assert len(differing) == 1


@pytest.mark.parametrize("name", ["read", "accusations", "recognised", "altered", "faithful", "decoys", "verified"])
def test_every_goal_is_met(name: str, answers: list[score.Answer]) -> None:
    row = next(row for row in score.figures(LABELS, answers) if row.name == name)
    assert row.share is not None
    assert row.share >= row.goal if row.goal > 0 else row.share <= -row.goal, score.mistakes(LABELS, answers)


def perfect() -> list[score.Answer]:
    return [
        score.Answer(label.document, label.line, label.kind, label.cited, min(label.outcomes))
        for label in LABELS
        if label.kind != "decoy"
    ]


def share(name: str, answers: list[score.Answer]) -> float:
    row = next(row for row in score.figures(LABELS, answers) if row.name == name)
    assert row.share is not None
    return row.share


def test_a_perfect_tool_meets_every_goal() -> None:
    shares = {row.name: row.share for row in score.figures(LABELS, perfect())}
    assert shares == {
        **dict.fromkeys(("read", "accusations", "recognised", "verified", "exact"), 1.0),
        **dict.fromkeys(("altered", "faithful", "decoys"), 0.0),
    }
    assert score.mistakes(LABELS, perfect()) == []


def test_a_tool_that_accepts_everything_is_not_precise() -> None:
    accepting = [answer._replace(outcome="verified") for answer in perfect()]
    assert share("altered", accepting) == 1.0
    assert share("verified", accepting) < 0.75
    assert share("read", accepting) == 1.0


def test_a_tool_that_accuses_everything_is_not_right() -> None:
    accusing = [answer._replace(outcome="mismatch") for answer in perfect()]
    assert share("accusations", accusing) < 0.5
    assert share("recognised", accusing) == 0.0
    assert share("faithful", accusing) == 1.0


def test_a_silent_tool_reads_nothing() -> None:
    assert share("read", []) == 0.0
    assert len(score.mistakes(LABELS, [])) == sum(label.kind != "decoy" for label in LABELS)


def test_an_answer_about_a_decoy_is_a_mistake() -> None:
    decoy = next(label for label in LABELS if label.kind == "decoy")
    wrong = [*perfect(), score.Answer(decoy.document, decoy.line, "reference", (99_999, 99_999), "missing-file")]
    assert share("decoys", wrong) > 0
    assert share("accusations", wrong) < 1.0


def test_the_format_for_other_tools_is_read() -> None:
    data = [{"document": "a01.md", "references": [{"line": 1, "cited": [6, None], "outcome": "verified"}]}]
    assert score.read_answers(data) == [score.Answer("a01.md", 1, "reference", (6, 6), "verified")]


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"), [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0)]
)
def test_the_interval_is_that_of_wilson(hits: int, total: int, low: float, high: float) -> None:
    assert score.wilson(hits, total) == pytest.approx((low, high), abs=1e-4)
