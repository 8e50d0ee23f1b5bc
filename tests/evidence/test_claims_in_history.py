"""Claims of documents in a real repository: what held when it was written, and what never held."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.claims import ClaimEntry, claims_of
from remit.evidence.model import Location
from remit.evidence.sources import open_sources

CART = """class Cart:
    def add(self, item):
        self.items.append(item)


def total(items):
    return sum(item.price for item in items)
"""
Verify = Callable[[str], list[ClaimEntry]]


def git(root: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", *arguments]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


@pytest.fixture
def verify(tmp_path: Path) -> Verify:
    """Return what verifies a document that was written before `shop/util.py` was renamed to `shop/cart.py`."""
    git(tmp_path, "init", "-q")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/util.py").write_text(CART, encoding="utf-8")
    (tmp_path / "shop/kept.py").write_text("\n" * 8 + CART, encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Start")

    def run(text: str) -> list[ClaimEntry]:
        document = tmp_path / "AGENTS.md"
        document.write_text(text, encoding="utf-8")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", "Write")
        git(tmp_path, "mv", "shop/util.py", "shop/cart.py")
        (tmp_path / "shop/kept.py").write_text("\n" * 60 + CART, encoding="utf-8")
        git(tmp_path, "commit", "-qam", "Rename")
        options = Options(profile="claims", with_history=True)
        with open_sources(tmp_path) as sources:
            verdicts = check_text(text.encode(), str(document), options, sources)
        return [entry for verdict in verdicts for entry in claims_of(verdict.evidence)]

    return run


@pytest.mark.parametrize("place", ["`total()` in `shop/util.py:6`", "`shop/util.py:7`", "`shop/util.py`"])
def test_a_claim_that_held_in_a_renamed_file_is_outdated(verify: Verify, place: str) -> None:
    (entry,) = verify(f"See {place}.\n")
    assert (entry.outcome, entry.fails) == ("outdated", True)
    assert entry.found is not None
    assert entry.found.path == "shop/cart.py"


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("`ghost_fn()` in `shop/util.py:1`", id="an invented name"),
        pytest.param("`shop/util.py:900`", id="a line past its end"),
        pytest.param("`shop/util.py:1`:\n```python\nmade_up(by, nobody)\n```", id="an invented quote"),
    ],
)
def test_a_claim_that_never_held_in_a_renamed_file_is_outdated_and_not_called_true(verify: Verify, place: str) -> None:
    for entry in verify(f"See {place}.\n"):
        assert (entry.outcome, entry.fails) == ("outdated", True)
        assert entry.then is not None
        assert entry.then.date
        assert entry.found == Location("shop/cart.py")
        assert "without what is stated, renamed in" in entry.why
        assert "true in" not in entry.why


def test_a_file_that_git_ignores_does_not_fail_in_a_document_of_the_project(
    tmp_path: Path,
) -> None:
    git(tmp_path, "init", "-q")
    for folder in ("output", "kept"):
        (tmp_path / folder / "data").mkdir(parents=True)
        (tmp_path / folder / f"data/{folder}.json").write_text("{}", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Start")
    git(tmp_path, "rm", "-qr", "output", "kept")
    (tmp_path / ".gitignore").write_text("output/\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Ignore what programs write")
    text = b"It has `data/output.json` and `data/kept.json`.\n"
    with open_sources(tmp_path) as sources:
        (verdict,) = check_text(text, "-", Options(profile="claims", with_history=True, text="project"), sources)
    entries = [(entry.text, entry.outcome, entry.fails) for entry in claims_of(verdict.evidence)]
    assert entries == [("data/output.json", "outdated", False), ("data/kept.json", "outdated", True)]


def test_a_committed_link_to_a_file_that_is_built_later_is_not_outdated(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "manual.html").symlink_to("build/index.html")
    (tmp_path / "README.md").write_text("The manual is [here](./manual.html), in `./manual.html`.\n", encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Start")
    document = tmp_path / "README.md"
    options = Options(profile="claims", with_history=True)
    with open_sources(tmp_path) as sources:
        (verdict,) = check_text(document.read_bytes(), str(document), options, sources)
    entries = claims_of(verdict.evidence)
    assert [(entry.outcome, entry.reason) for entry in entries] == [("unchecked", "dangling")] * 2


def test_a_file_that_was_removed_is_outdated_in_a_text_and_missing_in_a_result(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for name in ("gone.py", "kept.py"):
        (tmp_path / name).write_text(CART, encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Start")
    git(tmp_path, "rm", "-q", "gone.py")
    git(tmp_path, "commit", "-qm", "Remove")
    text = b"See `gone.py:6`, `gone.py:900` and `ghost()` in `gone.py:1`.\n"
    for kind, outcome in (("document", "outdated"), ("report", "missing-file")):
        strict = kind == "report"
        options = Options(profile="claims", with_history=True, text=kind)  # type: ignore[arg-type]
        with open_sources(tmp_path) as sources:
            (verdict,) = check_text(text, "-", options, sources)
        entries = claims_of(verdict.evidence)
        assert [(entry.outcome, entry.fails) for entry in entries] == [(outcome, True)] * 3
        assert [bool(entry.then) for entry in entries] == [not strict] * 3
        assert all("removed in" in entry.why for entry in entries) is not strict


def test_an_outdated_name_points_to_where_the_name_is_today(verify: Verify) -> None:
    (entry,) = verify("See `total()` in `shop/kept.py:12`.\n")
    assert entry.outcome == "outdated"
    assert entry.found is not None
    assert (entry.found.path, entry.found.line) == ("shop/kept.py", 66)


def test_one_of_several_names_that_the_file_has_is_not_nowhere(verify: Verify) -> None:
    (entry,) = verify("| Function | File |\n|---|---|\n| `ghost_fn`, `total` | `shop/kept.py:1` |\n")
    assert entry.reason == "outdated" or entry.outcome == "relocated"
