"""Documents that are made to take long: each is checked in a time that grows with its size only."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from corpus.tree import evidence_of

from remit.checking import Options, check_text
from remit.evidence.sources import Sources
from remit.workspace.files import WorkTree

pytestmark = pytest.mark.slow

FENCE = "The code in shop/app.py:3 is:\n\n```js\n{}\n```\n"
DOCUMENTS = {
    "a line of slashes in a fence": FENCE.format("/" * 4_000),
    "lines of hash signs in a fence": FENCE.format("\n".join(["#" * 1_990] * 30)),
    "paths of thousands of machines": "\n".join(f"- /home/u{number}/p/shop/app.py:1" for number in range(2_500)),
    "a long line of names and lines": "shop/app.py " + "ReadingList calls it (line 3040) " * 2_400,
    "quotes on one line": "Code match: `total = 1` (shop/app.py:3) " * 1_500,
    "quotes among blank lines": "\n\n".join(FENCE.format(f"total = {number}") for number in range(20)),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hostile_document_is_checked_in_bounded_time(name: str, tmp_path: Path) -> None:
    file = tmp_path / "shop/app.py"
    file.parent.mkdir()
    file.write_text("\n" * 1_000_000 + "total = 1\n", encoding="utf-8")
    start = time.process_time()
    evidence_of(DOCUMENTS[name], tmp_path)
    assert time.process_time() - start < 10


def test_missing_files_and_many_ignored_names_are_checked_in_bounded_time(tmp_path: Path) -> None:
    ignored = [f"build{number}/\n*.gen{number}" for number in range(1_000)]
    (tmp_path / ".gitignore").write_text("\n".join(ignored), encoding="utf-8")
    text = "\n".join(f"- src/mod{number}/file{number}.py:12 fails" for number in range(5_000))
    start = time.process_time()
    check_text(text, "-", Options(), Sources(workspace=WorkTree(tmp_path)))
    assert time.process_time() - start < 15
