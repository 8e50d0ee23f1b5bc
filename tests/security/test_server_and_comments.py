"""Marks of comments, links of the server and decisions of others cannot be used by the wrong person."""

from __future__ import annotations

import pytest

from remit.gate.project_paths import ProjectPath, classify
from remit.gate.settings import GateSettings


@pytest.mark.parametrize("name", ["docs/conf.py", "docs/_ext/run.js", "docs/build.sh", "docs/deep/er/tool.rb"])
def test_code_below_docs_is_code(name: str) -> None:
    assert classify(ProjectPath(f"/p/{name}", name, inside=True), GateSettings()) == "code"


def test_pages_below_docs_are_prose() -> None:
    for name in ("docs/index.md", "docs/picture.png", "docs/page.rst"):
        assert classify(ProjectPath(f"/p/{name}", name, inside=True), GateSettings()) == "prose"
