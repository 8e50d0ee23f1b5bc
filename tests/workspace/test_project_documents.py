"""Which files of a checkout are documents that should stay true."""

from __future__ import annotations

import pytest

from remit.workspace.project_documents import is_document


@pytest.mark.parametrize(
    "path", ["README.md", "docs/guide.md", "docs/versions/guide.md", "docs/old.md", "threshold.md"]
)
def test_a_document_that_people_read_should_stay_true(path: str) -> None:
    assert is_document(path)


@pytest.mark.parametrize(
    "path", ["docs/versioned_docs/version-1.0/guide.md", "docs/api_versioned_docs/version-2/a.mdx"]
)
def test_the_pages_of_an_earlier_version_are_left_out(path: str) -> None:
    assert not is_document(path)


@pytest.mark.parametrize("path", ["CONTRIBUTING.old.md", "docs/guide.orig.md", "README.bak.md"])
def test_a_document_that_was_put_aside_is_left_out(path: str) -> None:
    assert not is_document(path)
