"""The marks of Markdown around a statement: emphasis, titles, labels and links."""

from __future__ import annotations

import pytest

from remit.evidence.read_statements import read_statements


@pytest.mark.parametrize(
    "text", ["**All tests pass.**", "**All tests pass**", "Done.\n\n**✅ All 12 tests pass!**\n", "__All tests pass.__"]
)
def test_a_paragraph_in_bold_is_a_sentence(text: str) -> None:
    [statement] = read_statements(text)
    assert (statement.kind, statement.passed) == ("run", True)


@pytest.mark.parametrize("text", ["**All tests pass:**", "**All tests pass**:", "## Next steps\n\n**All tests pass**"])
def test_a_label_or_a_plan_in_bold_is_not_a_statement(text: str) -> None:
    assert read_statements(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "## **What I fixed:**",
        "## What we've changed here",
        "I've successfully implemented:",
        "I have fixed the old import:",
    ],
)
def test_a_title_of_what_was_done_is_not_a_statement(text: str) -> None:
    assert read_statements(text) == []


def test_a_sentence_before_a_list_with_the_name_of_a_file_is_one() -> None:
    [statement] = read_statements("I fixed these in `src/cart.py`:")
    assert statement.paths == ("src/cart.py",)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Added web/__tests__/cart.test.tsx.", "web/__tests__/cart.test.tsx"),
        ("Added __init__.py to the package.", "__init__.py"),
        ("Added src/__init__.py.", "src/__init__.py"),
        ("Added src/my__module.py and ran it.", "src/my__module.py"),
        ("I __added__ src/cart.py.", "src/cart.py"),
        ("Added __src/cart.py__.", "src/cart.py"),
        ("Added a test in [cart.test.tsx:5](web/__tests__/cart.test.tsx:5).", "web/__tests__/cart.test.tsx"),
        ("Added a test in [web/__tests__/cart.test.tsx](https://example.org/x).", "web/__tests__/cart.test.tsx"),
    ],
)
def test_underscores_of_a_path_are_not_emphasis(text: str, path: str) -> None:
    [statement] = read_statements(text)
    assert statement.paths == (path,)
