"""The documents of this project are true: what `remit verify` without a file finds in this checkout."""

from __future__ import annotations

from functools import cache

import pytest
from pages import ROOT

from remit.checking import Options, check_text
from remit.configuration import load
from remit.evidence.claims import claims_of
from remit.evidence.sources import Sources, open_sources
from remit.workspace.project_documents import project_documents

#: Without the history: CI has a shallow clone, and a claim that was true once fails as well.
OPTIONS = Options(profile="claims")


@cache
def documents() -> tuple[str, ...]:
    """Return the documents, without those that the settings of the project exclude."""
    found = project_documents(ROOT, (), load(ROOT)["verify.exclude"])
    if found is None:
        pytest.skip("not a checkout")
    return tuple(found)


@cache
def sources() -> Sources:
    """Return the checkout, opened once."""
    return open_sources(ROOT)


def failures(path: str, text: str | None = None) -> list[str]:
    """Return the claims of a document that do not hold."""
    source = (ROOT / path).read_bytes() if text is None else text
    claims = [
        entry
        for verdict in check_text(source, str(ROOT / path), OPTIONS, sources())
        for entry in claims_of(verdict.evidence)
    ]
    return [f"{path}:{entry.at}: {entry.text}: {entry.why}" for entry in claims if entry.fails]


def test_the_documents_of_the_project_are_true() -> None:
    """A page of invented examples belongs into `verify.exclude` in pyproject.toml."""
    assert [failure for path in documents() for failure in failures(path)] == []


def test_the_important_documents_are_among_them() -> None:
    wanted = {"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/evidence.md"}
    assert wanted <= set(documents())
    assert len(documents()) > 40


def test_a_false_claim_in_a_document_is_found() -> None:
    assert failures("docs/architecture.md", "See `src/remit/checking.py:99999`.\n") != []


def test_what_is_excluded_exists() -> None:
    everything = project_documents(ROOT) or []
    for glob in load(ROOT)["verify.exclude"]:
        assert len(project_documents(ROOT, (), [glob]) or []) < len(everything), glob
