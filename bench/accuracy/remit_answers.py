"""Run Remit on the corpus and print its answers as JSON: the input of `score.py`.

python bench/accuracy/remit_answers.py > answers.json
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]

import mutations  # noqa: E402 (the path must be known first)

from remit.checking import Options, check_text  # noqa: E402
from remit.evidence.sources import open_sources  # noqa: E402
from remit.reports.formats import check_json  # noqa: E402


def answers() -> str:
    """Return the report of Remit on all documents; each is checked as a file in the root of the corpus's project."""
    with tempfile.TemporaryDirectory(prefix="remit-accuracy-") as folder:
        root = Path(folder) / "tree"
        shutil.copytree(HERE / "corpus/tree", root)
        sources, options = open_sources(root), Options(profile="claims", text="document")
        verdicts = [
            verdict
            for document in sorted((HERE / "corpus/documents").glob("*.md"))
            for verdict in check_text(document.read_bytes(), document.name, options, sources)
        ]
        sources.close()
    return check_json(verdicts)


def generated_quotes(number: int = mutations.NUMBER) -> tuple[int, int]:
    """Return how many altered quotes Remit accepts, and how many faithful quotes it accuses."""
    accepted = accused = 0
    sources = open_sources(mutations.TREE)
    for document in mutations.documents(number):
        (verdict,) = check_text(document.text, "quotes.md", Options(profile="claims"), sources)
        outcomes = {quote.at: quote.outcome for quote in verdict.evidence.quotes}
        for line, quote in document.quotes:
            holds = outcomes.get(line) in ("verified", "exists")
            accepted += holds and not quote.is_faithful
            accused += quote.is_faithful and not holds
    sources.close()
    return accepted, accused


if __name__ == "__main__":
    print(answers())
