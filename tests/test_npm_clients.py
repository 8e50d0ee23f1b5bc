"""The clients of the tests are unpacked with every supported Python, and nothing outside of their folder is written."""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))

from npm_clients import unpack  # noqa: E402 (in the folder of the tools)


def member(name: str, kind: bytes = tarfile.REGTYPE, mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.mode, made.linkname = kind, mode, "/etc/passwd"
    made.size = 4 if kind == tarfile.REGTYPE else 0
    return made


def archived(folder: Path, *members: tarfile.TarInfo) -> Path:
    path = folder / "package.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for entry in members:
            archive.addfile(entry, io.BytesIO(b"text"))
    return path


def test_files_are_unpacked_and_programs_can_be_run(tmp_path: Path) -> None:
    program, page = member("package/bin/run", mode=0o4777), member("package/README.md")
    unpack(archived(tmp_path, member("package", tarfile.DIRTYPE), program, page), tmp_path / "target")
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (tmp_path / "target").rglob("*") if path.is_file()}
    assert modes == {"run": 0o755, "README.md": 0o644}
    assert (tmp_path / "target/package/README.md").read_text() == "text"


@pytest.mark.parametrize(
    "refused",
    [
        member("package/link", tarfile.SYMTYPE),
        member("package/link", tarfile.LNKTYPE),
        member("package/pipe", tarfile.FIFOTYPE),
        member("package/../../outside"),
        member("/outside"),
    ],
    ids=lambda entry: f"{entry.name} {entry.type.decode()}",
)
def test_links_devices_and_paths_out_of_the_target_are_refused(refused: tarfile.TarInfo, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not unpacked"):
        unpack(archived(tmp_path, refused), tmp_path / "inner/target")
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"package.tgz"}
