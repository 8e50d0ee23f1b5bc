"""Files of one call: written in spare files of earlier calls, never in a file that something else has planted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from remit.gate import file_versions, spare_files
from remit.gate.file_versions import read_once
from remit.gate.spare_files import remove_file, write_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_removed_file_is_used_for_the_next_call(tmp_path: Path) -> None:
    write_file(str(tmp_path / "one"), b"a long record")
    inode = (tmp_path / "one").stat().st_ino
    remove_file(str(tmp_path / "one"))
    assert len(names(tmp_path)) == 1
    write_file(str(tmp_path / "other"), b"short")
    assert names(tmp_path) == ["other"]
    assert (tmp_path / "other").read_bytes() == b"short"
    assert (tmp_path / "other").stat().st_ino == inode


def test_the_number_of_spare_files_is_limited(tmp_path: Path) -> None:
    for number in range(50):
        write_file(str(tmp_path / f"call-{number}"), b"x")
    for number in range(50):
        remove_file(str(tmp_path / f"call-{number}"))
    assert 0 < len(names(tmp_path)) <= 8


def test_a_file_that_exists_is_replaced(tmp_path: Path) -> None:
    write_file(str(tmp_path / "one"), b"first")
    write_file(str(tmp_path / "one"), b"second")
    assert (tmp_path / "one").read_bytes() == b"second"


def plant_link(spare: Path, target: Path) -> None:
    spare.symlink_to(target)


def plant_second_name(spare: Path, target: Path) -> None:
    spare.hardlink_to(target)


def plant_pipe(spare: Path, _: Path) -> None:
    os.mkfifo(spare, 0o600)


def plant_folder(spare: Path, _: Path) -> None:
    spare.mkdir(mode=0o700)


def plant_readable(spare: Path, _: Path) -> None:
    spare.write_bytes(b"")
    spare.chmod(0o644)


@pytest.mark.parametrize("plant", [plant_link, plant_second_name, plant_pipe, plant_folder, plant_readable])
def test_a_planted_spare_file_is_not_written(tmp_path: Path, plant) -> None:  # type: ignore[no-untyped-def]
    folder, target = tmp_path / "calls", tmp_path / "target"
    folder.mkdir()
    target.write_bytes(b"mine")
    target.chmod(0o600)
    for number in range(8):
        plant(folder / f"spare-{number}", target)
    write_file(str(folder / "one"), b"data")
    assert target.read_bytes() == b"mine"
    assert (folder / "one").read_bytes() == b"data"
    assert (folder / "one").stat().st_mode & 0o777 == 0o600
    remove_file(str(folder / "one"))
    assert not (folder / "one").exists()


def test_a_file_with_a_second_name_does_not_become_a_spare_file(tmp_path: Path) -> None:
    write_file(str(tmp_path / "one"), b"data")
    (tmp_path / "second").hardlink_to(tmp_path / "one")
    remove_file(str(tmp_path / "one"))
    assert names(tmp_path) == ["second"]
    remove_file(str(tmp_path / "missing"))


def test_a_spare_file_that_cannot_be_written_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(str(tmp_path / "one"), b"data")
    remove_file(str(tmp_path / "one"))
    monkeypatch.setattr(spare_files, "_FLAGS", os.O_RDONLY)
    write_file(str(tmp_path / "one"), b"other")
    assert (tmp_path / "one").read_bytes() == b"other"


class TestReadOnce:
    def parse(self, data: bytes) -> int:
        self.parsed = getattr(self, "parsed", 0) + 1
        return len(data)

    def test_an_unchanged_file_is_parsed_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(file_versions, "_CLOCK_STEP", -1)
        parse = self.parse
        (tmp_path / "a").write_bytes(b"one")
        assert [read_once(str(tmp_path / "a"), 100, parse) for _ in range(3)] == [3, 3, 3]
        assert self.parsed == 1
        (tmp_path / "a").write_bytes(b"other")
        assert read_once(str(tmp_path / "a"), 100, parse) == 5

    def test_a_file_that_has_just_changed_is_read_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(file_versions, "_CLOCK_STEP", 60)
        (tmp_path / "a").write_bytes(b"one")
        assert [read_once(str(tmp_path / "a"), 100, self.parse) for _ in range(2)] == [3, 3]
        assert self.parsed == 2

    def test_a_file_that_cannot_be_read_has_no_value(self, tmp_path: Path) -> None:
        (tmp_path / "large").write_bytes(b"x" * 101)
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("large")
        for name in ("large", "pipe", "link", "missing", "a\0b", "."):
            assert read_once(str(tmp_path / name), 100, self.parse) is None

    def test_what_is_kept_is_limited(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(file_versions, "_CLOCK_STEP", -1)
        monkeypatch.setattr(file_versions, "_MAX_ONCE", 3)
        monkeypatch.setattr(file_versions, "_once", {})
        for number in range(10):
            (tmp_path / str(number)).write_bytes(b"x")
            read_once(str(tmp_path / str(number)), 100, self.parse)
        assert len(file_versions._once) <= 3
