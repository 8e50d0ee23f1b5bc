"""How fast the language server answers after an edit."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from measure import Bench, ratio

from remit.checking import check_text
from remit.evidence.sources import open_sources
from remit.surfaces.lsp.live_documents import UNDATED, Checkout, DocumentText

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
_LINES = 2_000
_FILES = 200
_EDITS = 25


@cache
def _document() -> tuple[Path, str]:
    """A checkout of small modules, and a document of 2,000 lines about them: 500 claims in sections, with code."""
    root = Path(tempfile.mkdtemp(prefix="remit-editing-"))
    (root / ".git").mkdir()
    (root / "src").mkdir()
    for number in range(_FILES):
        code = "".join(f"def part_{number}_{line}(value):\n    return value + {line}\n\n\n" for line in range(20))
        (root / f"src/module_{number}.py").write_text(code)
    lines: list[str] = ["# The modules", ""]
    number = 0
    while len(lines) < _LINES:
        module = number % _FILES
        lines += [f"## Part {number}", "", f"The value is changed by `part_{module}_3` in `src/module_{module}.py:13`."]
        lines += [f"It is called from src/module_{module}.py:{line}, which does more." for line in (1, 5, 9)]
        lines += ["", "```python", f"def part_{module}_0(value):", "    return value + 0", "```", ""]
        lines += ["Other words of prose, which name `nothing` that could be looked up, and go on for a line.", ""]
        number += 1
    text = "\n".join(lines[:_LINES])
    (root / "docs.md").write_text(text)
    return root, text


def _edited(text: str, number: int) -> str:
    """Return the text with one more claim in a line of prose."""
    lines = text.split("\n")
    at = next(at for at in range(number * 70 + 40, len(lines)) if lines[at].startswith("Other words"))
    lines[at] += f" See `src/module_{number}.py:{900 + number}`."
    return "\n".join(lines)


def _against_a_check() -> float:
    root, text = _document()
    path = str(root / "docs.md")
    checkout, sources = Checkout(root), open_sources(root)
    before = checkout.check(DocumentText(path, text))
    edited = DocumentText(path, _edited(text, 9))

    def whole() -> None:
        check_text(edited.text, path, UNDATED, sources)

    return ratio(lambda: checkout.check_edited(edited, before), whole)


def _over_the_protocol() -> float:
    """Milliseconds from an edit to its diagnostics, in the real process, with the delay before a check."""
    from support.language_client import LanguageClient  # type: ignore[import-not-found,unused-ignore]

    root, text = _document()
    taken = []
    with LanguageClient(root) as editor:
        editor.open("docs.md")
        for number in range(_EDITS):
            started = time.perf_counter()
            version = editor.change("docs.md", _edited(text, number))
            editor.diagnostics("docs.md", version)
            taken.append(time.perf_counter() - started)
            editor.diagnostics("docs.md", version)  # the check of the whole document
    return statistics.median(taken) * 1000


def benches() -> list[Bench]:
    """Edits of a long document."""
    return [
        Bench(f"answer after an edit of {_LINES:,} lines", "one check of the text", "x", 0.5, _against_a_check),
        Bench(f"from an edit of {_LINES:,} lines to its marks", "100 ms are noticed", "ms", 100, _over_the_protocol),
    ]
