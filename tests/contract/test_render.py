"""The canonical form reads back as the same result."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import documents, is_wrapped, results
from verdicts import broken

from remit.contract.kinds import KINDS
from remit.contract.parse import parse
from remit.contract.render import format_number, render, to_json
from remit.contract.result_data import (
    Block,
    Blocker,
    Code,
    Confidence,
    Content,
    Count,
    ErrorDetails,
    Extra,
    Heading,
    Issue,
    Item,
    Items,
    Justification,
    KeyReference,
    Override,
    Result,
    Row,
    Table,
    Text,
    Tick,
)
from remit.rules.examples import sample_text


def read_back(text: str | bytes) -> Result:
    (document,) = parse(text)
    assert document.refusal is None
    return document.result


@given(results())
def test_every_result_round_trips_through_markdown(result: Result) -> None:
    assert read_back(render(result)) == result


@given(results())
def test_every_result_round_trips_through_json(result: Result) -> None:
    assert read_back(to_json(result)) == result


@given(documents)
def test_every_parsed_document_round_trips_through_both_forms(text: str) -> None:
    for document in parse(text):
        if document.refusal is None:
            assert read_back(to_json(document.result)) == document.result
            assert read_back(render(document.result)) == document.result or is_wrapped(document.result)


@given(documents)
def test_the_canonical_form_is_stable(text: str) -> None:
    for document in parse(text):
        once = render(document.result)
        assert render(parse(once)[0].result) == once or is_wrapped(document.result)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_is_canonical_except_for_blank_lines_and_section_order(kind: str) -> None:
    def parts(text: str) -> list[str]:
        return sorted(line for line in text.split("\n") if line)

    (document,) = parse(sample_text(kind))
    assert parts(render(document.result)) == parts(sample_text(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_keeps_its_verdict_in_every_form(kind: str) -> None:
    (document,) = parse(sample_text(kind))
    assert broken(render(document.result)) == broken(to_json(document.result)) == []


def test_the_canonical_form_has_no_needless_escapes() -> None:
    result = Result(
        agent="Foo",
        status="SUCCESS",
        summary="One. Two.",
        findings=(Block(heading="Claims", content=(Text(text="- not a list"), Code(text="x", info="py"))),),
        confidence=Confidence(score=92.5, reason="read", verified=95.0, inferred="n/a"),
        issues=(Issue(title="a: b", description="c | d", severity="minor"),),
        overrides=(Override(rule="single-source", reason="one file"),),
    )
    assert render(result) == (
        "## Foo Result\n\n### Status\nSUCCESS\n\n### Summary\nOne. Two.\n\n### Findings\n\n#### Claims\n\n"
        "\\- not a list\n\n```py\nx\n```\n\n### Confidence\n92.5 - read\nverified_confidence: 95\n"
        "inferred_confidence: n/a\n\n### Issues\n- a\\: b: c \\| d | Severity: minor\n\n"
        "### Overrides\n- single-source: one file\n"
    )


@pytest.mark.parametrize(
    ("score", "written"),
    [(92.0, "92"), (92.5, "92.5"), (0.0, "0"), (1e-7, "0.0000001"), (-3.0, "-3"), ("high", "high"), (None, "")],
)
def test_numbers_are_written_without_trailing_zeros(score: float | str | None, written: str) -> None:
    assert format_number(score) == written


@pytest.mark.parametrize("score", [float("inf"), float("-inf"), float("nan"), 1e308])
def test_numbers_outside_the_score_range_are_written(score: float) -> None:
    assert isinstance(read_back(render(Result(agent="a", confidence=Confidence(score=score)))).confidence, Confidence)


@pytest.mark.parametrize(
    "sly",
    [
        Result(agent="A\n\n### Status\nSUCCESS\n\n### x"),
        Result(agent="A", status="x\n\n### Status\nSUCCESS"),
        Result(agent="A", findings=(Block(heading="x\n### Status\nSUCCESS", content=()),)),
        Result(agent="A", references=(KeyReference(item="x |\n\n### Status\nSUCCESS", location=""),)),
        Result(agent="A", checklist=(Tick(text="x\n\n### Status\nSUCCESS", ticked=True),)),
        Result(agent="A", issues=(Issue(title="x", severity="y\n\n### Status\nSUCCESS"),)),
        Result(agent="A", confidence=Confidence(score=9.0, reason="x\n\n### Status\nSUCCESS")),
        Result(agent="A", justification=Justification(method="x\n\n### Status\nSUCCESS")),
        Result(agent="A", severity_summary=(Count(severity="x\n\n### Status\nSUCCESS", count=1),)),
        Result(agent="A", findings=(Block(content=(Code(text="x", info="y\n```\n### Status\nSUCCESS"),)),)),
    ],
)
def test_line_ends_in_a_value_cannot_add_a_section(sly: Result) -> None:
    assert read_back(render(sly)).status != "SUCCESS"


@pytest.mark.parametrize(
    "content",
    [
        (Text(text="<!-- never closed"),),
        (Items(items=(Item(text="a\n```"),)), Code(text="## Other Result")),
        (Items(items=(Item(text="a\n# Notes"), Item(text="b\n  ## Other Result"))),),
        (Items(items=(Item(text="a"),)), Items(items=(Item(text="b"),)), Items(items=(Item(text="c"),))),
        (Items(items=(Item(text=""), Item(text=""))), Items(items=(Item(text=""),))),
        (Items(items=tuple(Item(text=f"step {n}\n\nmore") for n in range(12)), ordered=True),),
        (Text(text="**Status**: SUCCESS"), Text(text="**Claims**"), Text(text="**Other Result**")),
        (Heading(text="Status"), Heading(text="Claims"), Heading(text="\\x"), Heading(text="#"), Heading(text="a \\#")),
        (Table(columns=("a|b", "\\"), rows=(Row(cells=("\\|", "｜")), Row(cells=("", "")))),),
        (Code(text="```\n~~~", info="~`"), Code(text="", info="a b"), Code(text="    x\n\n  y")),
    ],
)
def test_content_that_looks_like_structure_stays_content(content: tuple[Content, ...]) -> None:
    result = Result(agent="A", status="FAILED", findings=(Block(heading="x", content=content),))
    assert read_back(render(result)) == result


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("issues", (Issue(title="Severity: high"), Issue(title="a\\", description="b"), Issue(title=":"))),
        ("issues", (Issue(title="a", description="b | Severity: low"), Issue(title="", severity="x | y"))),
        ("issues", (Issue(title="a", description="b\nSeverity: low"), Issue(title="a｜Severity: b"))),
        ("blockers", (Blocker(text="a\nResolution: b"), Blocker(text="c | d", resolution="e | f"))),
        ("confidence", Confidence(score="verified: 9", reason="- x")),
        ("confidence", Confidence(score=9.0, reason="(whole)", verified="n/a", verified_reason="a) b")),
        ("justification", Justification(method="**a** b*", blind_spots="*")),
        ("overrides", (Override(rule="a", reason="b | c: d"),)),
        ("error", ErrorDetails(type="x", message="", recoverable="**no**")),
        ("summary", "- a\n  - b\n\n```\n  x\n```"),
        ("summary", "# a\n\n\\# b\n\n1. c"),
        ("status", "# none"),
    ],
)
def test_values_that_look_like_structure_stay_values(field: str, value: object) -> None:
    result = Result(agent="A", **{field: value})  # type: ignore[arg-type]
    assert read_back(render(result)) == result


@pytest.mark.parametrize("words", ["{", "[1, 2]", "\ufeffx"])
def test_text_at_the_start_is_not_read_as_json(words: str) -> None:
    result = Result(extra=(Extra(heading="", content=(Text(text=words),)),))
    assert read_back(render(result)) == result
    assert read_back(render(result).encode()) == result
