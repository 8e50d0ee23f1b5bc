"""Claims of changed files and test runs, checked against git, a snapshot and the receipts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from remit.checking import Verdict, check_text
from remit.contract.parse import parse
from remit.contract.result_data import Result
from remit.evidence.changes import ChangeChecker
from remit.evidence.model import ChangeClaim
from remit.evidence.receipts import Receipt, ReceiptIndex
from remit.evidence.sources import Sources, open_sources
from remit.rules.examples import TREE, sample_text
from remit.workspace.commit import Commit
from remit.workspace.files import Workspace, WorkTree
from remit.workspace.snapshot import take_snapshot


def git(root: Path, *arguments: str) -> None:
    """Run git without the user's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    calm = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *arguments]
    subprocess.run(command, cwd=root, env=kept | calm, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with one commit."""
    shop = (tmp_path / "shop").resolve()
    shop.mkdir()
    git(shop, "init", "--quiet")
    (shop / "old.py").write_text("one\ntwo\nthree\n")
    (shop / "same.py").write_text("same\n")
    (shop / "image.png").write_bytes(b"\0")
    git(shop, "add", ".")
    git(shop, "commit", "--quiet", "--message", "first")
    return shop


def implementation(created: str = "", modified: str = "", tests: str = "", summary: str = "It is done.") -> Result:
    """An implementation with some rows and test results."""
    text = f"""## Backend Specialist Result

### Status
SUCCESS

### Summary
{summary}

### Findings

#### Files Created
| File | Purpose | Lines |
| --- | --- | --- |
{created}

#### Files Modified
| File | Change | Lines Changed |
| --- | --- | --- |
{modified}

#### Test Results
{tests}
"""
    (document,) = parse(text)
    return document.result


def claims(workspace: Workspace, result: Result, *receipts: Receipt, snapshot: Any = None) -> list[ChangeClaim]:
    index = ReceiptIndex(receipts, str(workspace.root)) if receipts else None
    return ChangeChecker(workspace, index, snapshot).claims(result)


def modified(
    root: Path, name: str, *receipts: Receipt, stated: str = "", snapshot: Any = None
) -> tuple[str, bool | None, str]:
    """Return the outcome for a file that a result claims to have modified."""
    (claim,) = claims(
        WorkTree(root), implementation(modified=f"| `{name}` | x | {stated} |"), *receipts, snapshot=snapshot
    )
    return claim.outcome, claim.denied, claim.why


def created(root: Path, name: str, *receipts: Receipt, snapshot: Any = None) -> tuple[str, bool | None, str]:
    (claim,) = claims(WorkTree(root), implementation(created=f"| `{name}` | x | |"), *receipts, snapshot=snapshot)
    return claim.outcome, claim.denied, claim.why


READ = Receipt(tool="Read", path="old.py")
MAKE = Receipt(tool="Bash", arguments={"command": "make"}, exit=0)
LOOK = Receipt(tool="Bash", arguments={"command": "git diff 2>/dev/null | head"}, exit=0)


def test_a_table_without_locations_and_a_row_without_a_file_claim_nothing(root: Path) -> None:
    assert claims(WorkTree(root), implementation(modified="| everything | x | +1 |")) == []
    (document,) = parse("## A Result\n\n### Findings\n\n#### Files\n| Change |\n| --- |\n| `old.py` |\n")
    assert claims(WorkTree(root), document.result) == []


# Against git


def test_git_confirms_a_change_but_never_contradicts_one(root: Path) -> None:
    (root / "old.py").write_text("changed\n")
    (root / "new.py").write_text("new\n")
    assert modified(root, "old.py") == ("verified", None, "")
    assert created(root, "new.py") == ("verified", None, "")
    outcome, denied, why = modified(root, "same.py")
    assert (outcome, denied) == ("unchecked", None)
    assert "git shows no change against HEAD" in why


def test_without_a_commit_git_has_no_information(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a\n")
    assert modified(tmp_path, "a.py") == ("unchecked", None, "git has no information about changes")
    git(tmp_path, "init", "--quiet")
    assert modified(tmp_path, "a.py") == ("unchecked", None, "git has no information about changes")


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("none.py", "missing-file"),
        ("../out.py", "missing-file"),
        ("image.png", "unchecked"),
        (".git/config", "missing-file"),
    ],
)
def test_a_missing_file_is_not_a_change(root: Path, name: str, outcome: str) -> None:
    assert modified(root, name, READ)[:2] == (outcome, None)


def test_git_does_not_run_without_a_claim(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.workspace.git.run_git", lambda *_, **__: pytest.fail("git was run"))
    assert claims(WorkTree(root), implementation()) == []


# Against receipts


def test_an_edit_in_the_receipts_confirms_a_change(root: Path) -> None:
    for tool in ("Edit", "Write", "MultiEdit"):
        assert modified(root, "old.py", Receipt(tool=tool, path="old.py")) == ("verified", False, "")


def test_a_change_without_a_receipt_is_contradicted(root: Path) -> None:
    (root / "old.py").write_text("changed by somebody else\n")
    for receipts in ((READ,), (READ, LOOK), (Receipt(tool="Edit", path="same.py"),)):
        assert modified(root, "old.py", *receipts) == ("mismatch", True, "no receipt shows that it was written")


def test_a_failed_edit_does_not_count(root: Path) -> None:
    assert modified(root, "old.py", Receipt(tool="Edit", path="old.py", failed=True))[1] is True


def test_an_edit_that_was_cut_off_leaves_a_change_unchecked(root: Path) -> None:
    (root / "old.py").write_text("changed\n")
    cut = Receipt(tool="Edit", path=str(root / "old.py"), failed=True, unknown=True)
    assert modified(root, "old.py", cut) == ("unchecked", None, "a call that was cut off may have written it")
    assert modified(root, "same.py", cut)[:2] == ("mismatch", True), "another file is not excused"
    assert modified(root, "old.py", READ, cut, Receipt(tool="Edit", path="old.py")) == ("verified", False, "")


def test_a_command_may_have_made_the_change_that_git_reports(root: Path) -> None:
    (root / "old.py").write_text("changed\n")
    assert modified(root, "old.py", MAKE) == ("verified", False, "")
    assert modified(root, "same.py", MAKE)[:2] == ("mismatch", True)


@pytest.mark.parametrize("command", ["sed -i 's/a/b/' old.py", "echo x >> old.py", "cd . && echo x | tee old.py"])
def test_a_command_that_writes_the_file_is_an_edit_even_after_a_commit(root: Path, command: str) -> None:
    run = Receipt(tool="Bash", arguments={"command": command}, exit=0)
    assert modified(root, "old.py", run) == ("verified", False, "")


def test_without_information_from_git_a_command_leaves_a_change_unchecked(tmp_path: Path, root: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "old.py").write_text("x\n")
    assert modified(plain, "old.py", MAKE)[:2] == ("unchecked", None)
    assert modified(plain, "old.py", READ)[:2] == ("mismatch", True)
    commit = Commit(root, "HEAD")
    (claim,) = claims(commit, implementation(modified="| `old.py` | x | |"), MAKE)
    commit.close()
    assert (claim.outcome, claim.denied) == ("unchecked", None)


# Against a snapshot


def test_a_snapshot_has_priority_over_git_and_receipts(root: Path) -> None:
    before = take_snapshot(root)
    (root / "old.py").write_text("changed\n")
    (root / "new.py").write_text("new\n")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "second")
    assert modified(root, "old.py", READ, snapshot=before) == ("verified", False, "")
    assert created(root, "new.py", snapshot=before) == ("verified", False, "")
    assert modified(root, "new.py", snapshot=before) == ("verified", False, "")
    edit = Receipt(tool="Edit", path="same.py")
    assert modified(root, "same.py", edit, snapshot=before) == (
        "mismatch",
        True,
        "it has not changed since before the run",
    )
    assert created(root, "old.py", snapshot=before) == ("mismatch", True, "it existed before the run")


# Numbers


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("+3", (3, 3)),
        ("+2", (2, 3)),
        ("+3 -1", (1, 1)),
        ("+3/-2", (2, 1)),
        ("+4, -1", (4, 3)),
        ("-1", (1, 1)),
        ("−2", (2, 1)),
        ("4", (4, 4)),
        ("3", (3, 3)),
        ("1 line", (1, 1)),
        ("9", (9, 4)),
        ("10-20", (20, 1)),
        ("", (None, None)),
        ("several", (None, None)),
    ],
)
def test_stated_lines_are_compared_with_git(root: Path, stated: str, expected: tuple[int | None, int | None]) -> None:
    (root / "old.py").write_text("one\nTWO\nthree\nfour\nfive\n")  # +3 -1
    (claim,) = claims(WorkTree(root), implementation(modified=f"| `old.py` | x | {stated} |"))
    assert (claim.stated, claim.counted) == expected


@pytest.mark.parametrize(("stated", "expected"), [("4", (4, 4)), ("~5 lines", (5, 4)), ("", (None, None))])
def test_the_lines_of_a_new_file_are_counted(root: Path, stated: str, expected: tuple[int | None, int | None]) -> None:
    (root / "new.py").write_text("1\n2\n3\n4")
    (claim,) = claims(WorkTree(root), implementation(created=f"| `new.py` | x | {stated} |"))
    assert (claim.stated, claim.counted) == expected
    assert claim.claim == (f"created, {stated}" if stated else "created")


def test_a_binary_change_has_no_number_to_compare(root: Path) -> None:
    (root / "old.py").write_text("one\n")
    (root / ".gitattributes").write_text("*.py binary\n")
    (claim,) = claims(WorkTree(root), implementation(modified="| `old.py` | x | +9 |"))
    assert (claim.outcome, claim.stated) == ("verified", None)


def bash(command: str, status: int | None, *, failed: bool | None = None) -> Receipt:
    has_failed = status not in (0, None) if failed is None else failed
    return Receipt(tool="Bash", arguments={"command": command}, exit=status, failed=has_failed)


# The rules


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the samples' project before the changes of the implementation sample."""
    root = (tmp_path / "project").resolve()
    shutil.copytree(TREE, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def unseen(sources: Sources, kind: str = "implementation") -> list[tuple[str, int, str]]:
    """Return the violations about changes and runs."""
    verdict = verdict_of(sources, kind)
    rules = ("test-run-unseen", "change-unseen")
    return [
        (violation.rule, violation.line, violation.message)
        for violation in verdict.violations
        if violation.rule in rules
    ]


def verdict_of(sources: Sources, kind: str = "implementation") -> Verdict:
    (verdict,) = check_text(sample_text(kind), sources=sources)
    return verdict


HONEST = (
    *(Receipt(tool="Read", path=name) for name in ("app/login.py", "app/session.py", "tests/test_login.py")),
    *(Receipt(tool="Edit", path=name) for name in ("app/session.py", "tests/test_login.py")),
)


def test_an_honest_implementation_has_no_violations(tree: Path) -> None:
    assert unseen(open_sources(tree, records=[*HONEST, bash("python -m pytest tests", 0)])) == []


_SHOWN = "2 passed in 0.01s"


def test_an_invented_run_is_reported_with_its_line(tree: Path) -> None:
    (violation,) = unseen(open_sources(tree, records=HONEST))
    assert violation == (
        "test-run-unseen",
        1 + sample_text("implementation").split("\n").index(_SHOWN),
        f'"{_SHOWN}": no tests ran in this session',
    )


def test_a_failed_run_is_reported_with_its_status(tree: Path) -> None:
    (violation,) = unseen(open_sources(tree, records=[*HONEST, bash("python -m pytest tests", 1)]))
    assert violation[2] == f'"{_SHOWN}": `python -m pytest tests` ended with exit status 1'


def test_invented_changes_are_reported_with_their_rows(tree: Path) -> None:
    """A test run does not write files, even if git has no information."""
    records = [*HONEST[:3], bash("python -m pytest tests", 0)]
    lines = sample_text("implementation").split("\n")
    rows = [
        1 + next(index for index, line in enumerate(lines) if name in line)
        for name in ("test_login.py", "session.py:15")
    ]
    assert unseen(open_sources(tree, records=records)) == [
        (
            "change-unseen",
            rows[0],
            "tests/test_login.py is reported as created, 12, but no receipt shows that it was written",
        ),
        (
            "change-unseen",
            rows[1],
            "app/session.py is reported as modified, +5, but no receipt shows that it was written",
        ),
    ]


def test_a_snapshot_is_enough_to_contradict_a_change(tree: Path, tmp_path: Path) -> None:
    before = take_snapshot(tree)
    sources = Sources(workspace=WorkTree(tree), snapshot=before)
    assert [violation[0] for violation in unseen(sources)] == ["change-unseen", "change-unseen"]
    not_run = {entry.rule for entry in verdict_of(sources).not_run}
    assert "change-unseen" not in not_run
    assert {"test-run-unseen", "reference-unseen"} <= not_run
    with (tree / "app" / "session.py").open("a") as file:
        file.write("# closed\n")
    assert [violation[2] for violation in unseen(Sources(workspace=WorkTree(tree), snapshot=before))] == [
        "tests/test_login.py is reported as created, 12, but it has not changed since before the run"
    ]


def test_git_is_not_enough_to_run_the_rule(tree: Path) -> None:
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message", "everything")
    sources = open_sources(tree)
    assert unseen(sources) == []
    assert {"change-unseen", "test-run-unseen"} <= {entry.rule for entry in verdict_of(sources).not_run}


def test_git_and_receipts_together_attribute_a_change(tree: Path) -> None:
    git(tree, "init", "--quiet")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "nothing")
    records = [*HONEST[:3], bash("python generate.py", 0), bash("python -m pytest tests", 0)]
    assert unseen(open_sources(tree, records=records)) == []
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message", "everything")
    assert [violation[0] for violation in unseen(open_sources(tree, records=records))] == ["change-unseen"] * 2


def test_a_document_result_claims_changes(tree: Path) -> None:
    assert [violation[0] for violation in unseen(open_sources(tree, records=HONEST[:1]), "document")] == [
        "change-unseen"
    ]
    edit = Receipt(tool="Write", path="docs/login.md")
    assert unseen(open_sources(tree, records=[*HONEST[:1], edit]), "document") == []
