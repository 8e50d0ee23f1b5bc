"""The canonical form: written, read back, the same."""

from __future__ import annotations

from hypothesis import given
from strategies import documents, is_wrapped, results

from remit.contract.model import Result
from remit.contract.parse import parse
from remit.contract.render import render, to_json


def read_back(text: str | bytes) -> Result:
    (document,) = parse(text)
    assert document.refusal is None
    return document.result


@given(results())
def test_every_result_survives_its_markdown_form(result: Result) -> None:
    assert read_back(render(result)) == result


@given(results())
def test_every_result_survives_its_json_form(result: Result) -> None:
    assert read_back(to_json(result)) == result


@given(documents)
def test_whatever_was_read_from_a_document_survives_both_forms(text: str) -> None:
    for document in parse(text):
        if document.refusal is None:
            assert read_back(to_json(document.result)) == document.result
            assert read_back(render(document.result)) == document.result or is_wrapped(document.result)
