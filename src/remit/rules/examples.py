"""The valid sample documents; the examples of all rules are edits of them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from remit.evidence.receipts import Receipt, ReceiptIndex
from remit.evidence.sources import Sources
from remit.rules.base import Example
from remit.workspace.files import WorkTree

_SAMPLES = files("remit.rules") / "samples"
#: The project that the samples refer to.
TREE = Path(str(_SAMPLES)) / "tree"

_FILES = ("app/login.py", "app/session.py", "app/store.py", "tests/test_login.py", "docs/login.md")
_READS = {path: Receipt(tool="Read", path=path) for path in _FILES}
_EDITS = tuple(Receipt(tool="Edit", path=path) for path in ("tests/test_login.py", "app/session.py", "docs/login.md"))


def _test_run(status: int) -> Receipt:
    return Receipt(tool="Bash", arguments={"command": "python -m pytest tests"}, exit=status, failed=status != 0)


#: The tool calls of the example agents.
RECEIPTS: dict[str, tuple[Receipt, ...]] = {
    "everything": (*_READS.values(), *_EDITS, _test_run(0)),
    "nothing": (),
    "no-run": (*_READS.values(), *_EDITS),
    "failed-run": (*_READS.values(), *_EDITS, _test_run(1)),
    "only-read": tuple(_READS.values()),
    "no-session": (*(_READS[path] for path in _FILES if path != "app/session.py"), _test_run(0)),
    "no-store": (*(_READS[path] for path in _FILES if path != "app/store.py"), _test_run(0)),
}


@cache
def sample_text(kind: str) -> str:
    """Return the valid sample document of a kind."""
    return (_SAMPLES / f"{kind}.md").read_text(encoding="utf-8")


def example_text(example: Example) -> str:
    """Return the document of an example: the sample with its edits. Every edit must match exactly once."""
    text = sample_text(example.kind)
    for old, new in example.edits:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times in the {example.kind} sample, not once")
        text = text.replace(old, new)
    return text


def example_sources(example: Example) -> Sources:
    """Return the sources for an example's claims: the samples' own tree, and the agent's tool calls."""
    tree = WorkTree(TREE)
    if not example.receipts:
        return Sources(workspace=tree)
    return Sources(workspace=tree, receipts=ReceiptIndex(RECEIPTS[example.receipts], str(tree.root)))
