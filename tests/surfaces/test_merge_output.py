"""What a person sees if a merge or a review ends before its report is complete."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from remit.errors import UsageError
from remit.evidence.sources import open_sources
from remit.merging.merge import merge
from remit.surfaces import cli
from remit.surfaces.cli import merge as merge_module

EMPTY = merge([])


def test_a_full_disk_is_an_error_with_its_name_and_a_device_is_not_removed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"/dev/full: No space left on device"):
        merge_module.write_merge(EMPTY, "json", open_sources(tmp_path), Path("/dev/full"))
    assert Path("/dev/full").exists()


def test_a_name_that_is_too_long_is_not_called_a_bug(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._explain(OSError(errno.ENAMETOOLONG, "File name too long", "a\x1b[2J")) == 2
    assert capsys.readouterr().err == "remit: a\N{SYMBOL FOR ESCAPE}[2J: File name too long\n"


def test_a_full_disk_below_the_output_is_not_called_a_bug(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli._explain(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))) == 3
    assert capsys.readouterr().err == "remit: the output cannot be written: No space left on device\n"
