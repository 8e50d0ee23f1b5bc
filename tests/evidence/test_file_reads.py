"""The number of file reads and folder listings grows with the number of files, not with that of references."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.checking import Options, check_text
from remit.evidence.sources import open_sources
from remit.workspace import files


def reads(root: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return how many files a check reads, and how many folders it lists."""
    read: list[str] = []
    listed: list[str] = []
    real_read, real_list = files._read, files.WorkTree._listed

    def count_read(path: str, full: str) -> files.SourceFile | files.Absent:
        read.append(path)
        return real_read(path, full)

    def count_list(tree: files.WorkTree, folder: str) -> dict[str, str] | files.Why:
        listed.append(folder)
        return real_list(tree, folder)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_read", count_read)
        patched.setattr(files.WorkTree, "_listed", count_list)
        (verdict,) = check_text(text, "-", Options(profile="claims"), open_sources(root))
    assert {one.outcome for one in verdict.evidence.references} == {"verified"}
    return len(read), len(listed)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(200):
        folder = tmp_path / f"d{number % 10}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}.py").write_text("value = 1\n" * 50)
    return tmp_path


def test_ten_times_the_references_into_the_same_files_read_no_more(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def text(count: int) -> str:
        return "\n".join(f"- `d{n % 10}/f{n % 20}.py:{1 + n % 50}`" for n in range(count))

    few, many = (reads(root, text(count), monkeypatch) for count in (20, 200))
    assert few == many == (20, 11)


def test_ten_times_the_files_are_ten_times_the_reads(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def text(count: int) -> str:
        return "\n".join(f"- `d{n % 10}/f{n}.py:{1 + n % 50}`" for n in range(count))

    few, many = (reads(root, text(count), monkeypatch) for count in (20, 200))
    assert (few, many) == ((20, 11), (200, 11))
