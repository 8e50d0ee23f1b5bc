"""`remit verify --fix --write` changes documents of the checkout only: no link, pipe or race leads it elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.in_process import Remit, command_runner
from support.verify_commands import commit, git

from remit.errors import UsageError
from remit.verifying import write_fixed
from remit.workspace.project_documents import project_documents

CODE = "\n" * 20 + "def total():\n    return 2\n"
TEXT = "# Guide\n\nSee `total()` in `src/app.py:5`.\n"
FIXED = TEXT.replace(":5", ":21")


@pytest.fixture
def remit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Remit:
    return command_runner(monkeypatch, capsys)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout with two documents that can be corrected; it is the current folder."""
    root = tmp_path / "project"
    for folder in ("src", "docs"):
        (root / folder).mkdir(parents=True)
    git(tmp_path, "init", "-q", str(root))
    (root / "src/app.py").write_text(CODE)
    for name in ("README.md", "docs/guide.md"):
        (root / name).write_text(TEXT)
    commit(root)
    monkeypatch.chdir(root)
    return root


def replace_by_link(document: Path, target: Path) -> None:
    """Put a link in the place of a document that git still lists as a file."""
    document.unlink()
    document.symlink_to(os.path.relpath(target, document.parent))


def test_documents_of_the_project_are_written(project: Path, remit: Remit) -> None:
    assert remit("verify", "--fix", "--write").code == 0
    assert [(project / name).read_text() for name in ("README.md", "docs/guide.md")] == [FIXED, FIXED]


def test_a_link_in_place_of_a_listed_document_is_not_read(project: Path, remit: Remit) -> None:
    replace_by_link(project / "docs/guide.md", project / ".git/description")
    (project / ".git/description").write_text(TEXT)
    assert remit("verify", "--fix", "--write").code == 0
    assert (project / ".git/description").read_text() == TEXT
    assert (project / "README.md").read_text() == FIXED


def test_a_listed_document_below_a_linked_folder_is_not_read(project: Path, tmp_path: Path) -> None:
    (project / "docs").rename(tmp_path / "elsewhere")
    (project / "docs").symlink_to(tmp_path / "elsewhere")
    assert project_documents(project) == ["README.md"]


def test_a_pipe_in_place_of_a_listed_document_blocks_nothing(project: Path, remit: Remit) -> None:
    (project / "README.md").unlink()
    os.mkfifo(project / "README.md")
    assert remit("verify", "--fix", "--write").code == 0
    assert (project / "docs/guide.md").read_text() == FIXED


@pytest.mark.parametrize("outside", ["elsewhere/guide.md", "project/.git/description"])
def test_a_named_link_that_leads_out_of_the_files_of_its_checkout_is_not_written(
    project: Path, tmp_path: Path, remit: Remit, outside: str
) -> None:
    target = tmp_path / outside
    target.parent.mkdir(exist_ok=True)
    target.write_text(TEXT)
    replace_by_link(project / "docs/guide.md", target)
    answer = remit("verify", "--repo", ".", "docs/guide.md", "--fix", "--write")
    assert (answer.code, target.read_text()) == (2, TEXT)
    assert "a link leads out of the files of" in answer.err


@pytest.mark.parametrize("named", ["docs", "docs/guide.md"])
def test_a_named_folder_that_leads_to_another_checkout_is_not_written(
    project: Path, tmp_path: Path, remit: Remit, named: str
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(project), str(other))
    for document in (project / "docs").iterdir():
        document.unlink()
    (project / "docs").rmdir()
    (project / "docs").symlink_to(other / "docs")
    assert remit("verify", named, "--fix", "--write").code == 2
    assert (other / "docs/guide.md").read_text() == TEXT


def test_a_link_above_the_checkout_hides_none_in_it(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/guide.md").write_text(TEXT)
    replace_by_link(project / "docs/guide.md", tmp_path / "elsewhere/guide.md")
    (tmp_path / "alias").symlink_to(project)
    with pytest.raises(UsageError, match="a link leads out of the files of"):
        write_fixed(tmp_path / "alias/docs/guide.md", TEXT.encode(), FIXED)
    assert (tmp_path / "elsewhere/guide.md").read_text() == TEXT


def test_a_named_link_to_a_document_of_its_checkout_stays_a_link(project: Path, remit: Remit) -> None:
    replace_by_link(project / "docs/guide.md", project / "README.md")
    assert remit("verify", "docs/guide.md", "--fix", "--write").code == 0
    assert (project / "docs/guide.md").is_symlink()
    assert (project / "README.md").read_text() == FIXED


def test_a_file_that_changed_or_became_a_pipe_meanwhile_is_not_written(project: Path) -> None:
    document = project / "README.md"
    with pytest.raises(UsageError, match="has changed while it was checked"):
        write_fixed(document, b"something else", FIXED)
    assert document.read_text() == TEXT
    document.unlink()
    os.mkfifo(document)
    with pytest.raises(UsageError, match="has changed while it was checked"):
        write_fixed(document, TEXT.encode(), FIXED)
