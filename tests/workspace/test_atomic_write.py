"""Files are replaced in one step, and locks hold between processes."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest

from remit.errors import EnvironmentBroken
from remit.workspace.atomic_write import (
    file_lock,
    lock_descriptor,
    permissions,
    remove_leftovers,
    replace_file,
)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_new_file_gets_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    replace_file(tmp_path / "file", b"content")
    assert (tmp_path / "file").read_bytes() == b"content"
    assert mode_of(tmp_path / "file") == mode_of(tmp_path / "plain")


def test_mode_is_set_in_spite_of_the_umask(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert permissions(file) is None
    before = os.umask(0o077)
    try:
        replace_file(file, b"", mode=0o664)
    finally:
        os.umask(before)
    assert permissions(file) == 0o664


def test_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    replace_file(str(tmp_path / "link"), b"new", mode=0o600)
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"old"


def test_path_may_be_relative_to_an_opened_folder(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        replace_file("file", b"content", folder=folder, owner=(os.geteuid(), os.getegid()))
    finally:
        os.close(folder)
    assert names(tmp_path) == ["file"]


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_only_leftovers_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [".remit-notes.tmp", ".remit-0123456789abcdef.txt", "remit-0123456789abcdef.tmp"]
    for name in others:
        (tmp_path / name).write_bytes(b"")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", die)
    with monkeypatch.context() as killed:
        killed.setattr(os, "unlink", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt):
            replace_file(tmp_path / "file", b"half")
    assert len(names(tmp_path)) == len(others) + 1
    remove_leftovers(tmp_path)
    assert names(tmp_path) == sorted(others)
    remove_leftovers(tmp_path / "absent")


def test_lock_is_exclusive_until_its_descriptor_is_closed(tmp_path: Path) -> None:
    path = str(tmp_path / "file.lock")
    held = file_lock(path)
    assert mode_of(Path(path)) == 0o600
    with pytest.raises(EnvironmentBroken, match=r"another process has held the lock .* for 0\.05 s"):
        file_lock(path, 0.05)
    os.close(held)
    os.close(file_lock(path, 0))


def test_removed_lock_file_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.lock"
    locked = fcntl.flock
    removals = iter([path.unlink])

    def remove_once(descriptor: int, kind: int) -> None:
        locked(descriptor, kind)
        for remove in removals:
            remove()

    monkeypatch.setattr(fcntl, "flock", remove_once)
    held = file_lock(str(path), 1)
    assert os.fstat(held).st_ino == path.stat().st_ino
    os.close(held)


def test_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        file_lock(str(tmp_path / "link"))


def test_shared_locks_exclude_only_an_exclusive_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with file.open("ab") as first, file.open("ab") as second, file.open("ab") as third:
        lock_descriptor(first.fileno(), is_shared=True)
        lock_descriptor(second.fileno(), is_shared=True)
        with pytest.raises(TimeoutError):
            lock_descriptor(third.fileno(), timeout=0)
