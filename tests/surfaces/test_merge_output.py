"""What a person sees if a merge or a review ends before its report is complete."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.errors import EnvironmentBroken, UsageError
from remit.evidence.sources import open_sources
from remit.merging.drafts import ListInFile
from remit.merging.merge import merge_reports
from remit.merging.merge_data import MergeSettings
from remit.surfaces import cli
from remit.surfaces.cli import merge as merge_module

EMPTY = merge_reports([], MergeSettings())


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), EnvironmentBroken("a temporary file cannot be written")], ids=repr
)
def test_half_a_report_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def parts(*_: object) -> Iterator[str]:
        yield '{"findings": ['
        raise error

    monkeypatch.setattr(merge_module, "_parts", parts)
    output = tmp_path / "report.json"
    output.write_text("the last report", encoding="utf-8")
    with pytest.raises(type(error)):
        merge_module.write_merge(EMPTY, "json", open_sources(tmp_path), output)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_with_its_name_and_a_device_is_not_removed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"/dev/full: No space left on device"):
        merge_module.write_merge(EMPTY, "json", open_sources(tmp_path), Path("/dev/full"))
    assert Path("/dev/full").exists()


def test_a_full_folder_for_temporary_files_is_not_called_a_bug(capsys: pytest.CaptureFixture[str]) -> None:
    values: ListInFile[str] = ListInFile(str)
    values._file.close()
    with pytest.raises(EnvironmentBroken) as full, Path("/dev/full").open("r+b", buffering=0) as values._file:
        values.append("a")
    assert cli._explain(full.value) == 3
    told = capsys.readouterr().err
    assert told.startswith("remit: a temporary file cannot be written: No space left on device; free space, or")
    assert told.count("\n") == 1


def test_a_missing_folder_for_temporary_files_is_not_called_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(EnvironmentBroken, match=r"a temporary file cannot be written: No such file.* TMPDIR"):
        ListInFile(str)


def test_a_name_that_is_too_long_is_not_called_a_bug(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._explain(OSError(errno.ENAMETOOLONG, "File name too long", "a\x1b[2J")) == 2
    assert capsys.readouterr().err == "remit: a\N{SYMBOL FOR ESCAPE}[2J: File name too long\n"


def test_a_full_disk_below_the_output_is_not_called_a_bug(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._explain(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))) == 3
    assert capsys.readouterr().err == "remit: the output cannot be written: No space left on device\n"
